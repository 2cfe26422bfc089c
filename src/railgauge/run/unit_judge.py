"""Judges the units of a ladder by their evidence, and holds the gates that they close. Pure.

The engine uses it while it measures, and the judgement of a soak's round uses it afterwards.

Example: ``errors[a]`` fails, so that the bandwidth of ``a:b`` is blocked by it. A collective on
``a`` is blocked too, but may still be measured, to check its results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from railgauge.config.thresholds import Measurement, Platform
from railgauge.core.model import Case, Outcome
from railgauge.core.question import READ, Question
from railgauge.diagnosis import OPEN, Cause, RunResults, diagnose, nodes_of
from railgauge.diagnosis.model import WENT_WRONG
from railgauge.judging import by_evidence
from railgauge.judging.assessor import Assessor
from railgauge.judging.correctness import CORRUPTION, checks_results
from railgauge.judging.gates import Gates, ended
from railgauge.judging.record import ItemRecord
from railgauge.planning import plan
from railgauge.planning.work_queue import Unit
from railgauge.run import storage
from railgauge.run.decided import Decision
from railgauge.run.ladder import LadderRow

_PAIR = 2
# A node that fails with more than four partners is the likeliest suspect, and each more partner
# would cost the diagnosis more evidence to read.
_MOST = 1 + 4

Decided = Mapping[Case, Decision]
"""The decision about each case of a unit; empty for a node's facts, which are not measured."""


JudgedRow = tuple[LadderRow, ItemRecord]
"""A row, and its item as the evidence gives it."""


class Units(Protocol):
    """What is measured: the ladder of a run, or a round of a soak."""

    @property
    def units(self) -> Sequence[Unit]:
        """In the order in which they are measured, as far as their nodes are free."""

    def cases(self, unit: Unit) -> tuple[Case, ...]:
        """The measurements of a unit's items."""

    def compared(self, unit: Unit) -> tuple[Case, ...]:
        """The other measurements that a unit makes, with which its items compare theirs."""

    def gated(self, unit: Unit) -> tuple[str, ...]:
        """The nodes whose gates a unit passes and may close."""

    def is_below_others(self, unit: Unit) -> bool:
        """Whether a gate may ask how the items of a unit ended."""

    def rows(self, unit: Unit) -> Iterator[LadderRow]:
        """The rows of a unit, each with the questions that it asks."""


@dataclass(frozen=True, slots=True)
class Judging:
    """What units are judged by.

    ``most_wrong`` is the number of failed items at which the run stops; 0 for no such number.
    ``results_of`` makes the diagnosis's input from records; without it no diagnosis opens a gate.
    ``for_items`` is the assessor that keeps its answers for the items of this process; ``None`` if
    these do not ask, so that units are judged only as far as gates need it.
    """

    platform: Platform
    assessor: Assessor
    no_gates: bool = False
    most_wrong: int = 0
    results_of: Callable[[Mapping[str, ItemRecord]], RunResults] | None = None
    for_items: Assessor | None = None

    @property
    def of_units(self) -> Assessor:
        """The assessor by which units are judged when they were measured."""
        return self.for_items or self.assessor


class UnitJudge:
    """The gates of a ladder, and the judgement of its units."""

    def __init__(self, work: Units, judging: Judging) -> None:
        self._work, self._judging, self._gates = work, judging, Gates()
        self._pairs: dict[str, ItemRecord] = {}
        self._left: dict[tuple[str, ...], tuple[str, ...]] = {}

    def know(self, records: Iterable[ItemRecord]) -> None:
        """Take items that ended before the ladder began, as its lowest ones."""
        for place, record in enumerate(records):
            nodes = plan.gate_nodes(self._judging.platform, record.subject, record.nodes)
            self._note(record, place, nodes)

    def blockers(self, unit: Unit) -> tuple[str, ...]:
        """The ids of the items that keep a unit from being measured."""
        if self._judging.no_gates or not unit.case:
            return ()
        return self._gates.blockers(unit.rung, self._work.gated(unit))

    def partners(self, unit: Unit, blockers: Sequence[str]) -> tuple[str, ...]:
        """The other nodes of the failed pairs that alone block a unit of one node.

        Once the lower rungs of these nodes were judged as well, ``unexplained`` may open the gate.
        """
        if not (blockers and self._judging.results_of and self._pairs.keys() >= {*blockers}):
            return ()
        if len(self._work.gated(unit)) != 1:
            return ()
        nodes = sorted({node for one in blockers for node in self._pairs[one].nodes})
        return tuple(nodes) if len(nodes) <= _MOST else ()

    def unexplained(
        self, unit: Unit, blockers: tuple[str, ...], known: Callable[[Case], Decision | None]
    ) -> tuple[str, ...]:
        """The failed pairs whose cause is not known to lie on another node than that of the unit.

        ``known`` gives what was decided of a case.
        """
        (node,) = self._work.gated(unit)
        key = (node, *blockers)
        if key not in self._left:
            records = {one.id: one for one in self._around(blockers, known)}
            assert self._judging.results_of
            causes = diagnose(self._judging.results_of(records))
            self._left[key] = still_blocking(node, blockers, causes)
        return self._left[key]

    def _around(
        self, blockers: Sequence[str], known: Callable[[Case], Decision | None]
    ) -> Iterator[ItemRecord]:
        """The facts of the nodes of the failed pairs, and the measurements of the same kinds."""
        nodes = {node for one in blockers for node in self._pairs[one].nodes}
        kinds = {"", *(self._pairs[one].subject for one in blockers)}
        for each in self._work.units:
            if each.kind in kinds and not nodes.isdisjoint(self._work.gated(each)):
                for row in self._work.rows(each):
                    decision = known(row.case) if row.case else Decision()
                    if decision and not decision.broken:
                        yield self.judged(row, decision)

    def is_checked(self, unit: Unit) -> bool:
        """Whether a blocked unit is measured all the same, to check its results."""
        (case, *_) = self._work.cases(unit)
        return self._gates.is_checked(self._measurement(case), case.nodes)

    def judged(self, row: LadderRow, decision: Decision) -> ItemRecord:
        """The item of a row, by its evidence; behind its gate only its results are judged."""
        return self._judged(row, decision, self._judging.assessor)

    def _judged(self, row: LadderRow, decision: Decision, assessor: Assessor) -> ItemRecord:
        item = row.item
        if decision.blockers:
            checked = row.case if decision.measured else None
            item = by_evidence.blocked(item, decision.blockers, checked)
        return by_evidence.judged(item, assessor)

    def records(self, unit: Unit, decided: Decided) -> Iterator[JudgedRow]:
        """Judge the items of a unit."""
        for row in self._work.rows(unit):
            decision = decided[row.case] if row.case else Decision()
            if decision.broken:
                continue
            with _of_one_case():
                yield row, self._judged(row, decision, self._judging.of_units)

    def note(self, row: LadderRow, record: ItemRecord) -> None:
        """Let the gates above know how an item has ended."""
        self._note(record, row.place, row.gated)

    def _note(self, record: ItemRecord, place: int, gated: tuple[str, ...]) -> None:
        self._gates.note(ended(record, place, gated))
        if record.outcome in WENT_WRONG and len(gated) == _PAIR:
            self._pairs[record.id] = record

    def corruption(self, unit: Unit, decided: Decided) -> str:
        """What is wrong with the results of a unit; empty if nothing is."""
        for case in self._work.cases(unit):
            if not (decided[case].measured and checks_results(self._measurement(case).tool)):
                continue
            with _of_one_case():
                for one in self._judging.of_units.answer(Question(READ, case)).judgements:
                    if one.metric == CORRUPTION and one.outcome is Outcome.FAILED:
                        return f"data corruption: {one.reason}"
        return ""

    def _measurement(self, case: Case) -> Measurement:
        return self._judging.platform.measurements[case.measurement]


@contextmanager
def _of_one_case() -> Iterator[None]:
    """Drop an error of the suite in the block: the test of the item will raise it as well."""
    try:
        yield
    except Exception as error:
        if not is_of_one_case(error):
            raise


def is_of_one_case(error: BaseException) -> bool:
    """Whether an error may concern this case alone, and is not a lack of resources."""
    return isinstance(error, Exception) and not storage.is_lack(error)


def still_blocking(node: str, blockers: Sequence[str], causes: Iterable[Cause]) -> tuple[str, ...]:
    """The blockers of ``node`` without those whose decided causes all lie on other nodes.

    A pair that failed closes the gates of both nodes, unless one of them did well with another
    partner (``judging.gates``). The diagnosis knows more, because it compares all values of the
    nodes.

    Example: ``a`` was measured only with ``b`` and ``c``, over ``mlx5_0``, and both pairs are slow.
    The pairs of ``b`` and ``c`` with other nodes show ``slow-nic`` at both of them, so ``a`` is not
    to blame.
    """
    elsewhere, here = set[str](), set[str]()
    for cause in causes:
        nodes, shown = nodes_of(cause.where.node), {*cause.evidence, *cause.explains}
        is_elsewhere = nodes and node not in nodes and not cause.where.peer
        decided = cause.confidence != OPEN
        (elsewhere if is_elsewhere and decided else here).update(shown)
    return tuple(one for one in blockers if one in here or one not in elsewhere)
