"""The figures that a node reaches: those of the documents, scaled by the node's faults.

The rows of a bandwidth table are ``[size, peak, average, message rate or null, basis]``. The rows
of a latency table are ``[size, min, max, typical, average, stdev, p99, p99.9, basis]``, with times
in microseconds. Between two rows the figures are interpolated linearly on log-log axes. Below the
first row of a bandwidth table its message rate holds; above the last row its bandwidth holds.
"""

from __future__ import annotations

import math

from . import physics, stored
from .chance import chance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Rows = list[list[float]]

BYTES_PER_S = {"Gb/s": 1e9 / 8, "MiB/s": 2.0**20}
_NOISE = ((4096, 0.02), (65536, 0.005))
_NOISE_LARGE = 0.001
# In document 002 the two directions of a link between GPUs differ by 0.21 % (median of 28 links)
# and by at most 1.04 %. Most links are near their best bandwidth, a few are far below it.
_LINK_NOISE, _LINK_POWER = 0.012, 4
_STDEV = 4
_RATE_STEP = 1e-6
_AVERAGE_STEP = 1e-2


_loaded: dict[str, Any] = {}


def load(path: str) -> dict[str, Any]:
    """Return a platform's figures from the lab's own copy or from a JSON file; read them once."""
    if path not in _loaded:
        _loaded[path] = stored.from_json(path) if path.endswith(".json") else stored.read(path)
    return _loaded[path]  # type: ignore[no-any-return]


def bandwidth(
    node: Node,
    device: str,
    tool: str,
    gpu: int | None,
    size: int,
    *,
    across: bool = False,
    healthy: bool = False,
) -> list[float]:
    """Return ``[peak, average]`` in bytes per second that this side of a test can reach.

    ``gpu`` is ``None`` for host memory. With ``across`` the other node's NIC is on another rail,
    for which some tables have their own figures. With ``healthy`` no fault of the node counts.
    """
    figures = load(node["figures"])
    place = placement(node, device, gpu)
    if across and place == "near" and "cross_rail" in figures["bandwidth"][tool]:
        place = "cross_rail"
    factor, _, rows = _table(figures, "bandwidth", tool, place)
    nic = node["devices"][device]
    if not healthy:
        factor *= _share(node, device, gpu)
        if size > nic["mtu"]:
            factor *= nic.get("wire_share", 1.0)
    unit = BYTES_PER_S[figures["unit"]]
    points = [_bytes_per_s(row, unit) for row in _around(rows, size)]
    peak, average = (factor * value for value in _between(points, size, hold_rate=True))
    ceiling = math.inf if healthy else (nic["cap_gbps"] or math.inf) * BYTES_PER_S["Gb/s"]
    average = min(average, ceiling)
    return [max(min(peak, ceiling), average), average]


def latency(
    node: Node, device: str, tool: str, gpu: int | None, size: int, *, healthy: bool = False
) -> list[float]:
    """Return ``[min, max, typical, average, stdev, p99, p99.9]`` in microseconds.

    With ``healthy`` no fault of the node counts.
    """
    figures = load(node["figures"])
    _, plus_us, rows = _table(figures, "latency", tool, placement(node, device, gpu))
    share = 1.0 if healthy else _share(node, device, gpu)
    times = _between([row[:8] for row in rows], size, hold_rate=False)
    shifted = [value if index == _STDEV else value + plus_us for index, value in enumerate(times)]
    return [value / share for value in shifted]


def _share(node: Node, device: str, gpu: int | None) -> float:
    """Return the share left to one side of a test between two nodes."""
    nic = physics.nic_speed(node, node["devices"][device])
    path = f"{device} {gpu}"
    return physics.together(node, path, node["speed"], nic, gpu_share(node, gpu, device))


def both_ways(node: Node) -> float:
    """Return the sum of both directions as a multiple of one direction."""
    return float(load(node["figures"])["bidirectional"]["factor"])


def gpu_share(node: Node, gpu: int | None, device: str = "") -> float:
    """Return the share of the bandwidth left to a GPU and its path to a NIC; 1 for host memory."""
    if gpu is None:
        return 1.0
    one = node["gpus"][gpu]
    return float(one.get("speed", 1.0) * one.get("slow_to", {}).get(device, 1.0))


def route_share(one: dict[str, Any], other: dict[str, Any]) -> float:
    """Return the share of a healthy pair's bandwidth that the path between two nodes can carry.

    Both arguments have the keys ``name`` and ``slow_paths``.
    """
    there = one["slow_paths"].get(other["name"], 1.0)
    return float(there * other["slow_paths"].get(one["name"], 1.0))


def placement(node: Node, device: str, gpu: int | None) -> str:
    """Return the table for a GPU and a NIC: ``near``, ``far``, or ``host`` for host memory."""
    if gpu is None:
        return "host"
    return "near" if node["gpus"][gpu]["links"].get(device) in {"PIX", "PXB"} else "far"


def noise(node: Node, key: str, size: int) -> float:
    """Return a factor of at most 1, always the same for the same seed, key and size; 1 for seed 0.

    Noise only lowers a figure, so that no figure exceeds the ceiling of its link.
    """
    seed = node["seed"]
    if seed == 0:
        return 1.0
    documented = next((share for limit, share in _NOISE if size <= limit), _NOISE_LARGE)
    return 1.0 - physics.noise(node) * documented * chance(f"{seed} {key} {size}")


def link_noise(node: Node, key: str) -> float:
    """Return such a noise factor for one transfer over a link between two GPUs."""
    seed = node["seed"]
    if seed == 0:
        return 1.0
    return 1.0 - physics.noise(node) * _LINK_NOISE * float(chance(f"{seed} {key}") ** _LINK_POWER)


def _table(figures: dict[str, Any], kind: str, tool: str, place: str) -> tuple[float, float, Rows]:
    """Return a factor, a time to add in microseconds, and the rows to which both apply."""
    table = figures[kind][tool][place]
    if "rows" in table:
        return 1.0, 0.0, table["rows"]
    source = _other(figures, table["file"]) if "file" in table else figures
    factor, plus_us, rows = _table(source, kind, table["like"], table.get("place", place))
    return factor * table.get("factor", 1.0), plus_us + table.get("plus_us", 0.0), rows


def _other(figures: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the figures of another platform, from the folder of ``figures``."""
    own = next(path for path, loaded in _loaded.items() if loaded is figures)
    other = name if own.endswith(".json") else name.removesuffix(".json")
    return load(f"{own.rpartition('/')[0]}/{other}")


def plateau(node: Node, size: int) -> float:
    """Return a healthy NIC's bandwidth at ``size`` with host memory, in the unit of the figures."""
    figures = load(node["figures"])
    factor, _, rows = _table(figures, "bandwidth", "ib_write_bw", "host")
    return factor * _between([row[:3] for row in rows], size, hold_rate=False)[1]


def _bytes_per_s(row: list[Any], unit: float) -> list[float]:
    """Return ``[size, peak, average]``, the latter two in bytes per second.

    The average comes from the row's average or message rate, whichever has more significant digits.
    """
    size, peak, average, mpps = row[:4]
    rate_is_finer = mpps and mpps / _RATE_STEP > average / _AVERAGE_STEP
    exact = mpps * 1e6 * size if rate_is_finer else average * unit
    return [size, max(peak * unit, exact), exact]


def _around(rows: Rows, size: int) -> Rows:
    """Return the two rows that a size is between, or the one at the end beyond which it is."""
    at = next((number for number, row in enumerate(rows) if size <= row[0]), len(rows))
    return rows[max(0, at - 1) : at + 1]


def _between(rows: Rows, size: int, *, hold_rate: bool) -> list[float]:
    if size <= rows[0][0]:
        scale = size / rows[0][0] if hold_rate else 1.0
        return [value * scale for value in rows[0][1:]]
    for low, high in zip(rows, rows[1:]):  # noqa: B905, RUF007 - adjacent rows, and a fast start
        if size <= high[0]:
            share = math.log(size / low[0]) / math.log(high[0] / low[0])
            return [a * (b / a) ** share for a, b in zip(low[1:], high[1:], strict=True)]
    return rows[-1][1:]
