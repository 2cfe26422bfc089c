"""A slow path that was measured again, or in its other direction. Pure.

Example: ``mx02`` and ``mx05`` were slow in the one direction that the plan has. Each is fine with
``mx01`` in that direction, and the two are slow again: the path between them is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from railgauge.core.terms import Flow
from railgauge.diagnosis.alike import CLEARLY
from railgauge.diagnosis.asking import is_one_way
from railgauge.diagnosis.localise import ways
from railgauge.diagnosis.model import GOOD, LIKELY, OPEN, Cause, Confirmation, RunResults
from railgauge.diagnosis.other_way import INTERMITTENT, measured_nodes
from railgauge.diagnosis.over_paths import Measurements, flow_of, has_rate, is_path
from railgauge.diagnosis.reach import goes_through
from railgauge.diagnosis.remeasured import line, repeats, suspects_of
from railgauge.diagnosis.shares import Shares
from railgauge.judging.confirmation import Confirmed
from railgauge.judging.record import ItemRecord

_PATH = "slow-path"
_PAIR = 2
_CHANCE = 0.05


def decided(cause: Cause, mine: Sequence[Confirmed]) -> Cause | None:
    """An undecided path whose two nodes are fine with others, and that is slow again itself."""
    if cause.cause != _PATH or cause.confidence != OPEN or not cause.where.peer:
        return None
    ends = {(cause.where.node,), (cause.where.peer,)}
    slow, fast = suspects_of(mine, missed=True), suspects_of(mine, missed=False)
    is_again = any(len(suspects) == _PAIR for suspects in slow)
    if not is_again or not ends <= fast or ends & slow:
        return None
    said = cause.says.partition("; the evidence fits")[0]
    says = f"{said}; measured again, both are fine with others"
    seen = Confirmation("confirmed", tuple(map(line, mine)))
    return replace(cause, says=says, confidence=LIKELY, would_decide="", confirmation=seen)


def over_any_nic(cause: Cause, results: Iterable[Confirmed]) -> Cause:
    """The cause; a path without its NIC if it was slow in some repeats only, measured again.

    What was fine over other NICs, once each, may then be slow over them as well.
    """
    if cause.cause != _PATH or cause.confidence == OPEN or not cause.where.device:
        return cause
    ends = (cause.where.node, cause.where.peer)
    taken = list(results)
    slow, all_ = repeats(result for result in taken if set(measured_nodes(result)) == {*ends})
    if not 0 < slow < all_:
        return cause
    fine = (repeats(r for r in taken if r.asked.suspects == (end,))[1] for end in ends)
    if (1 - slow / all_) ** min(fine) > _CHANCE:
        return replace(cause, confidence=OPEN, would_decide=INTERMITTENT)
    says = f"{cause.says}; it comes and goes: {slow} of {all_} repeats are slow, measured again"
    return replace(cause, where=replace(cause.where, device=""), says=says)


def is_fine_back(results: RunResults, cause: Cause, slow: ItemRecord) -> bool:
    """Whether the path was fine in the other direction: hardly a path is slow in one alone."""
    node, ends, flows = cause.where.node, set(slow.nodes), results.platform.measurements
    shares = Shares(results.records.values())
    return any(
        set(record.nodes) == ends
        and record.outcome in GOOD
        and is_path(record)
        and has_rate(record)
        and goes_through(cause.where.device, record.pairing)
        and one_way(record, node, flows) not in ((), one_way(slow, node, flows))
        and not shares.is_behind(record, ends)
        for record in results.records.values()
    )


def one_way(record: ItemRecord, node: str, flows: Measurements) -> tuple[str, ...]:
    """What the node does in an item that moved its payload one way; empty for others."""
    found = ways((record.nodes[0], record.nodes[1]), node, flow_of(record, flows))
    return found if len(found) == 1 else ()


def was_fast(results: RunResults, slow: ItemRecord) -> bool:
    """Whether another test moved its payload the same way over the same path, and was fast."""
    flows = results.platform.measurements

    def way(record: ItemRecord) -> tuple[tuple[str, ...], str]:
        backwards = flow_of(record, flows) is Flow.BACKWARD
        return record.nodes[::-1] if backwards else record.nodes, record.pairing

    same = (
        record
        for record in results.records.values()
        if record.rung == slow.rung and way(record) == way(slow)
        if record.outcome in GOOD and has_rate(record) and is_one_way(results, record)
    )
    shares = Shares(results.records.values())
    reached = (shares.levels([one], slow.nodes) or shares.levels([one], ()) for one in same)
    return any(min(levels, default=1.0) > CLEARLY for levels in reached)
