"""Where each node stands among its peers, in each measurement of each of its parts."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median, stdev
from types import MappingProxyType
from typing import TypeVar

from railgauge.config.thresholds.model import Platform
from railgauge.core.model import Cluster, Judgement, Outcome
from railgauge.core.terms import Flow, Rung
from railgauge.diagnosis.localise import ways
from railgauge.diagnosis.localise.directions import RECEIVING, SENDING, WAYS
from railgauge.diagnosis.model import RunResults
from railgauge.diagnosis.over_paths import flow_of
from railgauge.judging.record import ItemRecord
from railgauge.planning.pairing import leaves
from railgauge.tools import is_of_each_gpu
from railgauge.tools.metric import HIGHER

_MEASURED = (Outcome.PASSED, Outcome.MARGINAL, Outcome.FAILED, Outcome.RECORD_ONLY)
_NOT_RATES = ("count", "1")
ONE_WAY = (Flow.FORWARD, Flow.BACKWARD)
_OTHER = {"": "", SENDING: RECEIVING, RECEIVING: SENDING}
_PAIR = 2
_FEWEST_PEERS = 2

Series = tuple[str, str]
"""A measurement, and the NIC, GPU, link or path that it was made over; empty for none."""
Comparable = tuple[str, str]
"""A measurement, and a direction; empty for both."""
_At = tuple[str, "int | None"]
"""A metric, and a message size."""
_Best = dict[_At, dict[str, float]]
"""The best value of each node."""
_Peer = TypeVar("_Peer", str, tuple[str, str])


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a node is behind its peers in one series, as a share of their median.

    ``cleared`` are the partners that are less than half as far behind, ``suspects`` the others.
    ``repeats`` is how often the measurement was made. ``records`` are the items that show it.
    ``alone`` is the dimension of what a GPU reaches by itself (see ``alone``), empty for others.
    ``way`` is the direction of the node, among what the others reach in it; empty for the better of
    both.
    """

    node: str
    subject: str
    part: str
    rung: Rung
    behind: float
    repeats: int
    cleared: frozenset[str]
    suspects: frozenset[str]
    records: tuple[ItemRecord, ...]
    alone: str = ""
    way: str = ""

    @property
    def kind(self) -> Comparable:
        """What it can be compared with."""
        return self.subject, self.way

    @property
    def run(self) -> Series:
        """The run of a tool: inside a node, one run measures all GPUs and links."""
        return self.subject, "" if self.rung == Rung.INTRANODE else self.part


def _nothing() -> _Best:
    return defaultdict(dict)


@dataclass(slots=True)
class _Heap:
    """All that was measured in one series.

    ``ways`` holds the rate of each item in which a node sent, or received, alone.
    ``best`` is of all pairs, ``across`` of those between two leaves. Nodes ``at_home`` also have a
    pair within their leaf, or the cluster has no leaves.
    """

    best: _Best = field(default_factory=_nothing)
    across: _Best = field(default_factory=_nothing)
    at_home: set[str] = field(default_factory=set)
    ways: dict[tuple[str, str], dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    records: dict[str, list[ItemRecord]] = field(default_factory=lambda: defaultdict(list))

    def take(
        self, record: ItemRecord, nodes: Collection[str], flow: Flow, *, crosses: bool
    ) -> None:
        """Add an item that tells how fast these nodes are."""
        for judged in filter(is_rate, record.judgements):
            value, at = median(judged.values), (judged.metric, judged.size_bytes)
            for heap in (self.best, self.across) if crosses else (self.best,):
                for node in nodes:
                    heap[at][node] = max(value, heap[at].get(node, 0.0))
        if not crosses:
            self.at_home.update(nodes)
        for node in nodes:
            self.records[node].append(record)
            if flow in ONE_WAY:
                (way,) = ways((record.nodes[0], record.nodes[1]), node, flow)
                self.ways[node, way][record.id] = _rate(record)

    def is_faster(self, partner: str, record: ItemRecord, share: float) -> bool:
        """Whether the partner sent, or received, clearly more in another item than in this one."""
        least = _rate(record) * (1 + share / 2)
        seen = [self.ways.get((partner, way), {}) for way in WAYS]
        return all(record.id not in rates or max(rates.values()) > least for rates in seen)

    def behind(self) -> dict[str, float]:
        """By node, the median over sizes and metrics of how far it is behind the others.

        Pairs between leaves may be slower than those within one. A node that has only those is
        compared with what the others reach between leaves.
        """
        found: dict[str, list[float]] = defaultdict(list)
        for at, best in self.best.items():
            home = shortfalls({node: best[node] for node in best if node in self.at_home})
            away = shortfalls(self.across[at]) if len(self.at_home) < len(self.records) else {}
            abroad = {node: share for node, share in away.items() if node not in self.at_home}
            for node, share in {**abroad, **home}.items():
                found[node].append(share)
        return {node: median(shares) for node, shares in found.items()}


def standings(
    results: RunResults, blamed: Mapping[str, Collection[str]] = MappingProxyType({})
) -> list[Standing]:
    """All standings of a run, in time linear in its items but for one sorting.

    What a GPU reaches by itself is not in them (see ``alone``).
    ``blamed`` holds the slow nodes of items that are explained: such an item tells nothing of its
    other nodes.
    """
    heaps: dict[tuple[Series, str], _Heap] = defaultdict(_Heap)
    leaf = _leaf_of(results.cluster)
    for record in results.records.values():
        if is_comparable(record) and not is_of_one_gpu(record, results.platform):
            crosses = len({leaf.get(node) for node in record.nodes}) > 1
            known = blamed.get(record.id, record.nodes)
            nodes = [node for node in record.nodes if node in known]
            flow, series = _flow(results, record), (record.subject, record.pairing)
            heaps[series, ""].take(record, nodes, flow, crosses=crosses)
            for node in nodes if flow in ONE_WAY else ():
                (way,) = ways((record.nodes[0], record.nodes[1]), node, flow)
                heaps[series, way].take(record, [node], Flow.UNTOLD, crosses=crosses)
    return [one for (series, way), heap in heaps.items() for one in _of(series, way, heap, heaps)]


def _rate(record: ItemRecord) -> float:
    """The item's first rate; all items of a series have the same ones."""
    return next(median(judged.values) for judged in record.judgements if is_rate(judged))


def _flow(results: RunResults, record: ItemRecord) -> Flow:
    """The direction of the payload between two nodes; untold inside one."""
    is_pair = len(set(record.nodes)) == _PAIR
    return flow_of(record, results.platform.measurements) if is_pair else Flow.UNTOLD


_Heaps = Mapping[tuple[Series, str], _Heap]


def _of(series: Series, way: str, heap: _Heap, heaps: _Heaps) -> Iterator[Standing]:
    """The standings of one series; in one direction, a partner is as fast as in the other one."""
    behind = heap.behind()
    theirs = heaps.get((series, _OTHER[way]), _Heap()).behind() if way else behind
    for node, share in behind.items():
        records = heap.records[node]
        met = {name for record in records for name in record.nodes} - {node}
        partners = met.intersection(theirs) or met  # of the others nothing is known
        cleared = frozenset(name for name in partners if theirs.get(name, share) < share / 2)
        if len(partners) == 1 and not way:  # it may be slow in the direction that it was seen in
            cleared = frozenset(
                name
                for name in cleared
                if all(heap.is_faster(name, record, share) for record in records)
            )
        yield Standing(
            node=node,
            subject=series[0],
            part=series[1],
            rung=records[0].rung,
            behind=share,
            repeats=max(map(repeats_of, records)),
            cleared=cleared,
            suspects=frozenset(partners) - cleared,
            records=tuple(records),
            way=way,
        )


def shortfalls(values: Mapping[_Peer, float]) -> dict[_Peer, float]:
    """By how much each value is below the median of the others, as a share of that median.

    Negative above it. Empty with fewer than three values: nobody can say which of two is right.
    """
    ordered = sorted(values.values())
    if len(ordered) <= _FEWEST_PEERS:
        return {}
    return {name: 1 - value / _without(ordered, value) for name, value in values.items()}


def _without(ordered: Sequence[float], value: float) -> float:
    """The median of sorted values but for one that has this value."""
    gone, rest = bisect_left(ordered, value), len(ordered) - 1
    low, high = ((rest - 1) // 2, rest // 2)
    return (ordered[low + (low >= gone)] + ordered[high + (high >= gone)]) / 2


def _leaf_of(cluster: Cluster) -> dict[str, str]:
    found = leaves([node.name for node in cluster.nodes], cluster.groups)
    return {node: leaf for leaf, nodes in found.items() for node in nodes}


def is_of_one_gpu(record: ItemRecord, platform: Platform) -> bool:
    """Whether an item is about what one GPU reaches by itself, whatever surrounds it."""
    measurement = platform.measurements.get(record.subject)
    return (
        measurement is not None
        and is_of_each_gpu(measurement.tool)
        and len(record.nodes) == 1
        and record.pairing.startswith("gpu")
        and record.pairing[3:].isdecimal()
    )


def is_comparable(record: ItemRecord) -> bool:
    return (
        record.outcome in _MEASURED
        and 1 <= len(set(record.nodes)) <= _PAIR
        and any(map(is_rate, record.judgements))
    )


def is_rate(judged: Judgement) -> bool:
    """Whether the judgement is on a measured rate: a bandwidth, or a throughput."""
    return (
        judged.better == HIGHER
        and judged.unit not in _NOT_RATES
        and bool(judged.values)
        and min(judged.values) > 0
    )


def repeats_of(record: ItemRecord) -> int:
    cases = (question.case for question in record.questions)
    return max((case.repeats for case in cases if case), default=1)


# --- noise ---

_OF_NORMAL = 1.4826  # a normal distribution's standard deviation over its absolute deviation
_UPPER = 2.3  # two standard errors of that scale, times the root of the number of values


def noise_of(found: Sequence[Standing], least: float) -> dict[Comparable, float]:
    """By kind, the standard deviation of a healthy part, at least ``least``."""
    shares: dict[Comparable, list[float]] = defaultdict(list)
    for one in found:
        shares[one.kind].append(one.behind)
    own = _of_repeats(found)
    return {name: max(least, spread(those), own.get(name, 0.0)) for name, those in shares.items()}


def spread(values: Sequence[float]) -> float:
    """The scale of most of the values, at the upper end of its 95 % interval.

    The relative standard error of the median absolute deviation of n normal values is 1.16/sqrt(n).
    """
    middle = median(values)
    deviation = median(abs(value - middle) for value in values)
    return _OF_NORMAL * deviation * (1 + _UPPER / math.sqrt(len(values)))


def _of_repeats(found: Sequence[Standing]) -> dict[Comparable, float]:
    """By kind, the median of the relative standard deviations of samples of one item."""
    seen: dict[Comparable, list[float]] = defaultdict(list)
    for one in found:
        for record in one.records[:1]:  # one item of each: a sample of them is enough
            seen[one.kind] += [
                stdev(judged.values) / median(judged.values)
                for judged in record.judgements
                if is_rate(judged) and len(judged.values) > 1
            ]
    return {name: median(spreads) for name, spreads in seen.items() if spreads}
