"""Where each GPU stands among all other GPUs of the cluster in what it reaches by itself.

All GPUs of a platform are of one model. What one of them computes, or copies in its own memory,
depends on nothing beside it: every other GPU is its peer, on its own node too. A single node is
enough, and two nodes are not one against one.

Its place in the node may still matter: in most chassis air or water reaches some GPUs later. Where
the GPU of the same number is as slow on the other nodes, the place explains it. Therefore a GPU is
behind by the smaller of two distances: from the median of all others, and from the median of the
GPUs of its number on the other nodes.

GPUs at their power limit differ by more than other parts, and by how much is in the spread of all
of them, which ``rule`` takes as the noise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from statistics import median
from types import MappingProxyType

from railgauge.core.units import dimension
from railgauge.diagnosis.model import RunResults
from railgauge.diagnosis.peers.rails import of_two_nodes
from railgauge.diagnosis.peers.standing import (
    Standing,
    is_comparable,
    is_of_one_gpu,
    is_rate,
    repeats_of,
    shortfalls,
    standings,
)
from railgauge.judging.record import ItemRecord

GpuPlace = tuple[str, str]
"""A node, and a GPU of it."""
_Rates = dict[GpuPlace, float]


def every_standing(
    results: RunResults, blamed: Mapping[str, Collection[str]] = MappingProxyType({})
) -> list[Standing]:
    """All standings of a run: of nodes among their peers, of GPUs among all GPUs, and of the rails
    of two nodes.

    ``blamed`` is that of ``standings``.
    """
    return [*standings(results, blamed), *_of_gpus(results), *of_two_nodes(results)]


def _of_gpus(results: RunResults) -> Iterator[Standing]:
    by_subject: dict[str, dict[GpuPlace, ItemRecord]] = defaultdict(dict)
    for record in results.records.values():
        if is_comparable(record) and is_of_one_gpu(record, results.platform):
            by_subject[record.subject][record.nodes[0], record.pairing] = record
    for records in by_subject.values():
        yield from _of_one_measurement(records)


def _of_one_measurement(records: Mapping[GpuPlace, ItemRecord]) -> Iterator[Standing]:
    reached: dict[tuple[str, str], _Rates] = defaultdict(dict)
    for place, record in records.items():
        for judged in filter(is_rate, record.judgements):
            reached[judged.metric, dimension(judged.unit)][place] = median(judged.values)
    for (_, kind), rates in reached.items():
        like = _behind_their_like(rates)
        for place, behind in shortfalls(rates).items():
            yield Standing(
                node=place[0],
                subject=records[place].subject,
                part=place[1],
                rung=records[place].rung,
                behind=min(behind, like.get(place, behind)),
                repeats=repeats_of(records[place]),
                cleared=frozenset(),
                suspects=frozenset(),
                records=(records[place],),
                alone=kind,
            )


def _behind_their_like(rates: _Rates) -> _Rates:
    """By how much each GPU is below those of its number on the other nodes, if there are any."""
    by_number: dict[str, _Rates] = defaultdict(dict)
    for place, rate in rates.items():
        by_number[place[1]][place] = rate
    found: _Rates = {}
    for those in by_number.values():
        found |= _of_two(those) if len(those) == _TWO else shortfalls(those)
    return found


_TWO = 2


def _of_two(rates: _Rates) -> _Rates:
    (one, first), (other, second) = rates.items()
    return {one: 1 - first / second, other: 1 - second / first}
