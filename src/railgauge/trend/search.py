"""Search for changes from the widest scope to single series, subtracting each one found. Pure.

Example: all series of ``mx03`` lost 10 % on night 12, one of them 25 %. The search reports the node
with the 10 % and subtracts it; what is left of the one series is reported as its own change.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from railgauge.trend import change
from railgauge.trend.change import Asked, Beside, Slope, Step
from railgauge.trend.kin import beside
from railgauge.trend.scopes import alone, families, shared_scopes
from railgauge.trend.values import (
    DRIFT,
    FEWEST_NIGHTS,
    NIGHTS_AFTER_ALONE,
    NIGHTS_AFTER_SHARED,
    STEP,
    Rules,
    SeriesKey,
    TrendScope,
)

# A series follows its scope if it moved by at least half as much. If it moved by more than one and
# a half times as much, only the scope's move is subtracted; a narrower scope can find the rest.
_ALONG, _BEYOND = 0.5, 1.5
# A change of a single step of the last printed digit may be rounding.
DIGITS_MIN = 2


@dataclass
class Track:
    """One series during the search: night -> logarithm, without the changes already found.

    A larger logarithm is better. ``digit`` is the size of the last printed digit as a share of the
    value.
    """

    key: SeriesKey
    points: dict[int, float]
    digit: float

    @property
    def values(self) -> list[float]:
        return list(self.points.values())


@dataclass(frozen=True, slots=True)
class LevelChange:
    """A change of level of one scope. ``at`` is the first night of the new level.

    ``effect`` is a logarithm, negative for the worse. ``start`` is the first night of the level
    before, ``until`` the night after the last one of the new level. ``went_along`` are the series
    that follow the change, ``of`` is the number of series measured on both levels.
    """

    scope: TrendScope
    kind: str
    at: int
    start: int
    until: int
    effect: float
    chance: float
    went_along: tuple[SeriesKey, ...]
    of: int


def track(key: SeriesKey, values: Mapping[int, float]) -> Track:
    """Return the series prepared for the search; ``values`` by night, in order."""
    sign = -1.0 if key.lower_is_better else 1.0
    points = {night: sign * math.log(value) for night, value in values.items()}
    return Track(key, points, last_digit(values.values()) / statistics.median(values.values()))


def last_digit(values: Iterable[float]) -> float:
    """The size of the last printed digit: 0.01 for 1.15, and 1 for 45 and for 400."""
    places = (Decimal(repr(value)).normalize().as_tuple().exponent for value in values)
    return 10.0 ** min(0, *(place for place in places if isinstance(place, int)))


class Search:
    """One search of every scope. It subtracts each change that it finds from the tracks."""

    def __init__(self, tracks: Sequence[Track], rules: Rules) -> None:
        self._rules = rules
        self._tracks = {t.key: t for t in tracks if len(t.points) >= FEWEST_NIGHTS}
        self._scopes = shared_scopes(self._tracks)
        self._noises = _noises(self._tracks.values())

    @property
    def tests(self) -> int:
        """The number of tests: for a step and a drift of every scope and every series."""
        return 2 * (len(self._scopes) + len(self._tracks))

    def changes(self) -> Iterator[LevelChange]:
        """Every change, the widest scope first."""
        for family in families(self._scopes):
            of = {s: [self._tracks[key] for key in self._scopes[s]] for s in family}
            together = {scope: _together(tracks) for scope, tracks in of.items()}
            kin = dict(zip(family, beside(list(together.values())), strict=True))
            for scope, tracks in of.items():
                yield from self._of_scope(scope, tracks, kin[scope])
        for series in _by_measured(self._tracks.values()):
            kins = beside([one.points for one in series])
            for one, kin_of_one in zip(series, kins, strict=True):
                yield from self._of_series(one, kin_of_one)

    def _of_scope(
        self, scope: TrendScope, tracks: Sequence[Track], kin: Beside | None
    ) -> Iterator[LevelChange]:
        points = _together(tracks)
        asked = self._asked(NIGHTS_AFTER_SHARED, 0.0, self._rules.min_change)
        for found in self._find(scope, points, asked, kin):
            moves = {t.key: _move(t.points, found) for t in tracks}
            with_both = {key: move for key, move in moves.items() if move is not None}
            along = {k: m for k, m in with_both.items() if _goes_along(m, found.effect)}
            if len(along) > 1 and len(along) >= self._rules.shared * len(with_both):
                for key, move in along.items():
                    _take_out(self._tracks[key], found, move)
                yield replace(found, went_along=tuple(along), of=len(with_both))

    def _of_series(self, one: Track, kin: Beside | None) -> Iterator[LevelChange]:
        noise = max(self._noises[one.key.measured], one.digit / 2)
        least = max(self._rules.min_change, DIGITS_MIN * one.digit)
        asked, scope = self._asked(NIGHTS_AFTER_ALONE, noise, least), alone(one.key)
        for found in self._find(scope, one.points, asked, kin):
            yield replace(found, went_along=(one.key,), of=1)

    def _asked(self, after: int, noise: float, least: float) -> Asked:
        allowed = self._rules.false_alarm_rate / self.tests
        return Asked(after, noise, allowed, -math.log1p(-least))

    def _find(
        self, scope: TrendScope, points: Mapping[int, float], asked: Asked, kin: Beside | None
    ) -> list[LevelChange]:
        """The steps, or the drift if its line leaves smaller deviations than the steps."""
        nights, values = list(points), list(points.values())
        if len(values) < FEWEST_NIGHTS:
            return []
        steps = change.steps(values, asked, kin)
        slope = change.slope(values, asked.allowed)
        if slope.chance <= asked.allowed and abs(slope.effect) >= asked.effect_min:
            left = change.left_by_slope(values, slope)
            if not steps or left <= change.left_by_steps(values, steps):
                return [_drift(scope, nights, slope)]
        return _levels(scope, nights, steps)


def _by_measured(tracks: Iterable[Track]) -> list[list[Track]]:
    """Those of one metric and size."""
    found: dict[object, list[Track]] = {}
    for one in tracks:
        found.setdefault((one.key.measured, one.key.size_bytes), []).append(one)
    return list(found.values())


def _noises(tracks: Iterable[Track]) -> dict[tuple[str, str], float]:
    """Metric -> the median noise of its series, since one series may be quiet by chance."""
    by_metric: dict[tuple[str, str], list[float]] = {}
    for one in tracks:
        by_metric.setdefault(one.key.measured, []).append(change.noise_of(one.values))
    return {measured: statistics.median(noises) for measured, noises in by_metric.items()}


def _together(tracks: Sequence[Track]) -> dict[int, float]:
    """Night -> the median over the series of the distance from their own medians.

    Nights with fewer than half of the series are left out.
    """
    by_night: dict[int, list[float]] = {}
    for one in tracks:
        middle = statistics.median(one.values)
        for night, value in one.points.items():
            by_night.setdefault(night, []).append(value - middle)
    enough = {n: found for n, found in sorted(by_night.items()) if 2 * len(found) >= len(tracks)}
    return {night: statistics.median(found) for night, found in enough.items()}


def _levels(scope: TrendScope, nights: list[int], steps: Sequence[Step]) -> list[LevelChange]:
    starts = [0, *(step.at for step in steps)]
    ends = [*(step.at for step in steps[1:]), len(nights)]
    bounds = [*nights, nights[-1] + 1]
    return [
        LevelChange(
            scope, STEP, bounds[s.at], bounds[start], bounds[end], s.effect, s.chance, (), 0
        )
        for s, start, end in zip(steps, starts, ends, strict=False)
    ]  # fmt: skip


def _drift(scope: TrendScope, nights: list[int], slope: Slope) -> LevelChange:
    first, end = nights[0], nights[-1] + 1
    return LevelChange(scope, DRIFT, first, first, end, slope.effect, slope.chance, (), 0)


def _move(points: Mapping[int, float], found: LevelChange) -> float | None:
    """The move of a series at a change; ``None`` if it was not measured on both sides."""
    inside = {n: v for n, v in points.items() if found.start <= n < found.until}
    if found.kind == DRIFT:
        return change.rise(list(inside.values())) if len(inside) > 1 else None
    before = [value for night, value in inside.items() if night < found.at]
    after = [value for night, value in inside.items() if night >= found.at]
    return statistics.median(after) - statistics.median(before) if before and after else None


def _goes_along(move: float, effect: float) -> bool:
    return move / effect >= _ALONG


def _take_out(one: Track, found: LevelChange, move: float) -> None:
    """Subtract a change from one series: its own move, or the scope's if its own is far larger."""
    taken = move if move / found.effect <= _BEYOND else found.effect
    span = max(found.until - 1 - found.start, 1)
    for night in one.points:
        if found.kind == DRIFT:
            one.points[night] -= taken * (night - found.start) / span
        elif night >= found.at:
            one.points[night] -= taken
