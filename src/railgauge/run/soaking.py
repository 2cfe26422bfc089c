"""Carries out a soak: measures rounds until the requested time under load is reached.

An interrupt ends only this step: the run still reaches its verdict, and ``--resume`` carries the
soak on. If a node cannot be reached any more, the soak goes on for the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field

from railgauge.core.errors import NoEvidence
from railgauge.core.model import Case, Outcome
from railgauge.core.naming import listed
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.core.question import CaseResult
from railgauge.diagnosis import RunResults
from railgauge.planning.soak import SoakRounds, folder_of
from railgauge.run.case_files import text_file
from railgauge.run.decided import Decisions
from railgauge.run.engine import LadderEngine, Measuring
from railgauge.run.soak import load
from railgauge.run.soak.causes import lasting
from railgauge.run.soak.load import Stretch
from railgauge.run.soak.rounds import Round, RoundEvidence
from railgauge.transport import Tell

Interrupted = Callable[[], AbstractContextManager[None]]
"""Ends the commands of all threads, and keeps them from starting others while the block runs."""

MeasureIn = Callable[[str], Callable[[Case], CaseResult]]
"""Returns the function that measures a case and stores its result in a folder of the run."""


def carry_out(
    rounds: SoakRounds,
    base: RunResults,
    measure_in: MeasureIn,
    tell: Tell,
    *,
    between: Callable[[], None] = lambda: None,
    at_once: int = 1,
    interrupted: Interrupted = nullcontext,
) -> bool:
    """Measure rounds, and return ``False`` if an interrupt ended them.

    ``base`` are the results of the ladder: what failed on rung 0 blocks the rounds too. ``between``
    is called before the first round and after each. ``at_once`` measurements are made at a time,
    never two on one node.
    """
    tell("")  # ends the line of dots
    tell(f"soak: rounds until {rounds.soak.asked} under load, seed {rounds.soak.seed}")
    soaking = _Soaking(rounds, base, measure_in, tell, between, at_once, interrupted)
    try:
        with PROGRESS_OF_PROCESS.during(f"soak of {rounds.soak.asked}"):
            soaking.run()
    except KeyboardInterrupt:
        tell(f"soak: interrupted in round {soaking.number}; --resume carries it on")
        return False
    return True


def play(rounds: SoakRounds, count: int, measure_in: MeasureIn) -> None:
    """Store the recorded evidence of ``count`` rounds; a replay measures nothing."""
    for number in range(1, count + 1):
        measure = measure_in(folder_of(number))
        for one in rounds.cases(number):
            with suppress(NoEvidence):  # it was blocked, or the soak was interrupted before it
                measure(one.case)


@dataclass(slots=True)
class _Soaking:
    rounds: SoakRounds
    base: RunResults
    measure_in: MeasureIn
    tell: Tell
    between: Callable[[], None]
    at_once: int
    interrupted: Interrupted
    number: int = 0
    soaked: tuple[Stretch, ...] = field(default=())

    def run(self) -> None:
        self.between()
        while not self.rounds.soak.is_reached(load.seconds(self.soaked), self.number):
            self.number += 1
            why = self._round()
            self.between()
            if why:
                self.tell(f"soak: ended in round {self.number}: {why}")
                return

    def _round(self) -> str:
        """Measure one round; returns why no other follows, or an empty text."""
        results = dict[Case, CaseResult]()
        evidence = RoundEvidence(self.base.found, results.get, text_file)
        judged = Round(self.rounds, self.number, self.base, evidence)
        self._measure(judged, results)
        judged.judge()
        if judged.is_corrupt:
            return "data corruption, see the report"
        before_s = load.seconds(self.soaked)
        found = (stretch for result in results.values() for stretch in load.of_case(result))
        self.soaked = load.stretches((*self.soaked, *found))
        self.tell(self._line(judged, len(results)))
        if load.seconds(self.soaked) == before_s:
            return "nothing could be measured in it"
        return ""

    def _measure(self, judged: Round, results: dict[Case, CaseResult]) -> None:
        """Measure the cases of a round, up to the first wrong results."""
        measure_case = self.measure_in(folder_of(self.number))

        def measure(case: Case) -> CaseResult:
            results[case] = measure_case(case)
            return results[case]

        measuring = Measuring(measure, self.interrupted, self.at_once)
        about = (judged.units, judged.judging, measuring, Decisions(), judged.facts.values())
        LadderEngine(*about).carry_out()

    def _line(self, judged: Round, measured: int) -> str:
        """The line of a round."""
        soak = self.rounds.soak
        tally = Counter(record.outcome for record in judged.records.values())
        passed = tally.pop(Outcome.PASSED, 0)
        words = [f"{count} {outcome}".replace("_", " ") for outcome, count in tally.items()]
        wrong = [r.id for r in judged.records.values() if r.outcome is not Outcome.PASSED]
        others = f", {', '.join(words)}: {listed(wrong, 2)}" if words else ""
        return (
            f"soak: round {self.number}, {lasting(load.seconds(self.soaked))} of {soak.asked}:"
            f" {measured} measurements, {passed} passed{others}"
        )
