"""From nights to findings: the pure front of the package."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence

from railgauge.core.errors import BadInput
from railgauge.trend.search import LevelChange, Search, track
from railgauge.trend.values import (
    DRIFT,
    FEWEST_NIGHTS,
    IMPROVEMENT,
    RECOVERED,
    REGRESSION,
    Finding,
    Movement,
    Night,
    Rules,
    SeriesKey,
    Trend,
)

Values = Mapping[SeriesKey, Mapping[int, float]]
_PLAIN = Rules()
_HALF = 0.5


def findings(earlier: Iterable[Night], tonight: Night, rules: Rules = _PLAIN) -> Trend:
    """What changed in the nights up to ``tonight``, of which the fleet is taken.

    Nights of another cluster, platform or kind of evidence are left out of ``earlier``. What comes
    first is worst: regressions, then what recovered, then improvements.
    """
    nights = [night for night in earlier if night.fleet == tonight.fleet]
    nights = [*sorted(nights, key=lambda night: night.run_id), tonight]
    if len({night.run_id for night in nights}) < len(nights):
        raise BadInput("the same run is given twice", where=tonight.run_id)
    values = series_of(nights)
    long = {key: found for key, found in values.items() if len(found) >= FEWEST_NIGHTS}
    search = Search([track(key, found) for key, found in long.items()], rules)
    found = [_finding(change, nights, long, search.tests) for change in search.changes()]
    return Trend(
        fleet=tonight.fleet,
        nights=tuple(night.run_id for night in nights),
        findings=tuple(sorted(found, key=_weight)),
        judged=len(long),
        too_few=len(values) - len(long),
        tests=search.tests,
    )


def series_of(nights: Sequence[Night]) -> dict[SeriesKey, dict[int, float]]:
    """Every series as value by number of the night, in a fixed order."""
    found: dict[SeriesKey, dict[int, float]] = {}
    for number, night in enumerate(nights):
        for key, value in night.values.items():
            found.setdefault(key, {})[number] = value
    return {key: found[key] for key in sorted(found, key=lambda key: key.order)}


def _finding(change: LevelChange, nights: Sequence[Night], values: Values, tests: int) -> Finding:
    moves = tuple(_movement(key, values[key], change) for key in change.went_along)
    worse = -math.expm1(change.effect)
    return Finding(
        verdict=_verdict(change, values),
        kind=change.kind,
        scope=change.scope,
        since=nights[change.at].run_id,
        nights=change.until - change.at,
        worse=worse,
        chance=min(1.0, change.chance * tests),
        series=moves,
        of=change.of,
    )


def _movement(key: SeriesKey, values: Mapping[int, float], change: LevelChange) -> Movement:
    """Medians of the levels; of a drift, of the first and the last third of its nights."""
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
    """How much of the loss there still is on the latest nights: 1 is all, 0 is none.

    Latest are as many nights as a change needs to be believed, and as there are since.
    """
    if change.kind == DRIFT:
        return 1.0
    sign = -1.0 if key.lower_is_better else 1.0
    inside = {night: v for night, v in values.items() if night >= change.start}
    before = statistics.median(v for night, v in inside.items() if night < change.at)
    latest = [v for night, v in inside.items() if night >= change.at][-3:]
    return sign * math.log(before / statistics.median(latest)) / -change.effect


def _weight(finding: Finding) -> tuple[int, float, str]:
    order = (REGRESSION, RECOVERED, IMPROVEMENT)
    return order.index(finding.verdict), -abs(finding.worse), str(finding.scope)
