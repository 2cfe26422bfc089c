"""Carries out a soak: measures rounds until the time that was asked for is under load.

An interrupt ends only this step: the run still gives its verdict, and ``--resume`` carries the soak
on. A node that cannot be reached any more does not end it for the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field

from railgauge.core.errors import NoEvidence
from railgauge.core.model import Case, Outcome
from railgauge.core.naming import listed
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.core.question import CaseResult
from railgauge.diagnosis import RunResults
from railgauge.planning.soak import RoundCase, SoakRounds, folder_of, ready
from railgauge.run.case_files import text_file
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
    tell(f"soak: rounds until {rounds.soak.said} under load, seed {rounds.soak.seed}")
    soaking = _Soaking(rounds, base, measure_in, tell, between, at_once, interrupted)
    try:
        with PROGRESS_OF_PROCESS.during(f"soak of {rounds.soak.said}"):
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
        """Measure one round; returns why no other one is to follow, or an empty text."""
        cases, results = self.rounds.cases(self.number), dict[Case, CaseResult]()
        evidence = RoundEvidence(self.base.found, results.get, text_file)
        judged = Round(self.number, self.base, evidence, self.rounds.soak.no_gates)
        before_s = load.seconds(self.soaked)
        self._measure(judged, list(cases), results)
        if judged.is_corrupt:
            return "data corruption, see the report"
        judged.end()
        self.tell(self._told(judged, len(results)))
        if load.seconds(self.soaked) == before_s:
            return "nothing could be measured in it"
        return ""

    def _measure(
        self, judged: Round, waiting: list[RoundCase], results: dict[Case, CaseResult]
    ) -> None:
        """Measure and judge the cases of a round, up to the first wrong results."""
        measure = self.measure_in(folder_of(self.number))
        running: dict[Future[CaseResult], RoundCase] = {}
        with self._threads() as threads:
            while waiting or running:
                while len(running) < self.at_once and (one := ready(waiting, running.values())):
                    waiting.remove(one)
                    if _is_wanted(judged, one):
                        running[threads.submit(measure, one.case)] = one
                    else:
                        judged.take(one)
                for made in wait(running, return_when=FIRST_COMPLETED).done:
                    one = running.pop(made)
                    results[one.case] = made.result()
                    self.soaked = load.stretches((*self.soaked, *load.of_case(made.result())))
                    judged.take(one)
                if judged.is_corrupt:
                    waiting.clear()

    @contextmanager
    def _threads(self) -> Iterator[ThreadPoolExecutor]:
        """The threads that measure; an error, or an interrupt of this one, ends all of them."""
        threads = ThreadPoolExecutor(self.at_once)
        try:
            yield threads
        except BaseException:
            with self.interrupted():
                threads.shutdown(cancel_futures=True)
            raise
        threads.shutdown()

    def _told(self, judged: Round, measured: int) -> str:
        """The line of a round."""
        soak = self.rounds.soak
        tally = Counter(record.outcome for record in judged.records.values())
        passed = tally.pop(Outcome.PASSED, 0)
        words = [f"{count} {outcome}".replace("_", " ") for outcome, count in tally.items()]
        wrong = [r.id for r in judged.records.values() if r.outcome is not Outcome.PASSED]
        others = f", {', '.join(words)}: {listed(wrong, 2)}" if words else ""
        return (
            f"soak: round {self.number}, {lasting(load.seconds(self.soaked))} of {soak.said}:"
            f" {measured} measurements, {passed} passed{others}"
        )


def _is_wanted(judged: Round, one: RoundCase) -> bool:
    """Whether a case is measured: its gate is open, or its results are checked behind it."""
    return not judged.blockers(one) or judged.is_only_checked(one)
