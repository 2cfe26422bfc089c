"""A fault: a slow part, the share that is left to it, and its timing. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from railgauge.diagnosis.slow.constants import When
from railgauge.diagnosis.slow.places import Losses

PartState = tuple[float, float]
"""The logarithm of a probability, and of the share that a part then has."""


class PartFault(NamedTuple):
    """A tuple, because the search compares millions of them.

    ``share`` is the logarithm of what is left, for a varying fault of the least that is left.

    ``chance`` is the probability with which it acts on an execution; ``since`` is when it began.
    ``unknown`` is what it costs that chance or moment are fitted, as a logarithm.
    """

    part: int
    when: When
    share: float
    chance: float = 1.0
    since: float = 0.0
    unknown: float = 0.0

    def acts(self, began: float) -> bool:
        """Whether it may act on an execution that began then."""
        return self.when is not When.SINCE or began >= self.since

    @property
    def is_rare(self) -> bool:
        """Whether an execution may be fine although its part is slow."""
        return self.when in (When.AT_TIMES, When.VARYING)

    @property
    def states(self) -> tuple[PartState, ...]:
        """What its part may be during an execution, unless the loss varies."""
        if self.when is When.AT_TIMES:
            return (math.log(self.chance), self.share), (math.log(1 - self.chance), 0.0)
        return ((0.0, self.share),)


Hypothesis = tuple[PartFault, ...]


def ordered(faults: Iterable[PartFault]) -> Hypothesis:
    return tuple(sorted(faults))


def joined(losses: Iterable[tuple[int, float]]) -> Losses:
    """What is slow, in order; two faults of one part add up."""
    found: dict[int, float] = {}
    for part, loss in losses:
        if loss:
            found[part] = found.get(part, 0.0) + loss
    return tuple(sorted(found.items()))


def also(losses: Losses, part: int, loss: float) -> Losses:
    """The same as ``joined`` of what was slow, and one part more."""
    if not losses:
        return ((part, loss),)
    return joined((*losses, (part, loss)))
