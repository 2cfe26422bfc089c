"""Turn nights into findings. Pure; this is the package's interface."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence

from railgauge.core.errors import BadInput
from railgauge.trend.search import LevelChange, Search, track
from railgauge.trend.together import joined
from railgauge.trend.values import (
    DRIFT,
    FEWEST_NIGHTS,
    IMPROVEMENT,
    RECOVERED,
    REGRESSION,
    Movement,
    Night,
    Rules,
    SeriesKey,
    Trend,
    TrendFinding,
    TrendScope,
    Values,
)

_PLAIN = Rules()
_HALF = 0.5


def findings(earlier: Iterable[Night], tonight: Night, rules: Rules = _PLAIN) -> Trend:
    """Find what changed in the nights up to ``tonight``.

    Nights of another fleet than tonight's (cluster, platform, kind of evidence) are left out. The
    findings are sorted: regressions, then recovered ones, then improvements, the largest first.
    Raises ``BadInput`` if a run is given twice.
    """
    nights = [night for night in earlier if night.fleet == tonight.fleet]
    nights = [*sorted(nights, key=lambda night: night.run_id), tonight]
    if len({night.run_id for night in nights}) < len(nights):
        raise BadInput("the same run is given twice", where=tonight.run_id)
    values = series_of(nights)
    long = {key: found for key, found in values.items() if len(found) >= FEWEST_NIGHTS}
    search = Search([track(key, found) for key, found in long.items()], rules)
    changes = list(search.changes())
    every = [
        _finding(c, nights, _until_lost_again(c, changes, long), search.tests) for c in changes
    ]
    found = joined(_without_way_back(every, rules), [night.run_id for night in nights], long)
    return Trend(
        fleet=tonight.fleet,
        nights=tuple(night.run_id for night in nights),
        findings=tuple(sorted(found, key=_weight)),
        judged=len(long),
        too_few=len(values) - len(long),
        tests=search.tests,
    )


def series_of(nights: Sequence[Night]) -> dict[SeriesKey, dict[int, float]]:
    """Every series -> number of the night -> value, in a fixed order."""
    found: dict[SeriesKey, dict[int, float]] = {}
    for number, night in enumerate(nights):
        for key, value in night.values.items():
            found.setdefault(key, {})[number] = value
    return {key: found[key] for key in sorted(found, key=lambda key: key.order)}


def _until_lost_again(
    change: LevelChange, changes: Sequence[LevelChange], values: Values
) -> Values:
    """The values that decide on a recovery: those before the next loss that follows a gain."""
    later = [c for c in changes if c.scope == change.scope and c.at >= change.until]
    gains = [c.at for c in later if c.effect > 0]
    ends = [c.at for c in later if c.effect < 0 and gains and c.at > min(gains)]
    if not ends:
        return values
    kept = {key: values[key] for key in change.went_along}
    return {k: {n: v for n, v in found.items() if n < min(ends)} for k, found in kept.items()}


def _finding(
    change: LevelChange, nights: Sequence[Night], values: Values, tests: int
) -> TrendFinding:
    moves = tuple(_movement(key, values[key], change) for key in change.went_along)
    worse = -math.expm1(change.effect)
    verdict = _verdict(change, values)
    return TrendFinding(
        verdict=verdict,
        kind=change.kind,
        scope=change.scope,
        since=nights[change.at].run_id,
        nights=change.until - change.at,
        worse=worse,
        chance=min(1.0, change.chance * tests),
        series=moves,
        of=change.of,
        recovered=nights[_recovered(change, values)].run_id if verdict == RECOVERED else "",
    )


def _recovered(change: LevelChange, values: Values) -> int:
    """The first night after the last one on which half of the loss or more was left."""
    by_night: dict[int, list[float]] = {}
    for key in change.went_along:
        before = statistics.median(
            v for n, v in values[key].items() if change.start <= n < change.at
        )
        for night, value in values[key].items():
            by_night.setdefault(night, []).append(_share_left(key, before, value, change))
    later = [night for night in sorted(by_night) if night >= change.until] or [max(by_night)]
    return next((n for n in later if statistics.median(by_night[n]) < _HALF), later[-1])


def _without_way_back(found: Sequence[TrendFinding], rules: Rules) -> list[TrendFinding]:
    """The findings without the improvements that only end a loss: its recovery is reported."""
    left: dict[tuple[TrendScope, str], float] = {}
    for one in found:
        if one.recovered:
            end = (one.scope, one.recovered)
            left[end] = left.get(end, 1.0) * (1 - one.worse)

    def is_more(one: TrendFinding) -> bool:
        lost = left.get((one.scope, one.since))
        return lost is None or lost * (1 - one.worse) - 1 > rules.min_change

    return [one for one in found if one.verdict != IMPROVEMENT or is_more(one)]


def _movement(key: SeriesKey, values: Mapping[int, float], change: LevelChange) -> Movement:
    """The medians of the two levels; for a drift, of the first and the last third of its nights."""
    inside = [(night, v) for night, v in values.items() if change.start <= night < change.until]
    if change.kind == DRIFT:
        third = max(len(inside) // 3, 1)
        early, late = [v for _, v in inside[:third]], [v for _, v in inside[-third:]]
    else:
        early = [v for night, v in inside if night < change.at]
        late = [v for night, v in inside if night >= change.at]
    return Movement(key, statistics.median(early), statistics.median(late))


def _verdict(change: LevelChange, values: Values) -> str:
    if change.effect > 0:
        return IMPROVEMENT
    left = statistics.median(_left(key, values[key], change) for key in change.went_along)
    return REGRESSION if left >= _HALF else RECOVERED


def _left(key: SeriesKey, values: Mapping[int, float], change: LevelChange) -> float:
    """The share of the loss that is left on the latest three nights: 1 is all, 0 is none.

    Only nights since the change count. A drift has no end, so all of it is left.
    """
    if change.kind == DRIFT:
        return 1.0
    inside = {night: v for night, v in values.items() if night >= change.start}
    before = statistics.median(v for night, v in inside.items() if night < change.at)
    latest = [v for night, v in inside.items() if night >= change.at][-3:]
    return _share_left(key, before, statistics.median(latest), change)


def _share_left(key: SeriesKey, before: float, now: float, change: LevelChange) -> float:
    sign = -1.0 if key.lower_is_better else 1.0
    return sign * math.log(before / now) / -change.effect


def _weight(finding: TrendFinding) -> tuple[int, float, str]:
    order = (REGRESSION, RECOVERED, IMPROVEMENT)
    return order.index(finding.verdict), -abs(finding.worse), str(finding.scope)
