"""What was slow when it was measured again, and no cause explains. Pure.

Partners of a suspect are measured as well, and may show a fault of their own that the plan did not
see: it was behind a slower part, or at times only.

Example: ``mx02`` is slow at times. When ``mx05`` sent to ``mx03`` to clear ``mx05``, it was slow as
well. Nothing that is said of ``mx02`` explains this, so ``mx03`` and ``mx05`` are suspects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from railgauge.core.naming import among
from railgauge.core.terms import Rung
from railgauge.diagnosis import again
from railgauge.diagnosis.alike import CLEARLY, evidence_of
from railgauge.diagnosis.model import OPEN, Cause, CauseClaim, RunResults, Where
from railgauge.diagnosis.over_paths import is_path
from railgauge.diagnosis.pattern import worst_of
from railgauge.diagnosis.peers import STRAGGLER
from railgauge.diagnosis.reach import nodes_of
from railgauge.diagnosis.remeasured import always
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
        decide = f"measure {' and '.join(sorted(nodes))} with nodes that are known to be good"
        yield CauseClaim(
            "slow-node", Where(among(sorted(nodes))), says, tuple(records), OPEN, decide
        )


def _explains(results: RunResults, cause: Cause, record: ItemRecord) -> bool:
    """Whether the cause names a node of the record, or both ends of its path, and is as slow.

    Over which device is left open: the node may be slow over all of them since a moment.
    """
    place, nodes = cause.where, set(record.nodes)
    is_there = {place.node, place.peer} <= nodes if place.peer else nodes & nodes_of(place.node)
    is_slower = cause.cause == STRAGGLER and _is_slower(record, evidence_of(results, cause))
    return bool(is_there) and not is_slower


def _is_slower(record: ItemRecord, shown: Sequence[ItemRecord]) -> bool:
    """Whether it is slower than the best like item, in which no partner of a straggler was slow."""
    alike = [one for one in shown if one.subject == record.subject and one.asserted]
    best = max((value for one in alike for value in _rates(one)), default=0.0)
    return any(value < CLEARLY * best for value in _rates(record))


def _rates(record: ItemRecord) -> list[float]:
    return [j.worst for j in record.judgements if j.worst is not None and j.better != LOWER]
