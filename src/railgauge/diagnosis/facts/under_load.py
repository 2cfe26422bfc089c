"""Items that missed limits, held against the load that was read beside their repeats. Pure.

A load explains a miss only if each repeat that missed has a reading which spans its commands and
shows the load, and if no part of its nodes missed a limit without load and reached none then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, Protocol, TypeVar

from railgauge.core.model import GOOD, Case, Judgement, Outcome, TimeSpan, Transcript
from railgauge.core.question import LIMITS
from railgauge.core.terms import BESIDE_ROLES
from railgauge.diagnosis.model import Context, missed
from railgauge.diagnosis.symptoms import Symptom, symptoms
from railgauge.judging.record import ItemRecord
from railgauge.tools.metric import LOWER

# All times are of the control host's wall clock, the only one that later runs and other machines
# can read too, and are kept to the millisecond or better. If it is set in a repeat, no reading
# spans the commands: the load is not known, and explains nothing.
_CLOCK = timedelta(milliseconds=50)
LoadedPlace = tuple[str, str]
"""A node, and one of its parts, or empty for the node as a whole."""


class LoadBeside(Protocol):
    """What was read beside a repeat."""

    @property
    def is_busy(self) -> bool: ...


_Load = TypeVar("_Load", bound=LoadBeside)
LoadReader = Callable[[tuple[Transcript, ...]], _Load | None]
"""The load beside one repeat; ``None`` without a reading that spans its commands."""


@dataclass(frozen=True, slots=True)
class LoadedItem(Generic[_Load]):
    """An item, the load of the repeats that missed, and of the others; ``None`` is not known."""

    record: ItemRecord
    missed: tuple[_Load | None, ...]
    reached: tuple[_Load | None, ...]

    @property
    def is_explained(self) -> bool:
        """Whether the load was there in every repeat that missed."""
        return all(load and load.is_busy for load in self.missed)


@dataclass(frozen=True, slots=True)
class LoadedContext(Generic[_Load]):
    """A context, and how the load beside a repeat is read."""

    context: Context
    read: LoadReader[_Load]

    def slow(self) -> list[ItemRecord]:
        """The open items of measurements that are too slow, and have no other symptom."""
        return [r for r in self.context.open if symptoms(r) == {Symptom.SLOW} and case_of(r)]

    def loads(self, record: ItemRecord) -> list[_Load | None]:
        """The load of each repeat."""
        case = case_of(record)
        result = self.context.results.kept(case) if case else None
        return [self.read(run) for run in result.runs] if result else []

    def loaded(self, record: ItemRecord) -> LoadedItem[_Load]:
        loads, case = self.loads(record), case_of(record)
        repeats = case.repeats if case else 0
        late: set[int] = set()
        for judged in missed(record):
            each = [n for n, is_slow in enumerate(_missed_repeats(judged, repeats)) if is_slow]
            # A limit on the spread of all repeats is missed by all of them.
            late.update(each or range(repeats))
        padded = [*loads, *[None] * (repeats - len(loads))]
        return LoadedItem(
            record,
            tuple(load for n, load in enumerate(padded) if n in late),
            tuple(load for n, load in enumerate(padded) if n not in late),
        )

    def explained(self, loaded: Sequence[LoadedItem[_Load]]) -> list[LoadedItem[_Load]]:
        """Those of the items whose misses the load explains."""
        faulty = self._faulty(loaded)
        return [one for one in loaded if one.is_explained and faulty.isdisjoint(places(one.record))]

    def _faulty(self, loaded: Sequence[LoadedItem[_Load]]) -> set[LoadedPlace]:
        """Places that missed a limit without load, and reached none then.

        A node of which that is true explains the misses of its partners with it.
        """
        fine = self.fine_when_quiet({one.record.subject for one in loaded})
        quiet = [one.record for one in loaded if not one.is_explained]
        whole = {(node, "") for record in quiet for node in record.nodes} - fine
        rest = [record for record in quiet if whole.isdisjoint(places(record))]
        return whole | ({place for record in rest for place in places(record)} - fine)

    def fine_when_quiet(self, subjects: Collection[str]) -> set[LoadedPlace]:
        """The places that reached the limits of these measurements without load."""
        return {
            place
            for record in self.context.results.records.values()
            if record.outcome in GOOD and record.subject in subjects and case_of(record)
            if any(load and not load.is_busy for load in self.loaded(record).reached)
            for place in places(record)
        }


def _missed_repeats(judged: Judgement, repeats: int) -> Iterator[bool]:
    """For each repeat whether it missed the limit; for all if they cannot be distinguished."""
    lower, values = judged.better == LOWER, judged.values
    limit = judged.ceiling if lower else judged.floor
    if judged.worst is None or limit is None:
        return
    if repeats < 1 or not values or len(values) % repeats:
        yield from [judged.outcome is Outcome.FAILED] * repeats
        return
    each = len(values) // repeats
    for start in range(0, len(values), each):
        some = values[start : start + each]
        yield max(some) > limit if lower else min(some) < limit


def places(record: ItemRecord) -> Iterator[LoadedPlace]:
    """Each node of the item, and what of it was measured."""
    for node in record.nodes:
        yield node, ""
        yield node, record.part_at(node)


def case_of(record: ItemRecord) -> Case | None:
    """The measurement of an item; ``None`` for one without."""
    return next((q.case for q in record.questions if q.kind == LIMITS and q.case), None)


def measured_in(run: Sequence[Transcript], reading: TimeSpan | None) -> bool:
    """Whether a reading spans all commands of the measurement."""
    commands = [one.span for one in run if one.role not in BESIDE_ROLES]
    if reading is None or not commands:
        return False
    begin, end = reading[0] - _CLOCK, reading[1] + _CLOCK
    return all(one and begin <= one[0] and one[1] <= end for one in commands)
