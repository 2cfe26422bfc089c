"""The plan of a run as text: first what runs, for how long and what is left out, then details."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from railgauge.config.thresholds.model import SIGNOFF
from railgauge.core.model import Pair
from railgauge.core.terms import Rung
from railgauge.core.units import format_duration
from railgauge.planning import forecast, reduction, required, resource_estimate, root, sample
from railgauge.planning.forecast import Alternative, Work
from railgauge.planning.needs import Candidate, not_limited
from railgauge.planning.plan import Level
from railgauge.planning.required import LevelScope
from railgauge.planning.resource_estimate import ResourceEstimate
from railgauge.planning.sub_items import MOST_ITEMS
from railgauge.verdict.decision import not_applicable, subnet_notes

# What fits on a screen; more pairs and rounds are only counted.
_SHOWN_PAIRS = 8
_SHOWN_ROUNDS = 12
_WIDTH = 96
_FEW = 3
_GIB = 1024  # in MiB
_HELD = "; pytest collects one item for each test and node"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is planned, its work, the ways to make it shorter, and the tests of the ladder."""

    scope: LevelScope
    works: Sequence[Work]
    alternatives: Sequence[Alternative]
    tests: Sequence[Candidate]
    rounds: int | None = None

    def less(self, rounds: int | None) -> str:
        """What ``--rounds`` would leave out of the level, and what follows; empty if nothing."""
        cluster, platform, level = self.scope.cluster, self.scope.platform, self.scope.level
        found = reduction.of(platform, cluster, level.name, rounds, level.directions)
        return f"{found}; the run is incomplete at best" if found else ""


def lines(planned: Plan, counts: Sequence[int], *, everything: bool) -> Iterator[str]:
    """Yield the lines; ``counts`` are the numbers of workers whose durations are shown.

    ``everything`` unfolds the tools and sizes, and all that is left out with its reason.
    """
    cluster, platform, level = planned.scope.cluster, planned.scope.platform, planned.scope.level
    count = len(cluster.nodes)
    yield f"{cluster.name}: {count} nodes, platform {platform.name}, level {level.name}"
    yield _estimate(planned.works, counts)
    yield from _too_long(planned, counts)
    yield from filter(None, [planned.less(planned.rounds)])
    yield f"nodes: {_folded(level.nodes)}"
    yield from _sample(level)
    yield f"rung 0, {Rung.PREFLIGHT.folder}: every node is probed once"
    for rung, made in forecast.by_rung(planned.works).items():
        yield from _rung(rung, made, everything=everything)
    shares = forecast.coverage(platform, level)
    words = ", ".join(f"{share} {name.replace('_', ' ')}" for name, share in shares.items())
    yield f"covers {words}"
    items = required.count(planned.scope)
    yield from _wrapped(f"judges {items:,} items{_HELD if items > MOST_ITEMS else ''}")
    if why := resource_estimate.why_not(items):
        yield from _wrapped(f"{why}: {resource_estimate.REMEDY}")
    if level.name == SIGNOFF:
        runs = sum(each.runs * each.repeats for each in planned.works)
        yield from _wrapped(_resource_line(resource_estimate.resource_estimate(items, runs)))
    yield from _roots(planned)
    yield from subnet_notes(level)
    yield from _left_out(planned, everything=everything)
    if level.leaves:
        yield from _leaves(level)
    yield from _rounds(level)
    if more_s := forecast.follow_up_s(platform, level):
        yield (
            f"at most {forecast.FOLLOW_UPS} measurements more, about "
            f"{format_duration(more_s)}, if a cause is undecided without them"
        )
    if halves := forecast.halving(platform, level):
        yield (
            f"at most {halves.most} collectives more, about "
            f"{format_duration(halves.estimate_s)}, if a step of the scaling ladder misses"
        )


def shard_line(shard: Mapping[str, Any]) -> str:
    """Return the nodes of a shard, and which shards can run at the same time."""
    others = ", ".join(map(str, shard["together_with"])) or "no other"
    uses = _folded(shard["uses"]) if shard["uses"] else "no node: there are fewer parts"
    return f"shard {shard['shard']} uses {uses}; at the same time can run: {others}"


def _resource_line(cost: ResourceEstimate) -> str:
    return (
        f"needs on this machine about {_memory(cost.memory_mib)} of memory and "
        f"{format_duration(cost.cpu_s)} of processor time; for each worker of -n "
        f"{_memory(cost.worker_memory_mib)} more and {format_duration(cost.worker_cpu_s)} "
        f"({cost.basis})"
    )


def _memory(mib: float) -> str:
    return f"{mib:.0f} MiB" if mib < _GIB else f"{mib / _GIB:.1f} GiB"


def _roots(planned: Plan) -> Iterator[str]:
    """What needs root on the nodes, and how it gets it."""
    way = root.way_to_root(planned.scope.cluster)
    needing = ", ".join(root.needing_root(planned.scope.platform, planned.works))
    yield from _wrapped(f"as root, {way}: {needing}" if way else f"needs root: {needing}")


def _sample(level: Level) -> Iterator[str]:
    for note in sample.notes(level):
        yield from _wrapped(f"{note}: {_folded(level.sample)}")


# --- how long ---


def _estimate(works: Sequence[Work], counts: Sequence[int]) -> str:
    words = {count: format_duration(forecast.takes_s(works, count)) for count in counts}
    others = [f"{took} with --at-once {count}" for count, took in words.items() if count > 1]
    return ", ".join([f"about {words[1]} one after the other", *others])


def _too_long(planned: Plan, counts: Sequence[int]) -> Iterator[str]:
    """What can be done about a level that takes longer than it is meant to, or than a day."""
    level = planned.scope.level
    most_s = forecast.MEANT_S.get(level.name)
    takes_s = forecast.takes_s(planned.works)
    if most_s is None:
        yield from (_alternative(planned, one) for one in planned.alternatives)
        return
    if takes_s <= most_s:
        return
    over = f"longer than the {format_duration(most_s)} that a {level.name} run is meant to take"
    workers = forecast.fitting_workers(planned.works, most_s)
    if workers is not None:
        took = format_duration(forecast.takes_s(planned.works, workers))
        by = format_duration(takes_s - most_s)
        yield f"{over}, by {by}: with --at-once {workers} it takes {took}"
        return
    least_s = forecast.takes_s(planned.works, max(counts))
    yield f"{over}, even with --at-once {max(counts)}, by {format_duration(least_s - most_s)}"
    yield from (_alternative(planned, one) for one in planned.alternatives)


def _alternative(planned: Plan, one: Alternative) -> str:
    fast = (
        f", {format_duration(one.with_workers_s)} with --at-once {one.workers}"
        if one.workers > 1
        else ""
    )
    partners = "partner" if one.rounds == 1 else "partners"
    return (
        f"with --rounds {one.rounds}, where each node meets {one.rounds} {partners} or more: "
        f"{format_duration(one.estimate_s)}{fast}"
        f"{', incomplete at best' if planned.less(one.rounds) else ''}"
    )


# --- what runs ---


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


def _rounds(level: Level) -> Iterator[str]:
    if len(level.rounds) > _SHOWN_ROUNDS:
        last, most = len(level.rounds), max(map(len, level.rounds))
        yield f"rounds 1 to {last}: up to {most} pairs each, {len(level.pairs):,} in all"
    else:
        for number, pairs in enumerate(level.rounds, 1):
            yield f"round {number}: {_pairs(pairs)}"
    if level.turned:
        yield f"one-way tests also in the other direction: {_pairs(level.turned)}"


def _pairs(pairs: Sequence[Pair]) -> str:
    shown = " ".join(map(str, pairs[:_SHOWN_PAIRS]))
    left = len(pairs) - _SHOWN_PAIRS
    return f"{len(pairs)} pairs: {shown} and {left} more" if left > 0 else shown


def _rung(rung: Rung, works: Sequence[Work], *, everything: bool) -> Iterator[str]:
    head = f"rung {rung}, {rung.folder}, {format_duration(forecast.takes_s(works))}: "
    yield from _wrapped(head + ", ".join(_measured(each, everything) for each in works))


def _measured(each: Work, everything: bool) -> str:
    runs = "1 run" if each.runs == 1 else f"{each.runs:,} runs"
    repeats = f" x {each.repeats}" if each.repeats > 1 else ""
    name, command = each.measurement.name, each.measurement.command
    if not everything:
        return f"{name} ({runs}{repeats})"
    sizes = f", {each.sizes} sizes each" if each.sizes > 1 else ""
    return f"{name} ({command}: {runs}{repeats}{sizes})"


# --- what is left out ---


def _left_out(planned: Plan, *, everything: bool) -> Iterator[str]:
    platform, level = planned.scope.platform, planned.scope.level
    reasons = {
        name: reason
        for name, reason in sorted(not_applicable(platform, level, planned.tests).items())
        if not name.endswith(" traffic")
    }
    if everything:
        yield from (f"not applicable: {name}: {reason}" for name, reason in reasons.items())
    else:
        yield from _by_reason(reasons)
    if names := not_limited(platform, level, planned.tests):
        yield from _no_limit(names, everything=everything)


def _no_limit(names: Sequence[str], *, everything: bool) -> Iterator[str]:
    """Their names if they fit into a line; else ``everything`` shows them."""
    line = f"can be measured here, no limit: {', '.join(names)}"
    if everything or len(line) <= _WIDTH:
        yield from _wrapped(line)
    else:
        yield f"can be measured here, no limit: {len(names)} tests, --all shows them"


def _by_reason(reasons: Mapping[str, str]) -> Iterator[str]:
    """A line for each reason that several tests share, and one with the names of all others."""
    of: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        of.setdefault(reason, []).append(name)
    shared = {reason: names for reason, names in of.items() if len(names) >= _FEW}
    for reason, names in shared.items():
        yield from _wrapped(f"not applicable, {reason}: {', '.join(names)}")
    if single := [name for name, reason in reasons.items() if reason not in shared]:
        yield from _wrapped(f"not applicable, --all shows the reasons: {', '.join(single)}")


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, _WIDTH, subsequent_indent="    ", break_on_hyphens=False)
