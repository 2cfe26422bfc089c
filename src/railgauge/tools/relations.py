"""Relations between the figures of one row: a tool declares them, the collector checks them.

A column that is mistaken for another, a digit that a launcher lost or a value that was edited by
hand breaks one of them::

    >>> latency = Statistics(r"(?P<of>lat)_(?P<as>min|typical|avg|max)", 0.01)
    >>> latency.contradiction({"lat_min": 9.0, "lat_typical": 2.0, "lat_max": 1.0})
    'lat_min is 9, but lat_typical is 2'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, product
from typing import Protocol

from railgauge.core.model import Sample

_LEAST, _MIDDLE, _MOST = 0.0, 50.0, 100.0
_RANKS = {
    "min": _LEAST, "median": _MIDDLE, "typical": _MIDDLE, "max": _MOST, "peak": _MOST,
    "p100": _MOST,
}  # fmt: skip
# The name of the mean: it has no rank, and may be on either side of the median.
_MEANS = frozenset({"mean", "avg", "average", ""})
_PERCENTILE = re.compile(r"p(\d{1,2})(\d{0,3})")
# perftest prints a peak of 0 where it measured none.
_MAY_BE_ABSENT = "peak"
# Rounding of a value of six digits in a binary number.
_EDGE = 1e-6


class Relation(Protocol):
    """A relation that must hold between the figures of one row."""

    def contradiction(self, row: Mapping[str, float], size_bytes: int | None = None) -> str:
        """Return the contradiction between values of metrics; empty if there is none."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of the same thing: minimum, percentiles and maximum rise, the mean is between.

    ``pattern`` matches their names: the group ``of`` is the thing, ``as`` the statistic (``min``,
    ``p99``, ``mean``, …; nothing is the mean). ``step`` is the last printed digit.
    """

    pattern: str
    step: float

    def contradiction(
        self,
        row: Mapping[str, float],
        size_bytes: int | None = None,  # noqa: ARG002
    ) -> str:
        by_thing: dict[str, dict[str, tuple[str, float]]] = {}
        for name, value in row.items():
            thing, statistic = _parts(self.pattern, name)
            if thing is not None and not (statistic == _MAY_BE_ABSENT and value == 0):
                by_thing.setdefault(thing, {})[statistic] = name, value
        found = (self._contradiction(statistics) for statistics in by_thing.values())
        return next(filter(None, found), "")

    def _contradiction(self, statistics: Mapping[str, tuple[str, float]]) -> str:
        ranked = sorted(
            (rank, *statistics[name]) for name in statistics if (rank := _rank(name)) is not None
        )
        means = [statistics[name] for name in statistics if name in _MEANS]
        least = [(name, value) for rank, name, value in ranked if rank == _LEAST]
        most = [(name, value) for rank, name, value in ranked if rank == _MOST]
        order = [
            *pairwise((name, value) for _, name, value in ranked),
            *product(least, means),
            *product(means, most),
        ]
        for (low, less), (high, more) in order:
            if less > more + self.step + _EDGE * abs(more):
                return f"{low} is {less:g}, but {high} is {more:g}"
        return ""


_MOST_NAMES = 1024


@lru_cache(_MOST_NAMES)  # a tool has few, and prints them in each row
def _parts(pattern: str, name: str) -> tuple[str | None, str]:
    """Return the thing and the statistic that a metric's name has; ``None`` if it has none."""
    match = re.fullmatch(pattern, name)
    return (match["of"], match["as"] or "") if match else (None, "")


@lru_cache(_MOST_NAMES)
def _rank(statistic: str) -> float | None:
    """Return 0 for ``min``, 50 for ``median``, 99.9 for ``p999``; ``None`` for what has no rank."""
    percentile = _PERCENTILE.fullmatch(statistic)
    if percentile and statistic != "p100":
        return float(f"{percentile[1]}.{percentile[2] or 0}")
    return _RANKS.get(statistic)


@dataclass(frozen=True, slots=True)
class Quotient:
    """A rate is the bytes of its row over a time.

    ``scale`` is bytes per unit of the time in one unit of the rate (1e3 for GB/s and us);
    ``rate_step`` and ``time_step`` are the last printed digits.
    """

    rate: str
    time: str
    scale: float
    rate_step: float
    time_step: float

    def contradiction(self, row: Mapping[str, float], size_bytes: int | None = None) -> str:
        rate, time = row.get(self.rate), row.get(self.time)
        if rate is None or time is None or not size_bytes:
            return ""
        half = self.time_step / 2
        least = size_bytes / (time + half) / self.scale * (1 - _EDGE) - self.rate_step
        most = size_bytes / max(time - half, 1e-9) / self.scale * (1 + _EDGE) + self.rate_step
        if least <= rate <= most:
            return ""
        return f"{self.rate} is {rate:g}, but {size_bytes} bytes in {self.time} {time:g} are not"


@dataclass(frozen=True, slots=True)
class AtMost:
    """A part is at most its whole: a metric, or a number such as 1 for an efficiency."""

    part: str
    whole: str | float

    def contradiction(
        self,
        row: Mapping[str, float],
        size_bytes: int | None = None,  # noqa: ARG002
    ) -> str:
        part = row.get(self.part)
        whole = row.get(self.whole) if isinstance(self.whole, str) else self.whole
        if part is None or whole is None or part <= whole * (1 + _EDGE):
            return ""
        what = f"{self.whole} is" if isinstance(self.whole, str) else "at most"
        return f"{self.part} is {part:g}, but {what} {whole:g}"


def contradictions(samples: Iterable[Sample], relations: tuple[Relation, ...]) -> Iterable[str]:
    """Yield the contradictions of each row: the values of one size, placement and iteration."""
    if not relations:
        return
    rows: dict[tuple[int | None, str | None, int], dict[str, float]] = {}
    for one in samples:
        rows.setdefault((one.size_bytes, one.placement, one.iteration), {})[one.metric] = one.value
    for (size, placement, _), row in rows.items():
        for relation in relations:
            if what := relation.contradiction(row, size):
                where = ", ".join(filter(None, (placement, f"{size} B" if size else "")))
                yield f"{where}: {what}" if where else what
