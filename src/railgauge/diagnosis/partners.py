"""Choose the nodes that a suspect is measured with. Pure.

A good node has no problem that is not explained by a cause elsewhere. Where the suspect lacks a
good node, one with a cause of its own will do, if that cause cannot reach the measurement: a node
behind a closed gate because a GPU link is down can still show which of two NICs is slow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from railgauge.core.model import Outcome
from railgauge.diagnosis import UNDIAGNOSED, Cause, RunResults, nodes_of
from railgauge.diagnosis.reach import can_reach
from railgauge.judging.record import ItemRecord

GOOD = (Outcome.PASSED, Outcome.MARGINAL)
_PARTNERS = 2  # the path to a single partner could be faulty


def good_nodes(
    results: RunResults, causes: Iterable[Cause], harmless: Sequence[Cause] = ()
) -> tuple[str, ...]:
    """The nodes whose problems all have a cause elsewhere, in the order of the hostfile.

    The nodes of the ``harmless`` causes count as good.
    """
    suspects: set[str] = set()
    explained: set[str] = set()
    for cause in causes:
        suspects |= set() if cause in harmless else _named(cause)
        if cause.where.node and cause.cause != UNDIAGNOSED:
            explained |= {*cause.evidence, *cause.explains}
    for record in results.records.values():
        unexplained = record.outcome not in GOOD and record.id not in explained
        if unexplained and record.outcome is not Outcome.RECORD_ONLY:
            suspects |= set(record.nodes)
    names = (node.name for node in results.cluster.nodes)
    return tuple(name for name in names if name not in suspects)


def spare_nodes(
    results: RunResults, causes: Sequence[Cause], record: ItemRecord
) -> tuple[str, ...]:
    """The nodes with causes of their own, none of which can reach a measurement like this item."""
    elsewhere = [cause for cause in causes if not can_reach(cause, record, results.platform)]
    near = {name for cause in causes if cause not in elsewhere for name in _named(cause)}
    return tuple(name for name in good_nodes(results, causes, elsewhere) if name not in near)


def _named(cause: Cause) -> set[str]:
    return nodes_of(cause.where.node) | ({cause.where.peer} - {""})


def partners(
    records: Mapping[str, ItemRecord], suspect: str, subject: str, good: Sequence[str]
) -> Sequence[str]:
    """Up to two good nodes that passed this measurement, first those not yet measured with."""
    same = [record for record in records.values() if record.subject == subject]
    able = {node for record in same if record.outcome in GOOD for node in record.nodes}
    met = {node for record in same if suspect in record.nodes for node in record.nodes}
    fit = [node for node in good if node in able]
    return sorted(fit, key=met.__contains__)[:_PARTNERS]
