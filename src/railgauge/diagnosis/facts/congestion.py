"""Rung 4: pairs that the traffic of other nodes slows, and the leaf that they have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from railgauge.core.model import Outcome
from railgauge.core.naming import folded
from railgauge.diagnosis.model import (
    LIKELY,
    Context,
    Finding,
    RunResults,
    Where,
    missed,
    worst_of,
)
from railgauge.judging.record import ItemRecord
from railgauge.planning.pairing import leaves

_IMPACTS = ("latency_impact", "bandwidth_impact")
_VICTIMS = 2


def slowed_pairs(context: Context) -> Iterator[Finding]:
    """One finding for all of them: the leaf that no other pair is in, or else the fabric."""
    slow = [item for item in context.open if _is_slowed(item)]
    if slow:
        pairs = "; ".join(" and ".join(item.nodes[:_VICTIMS]) for item in slow)
        says = f"{worst_of(slow)}; slowed by the traffic of all other nodes: {pairs}"
        where = Where(_leaf_of(slow, context.results))
        yield Finding("congestion-impact", where, says, tuple(slow), LIKELY)


def _is_slowed(item: ItemRecord) -> bool:
    return any(judged.metric in _IMPACTS for judged in missed(item))


def _leaf_of(slow: Sequence[ItemRecord], results: RunResults) -> str:
    """Return the nodes of the one leaf that all slow pairs share, and no other pair has."""
    subjects = {item.subject for item in slow}
    every = [item for item in results.records.values() if item.subject in subjects]
    fine = [item for item in every if item.outcome in (Outcome.PASSED, Outcome.MARGINAL)]
    names = [node.name for node in results.cluster.nodes]
    of = leaves(names, results.cluster.groups)
    shared = [name for name, nodes in of.items() if all(_has(nodes, item) for item in slow)]
    alone = [name for name in shared if not any(_has(of[name], item) for item in fine)]
    return folded(of[alone[0]]) if fine and len(alone) == 1 else ""


def _has(leaf: Sequence[str], item: ItemRecord) -> bool:
    return not {*leaf}.isdisjoint(item.nodes[:_VICTIMS])
