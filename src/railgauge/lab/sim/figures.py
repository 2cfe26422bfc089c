"""What a node can do: the documents' figures, scaled by what is wrong with the node.

A table's rows are ``[size, peak, average, message rate or null, basis]`` for bandwidth and
``[size, min, max, typical, average, stdev, p99, p99.9, basis]`` in microseconds for latency.
Between rows the figures run straight on log-log axes; below the first row the message rate
stays, above the last one the bandwidth does.
"""

from __future__ import annotations

import math
from _blake2 import blake2b  # hashlib loads OpenSSL, a tenth of a tool's start

from . import stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Rows = list[list[float]]

BYTES_PER_S = {"Gb/s": 1e9 / 8, "MiB/s": 2.0**20}
_NOISE = ((4096, 0.02), (65536, 0.005))
_NOISE_LARGE = 0.001
# Document 002: the two directions of a link between GPUs differ by 0.21 % (median of 28 links), and
# by 1.04 % at most. Most links are near their best, a few far below it.
_LINK_NOISE, _LINK_POWER = 0.012, 4
_STDEV = 4
_RATE_STEP = 1e-6
_AVERAGE_STEP = 1e-2


_loaded: dict[str, Any] = {}


def load(path: str) -> dict[str, Any]:
    """The figures of a platform, read once: the lab's own copy, or the file that is JSON."""
    if path not in _loaded:
        _loaded[path] = stored.from_json(path) if path.endswith(".json") else stored.read(path)
    return _loaded[path]  # type: ignore[no-any-return]


def bandwidth(
    node: Node, device: str, tool: str, gpu: int | None, size: int, *, across: bool = False
) -> list[float]:
    """``[peak, average]`` in bytes per second that this node reaches by itself.

    ``across``: the other node is on another rail, which some tables have figures of their own for.
    """
    figures = load(node["figures"])
    place = placement(node, device, gpu)
    if across and place == "near" and "cross_rail" in figures["bandwidth"][tool]:
        place = "cross_rail"
    factor, _, rows = _table(figures, "bandwidth", tool, place)
    nic = node["devices"][device]
    factor *= node["speed"] * nic["speed"] * gpu_share(node, gpu, device)
    if size > nic["mtu"]:
        factor *= nic.get("wire_share", 1.0)
    unit = BYTES_PER_S[figures["unit"]]
    points = [_bytes_per_s(row, unit) for row in rows]
    peak, average = (factor * value for value in _between(points, size, hold_rate=True))
    ceiling = (nic["cap_gbps"] or math.inf) * BYTES_PER_S["Gb/s"]
    average = min(average, ceiling)
    return [max(min(peak, ceiling), average), average]


def latency(node: Node, device: str, tool: str, gpu: int | None, size: int) -> list[float]:
    """``[min, max, typical, average, stdev, p99, p99.9]`` in microseconds."""
    figures = load(node["figures"])
    _, plus_us, rows = _table(figures, "latency", tool, placement(node, device, gpu))
    nic = node["devices"][device]
    slowness = 1.0 / (node["speed"] * nic["speed"] * gpu_share(node, gpu, device))
    times = _between([row[:8] for row in rows], size, hold_rate=False)
    shifted = [value if index == _STDEV else value + plus_us for index, value in enumerate(times)]
    return [slowness * value for value in shifted]


def both_ways(node: Node) -> float:
    """What the sum of both directions is, as a multiple of one."""
    return float(load(node["figures"])["bidirectional"]["factor"])


def gpu_share(node: Node, gpu: int | None, device: str = "") -> float:
    """What is left of the bandwidth of a GPU, and of its way to a NIC; 1 for host memory."""
    if gpu is None:
        return 1.0
    one = node["gpus"][gpu]
    return float(one.get("speed", 1.0) * one.get("slow_to", {}).get(device, 1.0))


def route_share(one: dict[str, Any], other: dict[str, Any]) -> float:
    """What is left of the bandwidth between two nodes, by either's ``name`` and ``slow_paths``."""
    there = one["slow_paths"].get(other["name"], 1.0)
    return float(there * other["slow_paths"].get(one["name"], 1.0))


def placement(node: Node, device: str, gpu: int | None) -> str:
    """``host``, ``near`` or ``far``: the table that stands for a GPU and a NIC."""
    if gpu is None:
        return "host"
    return "near" if node["gpus"][gpu]["links"].get(device) in {"PIX", "PXB"} else "far"


def noise(seed: int, key: str, size: int) -> float:
    """A factor of at most 1, the same for the same seed, key and size; seed 0 is silence.

    Only downwards, so that no figure passes the ceiling of its link.
    """
    if seed == 0:
        return 1.0
    amplitude = next((share for limit, share in _NOISE if size <= limit), _NOISE_LARGE)
    return 1.0 - amplitude * _chance(f"{seed} {key} {size}")


def link_noise(seed: int, key: str) -> float:
    """The same for one transfer over a link between two GPUs."""
    if seed == 0:
        return 1.0
    return 1.0 - _LINK_NOISE * float(_chance(f"{seed} {key}") ** _LINK_POWER)


def _chance(key: str) -> float:
    """From 0 to 1, evenly, and the same for the same key."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big") / 2.0**64


def _table(figures: dict[str, Any], kind: str, tool: str, place: str) -> tuple[float, float, Rows]:
    """A factor, a time to add in microseconds, and the rows that they apply to."""
    table = figures[kind][tool][place]
    if "rows" in table:
        return 1.0, 0.0, table["rows"]
    source = _other(figures, table["file"]) if "file" in table else figures
    factor, plus_us, rows = _table(source, kind, table["like"], table.get("place", place))
    return factor * table.get("factor", 1.0), plus_us + table.get("plus_us", 0.0), rows


def _other(figures: dict[str, Any], name: str) -> dict[str, Any]:
    """The figures of another platform, which lie beside these."""
    own = next(path for path, loaded in _loaded.items() if loaded is figures)
    other = name if own.endswith(".json") else name.removesuffix(".json")
    return load(f"{own.rpartition('/')[0]}/{other}")


def plateau(node: Node, size: int) -> float:
    """The bandwidth of a healthy NIC at ``size`` with host memory, in the unit of the figures."""
    figures = load(node["figures"])
    factor, _, rows = _table(figures, "bandwidth", "ib_write_bw", "host")
    return factor * _between([row[:3] for row in rows], size, hold_rate=False)[1]


def _bytes_per_s(row: list[Any], unit: float) -> list[float]:
    """``[size, peak, average]``; of average and message rate, the one printed with more digits."""
    size, peak, average, mpps = row[:4]
    rate_is_finer = mpps and mpps / _RATE_STEP > average / _AVERAGE_STEP
    exact = mpps * 1e6 * size if rate_is_finer else average * unit
    return [size, max(peak * unit, exact), exact]


def _between(rows: Rows, size: int, *, hold_rate: bool) -> list[float]:
    if size <= rows[0][0]:
        scale = size / rows[0][0] if hold_rate else 1.0
        return [value * scale for value in rows[0][1:]]
    for low, high in zip(rows, rows[1:]):  # noqa: B905, RUF007 - adjacent rows, and a fast start
        if size <= high[0]:
            share = math.log(size / low[0]) / math.log(high[0] / low[0])
            return [a * (b / a) ** share for a, b in zip(low[1:], high[1:], strict=True)]
    return rows[-1][1:]
