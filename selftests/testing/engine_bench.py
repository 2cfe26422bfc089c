"""A ladder of made-up items under the engine, whose measurements a test holds and releases."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from railgauge.config import thresholds
from railgauge.config.thresholds.storage import with_storage
from railgauge.core.errors import DataCorrupted
from railgauge.core.model import Case, Judgement, Outcome, Pairing
from railgauge.core.question import READ, CaseResult, Question
from railgauge.core.storage import StorageMount
from railgauge.judging.assess import Assessment
from railgauge.judging.correctness import judge_corruption
from railgauge.planning.pairing import tournament
from railgauge.planning.work_queue import Unit
from railgauge.run.decided import Decision, WrittenDecisions
from railgauge.run.engine import LadderEngine, Measuring
from railgauge.run.ladder import LadderRow
from railgauge.run.unit_judge import Judging
from testing.core_values import ROOT, item, judgement, transcript
from testing.run_folder import store_in
from testing.waiting import wait_until

LIMIT_S = 20.0
GOOD = CaseResult(((transcript(),),))
POOL = StorageMount("/pool", "a contract", shared=True, least={"write_mb_per_s": 1.0})
H200 = with_storage(thresholds.load("h200", ROOT / "thresholds"), {"pool": POOL})
SPEED, COLLECTIVE = "host_write_bandwidth", "node_all_reduce"
PRESENT = Decision(measured=True)


class Rungs:
    """A ladder with one item for each (rung, nodes) or (rung, nodes, subject) that is wanted.

    On rung 0 the subject is an expectation, above that a measurement of the platform h200.
    """

    def __init__(self, wanted: Sequence[tuple]) -> None:
        full = [(*one, "kernel" if one[0] == 0 else SPEED)[:3] for one in wanted]
        self.subjects = [subject for _, _, subject in full]
        self.units = tuple(
            Unit((place,), rung, tuple(nodes), f"{subject}[{place}]" if rung else "")
            for place, (rung, nodes, subject) in enumerate(full)
        )
        self.others: dict[Unit, tuple[Case, ...]] = {}

    def cases(self, unit: Unit) -> tuple[Case, ...]:
        at = Pairing(f"mlx5_{unit.items[0]}")  # a measurement is made on more than one rung here
        return (Case(unit.kind, self.gated(unit), at, ()),) if unit.case else ()

    def compared(self, unit: Unit) -> tuple[Case, ...]:
        return self.others.get(unit, ())

    def gated(self, unit: Unit) -> tuple[str, ...]:
        return self.units[unit.items[0]].nodes

    def is_below_others(self, unit: Unit) -> bool:
        above = (one for one in self.units if one.rung > unit.rung)
        return any(not set(unit.nodes).isdisjoint(one.nodes) for one in above)

    def rows(self, unit: Unit) -> Iterator[LadderRow]:
        (place,), (case, *_) = unit.items, (*self.cases(unit), None)
        nodes = self.gated(unit)
        about = {"rung": unit.rung, "subject": self.subjects[place], "nodes": nodes}
        # On rung 0 the stand-in for the assessor finds the node of the question in its metric.
        asked = Question(READ, case) if case else Question("fact", metric=nodes[0])
        record = item(f"item{place}", Outcome.ERROR, questions=(asked,), **about)
        yield LadderRow(place, record, nodes, case)


@dataclass
class Bench:
    """An engine over a ladder; what is set here happens, what happens is in ``log``.

    All but ``held`` is set before the engine begins; nodes stand for what is measured on them.
    """

    folder: Path
    ladder: Rungs
    at_once: int = 8
    judging: dict = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    slow: set[str] = field(default_factory=set)
    """Nodes on which a limit is missed."""
    corrupt: set[str] = field(default_factory=set)
    through: set[str] = field(default_factory=set)
    """Nodes whose measurements end well although the engine ends them."""
    errors: dict[str, BaseException] = field(default_factory=dict)
    judging_errors: dict[str, BaseException] = field(default_factory=dict)
    log: list[Case] = field(default_factory=list)
    decided: list[tuple[Unit, Decision]] = field(default_factory=list)
    running: set[str] = field(default_factory=set)
    most: int = 0
    clashes: int = 0
    ended_by_force: int = 0

    def __post_init__(self) -> None:
        self.units, self._changed = self.ladder.units, threading.Condition()
        self._at_once = 0
        self.decisions = WrittenDecisions(store_in(self.folder))
        measuring = Measuring(self.measure, self.interrupted, self.at_once, self._note)
        judging = Judging(H200, self, **self.judging)
        self.engine = LadderEngine(self.ladder, judging, measuring, self.decisions)

    def case_of(self, unit: Unit) -> Case:
        (case,) = self.ladder.cases(unit)
        return case

    def _note(self, unit: Unit, is_measured: bool) -> None:
        cases = self.ladder.cases(unit) if unit.items else ()
        known = self.decisions.known(cases[0]) if cases else None
        self.decided.append((unit, known or Decision(measured=is_measured)))

    # --- as the runner and its sessions ---

    def measure(self, case: Case) -> CaseResult:
        with self._changed:
            self.log.append(case)
            self.clashes += not self.running.isdisjoint(case.nodes)
            self.running.update(case.nodes)
            self._at_once += 1
            self.most = max(self.most, self._at_once)
            is_free = self._changed.wait_for(lambda: self._is_free(case), LIMIT_S)
            assert is_free, "nobody released it"
            self.running.difference_update(case.nodes)
            self._at_once -= 1
        if self.ended_by_force and self.through.isdisjoint(case.nodes):
            raise KeyboardInterrupt
        for error in self._of(case.nodes, self.errors):
            raise error
        return GOOD

    def _is_free(self, case: Case) -> bool:
        return self.held.isdisjoint(case.nodes) or bool(self.ended_by_force)

    @contextmanager
    def interrupted(self) -> Iterator[None]:
        with self._changed:
            self.ended_by_force += 1
            self._changed.notify_all()
        yield

    def release(self, *nodes: str) -> None:
        with self._changed:
            self.held.difference_update(nodes or set(self.held))
            self._changed.notify_all()

    # --- as the assessor ---

    def answer(self, question: Question) -> Assessment:
        nodes = question.case.nodes if question.case else (question.metric,)
        for error in self._of(nodes, self.judging_errors):
            raise error
        if question.case and not self.corrupt.isdisjoint(nodes):
            return Assessment((judge_corruption(DataCorrupted("4 wrong", where=nodes[0])),))
        return Assessment((self._judged(nodes),))

    def answers(self, questions: Sequence[Question]) -> tuple[tuple[Judgement, ...], None]:
        return tuple(one for each in questions for one in self.answer(each).judgements), None

    def _judged(self, nodes: Sequence[str]) -> Judgement:
        return judgement(Outcome.PASSED if self.slow.isdisjoint(nodes) else Outcome.FAILED)

    @staticmethod
    def _of(nodes: Sequence[str], errors: dict[str, BaseException]) -> list[BaseException]:
        return [errors[node] for node in nodes if node in errors]

    # --- what a test does ---

    def all_decided(self) -> bool:
        return len(self.decided) == len(self.units)

    def carry_out(self) -> dict[Unit, Decision]:
        """Carry out the ladder to its end, and return what was decided of each unit."""
        self.engine.begin()
        is_over = lambda: self.all_decided() or self.decisions.stopped  # noqa: E731
        wait_until(is_over, LIMIT_S, "the end of the ladder")
        self.engine.end()
        return dict(self.decided)

    def known(self) -> list[Decision | None]:
        """What the items of each unit that is measured know, but for how long that took."""
        every = (self.decisions.known(self.case_of(unit)) for unit in self.units if unit.case)
        return [one and replace(one, took_s=0.0) for one in every]


def bench(folder: Path, *wanted: tuple, **options: object) -> Bench:
    return Bench(folder, Rungs(wanted), **options)


def a_round(nodes: int, rung: int = 1) -> list[tuple]:
    names = [f"n{number:02}" for number in range(nodes)]
    return [(rung, pair) for pair in zip(names[::2], names[1::2], strict=True)]


def all_pairs(nodes: int) -> list[tuple]:
    turns = tournament([f"n{number:02}" for number in range(nodes)])
    return [(1, (pair.source, pair.target)) for turn in turns for pair in turn]


def another(*nodes: str, measurement: str = SPEED) -> Case:
    """A case that no item of a bench is about."""
    return Case(measurement, nodes, None, ())
