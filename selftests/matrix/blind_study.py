"""The blind study: random faults in random labs, and what the suite says of each.

    python selftests/matrix/blind_study.py [--runs N] [--seed S] [--level L] [--fault F]…
        [--page FILE]

Draws platform, size, one to three faults, severities, places and seeds, runs the ladder through the
command line, and counts by the rules of ``blind_count``. The seed is another one each time and is
printed; ``--seed`` repeats a study, ``--first K --runs 1`` one run of it. Ctrl-C ends the study and
keeps what is done. ``--keep FOLDER --recount`` runs nothing: it decides and counts the kept runs of
the same seed again with the present code. Exit code 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import SystemRandom
from shutil import rmtree
from typing import Any

from blind_count import (
    MEASURED,
    RULES,
    SILENT,
    Count,
    Counted,
    StudiedRun,
    counted,
    place,
    wrong_causes,
)
from blind_draw import DrawnRun, drawn
from blind_reach import reach
from expected_causes import ALL_CAUSES
from fault_matrix import run_with_faults
from injections import PLATFORMS

from railgauge.run.kept_text import json_text
from railgauge.run.run_folder import RunFolder
from railgauge.verdict.decision import decide

EXACT_MIN, WRONG_MAX = 0.95, 0.01
"""The goals: of the faults that were measured, and of the decided causes."""


@dataclass(frozen=True)
class Outcome:
    """One run and its counts; ``trouble`` holds the output of a run without a verdict."""

    drawn: DrawnRun
    counted: tuple[Counted, ...] = ()
    causes: int = 0
    wrong: tuple[str, ...] = ()
    duration_s: float = 0.0
    trouble: str = ""


def one(number: int, options: Any) -> Outcome:
    """Draw a run, execute it and count its faults; runs in a separate process."""
    run = drawn(options.seed, number, options.level, options.platform, options.fault)
    if not run.injected:  # the platform has none of the faults that were asked for
        return Outcome(run)
    run = replace(run, confirm=options.confirm)
    reaches = tuple(reach(run, injection) for injection in run.injected)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="blind-") as scratch:
        folder = (options.keep or Path(scratch)) / str(number)
        output = "" if options.recount else _run_ladder(run, folder)
        latest = folder / "reports" / "latest"
        took_s = time.monotonic() - started
        if output or not (latest / "records.jsonl").exists():
            return Outcome(run, duration_s=took_s, trouble=output or "no records")
        verdict = _verdict(latest, again=options.recount)
        lines = (latest / "records.jsonl").read_text(encoding="utf-8").splitlines()
    studied = StudiedRun(run.injected, reaches, verdict, [json.loads(line) for line in lines])
    return Outcome(
        run,
        tuple(counted(studied)),
        len(studied.decided),
        tuple(map(place, wrong_causes(studied))),
        took_s,
    )


def _run_ladder(run: DrawnRun, folder: Path) -> str:
    """Run the ladder; return its output if there is no verdict, or an empty string."""
    rmtree(folder, ignore_errors=True)
    try:
        result = run_with_faults(run.injected, run.lab_seed, folder, *run.options, nodes=run.nodes)
    except subprocess.TimeoutExpired as error:
        return str(error)
    return result.output[-2000:] if result.verdict == "none" else ""


def _verdict(folder: Path, *, again: bool) -> Any:
    """The verdict of a run, or the one that the present code gives its records."""
    if not again:
        return json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    kept = RunFolder(folder)
    results = kept.results(kept.records(), kept.platform())
    return json.loads(json_text(decide(kept.plan(), results).to_json()))


def study(options: Any) -> list[Outcome]:
    """All finished runs in order, even if Ctrl-C ends the study."""
    found: list[Outcome] = []
    with ProcessPoolExecutor(options.jobs) as pool:
        try:
            for outcome in _each(pool, options):
                found.append(outcome)
                print(_progress(outcome, len(found), options.runs), flush=True)
        except KeyboardInterrupt:
            print(f"ended after {len(found)} of {options.runs} runs", flush=True)
    return sorted(found, key=lambda outcome: outcome.drawn.number)


def _each(pool: Executor, options: Any) -> Iterator[Outcome]:
    """Finished runs. None is queued in the pool, where an interrupt would not reach it."""
    numbers = iter(range(options.first, options.first + options.runs))

    def begin(count: int) -> set[Future[Outcome]]:
        return {pool.submit(one, number, options) for number in islice(numbers, count)}

    running = begin(options.jobs)
    while running:
        done, running = wait(running, return_when=FIRST_COMPLETED)
        running |= begin(len(done))
        yield from (future.result() for future in done)


def _progress(outcome: Outcome, done: int, of: int) -> str:
    detail = "; ".join(f"{c.injection.fault}: {c.count.value}" for c in outcome.counted)
    wrong = "".join(f"; WRONG {text}" for text in outcome.wrong)
    trouble = "no verdict" if outcome.trouble else ""
    run = f"{outcome.drawn.number} {outcome.drawn.platform} of {outcome.drawn.nodes}"
    return f"{done}/{of} run {run}, {outcome.duration_s:.0f} s: {detail}{wrong}{trouble}"


# --- counts over all runs ---


@dataclass(frozen=True)
class Sums:
    """Sums over all runs, or over a group of runs."""

    runs: int
    counts: Counter[Count]
    causes: int
    wrong: int
    troubled: int

    @property
    def measured(self) -> int:
        return sum(self.counts[count] for count in MEASURED)

    @property
    def exact_share(self) -> float:
        return self.counts[Count.EXACT] / self.measured if self.measured else 1.0

    @property
    def wrong_share(self) -> float:
        return self.wrong / self.causes if self.causes else 0.0

    @property
    def missed(self) -> list[str]:
        """The goals that are missed, in words."""
        swallowed = self.counts[Count.SWALLOWED] + self.counts[Count.MISNAMED]
        silent = sum(self.counts[count] for count in SILENT)
        found = {
            f"{self.exact_share:.1%} of the measured faults are exact, not {EXACT_MIN:.0%}": (
                self.exact_share < EXACT_MIN
            ),
            f"{swallowed} measured faults are swallowed": swallowed > 0,
            f"{self.wrong_share:.1%} of the decided causes are wrong, more than {WRONG_MAX:.0%}": (
                self.wrong_share > WRONG_MAX
            ),
            f"{silent} faults were not measured, and no line says so": silent > 0,
            f"{self.troubled} runs have no verdict": self.troubled > 0,
        }
        return [text for text, is_missed in found.items() if is_missed]


def sums(outcomes: Iterable[Outcome]) -> Sums:
    found = list(outcomes)
    return Sums(
        len(found),
        Counter(one.count for outcome in found for one in outcome.counted),
        sum(outcome.causes for outcome in found),
        sum(len(outcome.wrong) for outcome in found),
        sum(bool(outcome.trouble) for outcome in found),
    )


def page(outcomes: Sequence[Outcome], options: Any) -> str:
    """The study as a page."""
    total = sums(outcomes)
    goals = "\n".join(f"- {text}." for text in total.missed) or "- none."
    faults = {f"{n} fault{'s' * (n > 1)}": n for n in (1, 2, 3)}
    rows = {
        "all": outcomes,
        **{
            text: [one for one in outcomes if len(one.drawn.injected) == n]
            for text, n in faults.items()
        },
        **{name: [one for one in outcomes if one.drawn.platform == name] for name in PLATFORMS},
    }
    columns = [count for count in Count if total.counts[count]]
    return _PAGE.format(
        seed=options.seed,
        level=f"{options.level}{' with --confirm' * options.confirm}",
        runs=total.runs,
        drawn_from=f"Drawn are {', '.join(options.fault)}." if options.fault else _ALL_FAULTS,
        again=_AGAIN * options.recount,
        faults=sum(total.counts.values()),
        measured=total.measured,
        exact=f"{total.exact_share:.1%}",
        wrong=f"{total.wrong} of {total.causes} decided causes are wrong ({total.wrong_share:.1%})",
        goals=goals,
        rules=RULES,
        table="\n".join(_table(rows, columns)),
        by_fault="\n".join(_by_fault(outcomes, columns)),
        misses="\n".join(misses(outcomes)) or "None.",
    )


def _table(rows: dict[str, Sequence[Outcome]], columns: Sequence[Count]) -> Iterator[str]:
    yield from _head("runs", ["number", *(count.value for count in columns), "wrong causes"])
    for name, outcomes in rows.items():
        if outcomes:
            of = sums(outcomes)
            cells = [of.runs, *(of.counts[count] for count in columns), f"{of.wrong}/{of.causes}"]
            yield _line(name, cells)


def _by_fault(outcomes: Sequence[Outcome], columns: Sequence[Count]) -> Iterator[str]:
    found: dict[str, Counter[Count]] = {}
    for one in (one for outcome in outcomes for one in outcome.counted):
        found.setdefault(one.injection.name, Counter())[one.count] += 1
    yield from _head("fault", [count.value for count in columns])
    for name, counts in sorted(found.items()):
        yield _line(f"`{name}`", [counts[count] or "" for count in columns])


def _head(first: str, others: Sequence[str]) -> Iterator[str]:
    yield _line(first, others)
    yield "| --- " * (len(others) + 1) + "|"


def _line(first: str, cells: Iterable[object]) -> str:
    return f"| {first} | {' | '.join(map(str, cells))} |"


_FINE = (Count.EXACT, Count.BELOW, Count.STRAGGLER, Count.IDLE, Count.HARMLESS, Count.HIDDEN,
         Count.GATED, Count.UNPLANNED)  # fmt: skip


def misses(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The runs that miss a goal, with the commands that repeat them."""
    for outcome in outcomes:
        lines = [
            f"    - `{one.injection.fault}`: **{one.count.value}**"
            f"{f' ({one.detail})' * bool(one.detail)}"
            for one in outcome.counted
            if one.count not in _FINE
        ]
        lines += [f"    - wrong cause: {text}" for text in outcome.wrong]
        if outcome.trouble:
            lines.append("    - **no verdict**")
        if lines:
            yield f"- run {outcome.drawn.number}: `{outcome.drawn.command}`"
            yield from lines


_ALL_FAULTS = """Half of the faults are slow parts, the rest is drawn from all other faults of the
lab. A run has the level, the leaves and the storage that its faults need."""
_AGAIN = """ Causes and counts were made anew from the evidence of the runs."""

_PAGE = """# The blind study

What the suite says of faults that nobody chose. Made by `make blind` (seed {seed}, level {level},
evidence simulated): {runs} runs of the embedded lab with one to three faults each, {faults} faults.
Platform, number of nodes, faults, severities (from 1 to 20 %, or the fault's default), nodes,
devices and seeds are random, with at least two nodes more than faults. Some faults are intermittent
or begin during the run. {drawn_from}{again}

Of {measured} faults that were measured, {exact} were named exactly; {wrong}. Goals that are missed:

{goals}

{table}

The lab plays the documents' figures with the noise that they show. The study says how well the
suite tells such faults apart; it says nothing about faults that the lab does not have.

## How it is counted

{rules}
A fault is *measured* if it is counted as exact, not decided, among several suspects, listed,
swallowed, or with another part named.

## By fault

{by_fault}

## What was not as it must be

{misses}
"""


# --- the command ---


def run(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    print(f"seed {options.seed}, {options.runs} runs, level {options.level}", flush=True)
    outcomes = study(options)
    total = sums(outcomes)
    for count in Count:
        if total.counts[count]:
            print(f"{total.counts[count]:5} {count.value}")
    print(f"{total.wrong:5} wrong of {total.causes} decided causes")
    print(f"{total.exact_share:.1%} of {total.measured} measured faults are exact")
    print("\n".join(misses(outcomes)))
    if options.page:
        options.page.write_text(page(outcomes, options), encoding="utf-8")
    print("\n".join(f"missed: {text}" for text in total.missed))
    return 1 if total.missed else 0


def _options(arguments: Sequence[str] | None) -> Any:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first run (0)")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(1_000_000))
    parser.add_argument("--level", default="smoke", choices=("smoke", "nightly", "signoff"))
    parser.add_argument("--platform", action="append", choices=PLATFORMS, default=[])
    parser.add_argument(
        "--fault", action="append", choices=sorted(ALL_CAUSES), default=[],
        help="draw from these faults alone; may be repeated",
    )  # fmt: skip
    parser.add_argument("--confirm", action="store_true", help="measure suspects again")
    parser.add_argument("--jobs", type=int, default=2, help="runs at once (2)")
    parser.add_argument("--page", type=Path, help="write the study as a page")
    parser.add_argument("--keep", type=Path, help="keep the folders of the runs in this folder")
    parser.add_argument("--recount", action="store_true", help="count the kept runs again")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        sys.exit(run())
