"""What was slow when it was measured again, and no cause explains. Pure.

Partners of a suspect are measured as well, and may show a fault of their own that the plan did not
see: it was behind a slower part, or at times only.

Example: ``mx02`` is slow at times. When ``mx05`` sent to ``mx03`` to clear ``mx05``, it was slow as
well. Nothing that is said of ``mx02`` explains this, so ``mx03`` and ``mx05`` are suspects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from railgauge.core.naming import among, listed
from railgauge.core.terms import Rung
from railgauge.diagnosis import again
from railgauge.diagnosis.alike import CLEARLY, evidence_of
from railgauge.diagnosis.course import DIRECTION
from railgauge.diagnosis.localise import ways
from railgauge.diagnosis.model import OPEN, Cause, CauseClaim, RunResults, Where
from railgauge.diagnosis.over_paths import flow_of, is_path
from railgauge.diagnosis.pattern import worst_of
from railgauge.diagnosis.peers import STRAGGLER
from railgauge.diagnosis.reach import nodes_of
from railgauge.diagnosis.remeasured import always
from railgauge.diagnosis.rivals import is_compared, part_of, repeats_near
from railgauge.judging.record import ItemRecord
from railgauge.tools.metric import LOWER


def slow_again(results: RunResults, causes: Sequence[Cause]) -> Iterator[CauseClaim]:
    """One undecided claim for each two nodes that were slow in each repeat."""
    slow = [one for one in results.confirmed if always(one) and not one.error]
    found: dict[frozenset[str], list[ItemRecord]] = {}
    for record in again.records_of(results, slow):
        fits = is_path(record) and record.rung == Rung.NETWORK
        if fits and not any(_explains(results, cause, record) for cause in causes):
            found.setdefault(frozenset(record.nodes), []).append(record)
    for nodes, records in found.items():
        says = f"{worst_of(records)} when measured again, which no other cause explains"
        yield _claim(nodes, says, records)


def not_held(results: RunResults, causes: Sequence[Cause]) -> Iterator[CauseClaim]:
    """One undecided claim for each two nodes whose slow items are put down to parts without them.

    A node may have been renamed to one of its directions after it had taken the items of both.
    """
    decided = [cause for cause in causes if is_compared(cause)]
    repeats = repeats_near(results, decided)
    parts = {id(cause): part_of(cause, repeats) for cause in decided}
    found: dict[frozenset[str], list[ItemRecord]] = {}
    for one in repeats:
        shown = [cause for cause in causes if one.item in (*cause.evidence, *cause.explains)]
        is_held = any(id(c) not in parts or parts[id(c)].holds(one) for c in shown)
        if one.slow and shown and not is_held:
            found.setdefault(frozenset(one.nodes), []).append(results.records[one.item])
    for nodes, records in found.items():
        names = listed([f"{cause.cause} ({cause.where})" for cause in decided])
        says = f"{worst_of(records)}, which no part of {names} explains"
        yield _claim(nodes, says, records)


def _claim(nodes: Collection[str], says: str, records: Sequence[ItemRecord]) -> CauseClaim:
    names = sorted(nodes)
    decide = f"measure {' and '.join(names)} with nodes that are known to be good"
    shown = tuple(dict.fromkeys(records))
    return CauseClaim("slow-node", Where(among(names)), says, shown, OPEN, decide)


def _explains(results: RunResults, cause: Cause, record: ItemRecord) -> bool:
    """Whether the cause names a node of the record, or both ends of its path, and is as slow.

    Over which device is left open: the node may be slow over all of them since a moment.
    """
    place, nodes = cause.where, set(record.nodes)
    named = nodes & nodes_of(place.node)
    if cause.confidence == OPEN:
        named = {node for node in named if not _is_cleared(results, node, record)}
    is_there = {place.node, place.peer} <= nodes if place.peer else named
    is_slower = cause.cause == STRAGGLER and _is_slower(record, evidence_of(results, cause))
    return bool(is_there) and not is_slower and not is_back(results, cause, record)


def _is_cleared(results: RunResults, node: str, record: ItemRecord) -> bool:
    """Whether the same measurement of the node was fine again with another partner, each time."""
    place = record.nodes.index(node)
    cases = (one.asked.question.case for one in results.confirmed if not (one.missed or one.error))
    return any(
        case.measurement == record.subject
        and str(case.pairing or "") == record.pairing
        and case.nodes.index(node) == place
        for case in cases
        if case is not None and node in case.nodes and set(case.nodes) != set(record.nodes)
    )


def is_back(results: RunResults, cause: Cause, record: ItemRecord) -> bool:
    """Whether the record moved its payload only the other way than a slow direction's items did."""
    node = cause.where.node
    if cause.cause != DIRECTION or cause.confidence == OPEN or node not in record.nodes:
        return False
    shown = (one for one in evidence_of(results, cause) if node in one.nodes and is_path(one))
    taken = [found for one in shown if len(found := _ways(results, one, node)) == 1]
    slow = {way for found in taken for way in found}
    return bool(slow) and slow.isdisjoint(_ways(results, record, node))


def _ways(results: RunResults, record: ItemRecord, node: str) -> tuple[str, ...]:
    flow = flow_of(record, results.platform.measurements)
    return ways((record.nodes[0], record.nodes[1]), node, flow)


def _is_slower(record: ItemRecord, shown: Sequence[ItemRecord]) -> bool:
    """Whether it is slower than the best like item, in which no partner of a straggler was slow."""
    alike = [one for one in shown if one.subject == record.subject and one.asserted]
    best = max((value for one in alike for value in _rates(one)), default=0.0)
    return any(value < CLEARLY * best for value in _rates(record))


def _rates(record: ItemRecord) -> list[float]:
    return [j.worst for j in record.judgements if j.worst is not None and j.better != LOWER]
