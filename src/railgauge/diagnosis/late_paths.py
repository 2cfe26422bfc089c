"""A NIC, or a path over one, that became slow, and of which nothing else was measured since.

Where all that was fine over other NICs was measured earlier, the node, or the path between two
nodes, may have become slow over all of them. That is undecided: time is not place. A NIC that was
slow each time is told from the others by place.

Example: ``mx02`` and ``mx03`` reach 392 Gb/s over ``mlx5_0``, and 321 over ``mlx5_1`` a minute
later, and again. The path over ``mlx5_1`` is slow, or every path between them since that minute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from railgauge.core.terms import Rung
from railgauge.diagnosis.alike import evidence_of
from railgauge.diagnosis.course import DIRECTION
from railgauge.diagnosis.history import History
from railgauge.diagnosis.localise import ways
from railgauge.diagnosis.model import OPEN, Cause, RunResults, Where
from railgauge.diagnosis.over_paths import is_path
from railgauge.diagnosis.reach import goes_through
from railgauge.diagnosis.remeasured import repeats
from railgauge.judging.confirmation import Confirmed
from railgauge.tools import flow

_CHANCE = 0.05
_PATH, _NICS = "slow-path", ("slow-nic", "slow-direction")


def doubted_nic(results: RunResults, cause: Cause) -> Cause:
    """The cause; undecided if all NICs may be slow since its first slow item."""
    place = cause.where
    is_known = cause.cause in (_PATH, *_NICS) and cause.confidence != OPEN
    if not is_known or not place.device or "," in place.device:
        return cause
    near = [e for e in History(results).of(place.node) if not place.peer or place.peer in e.nodes]
    own = [event for event in near if goes_through(place.device, event.part)]
    others = [event.start for event in near if event not in own and not event.slow]
    began = min((event.start for event in own if event.slow and event.start), default=None)
    changed = any(e.start and began and e.start < began and not e.slow for e in own)
    if began is None or not others or not (changed or place.peer):
        return cause
    if any(start is None or start > began for start in others) or _was_fine_since(results, cause):
        return cause
    says = f"{cause.says}; all that {_who(cause)} reached over other NICs was before that"
    return replace(cause, says=says, confidence=OPEN, would_decide=_decides(cause))


def doubted_at_times(results: RunResults, cause: Cause) -> Cause:
    """The cause; undecided if its NIC comes and goes, and the others were fine too few times.

    Measured again as a suspect, it was slow in some repeats only. By chance the node would then be
    fine in each measurement over another NIC.
    """
    place = cause.where
    is_nic = cause.cause in _NICS and place.device and not place.device.startswith("gpu")
    if not is_nic or cause.confidence == OPEN or place.peer or "," in place.device:
        return cause
    again = [one for one in results.confirmed if place.node in one.asked.suspects]
    own = [one for one in again if _is_over(one, place)]
    if cause.cause == DIRECTION:  # its other direction is fine each time
        shown = [r for r in evidence_of(results, cause) if place.node in r.nodes and is_path(r)]
        slow_ways = {_way(results, r.subject, r.nodes, place.node) for r in shown}
        own = [one for one in own if _way_of(results, one, place.node) in slow_ways]
    slow, all_ = repeats(own)
    if not 0 < slow < all_:
        return cause
    others = [one for one in again if not _is_over(one, place)]
    slow_there, all_there = repeats(others)
    events = [e for e in History(results).of(place.node) if e.rung == Rung.NETWORK]
    fine = sum(not e.slow and not goes_through(place.device, e.part) for e in events)
    if slow_there or (1 - slow / all_) ** (fine + all_there) > _CHANCE:
        says = f"{cause.says}; it comes and goes: {slow} of {all_} repeats are slow, measured again"
        return replace(cause, says=says, confidence=OPEN, would_decide=_decides(cause))
    return cause


def _way_of(results: RunResults, one: Confirmed, node: str) -> tuple[str, ...]:
    case = one.asked.question.case
    return _way(results, case.measurement, case.nodes, node) if case else ()


def _way(results: RunResults, measurement: str, nodes: Sequence[str], node: str) -> tuple[str, ...]:
    """Whether the node sends or receives the payload, or both."""
    known = results.platform.measurements.get(measurement)
    return ways((nodes[0], nodes[-1]), node, flow(known)) if known else ()


def _is_over(result: Confirmed, place: Where) -> bool:
    case = result.asked.question.case
    path = case.path_at(place.node) if case and place.node in case.nodes else None
    return path is not None and path.nic == place.device


def is_late(cause: Cause) -> bool:
    """Whether the cause is undecided because nothing was measured over other NICs since."""
    return cause.confidence == OPEN and cause.would_decide == _decides(cause)


def _who(cause: Cause) -> str:
    place = cause.where
    return f"{place.node} and {place.peer}" if place.peer else place.node


def _decides(cause: Cause) -> str:
    return f"measure {_who(cause)} over other NICs again"


def _was_fine_since(results: RunResults, cause: Cause) -> bool:
    """Whether another NIC of the node, or between the two, was fine when it was measured again."""
    ends, device = {cause.where.node, cause.where.peer} - {""}, cause.where.device
    again = ((one.asked.question.case, one.missed or one.error) for one in results.confirmed)
    return any(
        case.pairing is not None
        and ends <= set(case.nodes)
        and not goes_through(device, str(case.pairing))
        for case, is_slow in again
        if case is not None and not is_slow
    )
