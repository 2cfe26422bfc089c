"""What the evidence of a run is: of hardware, or of nodes that only play it. Pure.

The nodes say it themselves, in a fact like any other. This is the one place that knows the word
they say it with, whatever way led to them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from railgauge.core.terms import Term
from railgauge.facts import NodeFacts


class Evidence(Term):
    """What a run's numbers are of. A replay judges what another run recorded."""

    HARDWARE = "hardware"
    SIMULATED = "simulated"
    REPLAYED = "replayed"


# What the firmware of a machine that is none gives as its product.
_PLAYED = "railgauge lab node"
_PLAYING_TRANSPORT = "lab"


def of_nodes(found: Iterable[object], transport: str) -> Evidence:
    """The stamp of a survey: one node that only plays hardware makes all of it simulated.

    ``found`` are the nodes' facts, or errors, which say nothing; ``transport`` is the hostfile's.
    """
    played = transport == _PLAYING_TRANSPORT or any(map(_is_played, found))
    return Evidence.SIMULATED if played else Evidence.HARDWARE


def _is_played(found: object) -> bool:
    return isinstance(found, NodeFacts) and found.product == _PLAYED


def contradiction(said: str, found: Collection[object], transport: str) -> str:
    """What speaks against a stamp; empty if nothing does. Where no node answered nothing can."""
    if said not in tuple(Evidence):
        return f"says {said} evidence, which no run has"
    due = of_nodes(found, transport)
    is_known = due is Evidence.SIMULATED or any(isinstance(one, NodeFacts) for one in found)
    if said in (due, Evidence.REPLAYED) or not is_known:
        return ""
    return f"says {said} evidence, and by the facts of its nodes it is {due}"
