"""Where the rails of two nodes stand among each other.

Two nodes have no other node as a peer. Their rails are peers of each other, where the platform file
holds them to the same limit: eight NICs of one model, or the GPUs near to them. A rail that is
behind the others is slow on one of the two nodes, or between them, and both are suspects.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from statistics import median

from railgauge.core.terms import Flow
from railgauge.diagnosis.localise import ways
from railgauge.diagnosis.model import RunResults
from railgauge.diagnosis.over_paths import flow_of, is_path
from railgauge.diagnosis.peers.standing import (
    ONE_WAY,
    Standing,
    is_comparable,
    is_rate,
    repeats_of,
    shortfalls,
)
from railgauge.judging.record import ItemRecord

_Like = tuple[str, str, "int | None", "float | None"]
"""A measurement, a metric, a message size, and the limit."""
_TWO = 2


def of_two_nodes(results: RunResults) -> Iterator[Standing]:
    """The standings of the rails, if two nodes alone were measured together."""
    records = [r for r in results.records.values() if is_path(r) and is_comparable(r)]
    nodes = {node for record in records for node in record.nodes}
    if len(nodes) != _TWO:
        return
    flows = results.platform.measurements
    for node in sorted(nodes):
        by_way: dict[str, list[ItemRecord]] = defaultdict(list)
        for record in records:
            by_way[""].append(record)
            if (flow := flow_of(record, flows)) in ONE_WAY:
                by_way[_way(record, node, flow)].append(record)
        for way, some in by_way.items():
            yield from _of_rails(node, way, some, nodes - {node})


def _way(record: ItemRecord, node: str, flow: Flow) -> str:
    (way,) = ways((record.nodes[0], record.nodes[1]), node, flow)
    return way


def _of_rails(
    node: str, way: str, records: list[ItemRecord], partner: set[str]
) -> Iterator[Standing]:
    """The standings of a node's rails in one direction, or in the better of both."""
    best: dict[_Like, dict[str, float]] = defaultdict(dict)
    over: dict[tuple[str, str], list[ItemRecord]] = defaultdict(list)
    for record in records:
        over[record.subject, record.pairing].append(record)
        for judged in filter(is_rate, record.judgements):
            rates = best[record.subject, judged.metric, judged.size_bytes, judged.floor]
            rates[record.pairing] = max(median(judged.values), rates.get(record.pairing, 0.0))
    behind: dict[tuple[str, str], list[float]] = defaultdict(list)
    for (subject, *_), rates in best.items():
        for rail, share in shortfalls(rates).items():
            behind[subject, rail].append(share)
    for (subject, rail), shares in behind.items():
        mine = over[subject, rail]
        yield Standing(
            node=node,
            subject=subject,
            part=rail,
            rung=mine[0].rung,
            behind=median(shares),
            repeats=max(map(repeats_of, mine)),
            cleared=frozenset(),
            suspects=frozenset(partner),
            records=tuple(mine),
            way=way,
        )
