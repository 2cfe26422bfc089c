"""``railgauge plan``: what a run would do, touching no host."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from railgauge import hostfile, plan, thresholds
from railgauge.cli import text
from railgauge.errors import Uncovered
from railgauge.model import Case, Cluster
from railgauge.plan import Level
from railgauge.thresholds import LEVELS, Platform

NAME = "plan"
HELP = "show what a run would measure, in which round, and how long it takes; touches no host"
EXAMPLE = "example: railgauge plan --hostfile hostfiles/lab-metax-c500.yaml --level signoff"

# Any port will do for showing a command: the run takes a free one.
_SHOWN_PORT = 18515


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--hostfile", required=True, type=Path, metavar="F")
    parser.add_argument("--platform", metavar="NAME", help="for a plain hostfile")
    parser.add_argument("--level", choices=LEVELS, default="nightly")
    parser.add_argument("--rounds", type=_positive, metavar="K", help="tournament rounds")


def _positive(value: str) -> int:
    number = int(value)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{value} is less than 1")
    return number


def run(options: argparse.Namespace) -> int:
    cluster = hostfile.load(
        options.hostfile,
        schema_file=options.root / "hostfiles" / "schema.json",
        platform=options.platform,
    )
    platform = thresholds.load(cluster.platform, options.root / "thresholds")
    if complaints := list(thresholds.uncovered(platform)):
        raise Uncovered(complaints[0], where=platform.path)
    level = plan.level(platform, cluster, options.level, options.rounds)
    cases = list(plan.cases(platform, level))
    if options.json:
        text.print_json(_json(cluster, platform, level, cases))
    else:
        _print_text(cluster, platform, level, cases)
    return 0


def _json(
    cluster: Cluster, platform: Platform, level: Level, cases: list[tuple[int, Case]]
) -> dict[str, Any]:
    return {
        "nodes": [node.name for node in cluster.nodes],
        "rounds": [[str(pair) for pair in pairs] for pairs in level.rounds],
        "steps": [_step(cluster, platform, number, case) for number, case in cases],
        "estimate_s": _estimate_s(platform, cases),
    }


def _step(cluster: Cluster, platform: Platform, number: int, case: Case) -> dict[str, Any]:
    measurement = platform.measurements[case.measurement]
    commands = plan.commands(case, platform, cluster, _SHOWN_PORT)
    return {
        "round": number,
        "rung": measurement.rung,
        "measurement": case.measurement,
        "nodes": list(case.nodes),
        "pairing": str(case.pairing) if case.pairing else None,
        "sizes": list(case.sizes),
        "repeats": case.repeats,
        "commands": [{"node": c.node, "argv": list(c.argv)} for c in commands],
        "estimate_s": measurement.typical_s * case.repeats,
    }


def _estimate_s(platform: Platform, cases: list[tuple[int, Case]]) -> float:
    """One measurement after the other, as a run without -n does them."""
    return sum(
        platform.measurements[case.measurement].typical_s * case.repeats for _, case in cases
    )


def _print_text(
    cluster: Cluster, platform: Platform, level: Level, cases: list[tuple[int, Case]]
) -> None:
    print(
        f"{cluster.name}: {len(cluster.nodes)} nodes, platform {platform.name}, level {level.name}"
    )
    print("rung 0: every node is probed once")
    runs = Counter(case.measurement for _, case in cases)
    for name, measurement in sorted(platform.measurements.items(), key=lambda m: m[1].rung):
        extent = measurement.extents[level.name]
        print(
            f"rung {measurement.rung}: {name} ({measurement.command}): {runs[name]} runs"
            f" x {extent.repeats}, {len(extent.sizes)} sizes each"
        )
    for number, pairs in enumerate(level.rounds, 1):
        print(f"round {number}: {' '.join(map(str, pairs))}")
    for name, reason in sorted(platform.not_applicable.items()):
        print(f"not applicable: {name}: {reason}")
    seconds = _estimate_s(platform, cases)
    print(f"about {seconds / 60:.0f} min one after the other; disjoint pairs at once with -n K")
