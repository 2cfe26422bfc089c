"""Every repeat of every rate between two nodes, of the plan and made again. Pure.

Example: writes from ``mx01`` to ``mx02`` over ``mlx5_0`` were planned with two repeats, and made
again three times to decide between suspects: five repeats, the first of which was slow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from railgauge.core.model import Case, Judgement
from railgauge.core.question import LIMITS
from railgauge.diagnosis.again import is_added, records_of
from railgauge.diagnosis.history import missed_repeats
from railgauge.diagnosis.localise import ways
from railgauge.diagnosis.model import RunResults
from railgauge.diagnosis.over_paths import Measurements, flow_of, is_path
from railgauge.diagnosis.reach import devices_of
from railgauge.diagnosis.shares import Shares, what
from railgauge.judging.record import ItemRecord
from railgauge.tools.metric import LOWER


@dataclass(frozen=True, slots=True)
class PathRepeat:
    """One repeat: the path, whether it missed a limit, and its place in the order of all.

    ``devices`` are the NIC and the GPU of each of the two ``nodes``, ``None`` where a collective
    uses all of them; ``ways`` hold what each node did: ``sending``, ``receiving`` or both.
    ``share`` is what the repeat reached of what like ones reached, ``None`` if there are none.
    ``item`` is the id of its record, ``subject`` its measurement.
    """

    item: str
    subject: str
    number: int
    nodes: tuple[str, str]
    devices: tuple[frozenset[str], frozenset[str]] | None
    ways: tuple[tuple[str, ...], tuple[str, ...]]
    slow: bool
    share: float | None
    order: tuple[bool, str, int]

    def at(self, node: str) -> int:
        """The index of the node, -1 if it takes no part."""
        return self.nodes.index(node) if node in self.nodes else -1


def repeats_of_paths(results: RunResults, nodes: Collection[str]) -> list[PathRepeat]:
    """The repeats of these nodes; of several message sizes they are one, slow if one of them is."""
    planned = (record for record in results.records.values() if not is_added(record.id))
    records = [*planned, *records_of(results, results.confirmed)]
    shares, wanted = Shares(records), set(nodes)
    flows = results.platform.measurements
    found: dict[tuple[str, int], PathRepeat] = {}
    for record in records:
        case = next((q.case for q in record.questions if q.kind == LIMITS and q.case), None)
        is_pair = len(record.nodes) == _PAIR and len(set(record.nodes)) == _PAIR
        if case is None or not is_pair or not wanted.intersection(record.nodes):
            continue
        is_again = is_added(record.id)
        starts = () if is_again else results.starts(case)
        name = f"{record.id} {case.key}" if is_again else case.key
        for one in _repeats(record, case, starts, shares, flows):
            known = found.get((name, one.number))
            if known is None or one.slow > known.slow:
                found[name, one.number] = one
    return list(found.values())


def _repeats(
    record: ItemRecord,
    case: Case,
    starts: Sequence[str],
    shares: Shares,
    flows: Measurements,
) -> Iterator[PathRepeat]:
    judged = next(filter(_is_rate, record.judgements), None)
    if judged is None or what(record, judged) is None:
        return
    nodes = (record.nodes[0], record.nodes[1])
    over = (_devices(record, nodes[0]), _devices(record, nodes[1])) if is_path(record) else None
    flow = flow_of(record, flows)
    is_again = is_added(record.id)
    share = shares.of(record, judged, nodes) or shares.of(record, judged)
    values = _of_repeats(judged, case.repeats)
    for number, slow in enumerate(missed_repeats(judged, case.repeats)):
        start = starts[number] if len(starts) == case.repeats else ""
        yield PathRepeat(
            item=record.id,
            subject=record.subject,
            number=number,
            nodes=nodes,
            devices=over,
            ways=(ways(nodes, nodes[0], flow), ways(nodes, nodes[1], flow)),
            slow=slow,
            share=share and share * values[number] / (judged.worst or 1.0),
            order=(is_again, start, record.rung),
        )


def _of_repeats(judged: Judgement, repeats: int) -> Sequence[float]:
    """The worst value of each repeat; the worst of all where they cannot be told apart."""
    values = judged.values
    if not values or len(values) % repeats:
        return (judged.worst or 0.0,) * repeats
    each = len(values) // repeats
    return [min(values[start : start + each]) for start in range(0, len(values), each)]


def _devices(record: ItemRecord, node: str) -> frozenset[str]:
    return frozenset(devices_of(record.part_at(node)))


_PAIR = 2


def _is_rate(judged: Judgement) -> bool:
    return judged.better != LOWER and judged.worst is not None and judged.floor is not None
