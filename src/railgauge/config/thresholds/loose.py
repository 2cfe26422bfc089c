"""Limits that find no fault, such as floors far below the speed of the hardware. Pure.

A file with floors of 28.8 MiB/s instead of 28.8 Gb/s looks like any other, and passes a cluster at
a tenth of its speed. Therefore each limit is compared with the speed of healthy hardware
(``reach``) and with standards. A looser limit is bad input, unless its basis is a measurement of
such a platform close to it, or the site declares it with ``loose``: then every report lists it, and
the run is at best accepted with deviations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from railgauge.config.thresholds.cards import with_known_link
from railgauge.config.thresholds.limits import applies_at, at_size, bound_at
from railgauge.config.thresholds.loose_counters import PACKET_BYTES, loose_counters
from railgauge.config.thresholds.model import DeclaredLoose, Measurement, Platform
from railgauge.config.thresholds.physics import (
    SHARES,
    nic_ceiling_gbps,
    physical_ceiling,
    whole,
)
from railgauge.config.thresholds.reach import (
    SHARE_MIN,
    TIMES_MAX,
    derived_time,
    least_floor,
    reach,
)
from railgauge.core.limits import Bound, Curve, Dispersion, Limit
from railgauge.core.model import Pairing
from railgauge.core.terms import Scope
from railgauge.core.units import KNOWN_UNITS

CALIBRATION = "calibration"
GPU_SLOT = "gpu_slot"
HOW = (
    "correct the number or its unit, name the measured value in the basis, or declare it with "
    "'loose', a reason and a name (railgauge docs platform-files)"
)
# By how much a measured value may be better than a limit that is based on it.
_ABOVE_MAX = 4 / 3
# A ceiling of more than this many times the hardware's own finds no wrong measurement.
_CEILINGS_MAX = 2
# Samples between half of what is reached and all of it never vary more (standard deviation over
# mean: (1 - h) / (2 sqrt h) for h = 1/2), and their worst is never below half of their median.
_CV_MAX, _WORST_MIN, _APART_MAX = 0.35, 0.5, 0.5
_ROUNDING = 0.999


@dataclass(frozen=True, slots=True)
class Loose:
    """A limit (``pointer``, a JSON pointer in its file) that is too loose, and how (``says``)."""

    pointer: str
    says: str


def complaints(platform: Platform) -> Iterator[str]:
    """Yield a message for each limit that is too loose and not declared as such."""
    accepted = {one.pointer for one in platform.loose}
    for one in loose(platform):
        if one.pointer not in accepted:
            yield f"{one.pointer}: {one.says}; {HOW}"


def loose(platform: Platform) -> Iterator[Loose]:
    """Yield every limit that is too loose, declared or not, once."""
    platform = with_known_link(platform)
    for measurement in platform.measurements.values():
        for limit in measurement.limits:
            if not limit.record_only and (says := next(_of(platform, measurement, limit), "")):
                yield Loose(limit.pointer, says)
    for pointer, says in loose_counters(platform):
        yield Loose(pointer, says)


def declared(document: Mapping[str, Any]) -> tuple[DeclaredLoose, ...]:
    """Return the limits that a file in the long form declares as loose."""
    return tuple(_declared(document, ""))


def _declared(value: Any, pointer: str) -> Iterator[DeclaredLoose]:
    if isinstance(value, list):
        value = dict(enumerate(value))
    if not isinstance(value, Mapping):
        return
    if (entry := value.get("loose")) is not None:
        yield DeclaredLoose(pointer, entry["reason"], entry["who"])
    for key, inner in value.items():
        if key not in ("loose", "options", "expected", "environment"):
            yield from _declared(inner, f"{pointer}/{key}")


def unheld(platform: Platform) -> Iterator[Limit]:
    """Yield each limit for which the speed of healthy hardware is unknown."""
    for measurement in platform.measurements.values():
        for limit in measurement.limits:
            places = _places(platform, measurement, limit)
            if limit.of != GPU_SLOT and not any(place.is_held for place in places):
                yield limit


@dataclass(frozen=True, slots=True)
class _Place:
    """A limit at one path and message size."""

    platform: Platform
    measurement: Measurement
    limit: Limit
    pairing: Pairing | None
    size_bytes: int | None

    @property
    def of(self) -> tuple[Platform, Measurement, Pairing | None, Limit]:
        return self.platform, self.measurement, self.pairing, self.limit

    @property
    def at(self) -> str:
        return at_size(self.size_bytes)

    def bound(self, bound: Bound | None) -> float | None:
        return bound_at(bound, self.size_bytes)

    @property
    def measured(self) -> float | None:
        """The value that the basis names as measured here; ``None`` if it is no measurement."""
        basis = self.limit.basis
        is_one = basis.source.isdigit() or basis.source == CALIBRATION
        return self.bound(basis.measured) if is_one else None

    @property
    def is_held(self) -> bool:
        known = (least_floor(*self.of, self.size_bytes), derived_time(*self.of, self.size_bytes))
        return any(one is not None for one in (*known, _packets(self)))


def _of(platform: Platform, measurement: Measurement, limit: Limit) -> Iterator[str]:
    """Yield each way in which a limit is too loose."""
    yield from _of_dispersion(limit.dispersion)
    for place in _places(platform, measurement, limit):
        yield from filter(None, (side(place) for side in (_low, _slow, _high, _many)))


def _places(platform: Platform, measurement: Measurement, limit: Limit) -> Iterator[_Place]:
    """Yield where a limit applies: paths of each kind and rate, sizes of the levels and curves."""
    if limit.unit not in KNOWN_UNITS:
        return  # the file is refused for it
    paths: list[Pairing | None] = [None]
    if measurement.scope == Scope.PATH:
        alike = {_kind(platform, one): one for one in platform.paths(measurement)}
        paths = [one for one in alike.values() if one.distance in (limit.pairings or one.distance)]
    for path in paths:
        for size in _sizes(measurement, limit):
            yield _Place(platform, measurement, limit, path, size)


def _kind(platform: Platform, pairing: Pairing) -> tuple[str, float]:
    ends = (platform.nic(end.nic) for end in pairing.ends)
    return pairing.distance, min(nic_ceiling_gbps(nic) for nic in ends)


def _sizes(measurement: Measurement, limit: Limit) -> list[int | None]:
    if not any(one.metric == limit.metric and one.per == "size" for one in measurement.asserts):
        return [None]
    bounds = (bound for bound in (limit.floor, limit.ceiling) if isinstance(bound, Curve))
    points = {size for curve in bounds for size, _ in curve.points}
    sizes = points | {size for extent in measurement.extents.values() for size in extent.sizes}
    low, high = limit.sizes or (0, math.inf)
    return [one for one in sorted(sizes) if low <= one <= high and applies_at(limit, one)]


# --- one check for each way to be too loose; an empty text if the limit is not ---


def _low(place: _Place) -> str:
    """Whether a floor lies below half of what is reached."""
    limit, floor = place.limit, place.bound(place.limit.floor)
    if floor is None:
        return ""
    if limit.of == GPU_SLOT:
        least, unit, shown = SHARE_MIN, "of the slot of a GPU", floor
    else:
        found = least_floor(*place.of, place.size_bytes)
        of = whole(*place.of) if limit.of in SHARES else 1.0
        if found is None or of is None:
            return ""
        least, unit, shown = found, limit.unit, floor * of
    measured = place.measured
    is_near = measured is not None and floor <= measured <= floor * _ABOVE_MAX
    if shown >= least * _ROUNDING or is_near:
        return ""
    best = reach(*place.of)
    carried = f" ({best.what}: {best.most:.4g} {limit.unit})" if best else ""
    return f"floor {shown:.4g} {unit}{place.at} finds no fault: below {least:.4g} {unit}{carried}"


def _slow(place: _Place) -> str:
    """Whether a ceiling of a time lies above ten times the derived one."""
    ceiling, derived = place.bound(place.limit.ceiling), derived_time(*place.of, place.size_bytes)
    if ceiling is None or derived is None or ceiling <= TIMES_MAX * derived:
        return ""
    measured, unit = place.measured, place.limit.unit
    if measured is not None and measured <= ceiling <= measured * _ABOVE_MAX:
        return ""
    return (
        f"ceiling {ceiling:.4g} {unit}{place.at} finds no fault: above {TIMES_MAX} times the "
        f"{derived:.4g} {unit} that are derived from the hardware"
    )


def _high(place: _Place) -> str:
    """Whether a ceiling of a bandwidth lies far above that of the hardware."""
    ceiling, found = place.bound(place.limit.ceiling), reach(*place.of)
    if ceiling is None or found is None:
        return ""
    most = max(found.most, physical_ceiling(*place.of) or 0.0)
    if ceiling <= _CEILINGS_MAX * most:
        return ""
    unit = place.limit.unit
    above = f"ceiling {ceiling:.4g} {unit}{place.at} finds no wrong measurement"
    return f"{above}: above {_CEILINGS_MAX} times {most:.4g} {unit} ({found.what})"


def _many(place: _Place) -> str:
    """Whether more packets may be sent again than a hundredth of all."""
    ceiling, packets = place.bound(place.limit.ceiling), _packets(place)
    if ceiling is None or packets is None or ceiling <= packets / 100:
        return ""
    return f"ceiling {ceiling:.4g} finds no fault: {packets:.4g} packets are sent in all"


def _packets(place: _Place) -> float | None:
    """The packets of a TCP stream, for a limit of those that are sent again."""
    duration = place.measurement.options.get("duration_s")
    is_known = place.limit.metric.startswith("retransmits") and isinstance(duration, int | float)
    if not is_known or place.pairing is None or place.size_bytes is not None:
        return None
    rate = nic_ceiling_gbps(place.platform.nic(place.pairing.nic)) * 1e9 / 8
    return rate * float(str(duration)) / PACKET_BYTES


def _of_dispersion(limit: Dispersion) -> Iterator[str]:
    if limit.cv_max is not None and limit.cv_max > _CV_MAX:
        yield f"cv_max {limit.cv_max:g} finds no fault: no samples above their floor vary so much"
    if limit.worst_over_median_min is not None and limit.worst_over_median_min < _WORST_MIN:
        yield f"worst_over_median_min {limit.worst_over_median_min:g} finds no fault: below a half"
    if limit.groups_apart_max is not None and limit.groups_apart_max > _APART_MAX:
        yield f"groups_apart_max {limit.groups_apart_max:g} finds no fault: above a half"
