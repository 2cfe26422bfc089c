"""Directions of NICs and GPU pairings that were not measured, or only with a slower part. Pure.

Where a node has no other measurement of a direction, nothing tells whether that is slow as well
(``slow.sight``). The same holds for a fault that is known otherwise, such as errors of a link: they
explain that the node of this NIC is slow, and nothing tells whether it would be fast without them.
It also holds for collectives: with a NIC that carries nothing, they say nothing of the paths from
GPUs to it.

Example: ``mi03`` is slow, and ``mi01`` received from it alone. ``mi01`` may receive slowly as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from railgauge.config.thresholds.model import Measurement
from railgauge.core.naming import listed
from railgauge.core.question import TRAFFIC, TRANSPORT
from railgauge.core.terms import Flow, Rung, Scope
from railgauge.diagnosis.model import OPEN, Cause, RunResults
from railgauge.diagnosis.reach import devices_of, nodes_of
from railgauge.diagnosis.slow.sight import NodeEnd, Sight
from railgauge.diagnosis.slow.text import where_is
from railgauge.diagnosis.whole import Diagnosis
from railgauge.judging.record import ItemRecord
from railgauge.tools import flow
from railgauge.tools.form import GPU, ClusterPart, KindOfPart

_NO_PARTNER = "not measured in this direction: its partner was behind a gate, or lost"
_SUM = "measured only together with the other direction"
_COLLECTIVES = ("speed of collectives with other nodes",)
_SEND, _RECEIVE = KindOfPart.SEND, KindOfPart.RECEIVE
_WAYS = {_SEND: "sending", _RECEIVE: "receiving"}
_FLOWS = {Flow.FORWARD: (_SEND,), Flow.BACKWARD: (_RECEIVE,), Flow.BOTH: (_SEND, _RECEIVE)}
"""What the first node of a test does; the second one does the opposite."""
_COUNTERS, _PAIR = {TRAFFIC, TRANSPORT}, 2
_What = tuple[tuple[str, ...], str]
"""What is unknown, and why."""


def hidden(results: RunResults, diagnosis: Diagnosis) -> Iterator[tuple[str, _What]]:
    """Yield each node with the directions of its parts that no figure tells of."""
    causes = [one for one in diagnosis.causes if one.confidence != OPEN]
    sight = diagnosis.inference.sight()
    measured = sight.of_ends()
    lines: Counter[tuple[str, str, str, str]] = Counter()
    for end, figures in measured.items():
        by = sight.hiding(figures)
        if by is not None:
            lines[_line(end, _only_with(by, causes))] += 1
    for end in _not_measured(results, measured):
        lines[_line(end, _NO_PARTNER)] += 1
    for end, cause in _doubted(results, measured, diagnosis.causes):
        lines[_line(end, f"measured only with {_named(cause)}")] += 1
    for (node, kind, way, why), count in lines.items():
        yield node, (_words(kind, way, count), why)
    yield from _in_collectives(results, sight, causes)
    for slow in (one for one in causes if _is_slow_node(one, measured)):
        yield slow.where.node, (("paths to other nodes",), f"measured only with {_named(slow)}")


def _line(end: NodeEnd, why: str) -> tuple[str, str, str, str]:
    node, part, way = end
    return node, "pairing" if part.startswith(GPU) else "NIC", _WAYS[way], why


def _not_measured(results: RunResults, measured: Collection[NodeEnd]) -> Iterator[NodeEnd]:
    """The ends of items that gave no figure, of which the other direction was measured."""
    known = {(node, part) for node, part, _ in measured}
    missing: dict[NodeEnd, None] = {}  # in order, so that every reader gives the same lines
    for record in results.records.values():
        if not record.asserted:
            missing |= dict.fromkeys(_ends(record, results.platform.measurements))
    return (end for end in missing if end not in measured and end[:2] in known)


def _doubted(
    results: RunResults, measured: Collection[NodeEnd], causes: Sequence[Cause]
) -> Iterator[tuple[NodeEnd, Cause]]:
    """The ends of which all figures were measured while something else disturbed them."""
    shown = {item: cause for cause in causes for item in cause.evidence}
    found: dict[NodeEnd, Cause] = {}
    for record in (results.records[item] for item in shown if item in results.records):
        if record.asserted:
            found |= dict.fromkeys(_ends(record, results.platform.measurements), shown[record.id])
    return ((end, cause) for end, cause in found.items() if end not in measured)


def _ends(record: ItemRecord, measurements: Mapping[str, Measurement]) -> Iterator[NodeEnd]:
    """The ends of a test between two nodes, whether it was made or not."""
    measurement = measurements.get(record.subject)
    if measurement is None or measurement.scope != Scope.PATH or len(record.nodes) != _PAIR:
        return
    if _COUNTERS.isdisjoint(record.ways):
        first, second = record.nodes
        for way in _FLOWS.get(flow(measurement), ()):
            other = _SEND if way is _RECEIVE else _RECEIVE
            yield first, record.part_at(first), way
            yield second, record.part_at(second), other


def _in_collectives(
    results: RunResults, sight: Sight, causes: Sequence[Cause]
) -> Iterator[tuple[str, _What]]:
    """Yield each node whose collectives with others all had a slower part in them."""
    every = results.platform.measurements.items()
    names = {name for name, one in every if one.rung == Rung.COLLECTIVE}
    for node, figures in sight.of_nodes(names).items():
        if by := sight.hiding(figures):
            yield node, (_COLLECTIVES, _only_with(by, causes))


def _only_with(by: Sequence[ClusterPart], causes: Sequence[Cause]) -> str:
    if not by:
        return _SUM
    names = dict.fromkeys(_named(one) for part in by for one in causes if _is_at(one, part))
    names = names or dict.fromkeys(str(where_is(part)) for part in by)
    return f"measured only with {listed(list(names))}"


def _is_at(cause: Cause, part: ClusterPart) -> bool:
    """Whether it is the cause of this part."""
    if not part.is_known:
        return cause.where == where_is(part)
    name, *devices = part.nic.split(" ")
    nodes = nodes_of(cause.where.node)
    is_there = not nodes or part.node in nodes
    return cause.cause == name and is_there and devices_of(cause.where.device) <= {*devices}


def _is_slow_node(cause: Cause, measured: Collection[NodeEnd]) -> bool:
    """Whether the cause slows all paths of one node, so that a path that is less slow is hidden."""
    place = cause.where
    is_slow = cause.cause in ("slow-node", "slow-direction")
    is_node = is_slow and not place.device and not place.peer
    return is_node and any(node == place.node for node, _, _ in measured)


def _named(cause: Cause) -> str:
    return f"{cause.cause} ({cause.where})"


def _words(kind: str, way: str, count: int) -> tuple[str, ...]:
    topic = "host memory paths" if kind == "NIC" else "GPU memory RDMA"
    return (f"{topic}, {way} over {count} {kind}{'s' * (count > 1)}",)
