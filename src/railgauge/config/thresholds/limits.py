"""Find the limit of a metric, and the errors in the limits of a platform file."""

from __future__ import annotations

import math
from collections.abc import Iterator

from railgauge.config.thresholds.model import LEVELS, Measurement, Platform
from railgauge.config.thresholds.physics import SHARES, physical_ceiling, whole
from railgauge.core.errors import Uncovered
from railgauge.core.limits import Bound, Curve, Limit
from railgauge.core.model import Pairing
from railgauge.core.terms import Scope
from railgauge.core.units import KNOWN_UNITS, format_size, format_sweep

# Sizes of a group, in nodes: a floor that neither the smallest nor a large group can reach cannot
# be reached by any group.
_NODES = {Scope.GROUP: (2, 1024)}


def bound_at(bound: Bound | None, size_bytes: int | None) -> float | None:
    """Return a floor or ceiling at a message size; ``None`` if there is none (at this size)."""
    if isinstance(bound, Curve):
        return None if size_bytes is None else curve_value(bound, size_bytes)
    return bound


def curve_value(curve: Curve, size_bytes: int) -> float | None:
    """Interpolate the curve at ``size_bytes`` on log-log axes; ``None`` beyond its ends."""
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
    """Return all limits of ``metric`` on this path at this size; a correct file has exactly one."""
    return [
        limit
        for limit in measurement.limits
        if limit.metric == metric
        and (not limit.pairings or (pairing is not None and pairing.distance in limit.pairings))
        and _in_span(limit, size_bytes)
        and applies_at(limit, size_bytes)
    ]


def _in_span(limit: Limit, size_bytes: int | None) -> bool:
    if limit.sizes is None or size_bytes is None:
        return limit.sizes is None
    return limit.sizes[0] <= size_bytes <= limit.sizes[1]


def applies_at(limit: Limit, size_bytes: int | None) -> bool:
    """Whether the limit applies at a message size: each of its bounds has a value there."""
    bounds = [bound for bound in (limit.floor, limit.ceiling) if bound is not None]
    return limit.record_only or all(bound_at(bound, size_bytes) is not None for bound in bounds)


def limit_for(
    measurement: Measurement, metric: str, pairing: Pairing | None, size_bytes: int | None
) -> Limit:
    """Return the limit of a metric. Raises ``Uncovered`` if there is none, or more than one."""
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
    subject = f"{measurement.name}: {metric}{at_size(size_bytes)}{distance}"
    if not found:
        return f"{subject} has no limit"
    return f"{subject} has {len(found)} limits: {', '.join(limit.pointer for limit in found)}"


def uncovered(platform: Platform, levels: tuple[str, ...] = LEVELS) -> Iterator[str]:
    """Yield a message for every metric that ``levels`` assert without exactly one valid limit."""
    for measurement in platform.measurements.values():
        yield from _without_path(platform, measurement, levels)
        yield from _never_asserted(measurement)
        for metric, pairing, size_bytes in _asserted(platform, measurement, levels):
            found = matching(measurement, metric, pairing, size_bytes)
            if len(found) != 1:
                yield _complaint(measurement, metric, pairing, size_bytes, found)
            else:
                yield from _no_share(platform, measurement, pairing, found[0])
                yield from _beyond_physics(platform, measurement, found[0], size_bytes)
                yield from _contradiction(found[0], size_bytes)


def _never_asserted(measurement: Measurement) -> Iterator[str]:
    """Yield assertions and averages of no level, which would silently be missing from results."""
    sizes = {size for extent in measurement.extents.values() for size in extent.sizes}
    for assertion in measurement.asserts:
        if assertion.per == "size" and not any(map(assertion.at, sizes)):
            yield f"{measurement.name}: {assertion.metric} is asserted at no size of any level"
    sweeps = {extent.sizes for extent in measurement.extents.values()}
    for limit in measurement.limits:
        if limit.over is not None and limit.over.sizes not in sweeps:
            yield (
                f"{limit.pointer}: {limit.metric} is judged over {format_sweep(limit.over)}, "
                f"but no level of {measurement.name} measures exactly these sizes"
            )


def limits_in_use(platform: Platform, measurement: Measurement) -> Iterator[Limit]:
    """Yield the limits that some level uses, once for each metric, kind of path and size."""
    for metric, pairing, size_bytes in _asserted(platform, measurement, LEVELS):
        yield from matching(measurement, metric, pairing, size_bytes)


def _asserted(
    platform: Platform, measurement: Measurement, levels: tuple[str, ...]
) -> Iterator[tuple[str, Pairing | None, int | None]]:
    """Yield every metric, kind of path and size in bytes that one of the levels asserts."""
    made = [measurement.extents[level] for level in levels if level in measurement.extents]
    sizes = sorted({size for extent in made for size in extent.sizes})
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
    if measurement.scope != Scope.PATH:
        return [None]
    return list({p.distance: p for p in platform.paths(measurement)}.values())


def _without_path(
    platform: Platform, measurement: Measurement, levels: tuple[str, ...]
) -> Iterator[str]:
    """Yield measurements without a path, which would silently be missing from the results."""
    if measurement.is_cross_rail and (
        measurement.scope != Scope.PATH or not platform.cross_rail(measurement.memory)
    ):
        yield f"{measurement.name}: has cross_rail, but no two NICs to run between"
    if measurement.scope != Scope.PATH:
        return
    if measurement.memory == "gpu" and platform.gpus is None:
        yield f"{measurement.name}: needs GPU memory, but the platform declares no GPU"
    distances = {pairing.distance for pairing in platform.pairings(measurement.memory)}
    for level in filter(measurement.made_at, levels):
        choice = measurement.extents[level].pairings
        if not distances - ({"far"} if choice == "near" else set()):
            yield f"{measurement.name}: level {level} has no path to measure ({choice})"


def _no_share(
    platform: Platform, measurement: Measurement, pairing: Pairing | None, limit: Limit
) -> Iterator[str]:
    """Check a floor that is a share: its whole is known, and the share is below 1."""
    if limit.of not in SHARES:
        return
    if whole(platform, measurement, pairing, limit) is None:
        of = SHARES[limit.of]
        yield f"{limit.pointer}: the floor of {limit.metric} is a share of {of} that is unknown"
    if not isinstance(limit.floor, float) or limit.floor >= 1:
        yield f"{limit.pointer}: the floor of {limit.metric} must be a share: a number below 1"


def _contradiction(limit: Limit, size_bytes: int | None) -> Iterator[str]:
    """Yield a message if the floor is above the ceiling, so that no value can pass."""
    floor, ceiling = bound_at(limit.floor, size_bytes), bound_at(limit.ceiling, size_bytes)
    if floor is not None and ceiling is not None and floor > ceiling:
        yield (
            f"{limit.pointer}: floor {floor:g} {limit.unit}{at_size(size_bytes)} "
            f"is above its own ceiling of {ceiling:g} {limit.unit}"
        )


def _beyond_physics(
    platform: Platform, measurement: Measurement, limit: Limit, size_bytes: int | None
) -> Iterator[str]:
    """Yield a message if the hardware cannot reach the floor, so that every cluster would fail.

    A floor that is a share of what the hardware reaches is not a value in the limit's unit.
    """
    floor = bound_at(limit.floor, size_bytes)
    if floor is None or limit.of or limit.unit not in KNOWN_UNITS:
        return
    paths = platform.paths(measurement) if measurement.scope == Scope.PATH else [None]
    for pairing in paths:
        ceiling = _most(platform, measurement, pairing, limit)
        if ceiling is not None and floor > ceiling:
            yield (
                f"{limit.pointer}: floor {floor:g} {limit.unit}{at_size(size_bytes)} is above what "
                f"{pairing.nic if pairing else 'the hardware'} can carry "
                f"({ceiling:.2f} {limit.unit})"
            )
            return


def _most(
    platform: Platform, measurement: Measurement, pairing: Pairing | None, limit: Limit
) -> float | None:
    """Return the physical ceiling; for a group the highest one over its possible sizes."""
    counts = _NODES.get(measurement.scope, (2,))
    found = [physical_ceiling(platform, measurement, pairing, limit, nodes) for nodes in counts]
    return max((ceiling for ceiling in found if ceiling is not None), default=None)


def at_size(size_bytes: int | None) -> str:
    """Return `` at 8MiB``; empty without a size."""
    return "" if size_bytes is None else f" at {format_size(size_bytes)}"
