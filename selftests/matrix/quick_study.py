"""The blind study for slow parts alone, without a lab: hundreds of runs in minutes.

    python selftests/matrix/quick_study.py [--runs N] [--seed S [S ...]] [--first K]
        [--jobs J] [--noise X] [--physics NAME[,NAME]]

Draws runs as ``blind_study`` does, but slow parts only, and plays each inside this process: the
lab's tools are called as functions (``healthy_seeds_lab``), rung by rung, as are the measurements
that a run adds to decide between suspects. Facts, counters and gates of facts are left out. A run
takes half a second, so that rare mistakes of the diagnosis are found. How often a real run makes
them is what ``blind_study`` says. Exit code 1 if a fault is swallowed or a decided cause is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from functools import partial
from random import Random, SystemRandom
from statistics import fmean
from typing import Any

from blind_count import Count, StudiedRun, counted, place, wrong_causes
from blind_draw import DrawnRun, drawn
from blind_reach import Reaches
from blind_study import Outcome as Studied
from blind_study import misses, sums
from calibration import calibration
from expected_causes import SLOW_PARTS
from healthy_seeds import begun
from healthy_seeds_lab import InProcessLab, using_lab
from study_conditions import AS_DOCUMENTED, Conditions, add_options
from timed_diagnosis import TimedDiagnosis

from railgauge.core.errors import NoEvidence
from railgauge.core.model import Case, Outcome, Transcript
from railgauge.core.question import CaseResult
from railgauge.diagnosis import OPEN, RunResults, notes
from railgauge.diagnosis.left_open.unknown import unknown
from railgauge.diagnosis.left_open.unplanned import unplanned
from railgauge.judging import assess
from railgauge.judging.confirmation import Confirmed, Remeasurement
from railgauge.judging.record import ItemRecord, settled
from railgauge.planning import plan, sample
from railgauge.verdict.decision import not_applicable

_LEVEL, _ROUNDS = "smoke", 2
_BEGAN = datetime(2026, 1, 1, tzinfo=timezone.utc)
_LADDER_S, _MEASUREMENT_S = 40.0, 0.05
_DEFAULT_SEVERITY = "40"
_WENT_WRONG = (Outcome.FAILED, Outcome.ERROR)


@dataclass(frozen=True)
class FaultTiming:
    """A fault as it acts: always, with a probability, or from a time on.

    Of a fault that varies at least the share ``least`` of its severity is lost.
    """

    fault: str
    chance: float = 1.0
    after_s: float = 0.0
    least: float = 1.0

    @classmethod
    def of(cls, text: str) -> FaultTiming:
        fault, *options = text.split(",")
        set_ = dict(option.split("=") for option in options)
        after = set_.get("after", "0s").removesuffix("s")
        return cls(fault, float(set_.get("p", 1)), float(after), float(set_.get("least", 1)))

    def at(self, random: Random) -> str:
        """The fault as it acts on one execution."""
        if self.least == 1:
            return self.fault
        place, _, given = self.fault.partition("=")
        severity = float(given.removesuffix("%") or _DEFAULT_SEVERITY)
        return f"{place}={random.uniform(self.least, 1) * severity:.1f}%"


class World:
    """The lab of a drawn run, with a clock, and a lab for each set of faults that act at once.

    ``added`` counts the executions that were added to the plan.
    """

    def __init__(self, run: DrawnRun) -> None:
        self._run = run
        self._timings = [FaultTiming.of(injection.fault) for injection in run.injected]
        self._random = Random(f"{run.lab_seed} courses")
        self._labs: dict[tuple[str, ...], InProcessLab] = {}
        self.clock_s = 0.0
        self.added = 0
        self.starts: dict[Case, list[str]] = {}
        self.lab = self._lab(())

    def _lab(self, faults: tuple[str, ...]) -> InProcessLab:
        if faults not in self._labs:
            lab = self._run.lab(*faults)
            lab.reseed(self._run.lab_seed)
            self._labs[faults] = lab
            lab._turns = self._labs[()]._turns  # repeats are counted over all labs
        return self._labs[faults]

    def measure(self, case: Case) -> CaseResult:
        """Measure a case of the plan; when it began is kept, as in the run's records."""
        measured = self.measure_again(case)
        self.starts[case] = [one.started_at for (one,) in measured.runs]
        return measured

    def measure_again(self, case: Case) -> CaseResult:
        return CaseResult(tuple((self._repeat(case),) for _ in range(case.repeats)))

    def _repeat(self, case: Case) -> Transcript:
        acting = [one for one in self._timings if self._acts(one)]
        lab = self._lab(tuple(one.at(self._random) for one in acting))
        *services, client = lab.commands(case)
        with using_lab(lab):
            found = lab.run_tool(client, services)
        start = (_BEGAN + timedelta(seconds=self.clock_s)).isoformat()
        self.clock_s += _MEASUREMENT_S
        return replace(found, started_at=start)

    def _acts(self, one: FaultTiming) -> bool:
        is_drawn = one.chance == 1 or self._random.random() < one.chance
        return is_drawn and self.clock_s >= one.after_s


def ladder(world: World) -> dict[str, ItemRecord]:
    """All items of the run, rung by rung; what is above a failed item of its nodes is blocked."""
    lab = world.lab
    level = sample.level(lab.platform, lab.cluster, _LEVEL, _ROUNDS, sampled=False)
    rung_of = {name: one.rung for name, one in lab.platform.measurements.items()}
    cases = sorted(
        (c for _, c in plan.cases(lab.platform, level)), key=lambda c: rung_of[c.measurement]
    )
    wrong: list[ItemRecord] = []
    records: dict[str, ItemRecord] = {}
    for number, case in enumerate(cases):
        world.clock_s = max(world.clock_s, number * _LADDER_S / len(cases))
        below = [r for r in wrong if r.rung < rung_of[case.measurement]]
        by = tuple(r.id for r in below if set(r.nodes) & set(case.nodes))
        items = {item.id: item for item in _items(world, case, by)}
        records |= items
        wrong += [item for item in items.values() if item.outcome in _WENT_WRONG]
    return records


def _items(world: World, case: Case, blocked_by: tuple[str, ...]) -> Iterator[ItemRecord]:
    lab, measured, error = world.lab, None, None
    if not blocked_by:
        try:
            measured = assess.read(lab.platform, case, world.measure(case))
        except NoEvidence as missing:
            error = missing
    for item in begun(lab, case):
        if blocked_by:
            held = replace(item, outcome=Outcome.BLOCKED, questions=())
            yield replace(held, reason="blocked", blocked_by=blocked_by)
        elif measured is None:
            yield settled(item, (), error)
        else:
            question = item.questions[0]
            found = assess.limits(lab.platform, measured, question.size_bytes, question.placement)
            yield settled(item, found.judgements, found.errors[0] if found.errors else None)


def followed_up(world: World, results: RunResults, diagnosis: TimedDiagnosis) -> RunResults:
    """The results with the measurements that decide between suspects, as a run adds them."""
    before: tuple[Remeasurement, ...] = ()
    while asked := diagnosis.follow_ups(results, before):
        made: dict[str, assess.Measured] = {}
        found = tuple(_confirmed(world, one, made) for one in asked)
        before = (*before, *asked)
        results = replace(results, confirmed=(*results.confirmed, *found))
    return results


def _confirmed(world: World, asked: Remeasurement, made: dict[str, assess.Measured]) -> Confirmed:
    case, platform = asked.question.case, world.lab.platform
    assert case is not None
    if case.key not in made:
        made[case.key] = assess.read(platform, case, world.measure_again(case))
        world.added += case.repeats
    question = asked.question
    found = assess.limits(platform, made[case.key], question.size_bytes, question.placement)
    return Confirmed(asked, tuple(found.judgements), str(*found.errors[:1]))


@dataclass(frozen=True)
class Play:
    """A run as ``blind_count`` counts it, and what it cost: processor time of the diagnosis, and
    executions added to the plan."""

    studied: StudiedRun
    seconds: float
    added: int


def play(run: DrawnRun) -> Play:
    diagnosis, world = TimedDiagnosis(), World(run)
    lab = world.lab
    records = ladder(world)
    found = RunResults(
        records, {}, lab.platform, lab.cluster, starts=lambda case: world.starts.get(case, ())
    )
    results = followed_up(world, found, diagnosis)
    diagnosed = diagnosis.diagnosed(results)
    level = sample.level(lab.platform, lab.cluster, _LEVEL, _ROUNDS, sampled=False)
    message = (*unknown(results, diagnosed), *unplanned(lab.platform, level))
    verdict = {
        "causes": [cause.to_json() for cause in diagnosed.causes],
        "unknown": [one.to_json() for one in message],
        "notes": list(notes(results)),
        "not_applicable": not_applicable(lab.platform, level),
    }
    items = [json.loads(json.dumps(record.to_json())) for record in records.values()]
    studied = StudiedRun(run.injected, Reaches(run), json.loads(json.dumps(verdict)), items)
    return Play(studied, diagnosis.seconds, world.added)


@dataclass(frozen=True)
class Played:
    """What came out of a run; ``sure`` has the probability of each decided cause that has one, and
    whether the cause is right."""

    outcome: Studied
    seconds: float
    added: int
    sure: tuple[tuple[float, bool], ...]


def one(number: int, seed: int, conditions: Conditions = AS_DOCUMENTED) -> Played:
    """Draw a run, play it and count its faults."""
    run = conditions.of(drawn(seed, number, _LEVEL, names=SLOW_PARTS))
    found = play(run)
    studied, wrong = found.studied, wrong_causes(found.studied)
    outcome = Studied(run, tuple(counted(studied)), len(studied.decided), tuple(map(place, wrong)))
    sure = tuple(
        (cause["probability"], cause not in wrong)
        for cause in studied.verdict["causes"]
        if cause["confidence"] != OPEN and "probability" in cause
    )
    return Played(outcome, found.seconds, found.added, sure)


def missed(outcome: Studied) -> bool:
    """Whether a fault is swallowed, or a decided cause is wrong."""
    return bool(outcome.wrong) or any(c.count is Count.SWALLOWED for c in outcome.counted)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    found = [one for seed in options.seed for one in _played(seed, options)]
    outcomes = [one.outcome for one in found]
    total = sums(outcomes)
    for count, number in Counter(total.counts).most_common():
        print(f"{number:5} {count.value}")
    print(f"{total.wrong:5} wrong of {total.causes} decided causes")
    sure = [pair for one in found for pair in one.sure]
    print("\n".join((*_costs(found), *calibration(sure))))
    return 1 if any(map(missed, outcomes)) else 0


def _played(seed: int, options: Any) -> list[Played]:
    """The runs of one seed; what they missed is printed."""
    print(f"seed {seed}, {options.runs} runs", flush=True)
    numbers = range(options.first, options.first + options.runs)
    conditions = Conditions(options.noise, options.physics)
    play_one = partial(one, seed=seed, conditions=conditions)
    with ProcessPoolExecutor(options.jobs) as pool:
        found = list(pool.map(play_one, numbers))
    print("\n".join(misses([one.outcome for one in found if missed(one.outcome)])), flush=True)
    return found


def _costs(found: Sequence[Played]) -> Iterator[str]:
    seconds, added = [one.seconds for one in found], [one.added for one in found]
    yield f"{fmean(seconds):5.2f} s of processor time a run, {max(seconds):.2f} s in the worst one"
    yield f"{fmean(added):5.1f} executions added a run, {max(added)} in the worst one"


def _options(arguments: Sequence[str] | None) -> Any:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first run (0)")
    fresh = [SystemRandom().randrange(1_000_000)]
    parser.add_argument("--seed", type=int, nargs="+", default=fresh, help="one or several")
    parser.add_argument("--jobs", type=int, default=2, help="runs at once (2)")
    add_options(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
