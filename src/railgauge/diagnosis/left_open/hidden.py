"""Directions of NICs and GPU pairings that were not measured, or only with a faulty part. Pure.

A pair is as fast as its slowest part: a measurement with a slow node says nothing of a fault that
is smaller. Where a node has no other measurement of a direction, that direction is unknown. The
same holds for a fault that no rate shows, such as errors of a link: they explain that the node of
this NIC is slow, and nothing tells whether it would be fast without them. It also holds for
collectives: with a NIC that carries nothing, they say nothing of the paths from GPUs to it.

Example: ``mi03`` is slow, and ``mi01`` received from it alone. ``mi01`` may receive slowly as well.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from railgauge.core.model import Outcome
from railgauge.core.naming import listed
from railgauge.core.question import TRAFFIC, TRANSPORT
from railgauge.core.terms import Flow, Rung
from railgauge.diagnosis.left_open.over_paths import flow_of, has_rate, is_path, ways
from railgauge.diagnosis.left_open.shares import Shares
from railgauge.diagnosis.model import OPEN, Cause, RunResults
from railgauge.diagnosis.reach import nodes_of
from railgauge.judging.record import ItemRecord

_NO_PARTNER = "not measured in this direction: its partner was behind a gate, or lost"
_SUM = "measured only together with the other direction: its partner was behind a gate, or lost"
_PATHS = (Rung.NETWORK, Rung.GPUDIRECT)
_COUNTERS = {TRAFFIC, TRANSPORT}
_COMPARED = (Outcome.PASSED, Outcome.FAILED)
_COLLECTIVES = ("speed of its collectives with other nodes",)
_End = tuple[str, str, str]
"""A node, its NIC, and a direction."""
_Seen = tuple[ItemRecord, "Cause | None"]
"""A measurement of an end, and the slow part that hides the end from it."""
_TIGHTER = 0.01  # of a healthy rate
_What = tuple[tuple[str, ...], str]
"""What is unknown, and why."""


def hidden(results: RunResults, causes: Sequence[Cause]) -> Iterator[tuple[str, _What]]:
    """Yield each node with the directions of its parts that a slow part elsewhere hides."""
    blamed = _blamed(causes)
    alone: dict[_End, list[_Seen]] = defaultdict(list)
    in_sums: dict[_End, list[_Seen]] = defaultdict(list)
    missing: dict[_End, None] = {}  # in order, so that every reader gives the same lines
    for record in results.records.values():
        for end in _ends(results, record):
            if _tells(record):
                found = blamed.get(record.id)
                is_sum = flow_of(record, results.platform.measurements) is Flow.BOTH
                into = in_sums if is_sum else alone
                into[end].append((record, found if found and _hides(found, end[0]) else None))
            elif not record.asserted and _COUNTERS.isdisjoint(record.ways):
                missing[end] = None
    behind = in_sums | alone  # a sum tells nothing of a direction that was measured by itself
    lines: dict[tuple[str, str, str, str, str], int] = defaultdict(int)
    shares = Shares(results.records.values() if blamed else ())
    for (node, part, way), some in behind.items():
        if told := _hidden(shares, some):
            cause, by = told
            lines[node, _kind(part), way, cause, by] += 1
    for (node, kind, way, cause, by), count in lines.items():
        yield node, (_words(kind, way, count, by), f"measured only with {cause}")
    yield from _in_collectives(results, blamed)
    for slow in (one for one in _decided(causes) if _is_slow_node(one, behind)):
        yield slow.where.node, (("paths to other nodes",), f"measured only with {_said(slow)}")
    half = Counter(
        (end[0], _kind(end[1]), end[2], _SUM if end in behind else _NO_PARTNER)
        for end in _half(missing, alone, behind)
    )
    for (node, kind, way, why), count in half.items():
        yield node, (_words(kind, way, count), why)


def _hidden(shares: Shares, some: Sequence[_Seen]) -> tuple[str, str] | None:
    """The cause that hides a direction, and the measurements it hides it from: none for all."""
    if not any(cause for _, cause in some):
        return None  # of all ends nearly all
    known = [record for record, cause in some if cause is None]
    best = max((_tightness(shares, record) for record in known), default=0.0)
    behind = [
        (record.subject, cause)
        for record, cause in some
        if cause is not None and (not known or _tightness(shares, record) > best + _TIGHTER)
    ]
    if not behind:
        return None
    names = dict.fromkeys(subject for subject, _ in behind)
    return _said(behind[0][1]), listed(list(names)) if known else ""


def _tightness(shares: Shares, record: ItemRecord) -> float:
    """The limit of a rate as a share of what healthy ones reach; 0 if that is unknown."""
    found = (
        judged.floor * share / judged.worst
        for judged in record.judgements
        if judged.floor and judged.worst
        if (share := shares.of(record, judged, record.nodes) or shares.of(record, judged))
    )
    return max(found, default=0.0)


def _in_collectives(
    results: RunResults, blamed: Mapping[str, Cause]
) -> Iterator[tuple[str, _What]]:
    """Yield each node whose collectives with others all had the same faulty part in them."""
    behind: dict[str, dict[str, None]] = defaultdict(dict)
    for record in filter(_is_collective, results.records.values()):
        found = blamed.get(record.id)
        for node in record.nodes:
            behind[node][_said(found) if found and _hides(found, node) else ""] = None
    for node, causes in behind.items():
        if "" not in causes:
            yield node, (_COLLECTIVES, f"measured only with {listed(list(causes))}")


def _is_collective(record: ItemRecord) -> bool:
    """Whether the item compared the rate of a collective of several nodes with its limit."""
    is_rate = len(record.nodes) > 1 and has_rate(record) and _COUNTERS.isdisjoint(record.ways)
    return is_rate and record.rung == Rung.COLLECTIVE and record.outcome in _COMPARED


def _is_slow_node(cause: Cause, measured: Collection[_End]) -> bool:
    """Whether the cause slows all paths of one node, so that a path that is less slow is hidden."""
    place = cause.where
    is_slow = cause.cause in ("slow-node", "slow-direction")
    is_node = is_slow and not place.device and not place.peer
    return is_node and any(node == place.node for node, _, _ in measured)


def _said(cause: Cause) -> str:
    return f"{cause.cause} ({cause.where})"


def _kind(part: str) -> str:
    """What is counted of a part: the pairings of GPUs, or the NICs."""
    return "pairing" if part.startswith("gpu") else "NIC"


def _words(kind: str, way: str, count: int, by: str = "") -> tuple[str, ...]:
    topic = "host memory paths" if kind == "NIC" else "GPU memory RDMA"
    said = f"{topic}, {way} over {count} {kind}{'s' * (count > 1)}"
    return (f"{said}, by {by}" if by else said,)


def _half(
    missing: Collection[_End], alone: Collection[_End], measured: Collection[_End]
) -> Iterator[_End]:
    """The ends that were measured in their other direction, or only in both together.

    The limit of a sum lets one direction be slow by twice what the sum may lack.
    """
    known = {(node, part) for node, part, _ in measured}
    return (end for end in missing if end not in alone and end[:2] in known)


def _ends(results: RunResults, record: ItemRecord) -> Iterator[_End]:
    """The nodes of an item over a NIC, each with its part and the directions of its payload."""
    if record.rung in _PATHS and is_path(record):
        nodes = (record.nodes[0], record.nodes[1])
        for node in nodes:
            for way in ways(nodes, node, flow_of(record, results.platform.measurements)):
                yield node, record.part_at(node), way


def _tells(record: ItemRecord) -> bool:
    """Whether the item compared a rate over a NIC with its limit, and was not close to it."""
    is_rate = record.rung in _PATHS and is_path(record) and has_rate(record)
    return is_rate and record.outcome in _COMPARED


def _decided(causes: Sequence[Cause]) -> list[Cause]:
    return [cause for cause in causes if cause.confidence != OPEN]


def _blamed(causes: Sequence[Cause]) -> dict[str, Cause]:
    """The decided cause that each item shows, or is explained by; slow parts go first."""
    in_order = sorted(_decided(causes), key=_is_slow_part)  # the last one of an item counts
    return {item: cause for cause in in_order for item in (*cause.evidence, *cause.explains)}


def _hides(cause: Cause, node: str) -> bool:
    """Whether the speed of the node is unknown behind it; that of a slow part itself is known.

    The speed of the ends of a slow path is not.
    """
    return not _is_slow_part(cause) or bool(cause.where.peer) or node not in _nodes(cause)


def _is_slow_part(cause: Cause) -> bool:
    return cause.cause.startswith("slow-")


def _nodes(cause: Cause) -> set[str]:
    return nodes_of(cause.where.node)
