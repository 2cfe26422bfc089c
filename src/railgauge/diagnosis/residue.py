"""Measurements that are slower than the part that they were put down to. Pure.

A slow part costs each measurement over it about the same. One that lost clearly more than another
one of the same kind has a second fault on its way, which its limit does not show: a limit allows
for more noise than like measurements have.

Example: ``mlx5_5`` of ``h200-02`` is slow: it reaches 364 of 392 Gb/s with ``h200-03``, and 349
Gb/s with ``h200-01``. Something between ``h200-01`` and ``h200-02`` is slow as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from railgauge.core.naming import among, listed
from railgauge.core.terms import Flow, Rung
from railgauge.diagnosis import again
from railgauge.diagnosis.alike import (
    evidence_of,
    is_steady,
    lies_on,
    pairs_behind,
    slower_than_others,
)
from railgauge.diagnosis.course import DIRECTION, SLOW
from railgauge.diagnosis.history import nic_of
from railgauge.diagnosis.localise import ways
from railgauge.diagnosis.model import (
    AGAIN,
    CERTAIN,
    LIKELY,
    OPEN,
    Cause,
    CauseClaim,
    RunResults,
    Where,
    missed,
)
from railgauge.diagnosis.over_paths import flow_of, is_path
from railgauge.diagnosis.pattern import worst_of
from railgauge.diagnosis.reach import nodes_of
from railgauge.diagnosis.shares import Shares
from railgauge.diagnosis.unexplained import is_back
from railgauge.judging.record import ItemRecord
from railgauge.tools import flow
from railgauge.tools.metric import LOWER

_COST = SLOW | {"slow-gpu-link"}
_PAIR = 2
_MUCH = 0.04  # of a limit
_SOME = 2
_LESS = 0.98  # of the best like item; healthy like parts differ by up to 1.04 %
_FAR = 0.85  # of the best share


def left_over(results: RunResults, causes: Sequence[Cause]) -> Iterator[CauseClaim]:
    """The NICs inside slow nodes that are slower, and the nodes between which something else is.

    The latter are undecided: one claim for each two nodes, and for each group.
    """
    found: dict[frozenset[str], list[tuple[ItemRecord, Cause]]] = defaultdict(list)
    steady = [cause for cause in causes if is_steady(cause)]
    shares = Shares(results.records.values() if steady else ())
    for cause in steady:
        others = [one for one in causes if (one.cause, one.where) != (cause.cause, cause.where)]
        shown = evidence_of(results, cause)
        less = (*_slower(results, cause, shown), *pairs_behind(shown))
        far = _much_slower(results, shares, cause, shown)
        slower = [
            record
            for record in dict.fromkeys((*less, *far, *_back(results, cause, shown)))
            if len(set(record.nodes)) == _PAIR
            if not any(lies_on(o, record) and not is_back(results, o, record) for o in others)
        ]
        if _has_others(results, cause) and (claim := _of_one_nic(results, cause, slower)):
            yield claim
            continue
        for record in slower:
            found[frozenset(record.nodes)].append((record, cause))
    for record, cause in _of_groups(results, causes):
        found[frozenset(record.nodes)].append((record, cause))
    for nodes, some in found.items():
        yield _claim(sorted(nodes), some)


def _slower(results: RunResults, cause: Cause, shown: Sequence[ItemRecord]) -> Iterator[ItemRecord]:
    """The items that are slower than others, or than what was measured again of the same node."""
    mine = [one for one in results.confirmed if one.asked.suspects == (cause.where.node,)]
    added = [record for record in again.records_of(results, mine) if lies_on(cause, record)]
    known = set(shown)
    return (one for one in slower_than_others((*shown, *added), _LESS) if one in known)


def _much_slower(
    results: RunResults, shares: Shares, cause: Cause, shown: Sequence[ItemRecord]
) -> list[ItemRecord]:
    """Host memory rates of one direction that lost far more than those of other measurements did.

    Each measurement may lose somewhat more or less to the same part.
    """
    flows, nodes = results.platform.measurements, nodes_of(cause.where.node)
    reached = {
        record: share
        for record in shown
        if record.rung == Rung.NETWORK and is_path(record)
        if flow_of(record, flows) in (Flow.FORWARD, Flow.BACKWARD)
        for judged in missed(record)
        if judged.better != LOWER and (share := shares.of(record, judged, nodes)) is not None
    }
    best = max(reached.values(), default=0.0)
    return [record for record, share in reached.items() if share < _FAR * best]


def _back(results: RunResults, cause: Cause, shown: Sequence[ItemRecord]) -> list[ItemRecord]:
    """What a slow direction does not explain: payload that went the other way.

    The rules had put it down to the node as a whole, which was fine this way when measured again.
    """
    node, flows = cause.where.node, results.platform.measurements
    if cause.cause != DIRECTION:
        return []
    turned = (
        one.asked.question.case
        for one in results.confirmed
        if not (one.asked.suspects or one.missed or one.error)
    )
    fine = {
        _way(case.nodes, node, flow(flows[case.measurement]))
        for case in turned
        if case is not None and (path := case.path_at(node) if node in case.nodes else None)
        if cause.where.device in ("", path.nic)
    } - {""}
    return [r for r in shown if node in r.nodes and _way(r.nodes, node, flow_of(r, flows)) in fine]


def _way(nodes: Sequence[str], node: str, flow: Flow) -> str:
    """Whether the node sends or receives the payload; empty if it does both."""
    found = ways((nodes[0], nodes[-1]), node, flow)
    return found[0] if len(found) == 1 else ""


def _has_others(results: RunResults, cause: Cause) -> bool:
    """Whether the cause's node was measured over several NICs: else the NIC is the node."""
    node = cause.where.node
    paths = (r for r in results.records.values() if node in r.nodes and is_path(r))
    return len({nic_of(record.part_at(node)) for record in paths}) > 1


def _of_one_nic(
    results: RunResults, cause: Cause, slower: Sequence[ItemRecord]
) -> CauseClaim | None:
    """The claim for the one NIC of a slow node that all these items use, with several partners."""
    node = cause.where.node
    nics = {nic_of(record.part_at(node)) for record in slower if node in record.nodes}
    partners = {name for record in slower for name in record.nodes} - {node}
    if cause.cause != "slow-node" or len(nics) != 1 or len(partners) < _SOME:
        return None
    says = f"{worst_of(slower)}; that is slower than {cause.cause} ({cause.where}) explains"
    place, flows = Where(node, *nics), results.platform.measurements
    ways_ = {_way(record.nodes, node, flow_of(record, flows)) for record in slower} - {""}
    if len(ways_) == 1:
        decide = f"measure {place} in both directions"
        return CauseClaim("slow-nic", place, says, tuple(slower), OPEN, decide)
    return CauseClaim("slow-nic", place, says, tuple(slower), LIKELY)


def _of_groups(results: RunResults, causes: Sequence[Cause]) -> Iterator[tuple[ItemRecord, Cause]]:
    """Collectives of a group that missed their limit by far more than its slow parts cost pairs.

    Or those of one node, by far more than its slow links cost.
    """
    for record in results.records.values():
        of_all = record.rung >= Rung.INTRANODE and not record.pairing
        is_group = of_all and len(set(record.nodes)) != _PAIR
        lost = _margin([record]) if is_group else 0.0
        on = [one for one in causes if lost and record.id in (*one.evidence, *one.explains)]
        if not on or not all(one.cause in _COST and one.confidence != CERTAIN for one in on):
            continue
        shown = [r for one in on for r in evidence_of(results, one) if r.id != record.id]
        pairs = [r for r in shown if len(set(r.nodes)) <= _PAIR]
        if pairs and lost < _margin(pairs) - _MUCH:
            yield record, on[0]


def _margin(records: Iterable[ItemRecord]) -> float:
    """The smallest margin of a limit that was missed; 0.0 for none."""
    margins = (judged.margin for record in records for judged in missed(record))
    return min((margin for margin in margins if margin is not None), default=0.0)


def _claim(nodes: Sequence[str], found: Sequence[tuple[ItemRecord, Cause]]) -> CauseClaim:
    records = tuple(record for record, _ in found)
    causes = listed(list(dict.fromkeys(f"{one.cause} ({one.where})" for _, one in found)))
    says = f"{worst_of(records)}; that is slower than {causes} explains"
    decide = f"measure {listed(nodes)} with nodes that are known to be good"
    if len(nodes) == 1:
        decide = AGAIN.format(f"the GPUs of {nodes[0]} and the links between them")
    return CauseClaim("slow-node", Where(among(nodes)), says, records, OPEN, decide)
