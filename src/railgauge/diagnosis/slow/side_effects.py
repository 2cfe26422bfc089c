"""What a slow NIC may cost its node's other NICs. Pure.

Faults are independent in the model. But a NIC may slow the others of its node, for example where it
floods what they share. The figures are then those of a second fault: of the node, or of the other
NIC. Where they are, that fault is one of two explanations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from railgauge.diagnosis.slow.constants import SIDE_EFFECT, When
from railgauge.diagnosis.slow.faults import Hypothesis, PartFault, ordered
from railgauge.diagnosis.slow.fitting import Fitter
from railgauge.diagnosis.slow.likelihood import Model
from railgauge.tools.form import ClusterPart, KindOfPart

_CAN_BE_EFFECTS = {KindOfPart.NODE, KindOfPart.NIC, KindOfPart.SEND, KindOfPart.RECEIVE}


def with_side_effects(model: Model, pool: Mapping[Hypothesis, float]) -> Mapping[Hypothesis, float]:
    """The hypotheses, and those in which a fault of the best one is an effect of another one."""
    best = max(pool, key=pool.__getitem__)
    found = dict(pool)
    for faults, score in _alternatives(model, best, pool[best]):
        found[faults] = max(score, found.get(faults, -math.inf))
    return found


def _alternatives(model: Model, best: Hypothesis, top: float) -> Iterator[tuple[Hypothesis, float]]:
    parts, known = model.evidence.parts, _log_likelihood(model, best)
    for fault in best:
        for larger in best:
            if not _may_cause(parts[larger.part], parts[fault.part]):
                continue
            nics = _slowed_by(model, larger, fault)
            if not nics:
                continue
            rest = tuple(one for one in best if one is not fault)
            slowed = tuple(PartFault(part, When.ALWAYS, fault.share) for part in nics)
            instead = _fitted_beside(model, slowed, rest)
            lost = max(0.0, known - _log_likelihood(model, instead))
            is_same = {one.part for one in instead} == {one.part for one in best}
            yield rest if is_same else instead, top + SIDE_EFFECT - lost


def _may_cause(larger: ClusterPart, other: ClusterPart) -> bool:
    is_nic = larger.kind is KindOfPart.NIC and larger.node == other.node and larger != other
    return is_nic and other.kind in _CAN_BE_EFFECTS


def _slowed_by(model: Model, larger: PartFault, fault: PartFault) -> list[int]:
    """The NICs that the larger fault slows if the other one is its effect; none if it is smaller.

    What the whole node costs its NICs, or one direction of them, adds to the larger fault.
    """
    parts = model.evidence.parts
    node, is_whole = parts[fault.part].node, not parts[fault.part].nic
    if larger.share >= fault.share and not is_whole:
        return []
    nics = (n for n, one in enumerate(parts) if one.kind is KindOfPart.NIC and one.node == node)
    return [nic for nic in nics if is_whole or nic != larger.part]


def _fitted_beside(model: Model, faults: Hypothesis, others: Hypothesis) -> Hypothesis:
    """These faults, and others with the shares that fit beside them, the largest loss first."""
    fitter = Fitter(model)
    for one in sorted(others, key=lambda other: other.share):
        fits = [fit for _, fit in fitter.fitted(one.part, faults)]
        faults = ordered((*faults, *fits[:1]))
    return faults


def _log_likelihood(model: Model, faults: Hypothesis) -> float:
    return model.score(faults) - sum(map(model.prior, faults))
