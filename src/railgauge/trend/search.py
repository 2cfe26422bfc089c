"""The search: from the widest scope to the single series, each change found is taken out. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from railgauge.trend import change
from railgauge.trend.change import Slope, Step
from railgauge.trend.scopes import alone, shared_scopes
from railgauge.trend.values import (
    DRIFT,
    FEWEST_NIGHTS,
    NIGHTS_AFTER_ALONE,
    NIGHTS_AFTER_SHARED,
    STEP,
    FindingScope,
    Rules,
    SeriesKey,
)

# A series goes along with its scope if it moved by half as much; what it moved beyond half as much
# again is its own, and left for a narrower scope to find.
_ALONG, _BEYOND = 0.5, 1.5
# Steps of the last printed digit are rounding until there are more than one of them.
_DIGITS_MIN = 2


@dataclass
class Track:
    """One series as it is searched: logarithms by night, better upwards, less what was found.

    ``digit`` is the size of the last printed digit as a share of the value.
    """

    key: SeriesKey
    points: dict[int, float]
    digit: float

    @property
    def values(self) -> list[float]:
        return list(self.points.values())


@dataclass(frozen=True, slots=True)
class LevelChange:
    """What was found of a scope. ``at`` is the first night of the new level.

    ``effect`` is a logarithm, negative for the worse. ``until`` is the night after the last one of
    that level; ``went_along`` are the series that moved alike.
    """

    scope: FindingScope
    kind: str
    at: int
    start: int
    until: int
    effect: float
    chance: float
    went_along: tuple[SeriesKey, ...]
    of: int


def track(key: SeriesKey, values: Mapping[int, float]) -> Track:
    """A series ready to be searched; ``values`` by night, in order."""
    sign = -1.0 if key.lower_is_better else 1.0
    points = {night: sign * math.log(value) for night, value in values.items()}
    return Track(key, points, _digit(values.values()) / statistics.median(values.values()))


def _digit(values: Iterable[float]) -> float:
    """The size of the last digit that was printed: 0.01 for 1.15, and 1 for 45."""
    places = (Decimal(repr(value)).normalize().as_tuple().exponent for value in values)
    return 10.0 ** min(place for place in places if isinstance(place, int))


class Search:
    """Looks at every scope once. The tracks are changed on the way: what was found is taken out."""

    def __init__(self, tracks: Sequence[Track], rules: Rules) -> None:
        self._rules = rules
        self._tracks = {t.key: t for t in tracks if len(t.points) >= FEWEST_NIGHTS}
        self._scopes = shared_scopes(self._tracks)
        self._kin_noise = _kin_noise(self._tracks.values())

    @property
    def tests(self) -> int:
        """Two questions, step and drift, of every scope and every series."""
        return 2 * (len(self._scopes) + len(self._tracks))

    def changes(self) -> Iterator[LevelChange]:
        """Every change, the widest scope first."""
        for scope, keys in self._scopes.items():
            yield from self._of_scope(scope, [self._tracks[key] for key in keys])
        for one in self._tracks.values():
            yield from self._of_series(one)

    def _of_scope(self, scope: FindingScope, tracks: Sequence[Track]) -> Iterator[LevelChange]:
        points = _together(tracks)
        for found in self._find(scope, points, NIGHTS_AFTER_SHARED, 0.0, self._rules.min_change):
            moves = {t.key: _move(t.points, found) for t in tracks}
            with_both = {key: move for key, move in moves.items() if move is not None}
            along = {k: m for k, m in with_both.items() if _goes_along(m, found.effect)}
            if len(along) > 1 and len(along) >= self._rules.shared * len(with_both):
                for key, move in along.items():
                    _take_out(self._tracks[key], found, move)
                yield replace(found, went_along=tuple(along), of=len(with_both))

    def _of_series(self, one: Track) -> Iterator[LevelChange]:
        noise = max(self._kin_noise[one.key.measured], one.digit / 2)
        least = max(self._rules.min_change, _DIGITS_MIN * one.digit)
        scope = alone(one.key)
        for found in self._find(scope, one.points, NIGHTS_AFTER_ALONE, noise, least):
            yield replace(found, went_along=(one.key,), of=1)

    def _find(
        self,
        scope: FindingScope,
        points: Mapping[int, float],
        after: int,
        noise: float,
        least: float,
    ) -> list[LevelChange]:
        """Steps, or a drift where a line leaves less than they do."""
        nights, values = list(points), list(points.values())
        if len(values) < FEWEST_NIGHTS:
            return []
        allowed = self._rules.false_alarm_rate / self.tests
        effect_min = -math.log1p(-least)
        steps = change.steps(values, after, noise, allowed, effect_min)
        slope = change.slope(values)
        if slope.chance <= allowed and abs(slope.effect) >= effect_min:
            left = change.left_by_slope(values, slope)
            if not steps or left <= change.left_by_steps(values, steps):
                return [_drift(scope, nights, slope)]
        return _levels(scope, nights, steps)


def _kin_noise(tracks: Iterable[Track]) -> dict[tuple[str, str], float]:
    """By metric, the noise that half of its series exceed: one series is not quiet by chance."""
    by_metric: dict[tuple[str, str], list[float]] = {}
    for one in tracks:
        by_metric.setdefault(one.key.measured, []).append(change.noise_of(one.values))
    return {measured: statistics.median(noises) for measured, noises in by_metric.items()}


def _together(tracks: Sequence[Track]) -> dict[int, float]:
    """By night, the median over the series of how far each is from its own median.

    Only nights that half of the series have: on others too few speak for the scope.
    """
    by_night: dict[int, list[float]] = {}
    for one in tracks:
        middle = statistics.median(one.values)
        for night, value in one.points.items():
            by_night.setdefault(night, []).append(value - middle)
    enough = {n: found for n, found in sorted(by_night.items()) if 2 * len(found) >= len(tracks)}
    return {night: statistics.median(found) for night, found in enough.items()}


def _levels(scope: FindingScope, nights: list[int], steps: Sequence[Step]) -> list[LevelChange]:
    starts = [0, *(step.at for step in steps)]
    ends = [*(step.at for step in steps[1:]), len(nights)]
    bounds = [*nights, nights[-1] + 1]
    return [
        LevelChange(
            scope, STEP, bounds[s.at], bounds[start], bounds[end], s.effect, s.chance, (), 0
        )
        for s, start, end in zip(steps, starts, ends, strict=False)
    ]  # fmt: skip


def _drift(scope: FindingScope, nights: list[int], slope: Slope) -> LevelChange:
    first, end = nights[0], nights[-1] + 1
    return LevelChange(scope, DRIFT, first, first, end, slope.effect, slope.chance, (), 0)


def _move(points: Mapping[int, float], found: LevelChange) -> float | None:
    """How far a series moved by the same change; ``None`` if it was not measured on both sides."""
    inside = {n: v for n, v in points.items() if found.start <= n < found.until}
    if found.kind == DRIFT:
        return change.slope(list(inside.values())).effect if len(inside) > 1 else None
    before = [value for night, value in inside.items() if night < found.at]
    after = [value for night, value in inside.items() if night >= found.at]
    return statistics.median(after) - statistics.median(before) if before and after else None


def _goes_along(move: float, effect: float) -> bool:
    return move / effect >= _ALONG


def _take_out(one: Track, found: LevelChange, move: float) -> None:
    """Undo the change in one series: its own move, unless that is far more than the scope's."""
    taken = move if move / found.effect <= _BEYOND else found.effect
    span = max(found.until - 1 - found.start, 1)
    for night in one.points:
        if found.kind == DRIFT:
            one.points[night] -= taken * (night - found.start) / span
        elif night >= found.at:
            one.points[night] -= taken
