"""Stragglers in simulated runs: how often a healthy part is named, and how often a slow one is.

    python selftests/matrix/straggler_seeds.py [--seeds N] [--platform P]… [--level L]…
        [--page FILE]

For each seed, the lab's own functions give the samples of a whole run, without SSH, runs or files
(see ``healthy_seeds.py``), and the diagnosis looks for causes. A healthy run must have none. Then a
part is made slower by a share, and the causes are compared with it. Exit code 1 for a straggler in
a healthy run.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from healthy_seeds import Bench, Check, begun, bench, rate
from healthy_seeds_lab import InProcessLab, using_lab
from healthy_seeds_values import Source
from injections import NODES, PLATFORMS

from railgauge.config.thresholds.model import Peers
from railgauge.core.errors import BadInput
from railgauge.core.limits import Basis
from railgauge.core.model import Case, Judgement, Outcome
from railgauge.diagnosis import OPEN as UNDECIDED
from railgauge.diagnosis import Cause, RunResults, behind_peers, diagnose, nodes_of
from railgauge.diagnosis.reach import devices_of
from railgauge.judging.record import ItemRecord, settled
from railgauge_lab import faults, platforms

LEVELS = ("smoke", "nightly", "signoff")
SHARES = (1.0, 2.0, 3.0, 4.5, 6.0)
# One fault per kind of part; the last one only on platforms with single links between GPUs.
FAULTS = ("slow-node", "slow-nic", "slow-gpu", "slow-xgmi")
NAMED, OPEN, NODE, OTHER, SILENT = (
    "named",
    "undecided",
    "its node named",
    "another node named",
    "silent",
)
SLOW_SEEDS = {"smoke": 20, "nightly": 10, "signoff": 5}
_LIMIT = Peers(0.03, Basis("site", "no part may be more than 3 % behind"))
_SHOWN = 20


# --- one run ---


def records(one: Bench, seed: int) -> dict[str, ItemRecord]:
    """All items of a run with this seed that compare a measured value with a limit."""
    one.lab.reseed(seed)
    return {
        item.id: settled(item, judgements, None)
        for case, samples, checks in one.cases
        for item, judgements in _judged(one.lab, case, samples, checks)
    }


def _judged(
    lab: InProcessLab, case: Case, samples: Source, checks: Sequence[Check]
) -> Iterator[tuple[ItemRecord, Sequence[Judgement]]]:
    """The items of one case with their judgements."""
    samples.take()
    found: dict[tuple[int | None, str | None], list[Judgement]] = {}
    for check in checks:
        found.setdefault(check.key[1:], []).append(check.judge(samples))
    for item in begun(lab, case):
        (asked,) = item.questions
        yield item, found[asked.size_bytes, asked.placement]


def results(one: Bench, seed: int) -> RunResults:
    """A run on a platform with a limit on stragglers."""
    platform = dataclasses.replace(one.lab.platform, peers=_LIMIT)
    return RunResults(records(one, seed), {}, platform, one.lab.cluster)


def alarms(one: Bench, seed: int) -> Iterator[str]:
    """What a healthy run must not have: a cause, or a node that is not known to keep the limit."""
    found = results(one, seed)
    for cause in diagnose(found):
        yield f"{cause.cause} {cause.where}: {cause.says}"
    for item in behind_peers.compared(found):
        if item.outcome is not Outcome.PASSED:
            yield f"{item.id}: {item.reason}"


# --- many runs ---


@dataclass(frozen=True)
class Healthy:
    """The result of the healthy runs of one platform at one level."""

    platform: str
    level: str
    seeds: int
    alarms: tuple[str, ...]


@dataclass(frozen=True)
class Slow:
    """The results of runs with one part slower by each share, in words."""

    platform: str
    level: str
    fault: str
    outcomes: Mapping[float, str]


def healthy(platform: str, level: str, seeds: int) -> Healthy:
    lab, found = InProcessLab(platform), list[str]()
    with using_lab(lab):
        one = bench(lab, level)
        for seed in range(1, seeds + 1):
            found += (f"{platform} {level} seed {seed}: {s}" for s in alarms(one, seed))
    return Healthy(platform, level, seeds, tuple(found))


def slow(platform: str, level: str, name: str, seeds: int) -> Slow:
    outcomes = {share: _counted(platform, level, f"{name}={share}%", seeds) for share in SHARES}
    return Slow(platform, level, name, outcomes)


def _counted(platform: str, level: str, text: str, seeds: int) -> str:
    """How often a part that is slower by this share is named, and the other outcomes."""
    lab = InProcessLab(platform)
    fault = apply_fault(lab, text)
    with using_lab(lab):
        one = bench(lab, level)
        one_nic = len(lab.platform.fabric_nics) == 1
        every = (diagnose(results(one, seed)) for seed in range(1, seeds + 1))
        outcomes = Counter(outcome_of(fault, found, one_nic=one_nic) for found in every)
    if len(outcomes) == 1:
        return next(iter(outcomes))
    return ", ".join(f"{number} {word}" for word, number in outcomes.most_common())


def apply_fault(lab: InProcessLab, text: str) -> faults.Fault:
    """Apply a fault, with its device, to the lab's nodes. Raises ``BadInput``."""
    fault = faults.parse(text, list(lab.nodes))
    node = lab.nodes[fault.node]
    parts = {"slow-nic": [nic.name for nic in lab.platform.fabric_nics], "slow-gpu": ["3"]}
    if fault.name in parts:
        fault = dataclasses.replace(fault, device=parts[fault.name][-1])
    faults.apply(fault, node, platforms.load(lab.platform.name))
    return fault


def outcome_of(fault: faults.Fault, found: Sequence[Cause], *, one_nic: bool) -> str:
    """Whether the causes name the part; a single NIC cannot be separated from its node."""
    wanted = _devices(fault)
    right = [cause for cause in found if _is_on(fault.node, wanted, cause, one_nic=one_nic)]
    if not found:
        return SILENT
    if any(fault.node not in nodes_of(cause.where.node) for cause in found):
        return OTHER
    if not right:
        return NODE
    decided = len(right) == len(found) and any(cause.confidence != UNDECIDED for cause in right)
    return NAMED if decided else OPEN


def _devices(fault: faults.Fault) -> set[str]:
    """The devices that a cause may name for the fault; empty for a whole node."""
    named = {"slow-nic": {fault.device}, "slow-gpu": {f"gpu{fault.device}"}}
    return named.get(fault.name, {"gpu0", "gpu7"} if fault.name == "slow-xgmi" else set())


def _is_on(node: str, wanted: set[str], cause: Cause, *, one_nic: bool) -> bool:
    if node not in nodes_of(cause.where.node):
        return False
    device = devices_of(cause.where.device)
    return bool(wanted & device) or (not device and (not wanted or one_nic))


# --- the command ---


def healthy_table(rows: Sequence[Healthy]) -> str:
    lines = [
        f"| {row.platform} | {row.level} | {row.seeds:,} | {len(row.alarms)} |"
        f" {rate(len(row.alarms), row.seeds)} |"
        for row in rows
    ]
    head = ["| platform | level | healthy runs | stragglers | per run |", "| --- " * 5 + "|"]
    return "\n".join([*head, *lines])


def slow_table(rows: Sequence[Slow]) -> str:
    lines = [
        f"| {row.platform} | {row.level} | {row.fault} | {' | '.join(row.outcomes.values())} |"
        for row in rows
    ]
    shares = " | ".join(f"{share:g} %" for share in SHARES)
    head = [f"| platform | level | fault | {shares} |", "| --- " * (3 + len(SHARES)) + "|"]
    return "\n".join([*head, *lines])


def page(false: Sequence[Healthy], found: Sequence[Slow]) -> str:
    seeds = [f"{number} at {level}" for level, number in SLOW_SEEDS.items()]
    nodes = {len(NODES[row.platform]) for row in false}
    return _PAGE.format(
        healthy=healthy_table(false),
        slow=slow_table(found),
        seeds=", ".join(seeds),
        nodes=f"{min(nodes)} to {max(nodes)}",
        limit=f"{100 * _LIMIT.behind_max:g} %",
    )


_PAGE = """# Stragglers

How often the diagnosis names a part that is behind its peers, where there is one and where there is
none. The model that names it is in `src/railgauge/diagnosis/slow`. Evidence simulated: the embedded
lab, {nodes} nodes a platform. Made by `make stragglers`, which fails on any cause in a healthy run,
and on any node of it that is not known to keep a limit of {limit} on stragglers.

## Healthy runs

{healthy}

With none in n runs, the true rate is below 3/n at 95 % confidence (rule of three). The levels share
their noise, so the rows of one platform must not be added up.

## Slow parts

One part of the second node is slower by the share in the column: the node, its last NIC, its GPU 3,
or the link from its GPU 0 to GPU 7. Noise seeds: {seeds}.
*named*: every cause names the part, by the cause `straggler` or, where it misses limits too, by
that of a slow part. *undecided*: the part
is one of several suspects, or is named beside another part of its node. *its node named*: another
part of the right node is named, or the node. *another node named* would be wrong. *silent*: no
cause, the run is accepted.

{slow}

A part that is less than 2 % behind is silent by design: healthy like parts differ by up to 1.04 %
in document 002. At level smoke a GPU or link may be measured only once, which leaves it undecided.
The samples are computed by the lab's own functions, without SSH, runs or files. This says nothing
about the noise of a real cluster.
"""


def run(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    places = [(name, level) for name in options.platform for level in options.level]
    with ProcessPoolExecutor(options.jobs) as pool:
        false = list(pool.map(_healthy, places, [options.seeds] * len(places)))
        rows = pool.map(_slow, places) if options.slow else ()
        found = [row for some in rows for row in some]
    every = [line for row in false for line in row.alarms]
    print("\n\n".join([healthy_table(false), slow_table(found), *every[:_SHOWN]]))
    if options.page:
        options.page.write_text(page(false, found), encoding="utf-8")
    return 1 if every else 0


def _healthy(place: tuple[str, str], seeds: int) -> Healthy:
    started = time.process_time()
    row = healthy(*place, seeds)
    _print_time(place, started)
    return row


def _slow(place: tuple[str, str]) -> list[Slow]:
    started, rows = time.process_time(), []
    for name in FAULTS:
        with suppress(BadInput):  # the platform has no such part
            rows.append(slow(*place, name, SLOW_SEEDS[place[1]]))
    _print_time(place, started)
    return rows


def _print_time(place: tuple[str, str], started: float) -> None:
    took_s = time.process_time() - started
    print(f"{' '.join(place)}: {took_s:.0f} s of CPU time", file=sys.stderr, flush=True)


def _options(arguments: Sequence[str] | None) -> Any:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=1000, help="of healthy runs")
    parser.add_argument("--platform", action="append", choices=PLATFORMS)
    parser.add_argument("--level", action="append", choices=LEVELS)
    parser.add_argument("--jobs", type=int, default=1, help="platforms and levels at once")
    parser.add_argument("--page", type=Path, help="write the tables as a page")
    parser.add_argument(
        "--no-slow", dest="slow", action="store_false", help="make healthy runs alone"
    )
    options = parser.parse_args(arguments)
    options.platform = options.platform or PLATFORMS
    options.level = options.level or LEVELS
    return options


if __name__ == "__main__":
    sys.exit(run())
