"""``nvbandwidth`` 0.8: copies between host and GPUs and between GPUs, as text or JSON."""

from __future__ import annotations

import sys

from . import figures, physics, stored
from .counters import turn
from .options import UsageError, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Matrix = list[list[float | None]]

_SHORT = {"t": "testcase", "j": "json", "b": "buffer", "i": "samples", "l": "list", "v": "verbose"}
_LONG = {
    "testcase": "testcase", "json": "json", "bufferSize": "buffer", "testSamples": "samples",
    "list": "list", "verbose": "verbose", "useMean": "mean", "skipVerification": "skip",
    "disableAffinity": "affinity",
}  # fmt: skip
_VALUED = frozenset({"testcase", "buffer", "samples"})
# Name: description, key of its figure, factor on it, whether the result is a matrix of GPU pairs.
_CASES: dict[str, tuple[str, str, float, bool]] = {
    "host_to_device_memcpy_ce": ("memcpy CE CPU(row) -> GPU(column)", "host_to_device", 1.0, False),
    "device_to_host_memcpy_ce": ("memcpy CE CPU(row) <- GPU(column)", "device_to_host", 1.0, False),
    "host_to_device_bidirectional_memcpy_ce": (
        "memcpy CE CPU(row) <-> GPU(column)", "host_to_device", 0.944, False,
    ),
    "device_to_host_bidirectional_memcpy_ce": (
        "memcpy CE CPU(row) <-> GPU(column)", "device_to_host", 0.914, False,
    ),
    "device_to_device_memcpy_read_ce": (
        "memcpy CE GPU(row) -> GPU(column)", "device_to_device", 0.994, True,
    ),
    "device_to_device_memcpy_write_ce": (
        "memcpy CE GPU(row) <- GPU(column)", "device_to_device", 1.0, True,
    ),
    "device_to_device_bidirectional_memcpy_read_ce": (
        "memcpy CE GPU(row) <-> GPU(column) Total bandwidth", "device_to_device", 1.94, True,
    ),
    "device_to_device_bidirectional_memcpy_write_ce": (
        "memcpy CE GPU(row) <-> GPU(column) Total bandwidth", "device_to_device", 1.95, True,
    ),
    "all_to_host_memcpy_ce": ("memcpy CE CPU(row) <- GPU(column)", "device_to_host", 0.9, False),
    "host_to_all_memcpy_ce": ("memcpy CE CPU(row) -> GPU(column)", "host_to_device", 0.9, False),
    "device_local_copy": ("memcpy local GPU(column)", "local", 1.0, False),
}  # fmt: skip


def run(_tool: str, arguments: list[str], node: Node) -> int:
    """Return exit code 0, or 1 for an unknown test case or option, or without a GPU."""
    try:
        options, names = _read(arguments)
    except UsageError as error:
        print(f"ERROR: {error}")
        return 1
    if "list" in options:
        print("\n".join(f"{i}, {name}:" for i, name in enumerate(_CASES)))
        return 0
    if not node["gpus"]:
        sys.stdout.write("[CUDA_ERROR_NO_DEVICE] no CUDA-capable device is detected in expression"
                         " cuInit(0) in main() : nvbandwidth.cpp:190\n")  # fmt: skip
        return 1
    unknown = [name for name in names if name not in _CASES]
    if unknown:
        print(f"ERROR: Testcase {unknown[0]} not found!")
        return 1
    wanted = names or list(_CASES)
    results = {name: _matrix(name, node) for name in wanted}
    print(_document(results, node) if "json" in options else _text(results, node))
    return 0


def _read(arguments: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return the options and the names of the test cases; ``-t`` takes several, repeatedly."""
    names: list[str] = []
    rest: list[str] = []
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word in ("-t", "--testcase"):
            while words and not words[0].startswith("-"):
                names.append(words.pop(0))
        else:
            rest.append(word)
    options, _ = parse(rest, _SHORT, _LONG, _VALUED)
    cases = list(_CASES)
    return options, [cases[int(n)] if n.isdecimal() and int(n) < len(cases) else n for n in names]


def _matrix(name: str, node: Node) -> Matrix:
    _, figure, factor, between = _CASES[name]
    base = factor * node["speed"] * figures.load(node["figures"])["copies"][figure][0]
    count = len(node["gpus"])
    key = f"{node['name']} nvbandwidth {name}"
    key = f"{key} turn {turn(node, key)}"
    rows: Matrix = []
    for row in range(count if between else 1):
        rows.append([])
        for column in range(count):
            calm = figures.noise(node, f"{key} {row} {column}", 1 << 29)
            same = between and row == column
            # Copies between GPUs use NVLink, so a GPU's slow PCIe link does not affect them.
            own = (
                physics.link_share(node, row, column)
                if between
                else figures.gpu_share(node, column)
            )
            rows[-1].append(None if same else base * calm * own)
    return rows


def _sum(matrix: Matrix) -> float:
    return sum(cell for row in matrix for cell in row if cell is not None)


def _text(results: dict[str, Matrix], node: Node) -> str:
    smi = node["smi"]
    cuda = int(float(smi["cuda"]) * 1000)
    lines = [
        "nvbandwidth Version: v0.8",
        "Built from Git version: v0.8",
        "",
        f"CUDA Runtime Version: {cuda}",
        f"CUDA Driver Version: {cuda}",
        f"Driver Version: {smi['driver']}",
        "",
        *(
            f"Device {i}: {gpu['model']} (0000{gpu['bus'][:-2]})"
            for i, gpu in enumerate(node["gpus"])
        ),
        "",
    ]
    for name, matrix in results.items():
        heads = "".join(f"{column:>10}" for column in range(len(matrix[0])))
        lines += [f"Running {name}.", f"{_CASES[name][0]} bandwidth (GB/s)", f" {heads}"]
        for index, row in enumerate(matrix):
            cells = "".join(f"{'N/A' if cell is None else f'{cell:.2f}':>10}" for cell in row)
            lines.append(f"{index:>2}{cells[1:]}")
        lines += ["", f"SUM {name} {_sum(matrix):.2f}", ""]
    lines.append(
        "NOTE: The reported results may not reflect the full capabilities of the platform."
    )
    return "\n".join(lines)


def _document(results: dict[str, Matrix], node: Node) -> str:
    smi = node["smi"]
    devices = [
        f"{i}: {gpu['model']} (0000{gpu['bus'][:-2]}): ({node['name']})"
        for i, gpu in enumerate(node["gpus"])
    ]
    cases = [
        {
            "bandwidth_description": f"{_CASES[name][0]} bandwidth (GB/s)",
            "bandwidth_matrix": [
                ["N/A" if cell is None else f"{cell:.6g}" for cell in row] for row in matrix
            ],
            "name": name,
            "status": "Passed",
            "sum": _sum(matrix),
        }
        for name, matrix in results.items()
    ]
    document = {
        "nvbandwidth": {
            "CUDA Runtime Version": int(float(smi["cuda"]) * 1000),
            "Driver Version": smi["driver"],
            "GPU Device list": devices,
            "git_version": "",
            "testcases": cases,
            "version": "v0.8",
        }
    }
    return stored.as_json(document, indent="\t", separators=(",", " : "))
