"""The lines of reports: one for each item or, in a very large run, for each test at a place. Pure.

Hundreds of thousands of lines open in no browser and in no Jenkins. Beyond ``MOST_ITEMS`` a line
therefore sums the items of a test on the same nodes: how many did not pass, what they measured, and
the smallest margin of those that did. Every item keeps its record in the run's folder.

Example: 128 items of ``test_write_bandwidth`` on the pair ``a:b`` become the line
``…::test_write_bandwidth[a:b]``: "2 of 128 did not pass, first mlx5_3-64KiB: …".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from railgauge.core.model import GOOD, Judgement, Outcome
from railgauge.core.naming import place
from railgauge.core.units import format_size
from railgauge.judging.record import ItemRecord, worst
from railgauge.planning.sub_items import MOST_ITEMS, place_id
from railgauge.report.plots.plot import worst_judged
from railgauge.verdict.deviations import DeviationEffect

T = TypeVar("T")
# A line names so many of its items that did not pass, and counts the others.
_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class ReportLines:
    """The lines of a report, and how many items each of them sums.

    ``line_of`` gives the line of an item, by its id; for an item of pytest with sub-items, it
    is the first of their lines.

    ``bad`` are the items of each line that did not pass. It and ``numbers`` are empty if each item
    has a line of its own.
    """

    records: Mapping[str, ItemRecord]
    line_of: Callable[[str], str]
    numbers: Mapping[str, int] = field(default_factory=dict)
    bad: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def by_line(self, items: Mapping[str, T]) -> dict[str, T]:
        """Return the values of items by their lines; the first if several items share a line."""
        found: dict[str, T] = {}
        for item, value in items.items():
            found.setdefault(self.line_of(item), value)
        return found

    def accepted(self, deviations: Iterable[DeviationEffect]) -> dict[str, DeviationEffect]:
        """Return the deviation of each line whose failures are all accepted."""
        covered = {item: one for one in deviations for item in one.covers}
        found = self.by_line(covered).items()
        return {line: one for line, one in found if covered.keys() >= set(self.bad.get(line, ()))}


def of_run(records: Mapping[str, ItemRecord], *, has_sub_items: bool) -> ReportLines:
    """Return the lines of a run, one for each item if there are not too many of them."""
    by_place = has_sub_items or len(records) > MOST_ITEMS
    return of_places(records) if by_place else of_items(records)


def of_items(records: Mapping[str, ItemRecord]) -> ReportLines:
    """Return a line for each item."""
    return ReportLines(records, lambda item: item)


def of_places(records: Mapping[str, ItemRecord]) -> ReportLines:
    """Return a line for the items of each test on the same nodes; one alone keeps its name."""
    found: dict[str, list[ItemRecord]] = {}
    for record in records.values():
        found.setdefault(_name(record), []).append(record)
    summed = {name: _sum(name, items) for name, items in found.items()}
    firsts: dict[str, str] = {}
    for name, (first, *_) in found.items():
        of_node = _name(replace(first, nodes=first.nodes[:1])).removesuffix("]")
        firsts.setdefault(f"{of_node}:", name)

    def line_of(item: str) -> str:
        if item in records:
            return _name(records[item])
        place = place_id(item)
        return firsts.get(place, place)

    numbers = {name: len(items) for name, items in found.items()}
    bad = {name: [one.id for one in _bad(items)] for name, items in found.items()}
    return ReportLines(summed, line_of, numbers, bad)


def _name(record: ItemRecord) -> str:
    test, bracket, _ = record.id.partition("[")
    place = f"{test}[{record.member}{':'.join(record.nodes)}]"
    return place if bracket and record.nodes else record.id


def _sum(name: str, items: Sequence[ItemRecord]) -> ItemRecord:
    if len(items) == 1:
        return replace(items[0], id=name)
    bad = _bad(items)
    leading = _leading(bad) if bad else _tightest(items)
    return replace(
        leading,
        id=name,
        outcome=worst(item.outcome for item in items),
        pairing="",
        size_bytes=None,
        judgements=tuple(_judged(items)),
        reason=_reason(bad, len(items)) if bad else "",
        duration_s=_duration_s(items),
        questions=(),
    )


def _duration_s(items: Sequence[ItemRecord]) -> float:
    """How long the measurements took; items of one measurement have its time each."""
    of_measurement = {item.transcript or item.id: item.duration_s for item in items}
    return sum(of_measurement.values())


def _bad(items: Iterable[ItemRecord]) -> list[ItemRecord]:
    return [item for item in items if item.outcome not in GOOD]


def _leading(bad: Sequence[ItemRecord]) -> ItemRecord:
    """The first of the items with the worst outcome."""
    outcome = worst(item.outcome for item in bad)
    return next(item for item in bad if item.outcome is outcome)


def _tightest(items: Sequence[ItemRecord]) -> ItemRecord:
    return min(items, key=_margin)


def _margin(item: ItemRecord) -> float:
    judged = worst_judged(item)
    return float("inf") if judged is None or judged.margin is None else judged.margin


def _reason(bad: Sequence[ItemRecord], number: int) -> str:
    named = [f"{part(item)}: {item.reason or item.outcome}" for item in bad[:_MOST_NAMED]]
    more = [f"and {len(bad) - _MOST_NAMED} more"] if len(bad) > _MOST_NAMED else []
    return f"{len(bad)} of {number} not passed: {'; '.join([*named, *more])}"


def _judged(items: Sequence[ItemRecord]) -> Iterator[Judgement]:
    """The failed judgements, and for each metric the other judgement with the smallest margin."""
    failed = [(item, one) for item in items for one in item.judgements if _is_failed(one)]
    yield from (_at(item, one) for item, one in failed[:_MOST_NAMED])
    least: dict[str, tuple[ItemRecord, Judgement]] = {}
    for item in items:
        for one in item.judgements:
            held = least.get(one.metric)
            if not _is_failed(one) and (held is None or _is_less(one, held[1])):
                least[one.metric] = item, one
    yield from (_at(item, one) for item, one in least.values())


def _is_failed(judged: Judgement) -> bool:
    return judged.outcome is Outcome.FAILED


def _is_less(one: Judgement, other: Judgement) -> bool:
    return one.margin is not None and (other.margin is None or one.margin < other.margin)


def _at(item: ItemRecord, judged: Judgement) -> Judgement:
    """The judgement, with the item named in its metric."""
    return replace(judged, metric=f"{part(item)} {judged.metric}")


def part(item: ItemRecord) -> str:
    """The words that distinguish an item from the others of its test at its place."""
    size = "" if item.size_bytes is None else format_size(item.size_bytes)
    return "-".join(filter(None, (item.pairing, size))) or place(item.nodes)
