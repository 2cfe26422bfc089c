"""Finding the one limit of a metric, and what physics allows above it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from railgauge.errors import Uncovered
from railgauge.model import Bound, Curve, Limit, Pairing
from railgauge.thresholds.model import LEVELS, PCIE_GTS, Measurement, Nic, Platform
from railgauge.units import KNOWN_UNITS, convert, dimension, format_size, format_sweep

# PCI Express Base Specification: the share of payload bits that the line encoding leaves (8b/10b
# up to generation 2, 128b/130b after; FLIT mode in 6).
_PCIE_ENCODING = {1: 8 / 10, 2: 8 / 10, 3: 128 / 130, 4: 128 / 130, 5: 128 / 130, 6: 242 / 256}

# Metrics of collectives, which may count a byte twice that crosses the network once.
_COLLECTIVE = frozenset({"algbw", "busbw", "avg_busbw"})


def pcie_gbps(generation: int, width: int) -> float:
    """What a PCIe slot can carry one way, in Gb/s, before packet headers."""
    return PCIE_GTS[generation] * width * _PCIE_ENCODING[generation]


def nic_ceiling_gbps(nic: Nic) -> float:
    """``min(link, PCIe)`` in Gb/s one way: no honest measurement through this NIC is above it."""
    if nic.pcie_generation is None or nic.pcie_width is None:
        return nic.data_rate_gbps
    return min(nic.data_rate_gbps, pcie_gbps(nic.pcie_generation, nic.pcie_width))


def physical_ceiling(
    platform: Platform, measurement: Measurement, pairing: Pairing | None, limit: Limit
) -> float | None:
    """The ceiling of a bandwidth in the limit's unit; ``None`` where physics sets none.

    On a path it is that of the NIC; between nodes that of all fabric NICs of a node together, twice
    that for collectives; of a link between GPUs its raw rate. Collectives inside a node have none
    that is sure: reductions in the switch move less than the bus bandwidth counts.
    """
    if dimension(limit.unit) != "bandwidth":
        return None
    if measurement.scope == "path" and pairing is not None:
        return convert(_ways(measurement) * _path_gbps(platform, pairing), "Gb/s", limit.unit)
    if measurement.scope in ("pair", "group"):
        together = sum(nic_ceiling_gbps(nic) for nic in platform.fabric_nics)
        return convert(_counted(limit.metric) * together, "Gb/s", limit.unit)
    return _link_ceiling(platform, limit)


def _path_gbps(platform: Platform, pairing: Pairing) -> float:
    return nic_ceiling_gbps(platform.nic(pairing.nic))


def _ways(measurement: Measurement) -> int:
    return 2 if measurement.options.get("bidirectional") else 1


def _counted(metric: str) -> int:
    """How often collectives may count a byte that crosses the network once: in a ring once.

    A tree over two nodes, or a reduction in the switches, sends half of what the bus bandwidth of
    an all_reduce (2(n-1)/n of the message over the time) takes for granted.
    """
    return 2 if metric.partition("/")[0] in _COLLECTIVE else 1


def _link_ceiling(platform: Platform, limit: Limit) -> float | None:
    if platform.gpus is None or platform.gpus.link_gb_per_s is None:
        return None
    links = {"link_bw": 1, "average_bw": 1, "gpu_actual": platform.gpus.count - 1}.get(limit.metric)
    return (
        None if links is None else convert(links * platform.gpus.link_gb_per_s, "GB/s", limit.unit)
    )


def bound_at(bound: Bound | None, size_bytes: int | None) -> float | None:
    """A floor or ceiling at a message size; ``None`` if there is none (at this size)."""
    if isinstance(bound, Curve):
        return None if size_bytes is None else curve_value(bound, size_bytes)
    return bound


def curve_value(curve: Curve, size_bytes: int) -> float | None:
    """The curve at ``size_bytes``: straight lines on log-log axes, nothing beyond its ends."""
    exact = dict(curve.points)
    if size_bytes in exact:
        return exact[size_bytes]
    for (left, low), (right, high) in zip(curve.points, curve.points[1:], strict=False):
        if left < size_bytes < right:
            share = math.log(size_bytes / left) / math.log(right / left)
            return low * math.exp(share * math.log(high / low))
    return None


def matching(
    measurement: Measurement, metric: str, pairing: Pairing | None, size_bytes: int | None
) -> list[Limit]:
    """All limits that say something about ``metric`` here; a sound file has exactly one."""
    return [
        limit
        for limit in measurement.limits
        if limit.metric == metric
        and (not limit.pairings or (pairing is not None and pairing.distance in limit.pairings))
        and _in_span(limit, size_bytes)
        and says_something(limit, size_bytes)
    ]


def _in_span(limit: Limit, size_bytes: int | None) -> bool:
    if limit.sizes is None or size_bytes is None:
        return limit.sizes is None
    return limit.sizes[0] <= size_bytes <= limit.sizes[1]


def says_something(limit: Limit, size_bytes: int | None) -> bool:
    """Whether the limit holds at a message size: every bound that it has says something there."""
    bounds = [bound for bound in (limit.floor, limit.ceiling) if bound is not None]
    return limit.record_only or all(bound_at(bound, size_bytes) is not None for bound in bounds)


def limit_for(
    measurement: Measurement, metric: str, pairing: Pairing | None, size_bytes: int | None
) -> Limit:
    """The one limit. Raises ``Uncovered`` for none or several."""
    found = matching(measurement, metric, pairing, size_bytes)
    if len(found) != 1:
        raise Uncovered(_complaint(measurement, metric, pairing, size_bytes, found))
    return found[0]


def _complaint(
    measurement: Measurement,
    metric: str,
    pairing: Pairing | None,
    size_bytes: int | None,
    found: list[Limit],
) -> str:
    distance = f" {pairing.distance}" if pairing else ""
    subject = f"{measurement.name}: {metric}{_at(size_bytes)}{distance}"
    if not found:
        return f"{subject} has no limit"
    return f"{subject} has {len(found)} limits: {', '.join(limit.pointer for limit in found)}"


def uncovered(platform: Platform, levels: tuple[str, ...] = LEVELS) -> Iterator[str]:
    """Every metric that ``levels`` would measure without exactly one sound limit, as a line."""
    for measurement in platform.measurements.values():
        yield from _without_path(platform, measurement, levels)
        yield from _never_asserted(measurement)
        for metric, pairing, size_bytes in _asserted(platform, measurement, levels):
            found = matching(measurement, metric, pairing, size_bytes)
            if len(found) != 1:
                yield _complaint(measurement, metric, pairing, size_bytes, found)
            else:
                yield from _beyond_physics(platform, measurement, found[0], size_bytes)
                yield from _contradiction(found[0], size_bytes)


def _never_asserted(measurement: Measurement) -> Iterator[str]:
    """What is asserted at no size of any level would be missing from the results without a word."""
    sizes = {size for extent in measurement.extents.values() for size in extent.sizes}
    for assertion in measurement.asserts:
        if assertion.per == "size" and not any(map(assertion.at, sizes)):
            yield f"{measurement.name}: {assertion.metric} is asserted at no size of any level"
    sweeps = {extent.sizes for extent in measurement.extents.values()}
    for limit in measurement.limits:
        if limit.over is not None and limit.over.sizes not in sweeps:
            yield (
                f"{limit.pointer}: {limit.metric} is judged over {format_sweep(limit.over)}, "
                f"and no level of {measurement.name} measures exactly these sizes"
            )


def limits_in_use(platform: Platform, measurement: Measurement) -> Iterator[Limit]:
    """The limits that some level compares something with, each as often as it does."""
    for metric, pairing, size_bytes in _asserted(platform, measurement, LEVELS):
        yield from matching(measurement, metric, pairing, size_bytes)


def _asserted(
    platform: Platform, measurement: Measurement, levels: tuple[str, ...]
) -> Iterator[tuple[str, Pairing | None, int | None]]:
    """Every metric, kind of path and size that one of the levels asserts."""
    sizes = sorted({size for level in levels for size in measurement.extents[level].sizes})
    for assertion in measurement.asserts:
        for pairing in _kinds_of_path(platform, measurement):
            if assertion.per != "size":
                yield assertion.metric, pairing, None
            yield from (
                (assertion.metric, pairing, size)
                for size in sizes
                if assertion.per == "size" and assertion.at(size)
            )


def _kinds_of_path(platform: Platform, measurement: Measurement) -> list[Pairing | None]:
    if measurement.scope != "path":
        return [None]
    return list({p.distance: p for p in platform.pairings(measurement.memory)}.values())


def _without_path(
    platform: Platform, measurement: Measurement, levels: tuple[str, ...]
) -> Iterator[str]:
    """What runs nowhere would be missing from the results without a word."""
    if measurement.scope != "path":
        return
    if measurement.memory == "gpu" and platform.gpus is None:
        yield f"{measurement.name}: is in GPU memory, and the platform declares no GPU"
    distances = {pairing.distance for pairing in platform.pairings(measurement.memory)}
    for level in levels:
        choice = measurement.extents[level].pairings
        if not distances - ({"far"} if choice == "near" else set()):
            yield f"{measurement.name}: level {level} has no path to measure ({choice})"


def _contradiction(limit: Limit, size_bytes: int | None) -> Iterator[str]:
    """No value can lie above the one and below the other."""
    floor, ceiling = bound_at(limit.floor, size_bytes), bound_at(limit.ceiling, size_bytes)
    if floor is not None and ceiling is not None and floor > ceiling:
        yield (
            f"{limit.pointer}: floor {floor:g} {limit.unit}{_at(size_bytes)} "
            f"is above its own ceiling of {ceiling:g} {limit.unit}"
        )


def _beyond_physics(
    platform: Platform, measurement: Measurement, limit: Limit, size_bytes: int | None
) -> Iterator[str]:
    """A floor that no hardware can reach would fail every cluster for ever."""
    floor = bound_at(limit.floor, size_bytes)
    if floor is None or limit.unit not in KNOWN_UNITS:
        return
    paths = platform.pairings(measurement.memory) if measurement.scope == "path" else [None]
    for pairing in paths:
        ceiling = physical_ceiling(platform, measurement, pairing, limit)
        if ceiling is not None and floor > ceiling:
            yield (
                f"{limit.pointer}: floor {floor:g} {limit.unit}{_at(size_bytes)} is above what "
                f"{pairing.nic if pairing else 'the hardware'} can carry "
                f"({ceiling:.2f} {limit.unit})"
            )
            return


def _at(size_bytes: int | None) -> str:
    return "" if size_bytes is None else f" at {format_size(size_bytes)}"
