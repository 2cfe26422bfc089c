"""One round of a soak, measured and judged like a run: the same limits, and gates that hold.

A case that was not measured is blocked if a lower rung failed on its nodes: in this round, or for
rung 0 before it. Otherwise it is missing, and the round is incomplete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from railgauge.core.model import Case, Outcome
from railgauge.core.question import READ, CaseResult, Question
from railgauge.core.terms import Rung
from railgauge.core.units import format_size
from railgauge.diagnosis import RunResults
from railgauge.facts import FactsByNode
from railgauge.judging.assessor import Assessor
from railgauge.judging.correctness import is_corrupt
from railgauge.judging.record import ItemRecord
from railgauge.planning.required import RequiredCheck
from railgauge.planning.soak import RoundCase, SoakRounds, folder_of
from railgauge.planning.work_queue import Unit
from railgauge.run.decided import Decision
from railgauge.run.ladder import LadderRow
from railgauge.run.unit_judge import Judging, UnitJudge
from railgauge.verdict import at_end
from railgauge.verdict.telemetry import made_of as watched


@dataclass(frozen=True, slots=True)
class RoundEvidence:
    """The evidence of one round.

    ``kept`` gives a stored result, ``None`` without one, and ``text`` the path of a case's readable
    transcript in the folder of a round.
    """

    found: FactsByNode
    kept: Callable[[Case], CaseResult | None]
    text: Callable[[Case], str]

    def result(self, case: Case) -> CaseResult:
        return self.kept(case) or CaseResult(())

    def starts(self, case: Case) -> tuple[str, ...]:
        result = self.kept(case)
        return tuple(run[0].started_at for run in (result.runs if result else ()) if run)


class RoundUnits:
    """The cases of a round as units, in the order in which they are measured."""

    def __init__(self, rounds: SoakRounds, number: int, text: Callable[[Case], str]) -> None:
        """``text`` gives the path of a case's readable transcript in the folder of a round."""
        self.cases_of_round = rounds.cases(number)
        self._number, self._folder, self._text = number, folder_of(number), text
        self._nodes = tuple(node.name for node in rounds.cluster.nodes)
        self.units = tuple(self._unit(place) for place in range(len(self.cases_of_round)))

    def _unit(self, place: int) -> Unit:
        one = self.cases_of_round[place]
        # A scan of the subnet is measured alone; one that is compared with an earlier scan comes
        # last.
        rung = max(Rung) if not one.gated and _compares(one) else one.rung
        return Unit((place,), rung, one.case.nodes if one.gated else self._nodes, one.case.key)

    def of(self, unit: Unit) -> RoundCase:
        (place,) = unit.items
        return self.cases_of_round[place]

    def cases(self, unit: Unit) -> tuple[Case, ...]:
        return (self.of(unit).case,)

    def compared(self, _unit: Unit) -> tuple[Case, ...]:
        """None: the cases with which a case is compared are units of the round themselves."""
        return ()

    def gated(self, unit: Unit) -> tuple[str, ...]:
        return self.of(unit).gated

    def is_below_others(self, unit: Unit) -> bool:
        return bool(self.of(unit).gated)

    def rows(self, unit: Unit) -> Iterator[LadderRow]:
        return self._rows(unit, compare=False)

    def compared_rows(self, unit: Unit) -> Iterator[LadderRow]:
        """The rows that need the measurement of another unit, which may come later."""
        return self._rows(unit, compare=True)

    def _rows(self, unit: Unit, *, compare: bool) -> Iterator[LadderRow]:
        one, (place,) = self.of(unit), unit.items
        for check in one.checks:
            if bool(check.question.other) == compare:
                yield LadderRow(place, self._begun(check, one.case), one.gated, one.case)

    def _begun(self, check: RequiredCheck, case: Case) -> ItemRecord:
        key = check.key
        size = "" if key.size_bytes is None else format_size(key.size_bytes)
        where = "-".join(part for part in (check.place, key.part, size) if part)
        return ItemRecord(
            id=f"{self._folder}/{key.subject}::{key.way}[{where}]",
            rung=check.rung,
            subject=key.subject,
            title=f"{key.subject}, {key.way}, in round {self._number} of the soak",
            outcome=Outcome.ERROR,
            nodes=key.nodes,
            pairing=key.part,
            size_bytes=key.size_bytes,
            transcript=f"{self._folder}/{self._text(case)}",
            ways=(key.way,),
            questions=(Question(READ, case), check.question),
        )


def _compares(one: RoundCase) -> bool:
    return any(check.question.other for check in one.checks)


class Round:
    """A round, and its judgement.

    ``facts`` are the records of the survey's facts, which may close gates before it begins.
    ``records`` are the items of the round, ``missing`` the cases that were neither measured nor
    blocked; both are filled by ``judge``.
    """

    def __init__(
        self, rounds: SoakRounds, number: int, base: RunResults, evidence: RoundEvidence
    ) -> None:
        self.number, self.evidence = number, evidence
        self.units = RoundUnits(rounds, number, evidence.text)
        self.facts = {name: one for name, one in base.records.items() if _is_known(one)}
        assessor = Assessor(base.platform, evidence.found, evidence.result, base.cluster.fabric)
        self.judging = Judging(base.platform, assessor, rounds.soak.no_gates)
        self.records: dict[str, ItemRecord] = {}
        self.missing: list[RoundCase] = []
        self._base = base

    def judge(self) -> None:
        """Judge all cases by their evidence, and the GPUs' samples of the whole round."""
        judge = UnitJudge(self.units, self.judging)
        judge.know(self.facts.values())
        for unit in self.units.units:
            decided = self._decided(unit, judge.blockers(unit))
            if decided:
                for row, record in judge.records(unit, {self.units.of(unit).case: decided}):
                    judge.note(row, record)
                    self._add([record])
        for unit in self.units.units:
            blockers = judge.blockers(unit)
            for row in self.units.compared_rows(unit):
                others = [one.other for one in row.item.questions if one.other]
                decided = self._decided(unit, blockers, *others)
                if decided:
                    self._add([judge.judged(row, decided)])
        seen = [record for record in watched(self.results()) if record.outcome != Outcome.NOT_RUN]
        folder = folder_of(self.number)
        self._add(replace(one, id=f"{folder}/{one.id}", questions=()) for one in seen)

    def _decided(self, unit: Unit, blockers: tuple[str, ...], *others: Case) -> Decision | None:
        """The decision about a case as the evidence shows it; ``None`` if the case is missing."""
        one = self.units.of(unit)
        is_measured = self.evidence.kept(one.case) is not None
        if blockers or (is_measured and None not in map(self.evidence.kept, others)):
            return Decision(measured=is_measured, blockers=blockers)
        if one not in self.missing:
            self.missing.append(one)
        return None

    def _add(self, records: Iterable[ItemRecord]) -> None:
        self.records.update((one.id, one) for one in records)

    def results(self) -> RunResults:
        """The round as a run: the facts of the survey, and what was measured in this round."""
        return replace(
            self._base,
            records={**self.facts, **self.records},
            confirmed=(),
            starts=self.evidence.starts,
            kept=self.evidence.kept,
            soak=None,
        )

    @property
    def is_corrupt(self) -> bool:
        """Whether wrong results were seen, which stop a run."""
        return is_corrupt(self.records.values())


def _is_known(record: ItemRecord) -> bool:
    """Whether a record is one of the survey's facts, and not an end-of-run check."""
    return record.rung == Rung.PREFLIGHT and not at_end.is_at_end(record.id)
