"""``railgauge plan``: show what a run would do, without touching a node."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from railgauge.cli import plan_soak, plan_text, text
from railgauge.cli.plan_soak import PlannedSoak, planned_soak
from railgauge.config.thresholds import LEVELS, Platform
from railgauge.core import arguments
from railgauge.core.errors import BadInput
from railgauge.core.model import Case, Cluster
from railgauge.planning import forecast, part, plan, required, root, sample
from railgauge.planning.forecast import Work
from railgauge.planning.marks import marked_tests
from railgauge.planning.needs import Candidate, candidates, not_limited
from railgauge.planning.part import LevelPart
from railgauge.planning.plan import Level
from railgauge.planning.required import LevelScope
from railgauge.planning.resource_estimate import resource_estimate
from railgauge.run import inputs
from railgauge.verdict.decision import not_applicable

HELP = "show what a run would measure, in which round, and how long it takes; touches no node"
EXAMPLE = "example: railgauge plan --hostfile hostfiles/lab-metax-c500.yaml --level signoff"

# An example for the commands shown; a run takes a free port.
_SHOWN_PORT = 18515
# 75 MB of JSON within 5 s; all pairs of a thousand nodes would give a thousand times as much.
_MOST_STEPS = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--hostfile", required=True, type=Path, metavar="F")
    parser.add_argument("--platform", metavar="NAME", help="for a plain hostfile")
    parser.add_argument("--level", choices=LEVELS, default="nightly")
    parser.add_argument("--rounds", type=arguments.count, metavar="K", help="tournament rounds")
    parser.add_argument(
        "--at-once",
        "-n",
        "--workers",
        dest="workers",
        type=arguments.count,
        metavar="K",
        help="also show how long it takes with pytest --at-once K",
    )
    parser.add_argument(
        "--soak", metavar="TIME", help="also show what a soak proves: 24h, 90m, or 5rounds"
    )
    parser.add_argument(
        "--soak-below", default="", metavar="RATE", help="a rate of events to prove: 1/1000h"
    )
    parser.add_argument("--shard", metavar="I/N", help="show one of N shards, from 1")
    parser.add_argument(
        "--all", action="store_true", help="show tools and sizes, and why each test is left out"
    )


def run(options: argparse.Namespace) -> int:
    cluster, platform = inputs.site(options.hostfile, options.root, options.platform)
    whole = sample.level(platform, cluster, options.level, options.rounds)
    shard = part.shard(options.shard, cluster) if options.shard else None
    level = part.of_level(shard, whole) if shard else whole
    cluster = part.within(cluster, part.used(level)) if shard else cluster
    works = forecast.work(platform, level)
    scope, tests = LevelScope(platform, cluster, level), candidates(marked_tests(options.root))
    soak, asked = _soak(options, scope), options.workers or cluster.independent_pairs
    if options.json:
        _refuse_endless(works)
        found = _json(scope, works, asked, tests)
        found |= {"shard": _shard(shard, whole)} if shard else {}
        text.print_json({**found, **({"soak": plan_soak.as_json(soak)} if soak else {})})
    else:
        fewer = () if shard else forecast.alternatives(platform, cluster, level)
        planned = plan_text.Plan(scope, works, fewer, tests, None if shard else options.rounds)
        counts = forecast.worker_counts(works, asked)
        print("\n".join(plan_text.lines(planned, counts, everything=options.all)))
        if shard:
            print(plan_text.shard_line(_shard(shard, whole)))
        if soak:
            print("\n".join(plan_soak.lines(soak)))
    return 0


def _shard(shard: LevelPart, whole: Level) -> dict[str, Any]:
    """The shard, the nodes that it uses, and the shards that can run at the same time."""
    return {
        "shard": f"{shard.shard}/{shard.of}",
        "uses": list(part.used(part.of_level(shard, whole))),
        "together_with": part.together_with(shard, whole),
    }


def _soak(options: argparse.Namespace, scope: LevelScope) -> PlannedSoak | None:
    if options.soak:
        return planned_soak(scope, options.soak, options.soak_below, options.rounds)
    if options.soak_below:
        raise BadInput("needs --soak", where="--soak-below")
    return None


def _refuse_endless(works: Sequence[Work]) -> None:
    steps = sum(each.runs for each in works)
    if steps > _MOST_STEPS:
        raise BadInput(
            f"the plan has {steps:,} steps, and at most {_MOST_STEPS:,} are listed",
            remedy="ask for a part with --shard I/N, for fewer --rounds, for another --level, or "
            "leave out --json",
        )


def _json(
    scope: LevelScope, works: Sequence[Work], workers: int | None, tests: Sequence[Candidate]
) -> dict[str, Any]:
    cluster, platform, level = scope.cluster, scope.platform, scope.level
    shares = forecast.coverage(platform, level)
    items = required.count(scope)
    halves = forecast.halving(platform, level)
    return {
        "nodes": [node.name for node in cluster.nodes],
        "sample": list(level.sample),
        "rounds": [[str(pair) for pair in pairs] for pairs in level.rounds],
        "turned": [str(pair) for pair in level.turned],
        "leaves": {name: list(nodes) for name, nodes in level.leaves.items()},
        "coverage": {name: asdict(share) for name, share in shares.items()},
        "steps": [
            _step(cluster, platform, number, case) for number, case in plan.cases(platform, level)
        ],
        "items": items,
        "resource_estimate": asdict(
            resource_estimate(items, sum(each.runs * each.repeats for each in works))
        ),
        "not_limited": list(not_limited(platform, level, tests)),
        "estimate_s": forecast.takes_s(works),
        "follow_ups": {
            "most": forecast.FOLLOW_UPS,
            "estimate_s": forecast.follow_up_s(platform, level),
            **({"scaling": asdict(halves)} if halves else {}),
        },
        "workers": {
            str(count): {"estimate_s": forecast.takes_s(works, count)}
            for count in forecast.worker_counts(works, workers)
        },
        "rungs": {
            str(int(rung)): {"estimate_s": forecast.takes_s(made)}
            for rung, made in forecast.by_rung(works).items()
        },
        "as_root": {
            "way": root.way_to_root(cluster),
            "needed_by": list(root.needing_root(platform, works)),
        },
        "not_applicable": not_applicable(platform, level, tests),
        "alternatives": []
        if level.part
        else [asdict(one) for one in forecast.alternatives(platform, cluster, level)],
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
