"""The noise of a reference run, and the comparison of one series of another run with it. Pure."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from railgauge.core.units import format_value
from railgauge.judging import dispersion
from railgauge.trend import change
from railgauge.trend.change import FREEDOM_PER_VALUE, Noise
from railgauge.trend.compared import ALIKE, BETTER, NODES, UNSURE, WORSE, ComparedSeries
from railgauge.trend.search import DIGITS_MIN, last_digit
from railgauge.trend.values import Rules, SeriesKey

_RULES = Rules()
# Healthy repeats in the documents lie within 1 % of each other (``Rules.min_change``). That is the
# noise if the reference has no repeats; if it has few, this weighs as much as nine values.
_OF_DOCUMENTS = Noise(_RULES.min_change / 2, 4.0)
_FEWEST = 4
_FEWEST_FOR_GROUPS = 4
# Rounding never halves a value.
_ROUNDING_MAX = 0.5


@dataclass(frozen=True, slots=True)
class ValueSeries:
    """A series of one run with its values, in the order of measuring."""

    key: SeriesKey
    values: tuple[float, ...]


def is_above_0(value: float) -> bool:
    return math.isfinite(value) and value > 0


# --- the noise of the reference ---


def noises(places: Iterable[Sequence[ValueSeries]], matched: str) -> Mapping[object, Noise]:
    """Metric, unit and size -> the noise of one value in the reference.

    Only the reference counts, so that a fault of the second run does not excuse itself.
    """
    groups: dict[object, list[Sequence[ValueSeries]]] = defaultdict(list)
    for found in places:
        groups[_kin(found[0].key)].append(found)
    return {kin: _noise(found, matched) for kin, found in groups.items()}


def _kin(key: SeriesKey) -> object:
    return key.metric, key.unit, key.size_bytes


def _noise(places: Sequence[Sequence[ValueSeries]], matched: str) -> Noise:
    """The noise among the repeats of a series; if there are none, among the places of a rail.

    Where the places are those of another cluster, only the noise among places counts.
    """
    every = [one for found in places for one in found]
    rails: dict[object, list[float]] = defaultdict(list)
    for one in every:
        rails[one.key.subject, one.key.pairing].append(math.log(statistics.median(one.values)))
    repeats = _about_medians([_logs(one.values) for one in every])
    among = _about_medians(list(rails.values()))
    if matched == NODES:
        return repeats or among or _with_documents(list(rails.values()))
    return among or _with_documents(list(rails.values()))


def _about_medians(levels: Sequence[Sequence[float]], fewest: int = _FEWEST) -> Noise | None:
    """The noise about the median of each level; ``None`` with too few values to tell."""
    known = [level for level in levels if len(level) > 1]
    residuals = [abs(v - statistics.median(level)) for level in known for v in level]
    if len(residuals) - len(known) < fewest:
        return None
    deviation = change.noise_about_medians(residuals, len(known))
    return Noise(deviation, FREEDOM_PER_VALUE * len(residuals))


def _with_documents(levels: Sequence[Sequence[float]]) -> Noise:
    """The noise of few values together with that of the documents, weighed by their freedom."""
    few, of = _about_medians(levels, 1) or Noise(0.0, 0.0), _OF_DOCUMENTS
    freedom = few.freedom + of.freedom
    variance = (few.freedom * few.deviation**2 + of.freedom * of.deviation**2) / freedom
    return Noise(math.sqrt(variance), freedom)


def _logs(values: Iterable[float]) -> list[float]:
    return [math.log(value) for value in values]


# --- one series ---


@dataclass(frozen=True, slots=True)
class Rule:
    """How a series is judged: the noises of the reference, and the share that it must reach.

    ``tests`` is the number of series, by which the allowed chance is divided (Bonferroni).
    """

    noises: Mapping[object, Noise]
    matched: str
    at_least: float
    tests: int

    def compared(self, one: ValueSeries, ours: Sequence[ValueSeries]) -> ComparedSeries:
        """Compare a series with the same place, or with all places, of the reference."""
        known = self._known(one.key, ours)
        if bad := [value for value in one.values if not is_above_0(value)]:
            return self._made(one, ours, WORSE, f"a value is {bad[0]:g}", (known, 0.0))
        before, after = self._values(one, ours)
        sign = -1.0 if one.key.lower_is_better else 1.0
        effect = sign * (statistics.median(_logs(after)) - statistics.median(_logs(before)))
        chance = min(1.0, self.tests * change.chance(effect, known, len(before), len(after)))
        status = self._status(effect, chance, _digit([*before, *after]))
        reason = _groups(one, ours)
        return self._made(one, ours, WORSE if reason else status, reason, (known, chance))

    def _known(self, key: SeriesKey, ours: Sequence[ValueSeries]) -> Noise:
        """The noise of the kin, or that of the reference itself if it is larger."""
        kin = self.noises[_kin(key)]
        own = _about_medians([_logs(self._values(ours[0], ours)[0])])
        return replace(kin, deviation=max(kin.deviation, own.deviation)) if own else kin

    def _values(
        self, one: ValueSeries, ours: Sequence[ValueSeries]
    ) -> tuple[Sequence[float], Sequence[float]]:
        """The values of both sides: repeats, or one value for each place of another cluster."""
        if self.matched == NODES:
            return ours[0].values, one.values
        return [statistics.median(o.values) for o in ours], [statistics.median(one.values)]

    def _status(self, effect: float, chance: float, digit: float) -> str:
        share = math.exp(effect)
        least = min(self.at_least, max(1 - DIGITS_MIN * digit, _ROUNDING_MAX))
        if least <= share <= 1 / least:
            return ALIKE
        if chance > _RULES.false_alarm_rate:
            return UNSURE
        return WORSE if share < 1 else BETTER

    def _made(
        self,
        one: ValueSeries,
        ours: Sequence[ValueSeries],
        status: str,
        reason: str,
        known: tuple[Noise, float],
    ) -> ComparedSeries:
        before = statistics.median(statistics.median(o.values) for o in ours)
        after = statistics.median(one.values)
        reaches = before / after if one.key.lower_is_better and after else after / before
        counts = sum(len(o.values) for o in ours), len(one.values)
        noise, chance = known
        deviation = max(noise.deviation, change.NOISE_MIN)
        return ComparedSeries(
            one.key, status, before, after, reaches, deviation, chance, counts, reason
        )


def _digit(values: Sequence[float]) -> float:
    """The last printed digit as a share; a change of one digit may be rounding."""
    return last_digit(values) / statistics.median(values)


def _groups(one: ValueSeries, ours: Sequence[ValueSeries]) -> str:
    """The two groups of the values, if those of the reference form one group; else empty."""
    if any(_two(o.values) for o in ours) or not (found := _two(one.values)):
        return ""
    low, high = (format_value(value, one.key.unit) for value in (found.low, found.high))
    return f"falls into two groups: {low} ({found.low_count}x) and {high} ({found.high_count}x)"


def _two(values: Sequence[float]) -> dispersion.Groups | None:
    return dispersion.two_groups(values) if len(values) >= _FEWEST_FOR_GROUPS else None
