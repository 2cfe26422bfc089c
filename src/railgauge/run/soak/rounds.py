"""One round of a soak, judged like a run: the same limits, and gates that hold. Pure.

A case that was not measured is blocked if a lower rung failed on its nodes, in this round or, for
rung 0, before it; else it is missing, and the round is not whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from railgauge.core.model import Case, Outcome
from railgauge.core.question import READ, CaseResult, Question
from railgauge.core.terms import Rung
from railgauge.core.units import format_size
from railgauge.diagnosis import RunResults
from railgauge.facts import FactsByNode
from railgauge.judging import by_evidence
from railgauge.judging.assessor import Assessor
from railgauge.judging.correctness import is_corrupt
from railgauge.judging.gates import Gates, ended
from railgauge.judging.record import ItemRecord
from railgauge.planning import plan
from railgauge.planning.demand import Demand
from railgauge.planning.soak import RoundCase, folder_of
from railgauge.verdict import closing
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


@dataclass(slots=True)
class Round:
    """A round while it is judged, case by case, in the order in which it is measured."""

    number: int
    base: RunResults
    evidence: RoundEvidence
    no_gates: bool = False
    records: dict[str, ItemRecord] = field(default_factory=dict)
    missing: list[RoundCase] = field(default_factory=list)
    _late: list[tuple[RoundCase, Demand]] = field(default_factory=list)
    _taken: set[Case] = field(default_factory=set)
    _facts: dict[str, ItemRecord] = field(init=False)
    _gates: Gates = field(default_factory=Gates)
    _assessor: Assessor = field(init=False)

    def __post_init__(self) -> None:
        """Take the records of the survey's facts; what closes a run is not known yet."""
        self._facts = {
            name: record
            for name, record in self.base.records.items()
            if record.rung == Rung.PREFLIGHT and not closing.is_closing(name)
        }
        for place, record in enumerate(self._facts.values()):
            self._note(record, place)
        of, fabric = self.evidence, self.base.cluster.fabric
        self._assessor = Assessor(self.base.platform, of.found, of.result, fabric)

    def blockers(self, one: RoundCase) -> tuple[str, ...]:
        """The ids of the items that keep a case from being measured."""
        return () if self.no_gates else self._gates.blockers(one.rung, one.gated)

    def is_only_checked(self, one: RoundCase) -> bool:
        """Whether a case behind a gate is measured all the same, to check its results."""
        measurement = self.base.platform.measurements[one.case.measurement]
        return self._gates.is_checked(measurement, one.case.nodes)

    def take(self, one: RoundCase) -> None:
        """Judge a case by its evidence, or note that it is blocked or missing."""
        blockers = self.blockers(one)
        is_measured = self.evidence.kept(one.case) is not None
        self._taken.add(one.case)
        if not is_measured and not blockers:
            self.missing.append(one)
        for demand in one.demands if is_measured or blockers else ():
            if blockers:
                checked = one.case if is_measured else None
                shut = by_evidence.blocked(self._begun(demand), blockers, checked)
                self._add(by_evidence.judged(shut, self._assessor))
            elif demand.question.other and demand.question.other not in self._taken:
                self._late.append((one, demand))
            else:
                self._add(self._judged(demand))

    def end(self) -> None:
        """Judge what had to wait for another case, and the GPUs' samples of the whole round."""
        for one, demand in self._late:
            blockers = self.blockers(one)
            other = demand.question.other
            if other and self.evidence.kept(other) is None and not blockers:
                self.missing.append(one)
            elif blockers:
                self._add(by_evidence.blocked(self._begun(demand), blockers))
            else:
                self._add(self._judged(demand))
        seen = [record for record in watched(self.results()) if record.outcome != Outcome.NOT_RUN]
        for record in seen:
            self._add(replace(record, id=f"{folder_of(self.number)}/{record.id}", questions=()))

    def results(self) -> RunResults:
        """The round as a run: the facts of the survey, and what was measured in this round."""
        return replace(
            self.base,
            records={**self._facts, **self.records},
            confirmed=(),
            starts=self.evidence.starts,
            kept=self.evidence.kept,
            soak=None,
        )

    @property
    def is_corrupt(self) -> bool:
        """Whether wrong results were seen, which stop a run."""
        return is_corrupt(self.records.values())

    def _add(self, record: ItemRecord) -> None:
        self._note(record, len(self._facts) + len(self.records))
        self.records[record.id] = record

    def _note(self, record: ItemRecord, place: int) -> None:
        nodes = plan.gate_nodes(self.base.platform, record.subject, record.nodes)
        self._gates.note(ended(record, place, nodes))

    def _judged(self, demand: Demand) -> ItemRecord:
        questions = (Question(READ, demand.question.case), demand.question)
        begun = replace(self._begun(demand), questions=questions)
        return by_evidence.judged(begun, self._assessor)

    def _begun(self, demand: Demand) -> ItemRecord:
        key = demand.key
        size = "" if key.size_bytes is None else format_size(key.size_bytes)
        where = "-".join(part for part in (demand.place, key.part, size) if part)
        case = demand.question.case
        assert case is not None
        folder = folder_of(self.number)
        return ItemRecord(
            id=f"{folder}/{key.subject}::{key.way}[{where}]",
            rung=demand.rung,
            subject=key.subject,
            title=f"{key.subject}, {key.way}, in round {self.number} of the soak",
            outcome=Outcome.ERROR,
            nodes=key.nodes,
            pairing=key.part,
            size_bytes=key.size_bytes,
            transcript=f"{folder}/{self.evidence.text(case)}",
            ways=(key.way,),
        )
