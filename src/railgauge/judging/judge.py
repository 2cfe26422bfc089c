"""Compare values with limits. Pure.

A judgement is *passed*, *marginal*, *record_only* or *failed*. A value that cannot be judged
(missing, without a unit, implausible) raises ``NoEvidence`` and becomes an *error*, which is
neither a pass nor a fail.

Example: busbw samples of 391, 389 and 392 GB/s with a floor of 350 GB/s pass; the worst sample,
389 GB/s, is the measured value, and its margin is 11 %.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from sys import intern

from railgauge.config.thresholds.limits import bound_at
from railgauge.config.thresholds.model import CARRIES, PCIE_GTS, Expectation, Transport
from railgauge.config.thresholds.physics import pcie_gbps
from railgauge.core.errors import Implausible, MetricMissing, NoEvidence
from railgauge.core.limits import Dispersion, Limit
from railgauge.core.model import Judgement, Outcome, Parsed, Sample
from railgauge.core.units import convert, format_size, format_value
from railgauge.judging.dispersion import TWO_GROUPS, spread, two_groups
from railgauge.tools.metric import LOWER, Metric

# Clocks and counters of NICs are accurate to 100 ppm; five times that is more than rounding.
_CEILING_TOLERANCE = 0.0005


def judge(
    samples: Sequence[Sample],
    limit: Limit,
    metric: Metric,
    size_bytes: int | None,
    physical: float | None,
) -> Judgement:
    """Judge all samples of one metric at one size by its limit; the worst sample decides.

    ``metric`` is the tool's declaration; by its direction the largest or the smallest sample is the
    worst. ``physical`` is the physical ceiling in the limit's unit. Raises ``NoEvidence`` if the
    samples cannot be judged.
    """
    values = tuple(_in_unit(sample, limit.unit, metric) for sample in samples)
    if not values:
        raise MetricMissing(f"{limit.metric} has no sample")
    lower = metric.lower_is_better
    floor, ceiling = bound_at(limit.floor, size_bytes), bound_at(limit.ceiling, size_bytes)
    _refuse_implausible(
        limit, values, floor if lower else None, None if lower else ceiling, physical
    )
    worst = max(values) if lower else min(values)
    required = ceiling if lower else floor
    judgement = Judgement(
        metric=limit.metric,
        outcome=Outcome.PASSED,
        measured=_measured(worst, limit.unit, len(values)),
        limit=_limit_text(required, limit.unit, lower),
        basis=str(limit.basis),
        unit=limit.unit,
        values=values,
        worst=worst,
        floor=floor,
        ceiling=ceiling,
        physical_ceiling=physical,
        margin=_margin(worst, required, lower),
        size_bytes=size_bytes,
        pointer=limit.pointer,
        better=metric.better,
    )
    return _with_outcome(judgement, limit)


def _in_unit(sample: Sample, unit: str, metric: Metric) -> float:
    if not math.isfinite(sample.value):
        raise Implausible(f"{sample.metric} is {sample.value}, not a number that can be judged")
    value = convert(sample.value, sample.unit_means or sample.unit, unit)
    if value < 0 or (value == 0 and not metric.may_be_zero):
        raise Implausible(
            f"{sample.metric} is {format_value(value, unit)}: no data was moved, or the tool erred"
        )
    return value


def _refuse_implausible(
    limit: Limit,
    values: Sequence[float],
    least: float | None,
    most: float | None,
    physical: float | None,
) -> None:
    """Raise ``Implausible`` for a value that is better than the hardware allows.

    Such a value is an invalid measurement, not a good one. ``least`` bounds metrics where lower is
    better, ``most`` and ``physical`` the others.
    """
    ceilings = [bound for bound in (most, physical) if bound is not None]
    if ceilings and max(values) > min(ceilings) * (1 + _CEILING_TOLERANCE):
        raise Implausible(
            f"{limit.metric} of {format_value(max(values), limit.unit)} is above the physical "
            f"ceiling of {format_value(min(ceilings), limit.unit)}",
            remedy="check the unit, the device and the declared hardware",
        )
    if least is not None and min(values) < least:
        raise Implausible(
            f"{limit.metric} of {format_value(min(values), limit.unit)} is below "
            f"{format_value(least, limit.unit)}, which the hardware cannot reach",
            remedy="check the clock and the unit",
        )


def _measured(worst: float, unit: str, count: int) -> str:
    return intern(format_value(worst, unit) + (f" (worst of {count})" if count > 1 else ""))


def _limit_text(required: float | None, unit: str, lower: bool) -> str:
    if required is None:
        return "none yet: record only"
    return intern(f"{'<=' if lower else '>='} {format_value(required, unit)}")


def _margin(worst: float, required: float | None, lower: bool) -> float | None:
    if required is None:
        return None
    return (required - worst) / required if lower else (worst - required) / required


def _with_outcome(judgement: Judgement, limit: Limit) -> Judgement:
    if limit.record_only:
        return replace(
            judgement, outcome=Outcome.RECORD_ONLY, reason="the limit is being calibrated"
        )
    margin = judgement.margin
    if margin is None:
        raise MetricMissing(f"{limit.metric} has no limit at {judgement.size_bytes} B")
    dispersed = _dispersed(judgement.values, limit, judgement.better == LOWER)
    if margin < 0:
        reason = f"{limit.metric} {judgement.measured}{_at(judgement)}, limit {judgement.limit}"
        reason += f"; it {dispersed}" if dispersed else ""
        return replace(judgement, outcome=Outcome.FAILED, reason=reason)
    if dispersed:
        return replace(
            judgement, outcome=Outcome.FAILED, reason=f"{limit.metric}{_at(judgement)} {dispersed}"
        )
    if margin < limit.marginal:
        reason = f"within {limit.marginal:.1%} of the limit"
        return replace(judgement, outcome=Outcome.MARGINAL, reason=reason)
    return judgement


def _at(judgement: Judgement) -> str:
    return "" if judgement.size_bytes is None else f" at {format_size(judgement.size_bytes)}"


def _dispersed(values: Sequence[float], limit: Limit, lower: bool) -> str:
    """In words, how the dispersion exceeds its limit, or an empty string.

    One sample has no dispersion. Two groups are checked first, because they show more about the
    cause than the spread.
    """
    allowed = limit.dispersion
    if len(values) < 2 or allowed == Dispersion():  # noqa: PLR2004
        return ""
    if groups := _two_groups(values, limit):
        return groups
    found = spread(values, lower)
    if allowed.cv_max is not None and found.cv > allowed.cv_max:
        return (
            f"varies by {found.cv:.2%} (standard deviation over mean), limit {allowed.cv_max:.2%}"
        )
    worst, least = found.worst_over_median, allowed.worst_over_median_min
    if least is not None and worst < least:
        return f"has a worst sample of {worst:.3f} of the median, limit {least}"
    return ""


def _two_groups(values: Sequence[float], limit: Limit) -> str:
    most = limit.dispersion.groups_apart_max
    groups = None if most is None else two_groups(values, apart_min=most)
    if groups is None or most is None:
        return ""
    return (
        f"{TWO_GROUPS} around {groups.low:.4g} and {groups.high:.4g} {limit.unit} "
        f"({groups.low_count} and {groups.high_count} samples), "
        f"which lie {groups.apart:.0%} apart, limit {most:.0%}"
    )


def judge_proven(judgement: Judgement, doubt: NoEvidence | None) -> Judgement:
    """Return the judgement if there is no ``doubt`` about its evidence.

    A failed judgement stays failed, and ``doubt`` is added to its reason. For any other outcome
    ``doubt`` is raised, because a pass needs proof.
    """
    if doubt is None:
        return judgement
    if judgement.outcome is not Outcome.FAILED:
        raise doubt
    return replace(judgement, reason=f"{judgement.reason}; {doubt}")


def judge_transport(parsed: Parsed, spec: Transport) -> Judgement:
    """Compare the transports in the collective library's log with those it should have used.

    Raises ``MetricMissing`` if the log names none.
    """
    named = parsed.summary.get("transports")
    if not named or not isinstance(named, Collection):
        raise MetricMissing("the log names no transport", remedy="run with the library's INFO log")
    lacking = [name for name in spec.wanted if name not in named]
    wrong = [name for name in spec.refused if name in named]
    reasons = [f"the log does not name {', '.join(lacking)}"] if lacking else []
    reasons += [f"the log names {', '.join(wrong)}"] if wrong else []
    refused = f", not {', '.join(spec.refused)}" if spec.refused else ""
    return Judgement(
        metric="transport",
        outcome=Outcome.FAILED if reasons else Outcome.PASSED,
        measured=", ".join(sorted(map(str, named))),
        limit=f"{', '.join(spec.wanted)}{refused}",
        basis=str(spec.basis),
        reason="; ".join(reasons),
    )


# --- facts against expectations ---


def judge_fact(
    expectation: Expectation,
    value: object,
    *,
    declared: object = None,
    peers: Collection[object] = (),
) -> Judgement:
    """Judge one fact of a node by the platform file's expectation.

    ``declared`` is the wanted value where the expectation itself does not hold it; ``peers``, for
    the rule ``alike``, is the same fact of every node or device, including this one.
    """
    wanted = declared if expectation.is_declared else expectation.value
    if expectation.rule == "alike":
        wanted = _majority(peers)
    holds = RULES[expectation.rule](value, wanted)
    if expectation.rule == "contains" and isinstance(value, Collection):
        value = [item for item in expectation.value if item in value]  # type: ignore[attr-defined]
    text = _TEXTS.get(expectation.rule, _text)
    words = f"{_RULE_WORDS[expectation.rule]} {text(wanted)}".strip()
    reason = "" if holds else f"{expectation.name} is {text(value)}, should be {words}"
    if expectation.rule == "alike":
        reason = _difference(expectation.name, value, peers) or reason
    return Judgement(
        metric=expectation.name,
        outcome=Outcome.PASSED if holds else Outcome.FAILED,
        measured=text(value),
        limit=words,
        basis=str(expectation.basis),
        reason=reason,
        pointer=expectation.pointer,
    )


def _equal(value: object, wanted: object) -> bool:
    """Compare sequences by their elements, since JSON has no tuples; a bool equals only a bool."""
    if isinstance(value, (list, tuple)) and isinstance(wanted, (list, tuple)):
        return list(value) == list(wanted)
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


def _at_least(value: object, wanted: object) -> bool:
    return isinstance(value, (int, float)) and isinstance(wanted, (int, float)) and value >= wanted


def _carries(value: object, wanted: object) -> bool:
    """Whether a PCIe link, ``[GT/s of a lane, lanes]``, carries ``wanted`` Gb/s one way."""
    slot = _slot(value)
    return slot is not None and _at_least(pcie_gbps(*slot), wanted)


def _slot(link: object) -> tuple[int, int] | None:
    """Generation and width of a PCIe link; ``None`` if no specification has it."""
    match link:
        case [float() | int() as gts, int(width)] if gts in _GENERATIONS:
            return _GENERATIONS[gts], width
    return None


def _slot_text(value: object) -> str:
    """``PCIe 3.0 x4 (31.51 Gb/s)`` for a link, ``32 Gb/s`` for its required rate."""
    if slot := _slot(value):
        return f"PCIe {slot[0]}.0 x{slot[1]} ({pcie_gbps(*slot):.4g} Gb/s)"
    return f"{value:.4g} Gb/s" if isinstance(value, float) else _text(value)


_GENERATIONS = {gts: generation for generation, gts in PCIE_GTS.items()}


def _contains(value: object, wanted: object) -> bool:
    if not isinstance(wanted, Collection) or not wanted or not isinstance(value, Collection):
        return False
    return all(item in value for item in wanted)


RULES: dict[str, Callable[[object, object], bool]] = {
    "equals": _equal,
    "one_of": lambda value, wanted: (
        isinstance(wanted, list) and any(_equal(value, w) for w in wanted)
    ),
    "contains": _contains,
    "at_least": _at_least,
    "at_most": lambda value, wanted: _at_least(wanted, value),
    "as_declared": lambda value, wanted: wanted is not None and _equal(value, wanted),
    CARRIES: _carries,
    "by_model": lambda value, wanted: wanted is not None and _equal(value, wanted),
    "alike": lambda value, wanted: wanted is not None and _equal(value, wanted),
}
_RULE_WORDS = {
    "equals": "",
    "one_of": "one of",
    "contains": "with",
    "at_least": "at least",
    "at_most": "at most",
    "by_model": "declared:",
    "as_declared": "declared:",
    CARRIES: "at least",
    "alike": "the same as most:",
}


def _difference(name: str, value: object, peers: Collection[object]) -> str:
    """Describe how the values differ; empty if they do not.

    It lists all values, because the most common one need not be the right one.
    """
    counts = Counter(map(_text, peers))
    others = [f"{text} ({count})" for text, count in counts.most_common() if text != _text(value)]
    if not others:
        return ""
    return (
        f"{name} is {_text(value)}, which {counts[_text(value)]} of {len(peers)} have; "
        f"the others: {'; '.join(others[:_MOST_OTHERS])}"
    )


_TEXTS = {CARRIES: _slot_text}
_MOST_OTHERS = 4


def _majority(peers: Collection[object]) -> object:
    """The value that more than half of the peers have, ``None`` if there is none.

    It need not be the right one: the causes list all values and name no culprit. It only decides
    which items fail, and so on which nodes the higher rungs are measured although the nodes differ.
    """
    counts = Counter(map(repr, peers))
    most, count = next(iter(counts.most_common(1)), ("", 0))
    if 2 * count <= len(peers):
        return None
    return next(value for value in peers if repr(value) == most)


def _text(value: object) -> str:
    if value is None:
        return "undecided (no value is held by more than half)"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {item}" for key, item in value.items()) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
