"""Tell from the other direction of a slow part whether it is slow as a whole. Pure.

The other direction is measured again with a good node, and asked without suspects. A partner that
is slow itself, or a part that comes and goes, leaves it undecided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from railgauge.diagnosis.alike import CLEARLY
from railgauge.diagnosis.catalogue import CATALOGUE
from railgauge.diagnosis.course import DIRECTION
from railgauge.diagnosis.model import AGAIN, OPEN, Cause
from railgauge.diagnosis.reach import nodes_of
from railgauge.diagnosis.remeasured import always, at_times, is_alike, rate
from railgauge.judging.confirmation import Confirmed

_PAIR = 2
INTERMITTENT = "the fault is intermittent: measure again, for longer and at another time"


def by_direction(cause: Cause, results: Iterable[Confirmed]) -> Cause:
    """The cause, by whether its node was slow in the other direction too, if that was measured.

    If it was fine with one partner, another one that it was slow with is slow itself. If it was
    slow at times, the node or this partner comes and goes.
    """
    node, taken = cause.where.node, list(results)
    back = [r for r in taken if not r.asked.suspects and not r.error and node in measured_nodes(r)]
    own = [r for r in taken if r.asked.suspects == (node,) and r.missed]
    if back and not (fit := [r for r in back if not _is_with_slower(r, own, node)]):
        return replace(cause, confidence=OPEN, would_decide=AGAIN.format(node))
    back = fit if back else back
    # A partner costs more, unless the slower direction was measured with other good nodes as well.
    is_partners = _are_slower(back, own) and not _are_slower(own, back)
    if (cause.course is None and any(map(at_times, back))) or is_partners:
        return replace(cause, confidence=OPEN, would_decide=INTERMITTENT)
    goes = cause.course is not None
    is_slow = all(always(result) or (goes and at_times(result)) for result in back)
    if back and is_slow and not is_slower(own, back):
        if cause.cause == DIRECTION and _is_of_the_pair(back, taken):
            return replace(cause, confidence=OPEN, would_decide=AGAIN.format(node))
        says = f"{cause.says}; measured again, it is slow in the other direction too"
        whole = replace(cause, says=says) if cause.cause == DIRECTION else cause
        return named_as(_both_ways(cause.where.device), whole)
    return named_as(DIRECTION, cause) if back else cause


def is_slower(own: Iterable[Confirmed], back: Sequence[Confirmed]) -> bool:
    """Whether each slow result is clearly slower than one of the other direction.

    A partner may cost more, so that one result alone tells nothing.
    """
    slow = [result for result in own if result.missed]
    return bool(slow) and all(_are_slower([one], back) for one in slow)


def is_half_known(cause: Cause) -> bool:
    """Whether the node is known, and the other direction must be measured with another partner."""
    return cause.cause == DIRECTION and cause.would_decide == AGAIN.format(cause.where.node)


def _is_of_the_pair(back: Iterable[Confirmed], results: Iterable[Confirmed]) -> bool:
    """Whether all of ``back`` is of the slow pair: its path may be slow, or the partner."""
    pairs = [set(r.asked.suspects) for r in results if r.missed and len(r.asked.suspects) == _PAIR]
    return all(set(measured_nodes(result)) in pairs for result in back)


def _is_with_slower(result: Confirmed, own: Sequence[Confirmed], node: str) -> bool:
    """Whether the result's partner costs more than the node: it was slower than others with it."""
    partner = set(measured_nodes(result)) - {node}
    with_it = [one for one in own if partner <= set(measured_nodes(one))]
    others = [one for one in own if one not in with_it]
    return result.missed and bool(with_it) and _are_slower(with_it, others)


def _are_slower(back: Sequence[Confirmed], own: Sequence[Confirmed]) -> bool:
    """Whether something of ``back`` was clearly slower than something like it of ``own``."""
    return any(
        is_alike(one, other)
        and (there := rate(one))
        and (here := rate(other))
        and there < CLEARLY * here
        for one in back
        for other in own
    )


def with_its_back(cause: Cause, mine: Sequence[Confirmed], results: Iterable[Confirmed]) -> Cause:
    """The cause; a slow direction by what was measured again of the other one.

    That was asked for all suspects at once. If it was slow, but clearly less than this direction,
    its partner may be slow.
    """
    own = [one for one in mine if one.asked.suspects and one.missed]
    back = [one for one in results if one.missed and _is_back_of(cause, one, own)]
    if cause.cause != DIRECTION or cause.confidence == OPEN or not back or _are_slower(own, back):
        return cause
    return by_direction(cause, [*own, *back])


def _is_back_of(cause: Cause, result: Confirmed, own: Iterable[Confirmed]) -> bool:
    """Whether it is about the direction of the cause's node that was not slow in ``own``."""
    case, node = result.asked.question.case, cause.where.node
    if case is None or result.asked.suspects or result.error or node not in case.nodes:
        return False
    path = case.path_at(node)
    over = cause.where.device in ("", path.nic if path else "")
    places = {measured_nodes(one).index(node) for one in own if node in measured_nodes(one)}
    is_back = bool(places) and case.nodes.index(node) not in places
    asked = result.asked.cause == DIRECTION and node in nodes_of(result.asked.node)
    return over and is_back and asked


def measured_nodes(result: Confirmed) -> tuple[str, ...]:
    case = result.asked.question.case
    return case.nodes if case else ()


def _both_ways(device: str) -> str:
    """The cause for a node, or its device, that is slow in both directions."""
    if device.startswith("gpu"):
        return "slow-pcie-path" if "-" in device else "slow-gpu"
    return "slow-nic" if device else "slow-node"


def named_as(name: str, cause: Cause) -> Cause:
    kind = CATALOGUE[name]
    return replace(cause, cause=name, remedy=kind.remedy, basis=kind.basis)
