"""``TransferBench a2a`` and ``TransferBench p2p`` of 1.60, on a full mesh of xGMI links."""

from __future__ import annotations

import os
import sys

from . import figures, physics
from .counters import turn
from .options import sized

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Matrix = list[list[float | None]]

_FACTOR = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_DEFAULT_BYTES = {"a2a": 64 << 20, "p2p": 64 << 20}
_REFERENCE_BYTES = 64 << 20
# A transfer of this size spends half of its time on start-up. At 64 MiB start-up takes 0.4 %.
_HALF_BYTES = 1 << 18
_FULL_UNITS = 8
_MS = 1e3
_GIGA = 1e9


def run(_tool: str, arguments: list[str], node: Node) -> int:
    """Return exit code 0, or 1 for a preset that is not simulated, or without GPUs."""
    preset = arguments[0] if arguments else ""
    if not node["gpus"]:
        print("[ERROR] Encountered HIP error (no ROCm-capable device is detected)")
        return 1
    if preset not in ("a2a", "p2p"):
        print(f"[ERROR] Unable to open config file: [{preset}]")
        return 1
    size = sized(arguments[1], _FACTOR) if len(arguments) > 1 else _DEFAULT_BYTES[preset]
    if size is None:
        print(f"[ERROR] Unable to parse number of bytes per transfer: {arguments[1]}")
        return 1
    units = int(os.environ.get("NUM_SUB_EXEC") or _position(arguments, 2, _FULL_UNITS))
    lines = _all_to_all(node, size, units) if preset == "a2a" else _peer_to_peer(node, size)
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _position(arguments: list[str], index: int, default: int) -> str:
    return arguments[index] if len(arguments) > index else str(default)


def _links(node: Node, size: int, units: int) -> Matrix:
    """Return the GB/s of every link, as rows by source GPU; ``None`` on the diagonal."""
    loaded = figures.load(node["figures"])["xgmi"]["links"]
    key = f"{node['name']} transferbench {size}"
    key = f"{key} turn {turn(node, key)}"
    share = node["speed"] * min(1.0, units / _FULL_UNITS) * _filled(size)
    present = [_number(node, gpu) for gpu in node["gpus"]]
    return [
        [
            None
            if a == b
            else loaded[a][b]
            * share
            * physics.link_share(node, a, b)
            * figures.link_noise(node, f"{key} {a}>{b}")
            for b in present
        ]
        for a in present
    ]


def _filled(size: int) -> float:
    return size / (size + _HALF_BYTES) * (_REFERENCE_BYTES + _HALF_BYTES) / _REFERENCE_BYTES


def _number(node: Node, gpu: dict[str, Any]) -> int:
    """Return the GPU's number on the healthy machine, by which the figures list its links.

    The GPUs after a missing one have a smaller number on this node.
    """
    return int(node["links"]["buses"].index(gpu["bus"]))


def _all_to_all(node: Node, size: int, units: int) -> list[str]:
    links = _links(node, size, units)
    count = len(links)
    transfers = count * (count - 1)
    return [
        *_environment(node, units),
        "",
        "GPU-GFX All-To-All benchmark:",
        "==========================",
        f"- Copying {size} bytes between directly connected pairs of GPUs using {units} CUs"
        f" ({transfers} Transfers)",
        "Test 1:",
        *_executors(node, links, size, units),
        "",
        *_summary(links, size, _aggregate(node, links, size)[0]),
    ]


def _executors(node: Node, links: Matrix, size: int, units: int) -> list[str]:
    lines, number = [], 0
    for gpu, row in enumerate(links):
        speeds = [cell for cell in row if cell is not None]
        total = len(speeds) * size
        own = _executor(node, gpu, speeds)
        lines.append(
            f" Executor: GPU {gpu:02d} |  {own:7.3f} GB/s | {total / own / _GIGA * _MS:8.3f} ms |"
            f" {total:12d} bytes | {sum(speeds):7.3f} GB/s (sum)"
        )
        for peer, cell in enumerate(row):
            if cell is None:
                continue
            route = f"F{gpu} -> G{gpu:03d}:{units:03d} -> F{peer}"
            ms = size / cell / _GIGA * _MS
            lines.append(
                f"     Transfer {number:02d}  |  {cell:7.3f} GB/s | {ms:8.3f} ms |"
                f" {size:12d} bytes | {route}"
            )
            number += 1
    speed, ms, overhead = _aggregate(node, links, size)
    whole = number * size
    lines.append(
        f" Aggregate (CPU)  | {speed:8.3f} GB/s | {ms:8.3f} ms | {whole:12d} bytes |"
        f" Overhead: {overhead:.3f} ms"
    )
    return lines


def _executor(node: Node, gpu: int, speeds: list[float]) -> float:
    """Return a GPU's own bandwidth in GB/s: it ends a little after its slowest transfer."""
    late = figures.load(node["figures"])["xgmi"]["executor_share"][gpu]
    return float(len(speeds) * min(speeds) * late)


def _aggregate(node: Node, links: Matrix, size: int) -> tuple[float, float, float]:
    """Return GB/s and ms by the CPU's clock, which includes the launch, and the launch in ms."""
    overhead = float(figures.load(node["figures"])["xgmi"]["launch_ms"])
    rows = [[cell for cell in row if cell is not None] for row in links]
    slowest = max(
        len(row) * size / _executor(node, gpu, row) / _GIGA * _MS for gpu, row in enumerate(rows)
    )
    whole = sum(len(row) for row in rows) * size
    ms = slowest + overhead
    return whole / ms / _GIGA * _MS, ms, overhead


def _summary(links: Matrix, size: int, cpu: float) -> list[str]:
    heads = "".join(f"     GPU {gpu:02d}" for gpu in range(len(links))).removeprefix("   ")
    lines = [
        f"Summary: [{size} bytes per Transfer]",
        "=" * 58,
        f"SRC\\DST{heads}        STotal      Actual",
    ]
    actual = []
    for gpu, row in enumerate(links):
        speeds = [cell for cell in row if cell is not None]
        actual.append(len(speeds) * min(speeds))
        cells = "".join(_cell(cell) for cell in row)
        lines.append(f"GPU {gpu:02d}{cells}{sum(speeds):12.3f}{actual[-1]:12.3f}")
    columns = [sum(row[i] or 0.0 for row in links) for i in range(len(links))]
    total = sum(columns)
    received = "".join(f"{value:9.3f}  " for value in columns).rstrip()
    lines += [
        "",
        f"RTotal{received}{total:14.3f}{min(actual):12.3f}{max(actual):12.3f}",
        "",
        f"Average   bandwidth (GPU Timed): {total / (len(links) * (len(links) - 1)):8.3f} GB/s",
        f"Aggregate bandwidth (GPU Timed): {total:8.3f} GB/s",
        f"Aggregate bandwidth (CPU Timed): {cpu:8.3f} GB/s",
    ]
    return lines


def _cell(cell: float | None) -> str:
    return f"{'N/A' if cell is None else f'{cell:.3f}':>9}  "


def _peer_to_peer(node: Node, size: int) -> list[str]:
    """Return the lines of ``p2p``, which copies between one pair at a time.

    GPUs copy over their link, host memory goes over PCIe, and a GPU also copies in its own memory.
    """
    loaded = figures.load(node["figures"])["xgmi"]
    links = _links(node, size, _FULL_UNITS)
    count, cpus = len(links), len(node["host"]["numa_nodes"])
    names = [f"CPU {i:02d}" for i in range(cpus)] + [f"GPU {i:02d}" for i in range(count)]

    def one_way(a: int, b: int) -> float:
        if a < cpus and b < cpus:
            return float(loaded["host_copy"])
        if a >= cpus and b >= cpus and a != b:
            return float(links[a - cpus][b - cpus] or 0.0)
        kind = "host_to_gpu" if a < cpus else "gpu_to_host" if b < cpus else "local_copy"
        return float(loaded[kind] * figures.gpu_share(node, max(a, b) - cpus))

    heads = "".join(f"{name:>10}" for name in names)
    lines = [
        *_environment(node, _FULL_UNITS),
        "",
        f"Bytes Per Direction {size}",
        "Unidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)",
        f" SRC+EXE\\DST{heads[2:]}",
    ]
    for a, name in enumerate(names):
        cells = "".join(f"{one_way(a, b) * node['speed']:10.2f}" for b in range(len(names)))
        lines.append(f"  {name}  ->{cells[1:]}")
    lines.append(_averages(one_way, cpus, len(names), "(During UniDir):"))
    lines += [
        "",
        "Bidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)",
        f"     SRC\\DST{heads[2:]}",
    ]
    both = loaded["both_ways_share"]
    for a, name in enumerate(names):
        rows: list[list[str]] = [[], [], []]
        for b in range(len(names)):
            there, back = both * one_way(a, b), both * one_way(b, a)
            values = (there, back, there + back)
            for row, value in zip(rows, values):  # noqa: B905
                row.append("N/A" if a == b else f"{value:.2f}")
        for arrow, row in zip((" ->", "<- ", "<->"), rows):  # noqa: B905
            lines.append(f"  {name} {arrow} " + "".join(f"{cell:>10}" for cell in row)[1:])
        lines.append("")

    def mean(a: int, b: int) -> float:
        return float(both * (one_way(a, b) + one_way(b, a)) / 2)

    lines.append(_averages(mean, cpus, len(names), "(During  BiDir):"))
    return lines


def _averages(one_way: Any, cpus: int, count: int, when: str) -> str:
    kinds = {"CPU->CPU": (0, 0), "CPU->GPU": (0, 1), "GPU->CPU": (1, 0), "GPU->GPU": (1, 1)}
    sides = (range(cpus), range(cpus, count))
    means = []
    for source, target in kinds.values():
        found = [one_way(a, b) for a in sides[source] for b in sides[target] if a != b]
        means.append(sum(found) / len(found))
    heads = "".join(f"  {kind}" for kind in kinds)
    return f"{'':25}{heads}\nAverages {when}  " + "".join(f"{mean:10.2f}" for mean in means)


def _environment(node: Node, units: int) -> list[str]:
    if os.environ.get("HIDE_ENV") == "1":
        return ["TransferBench v1.60.00 (with NIC support)"]
    text = "\n".join(figures.load(node["figures"])["xgmi"]["environment"])
    text = text.replace("{gpus}", str(len(node["gpus"])))
    return text.replace("{units:12d}", f"{units:12d}").replace("{units}", str(units)).split("\n")
