"""Examples of limits: the document's figures pass, and what is just beyond the limit fails.

A row whose figures are those of a broken machine has them under ``bad``: these fail together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from document_holders import Unheld, limits_of
from document_lines import Line
from example_facts import NODES, Surveyed

from railgauge.config.thresholds import Measurement, Platform, limit_for
from railgauge.core.errors import RailgaugeError
from railgauge.core.limits import Limit
from railgauge.core.model import Case, Judgement, Outcome, Pairing, Parsed, Sample
from railgauge.core.units import convert, dimension, parse_size
from railgauge.judging import assess
from railgauge.planning import plan
from railgauge.tools import declared_metric
from railgauge.tools.metric import SWEEP

_HEALTHY, _BAD = (Outcome.PASSED, Outcome.MARGINAL), (Outcome.FAILED,)
_BEYOND, _WITHIN = 0.001, 0.02  # of the bound
_AT_NODES = {"node": 1, "group": 3}

# ``390.66 Gb/s at 256 KiB``, ``315 to 336 GB/s``, ``392.25 at 8 MiB``
_FIGURE = re.compile(
    r"([0-9][0-9.]*)(?: (GB/s|Gb/s|MiB/s|us)\b)?(?: at (\d+ [KMG]?i?B))?(?=( to| and)?)"
)


@dataclass(frozen=True)
class Figure:
    """A figure of a document; ``size_bytes`` is ``None`` if it names none."""

    value: float
    unit: str
    size_bytes: int | None


def figures(text: str) -> Iterator[Figure]:
    """Yield the figures of a line.

    One without a unit has that of the next or last figure, if it has a size or begins a range.
    """
    found = list(_FIGURE.finditer(text))
    units = [match[2] or "" for match in found]
    for number, match in enumerate(found):
        unit = units[number]
        if not unit and (match[3] or match[4]):
            unit = next(filter(None, [*units[number:], *units[:number]]), "")
        size = parse_size(match[3].replace(" ", "")) if match[3] else None
        if unit:
            yield Figure(float(match[1].rstrip(".")), unit, size)


def limit(line: Line, on: Platform, healthy: Surveyed, words: Sequence[str]) -> None:
    """Judge the figures of the row by each limit that it names, and a value just beyond it."""
    name, metric, *where = words
    measurement = on.measurements[name]
    wanted = next((parse_size(word) for word in where if word[0].isdigit()), None)
    for one in limits_of(measurement, line.document, metric, *where):
        asked = _Asked(on, measurement, one, wanted, healthy)
        _hold(asked, line)


def _hold(asked: _Asked, line: Line) -> None:
    found = asked.own(list(figures(line.bad or line.figure)))
    size = asked.size_bytes(found)
    own = [asked.value(one) for one in found if one.size_bytes in (size, None)]
    bound, sign = asked.bound(size), 1 if asked.is_ceiling else -1
    _refuse(asked, line, [bound * (1 - sign * _WITHIN)], size, _HEALTHY)
    _refuse(asked, line, [bound * (1 + sign * _BEYOND)], size, _BAD)
    if own:
        _refuse(asked, line, own, size, _BAD if line.bad else _HEALTHY)


def _refuse(
    asked: _Asked, line: Line, values: list[float], size: int | None, unless: tuple[Outcome, ...]
) -> None:
    printed = asked.judged(values, size)
    if printed.outcome not in unless:
        raise Unheld(f"{line}: {values} {asked.limit.unit}: {printed.outcome} {printed.reason}")


@dataclass(frozen=True)
class _Asked:
    on: Platform
    measurement: Measurement
    limit: Limit
    wanted: int | None
    healthy: Surveyed

    @property
    def per(self) -> str:
        """How the metric is asserted."""
        return next(a.per for a in self.measurement.asserts if a.metric == self.limit.metric)

    @property
    def is_ceiling(self) -> bool:
        metric = declared_metric(self.measurement.tool, self.limit.metric)
        assert metric is not None
        return metric.lower_is_better

    @property
    def levels(self) -> list[str]:
        """The levels that have the paths of the limit, and the sweep that it averages over."""
        over = self.limit.over
        made = self.measurement.extents
        alike = [name for name in made if over is None or made[name].sizes == over.sizes]
        return [name for name in alike if self._paths(name)]

    def own(self, found: Sequence[Figure]) -> list[Figure]:
        """The figures that this limit is about: in its unit, and at the size asked for.

        A figure without a size is of the sizes asked for if no other figure names its size.
        """
        sized = any(one.size_bytes is not None for one in found)
        return [
            one
            for one in found
            if dimension(one.unit) == dimension(self.limit.unit) and self._is_at(one, sized=sized)
        ]

    def _is_at(self, one: Figure, *, sized: bool) -> bool:
        if one.size_bytes is None:
            return self.wanted is None or not sized
        if self.wanted is None:
            return one.size_bytes in self._sizes()
        return one.size_bytes == self.wanted

    def value(self, one: Figure) -> float:
        return convert(one.value, one.unit, self.limit.unit)

    def size_bytes(self, found: Sequence[Figure]) -> int | None:
        """The size to judge: the one asked for, that of the figures, or one of the limit's."""
        if self.per != "size":
            return None
        sizes = [one.size_bytes for one in found if one.size_bytes is not None]
        return self.wanted if self.wanted is not None else [*sizes, *self._sizes()][0]

    def _sizes(self) -> list[int]:
        """The largest first: the document's figures without a size are of the plateau."""
        every = {size for name in self.levels for size in self.measurement.extents[name].sizes}
        return [size for size in sorted(every, reverse=True) if self._is_own(size)]

    def _is_own(self, size: int) -> bool:
        metric, path = self.limit.metric, self._path(self.levels[-1])
        if metric not in self.measurement.asserted("size", size):
            return False
        try:
            return limit_for(self.measurement, metric, path, size).pointer == self.limit.pointer
        except RailgaugeError:
            return False

    def _path(self, level: str) -> Pairing | None:
        return self._paths(level)[0]

    def _paths(self, level: str) -> list[Pairing | None]:
        kinds = self.limit.pairings
        found = plan.paths(self.on, self.measurement, level)
        return [one for one in found if not kinds or (one and one.distance in kinds)]

    def bound(self, size: int | None) -> float:
        """The bound as it is judged: of a share of the hardware what it comes to."""
        printed = self.judged([1e9 if self.is_ceiling else 1e-9], size)
        found = printed.ceiling if self.is_ceiling else printed.floor
        assert found is not None
        return found

    def judged(self, values: Sequence[float], size: int | None) -> Judgement:
        """The judgement of a run that prints these values at ``size``."""
        if self.per == "ratio":
            return self._of_two(values)
        level = next(
            name
            for name in self.levels
            if size is None or size in self.measurement.extents[name].sizes
        )
        extent = self.measurement.extents[level]
        nodes = NODES[: _AT_NODES.get(str(self.measurement.scope), 2)]
        case = Case(self.measurement.name, nodes, self._path(level), extent.sizes)
        placement = {"gpu": "gpu0", "link": "gpu0>gpu1"}.get(self.per)
        run = self._run(values, size, placement, extent.sizes)
        measured = assess.Measured(case, self.measurement, (run,), ((),))
        found = assess.limits(self.on, measured, size, placement, self.healthy.found)
        own = [one for one in found.judgements if one.pointer == self.limit.pointer]
        if not own:
            raise Unheld(f"{self.limit.pointer}: {'; '.join(map(str, found.errors))}")
        return own[0]

    def _run(
        self, values: Sequence[float], size: int | None, placement: str | None,
        sizes: tuple[int, ...],
    ) -> Parsed:  # fmt: skip
        """A run with as many rows as it must have to show whether iterations are alike."""
        tool, (metric, _, side) = self.measurement.tool, self.limit.metric.partition("/")
        declared = declared_metric(tool, metric)
        assert declared is not None
        if declared.per == SWEEP:
            rows = tuple(Sample("busbw", self.limit.unit, 1.0, one) for one in sizes)
            return Parsed(tool, None, rows, {metric: float(values[0])})
        cycles = self.measurement.options.get("cycles", 1)
        count = max(len(values), cycles if isinstance(cycles, int) else 1)
        rows = tuple(
            Sample(metric, self.limit.unit, values[n % len(values)], size, n, placement or side)
            for n in range(count)
        )
        return Parsed(tool, None, rows, {})

    def _of_two(self, values: Sequence[float]) -> Judgement:
        """The judgement of a measurement that reaches ``values`` times what the other one does."""
        (asserted,) = (a for a in self.measurement.asserts if a.metric == self.limit.metric)
        other = self.on.measurements[asserted.over]
        reached = _one_value(self.measurement, asserted.of, values[0])
        of_other = _one_value(other, asserted.by or asserted.of, 1.0)
        (found,) = assess.ratio(reached, of_other, asserted.of).judgements
        return found


def _one_value(measurement: Measurement, name: str, value: float) -> assess.Measured:
    """A run of the measurement that prints one value of the metric."""
    metric, _, placement = name.partition("/")
    rows = (Sample(metric, "1/s", value, None, 0, placement or None),)
    case = Case(measurement.name, NODES[:1], None, ())
    return assess.Measured(case, measurement, (Parsed(measurement.tool, None, rows),), ((),))
