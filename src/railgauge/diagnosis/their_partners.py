"""Name the partners that a slow node may share its slowness with. Pure.

An undecided node is a suspect because of its slow pairs. Where it was fine with others when it was
measured again, the partner of such a pair, or the path to it, may be what is slow.

Example: ``mx02`` was slow with ``mx01`` and ``mx05``. The path to ``mx01`` is slow and explains the
first. With ``mx03`` it is fine now, so that ``mx02`` and ``mx05`` are suspects of the second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from railgauge.core.naming import among, listed
from railgauge.diagnosis.alike import evidence_of
from railgauge.diagnosis.confirmed import NOT_REPRODUCED
from railgauge.diagnosis.model import OPEN, Cause, RunResults
from railgauge.diagnosis.other_way import measured_nodes
from railgauge.diagnosis.reach import nodes_of
from railgauge.judging.confirmation import Confirmed

_PAIR = 2


def named_too(results: RunResults, causes: Sequence[Cause]) -> list[Cause]:
    """The causes; an undecided node with the partners that may be slow in its place."""
    return [_with_partners(results, cause, causes) for cause in causes]


def _with_partners(results: RunResults, cause: Cause, causes: Sequence[Cause]) -> Cause:
    nodes = nodes_of(cause.where.node)
    is_open = cause.confidence == OPEN and cause.cause.startswith("slow-")
    if not is_open or cause.where.peer or len(nodes) != 1 or not cause.confirmation:
        return cause
    (node,) = nodes
    found = {*_of_pairs(results, node), *_of_the_rest(results, cause, causes)}
    if not found:
        return cause
    both = sorted({node, *found})
    says = f"{cause.says}; {node} is fine with others, and slow with {listed(sorted(found))}"
    return replace(cause, where=replace(cause.where, node=among(both)), says=says)


def _of_pairs(results: RunResults, node: str) -> Iterator[str]:
    """The partners that the node was slow with again, over a NIC that was fine with another one."""
    again = [r for r in results.confirmed if node in measured_nodes(r) and not r.error]
    alone = (r for r in again if r.asked.suspects == (node,) and not r.missed)
    fine = {_nic(result, node) for result in alone} - {""}
    for result in again:
        pair = set(result.asked.suspects)
        if result.missed and node in pair and len(pair) == _PAIR and _nic(result, node) in fine:
            yield from pair - {node}


def _of_the_rest(results: RunResults, cause: Cause, causes: Iterable[Cause]) -> set[str]:
    """The one partner of all items that no decided cause has, if the node was fine without it."""
    if not cause.confirmation or cause.confirmation.state != NOT_REPRODUCED:
        return set()
    known = {item for one in causes if one.confidence != OPEN for item in one.evidence}
    left = [r for r in evidence_of(results, cause) if r.id not in known]
    partners = {name for record in left for name in record.nodes} - {cause.where.node}
    return partners if len(partners) == 1 else set()


def _nic(result: Confirmed, node: str) -> str:
    case = result.asked.question.case
    path = case.path_at(node) if case else None
    return path.nic if path else ""
