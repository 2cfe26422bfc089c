"""Finding the one limit of a metric, and what physics allows above it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from railgauge.errors import Uncovered
from railgauge.model import Bound, Curve, Limit, Pairing
from railgauge.thresholds.model import LEVELS, PCIE_GTS, Measurement, Nic, Platform
from railgauge.units import KNOWN_UNITS, convert, dimension, format_size

# PCI Express Base Specification: the share of payload bits that the line encoding leaves (8b/10b
# up to generation 2, 128b/130b after; FLIT mode in 6).
_PCIE_ENCODING = {1: 8 / 10, 2: 8 / 10, 3: 128 / 130, 4: 128 / 130, 5: 128 / 130, 6: 242 / 256}

LOWER_IS_BETTER = frozenset(
    {"lat_min", "lat_max", "lat_typical", "lat_avg", "lat_stdev", "lat_p99", "lat_p999", "time_us"}
)


def pcie_gbps(generation: int, width: int) -> float:
    """What a PCIe slot can carry one way, in Gb/s, before packet headers."""
    return PCIE_GTS[generation] * width * _PCIE_ENCODING[generation]


def nic_ceiling_gbps(nic: Nic) -> float:
    """``min(link, PCIe)`` in Gb/s one way: no honest measurement through this NIC is above it."""
    return min(nic.data_rate_gbps, pcie_gbps(nic.pcie_generation, nic.pcie_width))


def physical_ceiling(
    platform: Platform, measurement: Measurement, pairing: Pairing | None, unit: str
) -> float | None:
    """The ceiling of a bandwidth in ``unit``; ``None`` where the unit is no bandwidth."""
    if pairing is None or not unit.endswith("/s") or unit == "1/s":
        return None
    one_way = nic_ceiling_gbps(platform.nic(pairing.nic))
    ways = 2 if measurement.options.get("bidirectional") else 1
    return convert(one_way * ways, "Gb/s", unit)


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
    measurement: Measurement, metric: str, pairing: Pairing | None, size_bytes: int
) -> list[Limit]:
    """All limits that say something about ``metric`` here; a sound file has exactly one."""
    return [
        limit
        for limit in measurement.limits
        if limit.metric == metric
        and (not limit.pairings or (pairing is not None and pairing.distance in limit.pairings))
        and (limit.sizes is None or limit.sizes[0] <= size_bytes <= limit.sizes[1])
        and _says_something(limit, size_bytes)
    ]


def _says_something(limit: Limit, size_bytes: int) -> bool:
    required = limit.ceiling if limit.metric in LOWER_IS_BETTER else limit.floor
    return limit.record_only or bound_at(required, size_bytes) is not None


def limit_for(
    measurement: Measurement, metric: str, pairing: Pairing | None, size_bytes: int
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
    size_bytes: int,
    found: list[Limit],
) -> str:
    distance = f" {pairing.distance}" if pairing else ""
    subject = f"{measurement.name}: {metric} at {format_size(size_bytes)}{distance}"
    if not found:
        return f"{subject} has no limit"
    return f"{subject} has {len(found)} limits: {', '.join(limit.pointer for limit in found)}"


def uncovered(platform: Platform, levels: tuple[str, ...] = LEVELS) -> Iterator[str]:
    """Every metric that ``levels`` would measure without exactly one sound limit, as a line."""
    for measurement in platform.measurements.values():
        yield from _unknown_units(measurement)
        yield from _without_path(platform, measurement, levels)
        distances = {p.distance: p for p in platform.pairings(measurement.memory)}.values()
        sizes = sorted({size for level in levels for size in measurement.extents[level].sizes})
        for metric in measurement.asserts:
            for pairing in distances:
                for size_bytes in sizes:
                    found = matching(measurement, metric, pairing, size_bytes)
                    if len(found) != 1:
                        yield _complaint(measurement, metric, pairing, size_bytes, found)
                    else:
                        yield from _beyond_physics(platform, measurement, found[0], size_bytes)
                        yield from _contradiction(found[0], size_bytes)


def _without_path(
    platform: Platform, measurement: Measurement, levels: tuple[str, ...]
) -> Iterator[str]:
    """What runs nowhere would be missing from the results without a word."""
    if measurement.memory == "gpu" and platform.gpus is None:
        yield f"{measurement.name}: is in GPU memory, and the platform declares no GPU"
    distances = {pairing.distance for pairing in platform.pairings(measurement.memory)}
    for level in levels:
        choice = measurement.extents[level].pairings
        if not distances - ({"far"} if choice == "near" else set()):
            yield f"{measurement.name}: level {level} has no path to measure ({choice})"


def _unknown_units(measurement: Measurement) -> Iterator[str]:
    for limit in measurement.limits:
        if limit.unit not in KNOWN_UNITS:
            yield f"{limit.pointer}: unknown unit {limit.unit!r}"
        elif dimension(limit.unit) != _dimension_of(limit.metric):
            yield f"{limit.pointer}: {limit.metric} cannot be measured in {limit.unit}"


def _dimension_of(metric: str) -> str:
    """What kind of unit a metric has, by the first part of its name."""
    return {"bw": "bandwidth", "algbw": "bandwidth", "busbw": "bandwidth"}.get(
        metric.split("_", maxsplit=1)[0], "rate" if metric in ("msg_rate", "tps") else "time"
    )


def _contradiction(limit: Limit, size_bytes: int) -> Iterator[str]:
    """No value can lie above the one and below the other."""
    floor, ceiling = bound_at(limit.floor, size_bytes), bound_at(limit.ceiling, size_bytes)
    if floor is not None and ceiling is not None and floor > ceiling:
        yield (
            f"{limit.pointer}: floor {floor:g} {limit.unit} at {format_size(size_bytes)} "
            f"is above its own ceiling of {ceiling:g} {limit.unit}"
        )


def _beyond_physics(
    platform: Platform, measurement: Measurement, limit: Limit, size_bytes: int
) -> Iterator[str]:
    """A floor that no hardware can reach would fail every cluster for ever."""
    floor = bound_at(limit.floor, size_bytes)
    if floor is None or limit.unit not in KNOWN_UNITS:
        return
    for pairing in platform.pairings(measurement.memory):
        ceiling = physical_ceiling(platform, measurement, pairing, limit.unit)
        if ceiling is not None and floor > ceiling:
            yield (
                f"{limit.pointer}: floor {floor:g} {limit.unit} at {format_size(size_bytes)} "
                f"is above what {pairing.nic} can carry ({ceiling:.2f} {limit.unit})"
            )
            return
