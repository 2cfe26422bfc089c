"""What a slow NIC may cost its node's other NICs. Pure.

Faults are independent in the model. But a NIC may slow the others of its node, for example where it
floods what they share. The figures over NICs are then those of a second fault: of the node, of both
directions of all its NICs, or of its other NICs. Where they are, the second fault is one of two
explanations, and only figures of the node without its NICs tell which.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from railgauge.diagnosis.slow.constants import SIDE_EFFECT, When
from railgauge.diagnosis.slow.decision import Exchange
from railgauge.diagnosis.slow.faults import Hypothesis, PartFault
from railgauge.diagnosis.slow.likelihood import Model
from railgauge.tools.form import ClusterPart, KindOfPart

_BOTH_WAYS = {KindOfPart.SEND, KindOfPart.RECEIVE}


@dataclass(frozen=True, slots=True)
class SideEffect:
    """The hypothesis without the faults that may be effects, and the part that may slow them."""

    instead: Exchange
    of: int


def side_effects(model: Model, best: Hypothesis) -> Iterator[SideEffect]:
    """What of the best hypothesis a larger fault of a NIC may explain."""
    parts = model.evidence.parts
    for larger in best:
        if parts[larger.part].kind is KindOfPart.NIC:
            for effects in _effects(model, larger, best):
                rest = tuple(one for one in best if one not in effects)
                lost = max(0.0, _beside_nics(model, effects, best, rest))
                yield SideEffect(Exchange(rest, math.exp(SIDE_EFFECT - lost)), larger.part)


def _effects(model: Model, larger: PartFault, best: Hypothesis) -> Iterator[Hypothesis]:
    """The faults that slow all other NICs of the node as an effect of the larger one would."""
    parts = model.evidence.parts
    nic = parts[larger.part]
    near = [one for one in best if parts[one.part].node == nic.node and one is not larger]
    some = [one for one in near if one.when is larger.when or larger.when is When.ALWAYS]
    yield from ((one,) for one in some if parts[one.part].kind is KindOfPart.NODE)
    ways = [o for o in some if parts[o.part].is_direction and not parts[o.part].nic]
    if {parts[one.part].kind for one in ways} == _BOTH_WAYS:
        yield tuple(ways)
    smaller = [one for one in some if one.share > larger.share]
    others = tuple(one for one in smaller if parts[one.part].kind is KindOfPart.NIC)
    if others and {parts[one.part] for one in others} == _nics(model, nic.node) - {nic}:
        yield others


def _nics(model: Model, node: str) -> set[ClusterPart]:
    return {one for one in model.evidence.parts if one.kind is KindOfPart.NIC and one.node == node}


def _beside_nics(model: Model, effects: Hypothesis, best: Hypothesis, rest: Hypothesis) -> float:
    """How much better the effects, as faults, explain what their node measures without its NICs."""
    evidence = model.evidence
    node = evidence.parts[effects[0].part].node
    over_nics = evidence.using(evidence.number[nic] for nic in _nics(model, node))
    used = evidence.using(one.part for one in effects)
    some = [evidence.executions[number] for number in sorted(used - over_nics)]
    return sum(model.mixed(one, best) - model.mixed(one, rest) for one in some)
