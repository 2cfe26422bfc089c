"""Healthy labs with many noise seeds: how often the suite rejects a healthy cluster.

    python selftests/matrix/healthy_seeds.py [--seeds N] [--platform P]… [--page FILE]

For each seed, all samples of a healthy lab at the levels smoke and signoff are judged as in a run:
all pairs, paths, sizes, repeats, links and GPUs, training, storage and the scaling ladder,
including dispersion and two groups. No run is made. For the first seeds the lab's tools also run
completely, and the suite parses and judges their output: the judgements must be equal, and the
items must have no cause. Exit code 1 if anything was rejected, could not be judged, or was not
equal.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from expected_causes import needs_of
from healthy_seeds_lab import InProcessLab, using_lab
from healthy_seeds_values import Key, Source, source
from injections import NODES, PLATFORMS, ROOT

from railgauge.config.thresholds import ideal, in_its_unit, limit_for, physical_ceiling
from railgauge.core.errors import NoEvidence
from railgauge.core.limits import Limit
from railgauge.core.model import Case, Judgement, Outcome
from railgauge.core.question import LIMITS, RATIO, Question
from railgauge.core.units import format_size
from railgauge.diagnosis import RunResults, diagnose
from railgauge.judging import assess
from railgauge.judging.judge import judge
from railgauge.judging.record import ItemRecord, blank, settled
from railgauge.planning import plan
from railgauge.planning.required import LevelScope, required_checks
from railgauge.tools import declared_metric
from railgauge.tools.metric import Metric

LEVELS = ("smoke", "signoff")
# Number of seeds, from 1, for which the tools run completely; a seed at signoff takes seconds.
PLAYED = {"smoke": 20, "signoff": 2}
STORAGE = needs_of(("slow-storage", "slow-client")).hostfile["storage"]
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Check:
    """One judged metric of a case, with its limit and bounds."""

    key: Key
    limit: Limit
    declared: Metric
    physical: float | None
    ideal: float | None

    def judge(self, source: Source) -> Judgement:
        """Raises ``NoEvidence``."""
        samples = source.samples(self.key)
        judged = judge(samples, self.limit, self.declared, self.key[1], self.physical)
        return replace(judged, ideal=None if self.ideal == self.physical else self.ideal)

    def __str__(self) -> str:
        name, size, placement = self.key
        at = "" if size is None else f" at {format_size(size)}"
        return f"{name}{at}{f' of {placement}' if placement else ''}"


@dataclass
class Tally:
    """The judgements of one platform at one level, counted."""

    platform: str
    level: str
    seeds: int = 0
    judgements: int = 0
    samples: int = 0
    marginal: int = 0
    rejected: list[str] = field(default_factory=list)
    alarmed: set[int] = field(default_factory=set)
    margin: float = float("inf")
    narrowest: str = ""

    def take(self, where: str, seed: int, judged: Judgement) -> None:
        self.judgements += 1
        self.samples += len(judged.values)
        self.marginal += judged.outcome is Outcome.MARGINAL
        if judged.outcome not in (Outcome.PASSED, Outcome.MARGINAL):
            self.reject(where, seed, judged.reason)
        # a count that is met has no margin
        if judged.unit != "count" and judged.margin is not None and judged.margin < self.margin:
            self.margin, self.narrowest = judged.margin, f"{where}, seed {seed}"

    def reject(self, where: str, seed: int, reason: str) -> None:
        self.alarmed.add(seed)
        self.rejected.append(f"{self.platform} {self.level} seed {seed}: {where}: {reason}")


@dataclass(frozen=True)
class Bench:
    """A level of a lab: all cases, the sources of their samples, and the checks.

    ``ratios`` compare a case with another one, which may be measured for that alone.
    """

    lab: InProcessLab
    level: str
    cases: tuple[tuple[Case, Source, tuple[Check, ...]], ...]
    ratios: tuple[Question, ...]


def bench(lab: InProcessLab, level: str) -> Bench:
    wanted = plan.level(lab.platform, lab.cluster, level)
    of = lab.platform.measurements
    # A pair beside a load is left out, since a shell starts the load: see test_congestion_runs.
    planned = (case for _, case in plan.cases(lab.platform, wanted))
    cases = dict.fromkeys(case for case in planned if not of[case.measurement].victims)
    asked = (one.question for one in required_checks(LevelScope(lab.platform, lab.cluster, wanted)))
    ratios = tuple(question for question in asked if question.kind == RATIO)
    checks = [(case, source(lab, case), tuple(checks_of(lab, case))) for case in cases]
    beside = dict.fromkeys(one.other for one in ratios if one.other and one.other not in cases)
    checks += [(case, source(lab, case), ()) for case in beside]
    return Bench(lab, level, tuple(checks), ratios)


def checks_of(lab: InProcessLab, case: Case) -> Iterator[Check]:
    """All metrics that the ladder asserts of a case, each with its limit."""
    platform = lab.platform
    measurement = platform.measurements[case.measurement]
    for per, size, placement in _places(lab, case):
        for name in measurement.asserted(per, size, case.sizes):
            limit = limit_for(measurement, name, case.pairing, size)
            declared = declared_metric(measurement.tool, name)
            assert declared is not None
            of = (platform, measurement, case.pairing, limit, len(case.nodes))
            best = ideal(*of)
            own = in_its_unit(limit, best)
            yield Check((name, size, placement), own, declared, physical_ceiling(*of), best)


def _places(lab: InProcessLab, case: Case) -> Iterator[tuple[str, int | None, str | None]]:
    """What an item may be about: each message size, each link and GPU, and the run."""
    gpus = range(lab.platform.gpus.count if lab.platform.gpus else 0)
    yield from (("size", size, None) for size in case.sizes)
    yield from (("link", None, f"gpu{a}>gpu{b}") for a in gpus for b in gpus if a != b)
    yield from (("gpu", None, f"gpu{gpu}") for gpu in gpus)
    yield "run", None, None


def judge_seed(bench: Bench, seed: int, tally: Tally) -> None:
    """Judge all samples that a run with this seed would judge."""
    bench.lab.reseed(seed)
    tally.seeds += 1
    for case, samples, checks in bench.cases:
        samples.take()
        for check in checks:
            try:
                tally.take(f"{case.key} {check}", seed, check.judge(samples))
            except NoEvidence as error:
                tally.reject(f"{case.key} {check}", seed, str(error))
    for where, judged in _ratios(bench):
        tally.take(where, seed, judged)


def _ratios(bench: Bench) -> Iterator[tuple[str, Judgement]]:
    sources = {case: found for case, found, _ in bench.cases}
    for asked in bench.ratios:
        assert asked.case
        assert asked.other
        one, other = sources[asked.case].measured, sources[asked.other].measured
        for judged in assess.ratio(one, other, asked.metric).judgements:
            yield f"{asked.case.key} over {asked.other.key}", judged


# --- the same with complete runs of the tools ---


def differences(bench: Bench, seed: int) -> Iterator[str]:
    """Differences between complete tools and short samples, and causes of healthy items."""
    run = f"{bench.lab.platform.name} {bench.level} seed {seed}"
    short = _judged_short(bench, seed)
    bench.lab.reseed(seed)
    items: dict[str, ItemRecord] = {}
    for case, _, _ in bench.cases:
        measured = bench.lab.measured(case)
        found = list(_judged(bench.lab, measured))
        # short samples have no output, so they do not know what an output does not show
        whole = [replace(j, not_shown=()) for item in found for j in item.judgements]
        if whole != [replace(judged, not_shown=()) for judged in short[case.key]]:
            yield f"{run}: {case.key} is judged otherwise when played in full"
        if measured.measurement.transport and assess.transport(measured).final:
            yield f"{run}: {case.key} names the wrong transport"
        items |= {item.id: item for item in found}
    results = RunResults(items, {}, bench.lab.platform, bench.lab.cluster)
    for cause in diagnose(results):
        yield f"{run}: a healthy lab has the cause {cause.cause}"


def _judged_short(bench: Bench, seed: int) -> dict[str, list[Judgement]]:
    bench.lab.reseed(seed)
    found: dict[str, list[Judgement]] = {}
    for case, samples, checks in bench.cases:
        samples.take()
        found[case.key] = []
        for check in checks:
            with suppress(NoEvidence):
                found[case.key].append(check.judge(samples))
    return found


def _judged(lab: InProcessLab, measured: assess.Measured) -> Iterator[ItemRecord]:
    for item in begun(lab, measured.case):
        (asked,) = item.questions
        found = assess.limits(lab.platform, measured, asked.size_bytes, asked.placement)
        yield settled(item, found.judgements, found.errors[0] if found.errors else None)


def begun(lab: InProcessLab, case: Case) -> Iterator[ItemRecord]:
    """One item for each size, link and GPU of a case, and for the run, before it is judged."""
    measurement = lab.platform.measurements[case.measurement]
    for per, size, placement in _places(lab, case):
        if measurement.asserted(per, size, case.sizes):
            yield blank(
                ItemRecord(
                    id=f"{case.key} {size} {placement}",
                    rung=measurement.rung,
                    title="",
                    subject=case.measurement,
                    outcome=Outcome.ERROR,
                    nodes=case.nodes,
                    pairing=str(case.pairing) if case.pairing else placement or "",
                    size_bytes=size,
                    questions=(Question(LIMITS, case, size, placement),),
                )
            )


# --- the command ---


def examine(lab: InProcessLab, seeds: int, played: bool) -> tuple[list[Tally], list[str]]:
    """Both levels of a platform; with ``played`` complete runs are compared for some seeds."""
    tallies, unlike = [], []
    with using_lab(lab):
        for level in LEVELS:
            one, tally = bench(lab, level), Tally(lab.platform.name, level)
            for seed in range(1, seeds + 1):
                judge_seed(one, seed, tally)
            for seed in range(1, min(seeds, PLAYED[level] if played else 0) + 1):
                unlike += differences(one, seed)
            tallies.append(tally)
    return tallies, unlike


def table(tallies: Iterable[Tally]) -> str:
    """A Markdown table with one row per platform and level."""
    return "\n".join([_COLUMNS, *map(_row, tallies)])


_COLUMNS = (
    "| platform | level | runs | judgements | samples | rejected | marginal | smallest margin |"
    " false alarms per judgement | runs with one |\n" + "| --- " * 10 + "|"
)


def _row(tally: Tally) -> str:
    return (
        f"| {tally.platform} | {tally.level} | {tally.seeds:,} | {tally.judgements:,} |"
        f" {tally.samples:,} | {len(tally.rejected)} | {tally.marginal:,} |"
        f" {tally.margin:.2%}: {tally.narrowest} |"
        f" {rate(len(tally.rejected), tally.judgements)} |"
        f" {rate(len(tally.alarmed), tally.seeds)} |"
    )


def rate(alarms: int, of: int) -> str:
    """The rate; without alarms the rule of three: below 3 / ``of`` at 95 % confidence."""
    return f"{alarms / of:.2g}" if alarms else f"0 (below {min(1.0, 3 / of):.1e})"


def page(tallies: Sequence[Tally], unlike: Sequence[str], played: bool) -> str:
    nodes = {len(NODES[tally.platform]) for tally in tallies}
    compared = _COMPARED.format(unlike=len(unlike), **PLAYED) if played else ""
    return _PAGE.format(
        seeds=tallies[0].seeds,
        nodes=f"{min(nodes)} to {max(nodes)}",
        table=table(tallies),
        compared=compared,
    )


_COMPARED = """

For the first {smoke} seeds at smoke and the first {signoff} at signoff the lab's tools were also
played in full, and their output went through the suite's own parsers and judgement. The judgements
are compared one by one, the transports in the logs are judged too, and the diagnosis is asked for
causes, of which healthy items must have none. {unlike} were not as they must be."""
_PAGE = """# False alarms

How often the suite rejects a cluster that is healthy. Evidence simulated: the embedded lab without
a fault, {nodes} nodes a platform, noise seeds 1 to {seeds}. Made by `make healthy`, which fails on
any rejection; a selftest does the same with fewer seeds.

{table}

A judgement compares all samples of one metric at one size (or link, or GPU) of one case with its
limit: the worst sample, the spread and whether the samples fall into two groups. A run is all
judgements of one seed at one level. With no alarm in n, the true rate is below 3/n at 95 %
confidence (rule of three). The levels share their noise, for signoff measures most of what smoke
measures as its first repeat: the rows of one platform must not be added up.

Judged were the samples alone, without SSH, runs or files: for each seed the lab's own functions
give the figures, rounded as the tools print them.{compared}

What this shows is that the limits leave room for the noise that the lab plays: each sample is worse
than the documents' figure by up to 2 % at messages to 4 KiB, 0.5 % to 64 KiB and 0.1 % above,
evenly spread, and links between GPUs by up to 1.2 %, most of them by far less, as the two
directions of a link in document 002 differ. It says nothing about the noise of a real cluster;
`railgauge thresholds derive` takes the limits from one. Facts of the hosts and the NICs' counters
have no noise in the lab and are left out here.
"""


def run(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    found = list(_all(options))
    tallies = [tally for platform, _ in found for tally in platform]
    unlike = [line for _, lines in found for line in lines]
    rejected = [line for tally in tallies for line in tally.rejected]
    print("\n".join([table(tallies), *rejected[:_SHOWN], *unlike[:_SHOWN]]))
    print(f"{len(rejected)} false rejections, {len(unlike)} differences when played in full")
    if options.page:
        options.page.write_text(page(tallies, unlike, options.played), encoding="utf-8")
    return 1 if rejected or unlike else 0


def _all(options: Any) -> Iterator[tuple[list[Tally], list[str]]]:
    """All platforms in order; with several jobs each runs in a separate process."""
    names = options.platform or PLATFORMS
    if options.jobs == 1:
        yield from (_one(name, options) for name in names)
        return
    with ProcessPoolExecutor(options.jobs) as pool:
        yield from pool.map(_one, names, [options] * len(names))


def _one(name: str, options: Any) -> tuple[list[Tally], list[str]]:
    started = time.process_time()
    lab = InProcessLab(name, options.thresholds, storage=STORAGE)
    found = examine(lab, options.seeds, options.played)
    print(f"{name}: {time.process_time() - started:.0f} s of CPU time", file=sys.stderr, flush=True)
    return found


def _options(arguments: Sequence[str] | None) -> Any:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--platform", action="append", choices=PLATFORMS)
    parser.add_argument("--jobs", type=int, default=1, help="platforms at once")
    parser.add_argument("--thresholds", type=Path, default=ROOT / "thresholds")
    parser.add_argument("--page", type=Path, help="write the table as a page")
    parser.add_argument(
        "--no-played", dest="played", action="store_false",
        help="do not compare the first seeds with tools that are played in full",
    )  # fmt: skip
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(run())
