"""``railgauge plan``: show what a run would do, without touching a node."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from railgauge.cli import text
from railgauge.config.thresholds import LEVELS, Platform
from railgauge.core.errors import BadInput
from railgauge.core.model import Case, Cluster, Pair
from railgauge.planning import demand, forecast, plan
from railgauge.planning.demand import DemandInputs
from railgauge.planning.forecast import Work
from railgauge.planning.marks import asked
from railgauge.planning.needs import Candidate, candidates, not_limited
from railgauge.planning.plan import Level
from railgauge.run import inputs
from railgauge.verdict.decision import not_applicable, subnet_notes

NAME = "plan"
HELP = "show what a run would measure, in which round, and how long it takes; touches no node"
EXAMPLE = "example: railgauge plan --hostfile hostfiles/lab-metax-c500.yaml --level signoff"

# An example for the commands shown; a run takes a free port.
_SHOWN_PORT = 18515
# What fits on a screen; more pairs and rounds are only counted.
_SHOWN_PAIRS = 8
_SHOWN_ROUNDS = 12
_WIDTH = 96
# About 1 GB of JSON; all pairs of a thousand nodes would give a hundred times as much.
_MOST_STEPS = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--hostfile", required=True, type=Path, metavar="F")
    parser.add_argument("--platform", metavar="NAME", help="for a plain hostfile")
    parser.add_argument("--level", choices=LEVELS, default="nightly")
    parser.add_argument("--rounds", type=_positive, metavar="K", help="tournament rounds")
    parser.add_argument(
        "-n",
        "--workers",
        type=_positive,
        metavar="K",
        help="also show how long it takes with pytest -n K",
    )


def _positive(value: str) -> int:
    number = int(value)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{value} is less than 1")
    return number


def run(options: argparse.Namespace) -> int:
    cluster, platform = inputs.site(options.hostfile, options.root, options.platform)
    level = plan.level(platform, cluster, options.level, options.rounds)
    works = forecast.work(platform, level)
    scope, tests = DemandInputs(platform, cluster, level), candidates(asked(options.root))
    if options.json:
        _refuse_endless(works)
        text.print_json(_json(scope, works, options.workers, tests))
    else:
        print("\n".join(_text(scope, works, options.workers, tests)))
    return 0


def _refuse_endless(works: Sequence[Work]) -> None:
    steps = sum(each.runs for each in works)
    if steps > _MOST_STEPS:
        raise BadInput(
            f"the plan has {steps:,} steps, too many to list",
            remedy="ask for fewer --rounds, for another --level, or leave out --json",
        )


def _json(
    scope: DemandInputs, works: Sequence[Work], workers: int | None, tests: Sequence[Candidate]
) -> dict[str, Any]:
    cluster, platform, level = scope.cluster, scope.platform, scope.level
    shares = forecast.coverage(platform, level)
    return {
        "nodes": [node.name for node in cluster.nodes],
        "rounds": [[str(pair) for pair in pairs] for pairs in level.rounds],
        "leaves": {name: list(nodes) for name, nodes in level.leaves.items()},
        "coverage": {name: asdict(share) for name, share in shares.items()},
        "steps": [
            _step(cluster, platform, number, case) for number, case in plan.cases(platform, level)
        ],
        "items": demand.count(scope),
        "not_limited": list(not_limited(platform, level, tests)),
        "estimate_s": forecast.takes_s(works),
        "follow_ups": {
            "most": forecast.FOLLOW_UPS,
            "estimate_s": forecast.follow_up_s(platform, level),
        },
        "workers": {
            str(count): {"estimate_s": forecast.takes_s(works, count)}
            for count in _worker_counts(works, workers)
        },
    }


def _worker_counts(works: Sequence[Work], workers: int | None) -> list[int]:
    """Return 1, the number that was asked for, and the most that can be busy."""
    return sorted({1, *([workers] if workers else []), forecast.widest(works)})


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


def _text(
    scope: DemandInputs, works: Sequence[Work], workers: int | None, tests: Sequence[Candidate]
) -> Iterator[str]:
    cluster, platform, level = scope.cluster, scope.platform, scope.level
    count = len(cluster.nodes)
    yield f"{cluster.name}: {count} nodes, platform {platform.name}, level {level.name}"
    yield f"nodes: {_folded(level.nodes)}"
    if level.leaves:
        yield from _leaves(level)
    yield "rung 0: every node is probed once"
    yield from (_measured(each) for each in works if each.runs)
    yield from _rounds(level)
    for name, reason in sorted(not_applicable(platform, level, tests).items()):
        if not name.endswith(" traffic"):
            yield f"not applicable: {name}: {reason}"
    if names := not_limited(platform, level, tests):
        said = f"can be measured here, no limit: {', '.join(names)}"
        yield from textwrap.wrap(said, _WIDTH, subsequent_indent="    ")
    yield from subnet_notes(level)
    shares = forecast.coverage(platform, level)
    words = ", ".join(f"{share} {name.replace('_', ' ')}" for name, share in shares.items())
    yield f"covers {words}"
    yield f"judges {demand.count(scope):,} items"
    yield _estimate(works, workers)
    if more_s := forecast.follow_up_s(platform, level):
        yield (
            f"at most {forecast.FOLLOW_UPS} measurements more, about {_duration(more_s)}, if a "
            "cause is undecided without them"
        )


def _folded(nodes: Sequence[str]) -> str:
    """Return the nodes in NodeSet syntax, as in a hostfile."""
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet  # noqa: PLC0415

    return str(NodeSet.fromlist(nodes, resolver=RESOLVER_NOGROUP))


def _leaves(level: Level) -> Iterator[str]:
    if len(level.leaves) <= _SHOWN_ROUNDS:
        for name, nodes in level.leaves.items():
            yield f"leaf {name}: {_folded(nodes)}"
        return
    sizes = sorted({len(nodes) for nodes in level.leaves.values()})
    span = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    yield f"leaves: {len(level.leaves)}, of {span} nodes each: {_folded(list(level.leaves))}"


def _measured(each: Work) -> str:
    measurement = each.measurement
    return (
        f"rung {measurement.rung}: {measurement.name} ({measurement.command}): {each.runs:,} runs"
        f" x {each.repeats}, {each.sizes} sizes each"
    )


def _rounds(level: Level) -> Iterator[str]:
    if len(level.rounds) > _SHOWN_ROUNDS:
        last, most = len(level.rounds), max(map(len, level.rounds))
        yield f"rounds 1 to {last}: up to {most} pairs each, {len(level.pairs):,} in all"
        return
    for number, pairs in enumerate(level.rounds, 1):
        yield f"round {number}: {_pairs(pairs)}"


def _pairs(pairs: Sequence[Pair]) -> str:
    shown = " ".join(map(str, pairs[:_SHOWN_PAIRS]))
    left = len(pairs) - _SHOWN_PAIRS
    return f"{len(pairs)} pairs: {shown} and {left} more" if left > 0 else shown


def _estimate(works: Sequence[Work], workers: int | None) -> str:
    words = {
        count: _duration(forecast.takes_s(works, count)) for count in _worker_counts(works, workers)
    }
    others = [f"{took} with -n {count}" for count, took in words.items() if count > 1]
    return ", ".join([f"about {words[1]} one after the other", *others])


_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def _duration(seconds: float) -> str:
    """Return the time in minutes below three hours, in hours below three days, else in days."""
    if seconds < 3 * _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.0f} h" if seconds < 3 * _DAY else f"{seconds / _DAY:.0f} days"
