"""The stamp of a run's evidence: from hardware, or from nodes that simulate it. Pure.

A simulated node reports that itself, as its product name. Only this module knows that name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from railgauge.core.terms import Term
from railgauge.facts import NodeFacts


class Evidence(Term):
    """The origin of a run's numbers. A replay judges the evidence of another run.

    ``NOT_VERIFIED`` is that of a bundle that ``railgauge verify`` refuses: it accepts nothing.
    """

    HARDWARE = "hardware"
    SIMULATED = "simulated"
    REPLAYED = "replayed"
    NOT_VERIFIED = "not verified"

    @property
    def is_of_another_run(self) -> bool:
        return self in (Evidence.REPLAYED, Evidence.NOT_VERIFIED)


# The product name that a simulated node reports as its firmware's.
_SIMULATED_PRODUCT = "railgauge lab node"
_LAB_TRANSPORT = "lab"


def of_nodes(found: Iterable[object], transport: str) -> Evidence:
    """The stamp of a survey: one simulated node makes all of it simulated.

    ``found`` holds the nodes' facts; errors in it are skipped. ``transport`` is the hostfile's.
    """
    simulated = transport == _LAB_TRANSPORT or any(map(_is_simulated, found))
    return Evidence.SIMULATED if simulated else Evidence.HARDWARE


def takes_time(found: Iterable[object]) -> bool:
    """Whether a command takes the time of its payload; a simulated node moves none."""
    return not any(map(_is_simulated, found))


def _is_simulated(found: object) -> bool:
    return isinstance(found, NodeFacts) and found.product == _SIMULATED_PRODUCT


def contradiction(stamp: str, found: Collection[object], transport: str) -> str:
    """What contradicts a stamp, in words; empty if nothing does, or if no node answered."""
    if stamp not in tuple(Evidence):
        return f"claims {stamp} evidence, which is not a known kind"
    due = of_nodes(found, transport)
    is_known = due is Evidence.SIMULATED or any(isinstance(one, NodeFacts) for one in found)
    if stamp == due or Evidence(stamp).is_of_another_run or not is_known:
        return ""
    return f"claims {stamp} evidence, but by the facts of its nodes it is {due}"
