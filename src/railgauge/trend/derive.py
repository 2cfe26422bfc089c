"""Propose limits from calibration runs: a platform file and samples give a platform file. Pure.

A limit is a share of what a trusted cluster reaches, and its basis names the runs. A limit that the
samples do not support stays as it was, with the reason.

Example: 20 samples of busbw have a median of 392 GB/s and a spread of 0.8 GB/s. The floor is
(392 - 3 x 0.8) x 0.95 = 370.1 GB/s.
"""

from __future__ import annotations

import copy
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from railgauge.config.thresholds.limits import applies_at
from railgauge.config.thresholds.model import Measurement, Platform
from railgauge.config.thresholds.reach import LINK_DECIDES_BYTES, LINKS_DECIDE_BYTES, SHARE_MIN
from railgauge.core import naming
from railgauge.core.limits import Limit
from railgauge.core.terms import Scope
from railgauge.core.units import format_size, format_value
from railgauge.judging.dispersion import two_groups
from railgauge.tools import declared_metric

FRACTION = 0.95
# With fewer samples one bad sample moves the median, and two groups cannot be detected.
SAMPLES_MIN = 5
_SIGMA_OVER_MAD = 1.4826
_SIGMAS = 3
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Value:
    """One sample of a calibration run, in its limit's unit.

    ``best`` is the hardware's best: the ideal of a collective, else the physical ceiling.
    """

    run: str
    pointer: str
    size_bytes: int | None
    nodes: tuple[str, ...]
    value: float
    best: float | None
    missed: bool


@dataclass(frozen=True, slots=True)
class Strictness:
    """How strict the proposal is.

    ``ceiling_share`` is the smallest allowed share of the best, ``ceiling_shares`` that of single
    measurements, by their names.
    """

    fraction: float = FRACTION
    ceiling_share: float = SHARE_MIN
    ceiling_shares: Mapping[str, float] = field(default_factory=dict)

    def share_of(self, measurement: str) -> float:
        return self.ceiling_shares.get(measurement, self.ceiling_share)


@dataclass(frozen=True, slots=True)
class DerivedLimit:
    """The proposal for one limit: its new value ``now`` in words, or why it ``stays``."""

    pointer: str
    metric: str
    was: str
    now: str = ""
    stays: str = ""


@dataclass(frozen=True, slots=True)
class SizeSpread:
    """The samples at one size: median, spread (1.4826 MAD) and the resulting bound."""

    size_bytes: int | None
    samples: int
    median: float
    sigma: float
    bound: float


@dataclass(frozen=True, slots=True)
class _Sought:
    """The limit to derive, its measurement and direction, and the wanted strictness.

    From ``large_bytes`` on a floor must be a share of the hardware's best.
    """

    measurement: str
    limit: Limit
    lower: bool
    strictness: Strictness
    large_bytes: int = LINK_DECIDES_BYTES

    @property
    def side(self) -> str:
        return "ceiling" if self.lower else "floor"

    @property
    def is_share(self) -> bool:
        """Whether the floor is a share of each measurement's own best (``of``)."""
        return bool(self.limit.of) and not self.lower

    @property
    def unit(self) -> str:
        return "" if self.is_share else self.limit.unit

    def text_of(self, value: float) -> str:
        if self.is_share:
            return f"{value:.1%} of the {self.limit.of}"
        return format_value(value, self.limit.unit)


class _Stays(Exception):
    """Why a limit cannot be derived."""


def derive(
    platform: Platform,
    document: Mapping[str, Any],
    values: Iterable[Value],
    evidence: str,
    strictness: Strictness,
) -> tuple[dict[str, Any], list[DerivedLimit]]:
    """Return ``document`` with every limit that ``values`` support, and the result for each limit.

    ``document`` is the platform file as JSON, from which ``platform`` was read.
    """
    by_limit: dict[str, list[Value]] = {}
    for value in values:
        by_limit.setdefault(value.pointer, []).append(value)
    proposal, outcomes = copy.deepcopy(dict(document)), []
    for measurement in platform.measurements.values():
        for index, limit in enumerate(measurement.limits):
            entry = proposal["measurements"][measurement.name]["limits"][index]
            found = by_limit.get(limit.pointer, [])
            outcomes.append(_derive(measurement, limit, entry, (found, evidence, strictness)))
    return proposal, outcomes


def _derive(
    measurement: Measurement,
    limit: Limit,
    entry: dict[str, Any],
    given: tuple[Sequence[Value], str, Strictness],
) -> DerivedLimit:
    """Change one limit of the document, or return why it stays."""
    values, evidence, strictness = given
    declared = declared_metric(measurement.tool, limit.metric)
    if declared is None:
        reason = f"is no metric of {measurement.tool}"
        return DerivedLimit(limit.pointer, limit.metric, "unknown", stays=reason)
    large_bytes = LINK_DECIDES_BYTES if measurement.scope == Scope.PATH else LINKS_DECIDE_BYTES
    sought = _Sought(measurement.name, limit, declared.lower_is_better, strictness, large_bytes)
    was = _in_words(sought)
    try:
        levels = _levels(measurement, sought, _in_unit(sought, values))
    except _Stays as reason:
        return DerivedLimit(limit.pointer, limit.metric, was, stays=str(reason))
    entry.pop("record_only", None)
    bounds = {one.size_bytes: one.bound for one in levels}
    medians = {one.size_bytes: float(f"{one.median:.{_DIGITS}g}") for one in levels}
    entry[sought.side] = min(bounds.values()) if sought.is_share else _curve(bounds)
    entry["basis"] = {
        "source": "calibration",
        "says": _says(sought, levels, values, evidence),
        "measured": min(medians.values()) if sought.is_share else _curve(medians),
    }
    return DerivedLimit(limit.pointer, limit.metric, was, now=_range_text(levels, sought))


def _in_unit(sought: _Sought, values: Sequence[Value]) -> Sequence[Value]:
    """The samples as the limit has them; for a share each is divided by its own best.

    Groups of different sizes have different ideals, but the same share of them.
    """
    if not sought.is_share:
        return values
    if any(one.best is None for one in values):
        raise _Stays(f"has samples for which the {sought.limit.of} is not known")
    return [replace(one, value=one.value / (one.best or 1), best=1.0) for one in values]


def _levels(measurement: Measurement, sought: _Sought, values: Sequence[Value]) -> list[SizeSpread]:
    limit = sought.limit
    if limit.unit == "count":
        raise _Stays("is a count that must be met, not a level that was measured")
    if not values:
        raise _Stays("was not measured")
    missed = sorted({value.run for value in values if value.missed})
    if missed:
        raise _Stays(
            f"was missed in {', '.join(missed)}: calibrate on a cluster that reaches it, or make "
            "it record_only first"
        )
    by_size: dict[int | None, list[Value]] = {}
    for value in values:
        by_size.setdefault(value.size_bytes, []).append(value)
    _require_ends(measurement, limit, by_size)
    ordered = sorted(by_size, key=lambda size: size or 0)
    return [_level(sought, size, by_size[size]) for size in ordered]


def _require_ends(measurement: Measurement, limit: Limit, measured: Iterable[int | None]) -> None:
    """Raise ``_Stays`` unless the smallest and the largest asserted size were measured.

    Between them the curve is straight on log-log axes, as in every platform file.
    """
    known = {size for size in measured if size is not None}
    wanted = sorted(_asserted_sizes(measurement, limit))
    absent = [size for size in (wanted[0], wanted[-1]) if size not in known] if wanted else []
    if absent:
        sizes = " and ".join(dict.fromkeys(map(format_size, absent)))
        raise _Stays(f"was not measured at {sizes}: calibrate with --level signoff")


def _asserted_sizes(measurement: Measurement, limit: Limit) -> Iterator[int]:
    """The message sizes, of any level, at which this limit applies."""
    low, high = limit.sizes or (0, math.inf)
    for extent in measurement.extents.values():
        for size in extent.sizes:
            asserted = limit.metric in measurement.asserted("size", size)
            if asserted and low <= size <= high and applies_at(limit, size):
                yield size


def _level(sought: _Sought, size_bytes: int | None, found: Sequence[Value]) -> SizeSpread:
    """The bound from the samples at one size. Raises ``_Stays`` if they do not support one."""
    values = [one.value for one in found]
    at = "" if size_bytes is None else f" at {format_size(size_bytes)}"
    if len(values) < SAMPLES_MIN:
        raise _Stays(f"has {len(values)} samples{at}, needs {SAMPLES_MIN}")
    _refuse_groups(found, sought, at)
    median = statistics.median(values)
    sigma = _SIGMA_OVER_MAD * statistics.median(abs(value - median) for value in values)
    bound = _asked(sought, median, sigma)
    _refuse_strays(sought, found, bound, at)
    _refuse_below_share(sought, found, bound, size_bytes)
    return SizeSpread(size_bytes, len(values), median, sigma, bound)


def _refuse_groups(found: Sequence[Value], sought: _Sought, at: str) -> None:
    groups = two_groups([one.value for one in found])
    if groups is None:
        return
    middle = (groups.low + groups.high) / 2
    where = {naming.place(one.nodes) for one in found if one.value < middle}
    raise _Stays(
        f"has samples in two groups{at}: {groups.low_count} around "
        f"{sought.text_of(groups.low)} ({_few(sorted(where))}), {groups.high_count} around "
        f"{sought.text_of(groups.high)}"
    )


def _asked(sought: _Sought, median: float, sigma: float) -> float:
    """The bound: a share of what 999 of 1000 healthy samples reach, rounded to the laxer side.

    Raises ``_Stays`` if the noise leaves no positive floor.
    """
    limit, fraction = sought.limit, sought.strictness.fraction
    if sought.lower:
        ceiling = _rounded((median + _SIGMAS * sigma) / fraction, math.ceil)
        if isinstance(limit.floor, float) and limit.floor > ceiling:
            raise _Stays("has a floor above what was measured")
        return ceiling
    floor = fraction * (median - _SIGMAS * sigma)
    if floor <= 0:
        raise _Stays(f"varies too much: median {median:g}, spread {sigma:g} {sought.unit}".rstrip())
    return _rounded(floor, math.floor)


def _rounded(value: float, towards: Any) -> float:
    scale = 10.0 ** (_DIGITS - 1 - math.floor(math.log10(value)))
    return float(f"{towards(value * scale) / scale:.10g}")


def _refuse_strays(sought: _Sought, found: Sequence[Value], bound: float, at: str) -> None:
    lower = sought.lower
    strays = [one for one in found if (one.value > bound if lower else one.value < bound)]
    if strays:
        where = sorted({naming.place(one.nodes) for one in strays})
        worst = (max if lower else min)(one.value for one in strays)
        raise _Stays(
            f"would be missed by {len(strays)} of its own {len(found)} samples{at}, down to "
            f"{sought.text_of(worst)} ({_few(where)}): find out why first"
        )


def _refuse_below_share(
    sought: _Sought, found: Sequence[Value], floor: float, size_bytes: int | None
) -> None:
    """Raise ``_Stays`` for a floor below a share of the hardware's best.

    Otherwise a slow cluster would set its own floor.
    """
    least = sought.strictness.share_of(sought.measurement)
    bests = [one.best for one in found if one.best is not None]
    small = size_bytes is not None and size_bytes < sought.large_bytes
    if sought.lower or not bests or small:
        return
    share = floor / max(bests)
    if share < least:
        raise _Stays(
            f"would be {share:.1%} of the {_best(sought, bests)} that the hardware "
            f"reaches at best, less than {least:.0%}: if that is correct here, accept it with "
            f"--accept-below {sought.measurement}={math.floor(share * 100) / 100:g}"
        )


def _best(sought: _Sought, bests: Sequence[float]) -> str:
    return sought.limit.of if sought.is_share else sought.text_of(max(bests))


def _curve(values: Mapping[int | None, float]) -> Any:
    """Return a value, or one for each message size."""
    if len(values) == 1:
        return next(iter(values.values()))
    return {"curve": {format_size(size or 0): value for size, value in values.items()}}


def _says(
    sought: _Sought, levels: Sequence[SizeSpread], values: Sequence[Value], evidence: str
) -> str:
    runs = sorted({one.run for one in values})
    nodes = {node for one in values for node in one.nodes}
    how, over = ("+", "/") if sought.lower else ("-", "x")
    of = f"each sample as a share of its own {sought.limit.of}, " if sought.is_share else ""
    rule = f"(median {how} {_SIGMAS} spreads) {over}"
    each = "; ".join(_one_level(one, sought.unit) for one in levels)
    return (
        f"calibration run{'s' if len(runs) > 1 else ''} {', '.join(runs)} ({evidence} evidence), "
        f"{len(nodes)} nodes, {of}{rule} {sought.strictness.fraction:g}, "
        f"spread = 1.4826 MAD: {each}."
    )


def _one_level(one: SizeSpread, unit: str) -> str:
    at = "" if one.size_bytes is None else f"{format_size(one.size_bytes)} "
    median = f"{one.median:.6g} {unit}".rstrip()
    return f"{at}{one.samples} samples, median {median}, spread {one.sigma:.2g}"


def _range_text(levels: Sequence[SizeSpread], sought: _Sought) -> str:
    bounds = [one.bound for one in levels]
    if sought.is_share or min(bounds) == max(bounds):
        return sought.text_of(min(bounds))
    return f"{sought.text_of(min(bounds))} to {sought.text_of(max(bounds))}"


def _in_words(sought: _Sought) -> str:
    limit = sought.limit
    bound = limit.ceiling if sought.lower else limit.floor
    if bound is None or limit.record_only:
        return "record only"
    if isinstance(bound, float):
        return f"{bound:.0%} of the {limit.of}" if limit.of else format_value(bound, limit.unit)
    values = [value for _, value in bound.points]
    return f"{format_value(min(values), limit.unit)} to {format_value(max(values), limit.unit)}"


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"  # noqa: PLR2004
