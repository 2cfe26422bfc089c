"""How much like measurements of this run vary: by what its likeliest slow parts leave unexplained.

The documents' noise is that of their clusters. Where readings vary by more, slow parts would be
found in noise, so that the search is made again with what was seen. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from railgauge.diagnosis.slow.constants import FEWEST_ALIKE, NOISIER
from railgauge.diagnosis.slow.faults import Hypothesis
from railgauge.diagnosis.slow.likelihood import Model, distance
from railgauge.diagnosis.slow.readings import Execution, PeerGroup, RunReadings

_QUANTILE, _OF_NORMAL = 0.75, 1.15  # three of four normal deviates are below 1.15


def noisier(model: Model, best: Hypothesis) -> RunReadings | None:
    """The readings with the noise that they show beside these faults; ``None`` if it is usual."""
    scale = {kind: one for kind, one in _scales(model, best) if one > NOISIER}
    if not scale:
        return None
    executions = tuple(_scaled(one, scale) for one in model.evidence.executions)
    return replace(model.evidence, executions=executions)


def _scales(model: Model, best: Hypothesis) -> Iterator[tuple[PeerGroup, float]]:
    """By how much each kind varies more than usual. A quarter of it may be slow for no fault."""
    found: dict[PeerGroup, list[float]] = {}
    for execution in model.evidence.executions:
        losses = model.likeliest(execution, best)
        for one in execution.readings:
            if one.low == one.high:
                predicted = one.places.predicted(losses, adds=model.adds)
                found.setdefault(one.kind, []).append(distance(one, *predicted))
    for kind, some in found.items():
        if len(some) >= FEWEST_ALIKE:
            yield kind, sorted(some)[int(_QUANTILE * len(some))] / _OF_NORMAL


def _scaled(execution: Execution, scale: Mapping[PeerGroup, float]) -> Execution:
    readings = tuple(
        replace(one, sigma=one.sigma * scale.get(one.kind, 1.0)) for one in execution.readings
    )
    return replace(execution, readings=readings)
