"""What the catalogue says of one cause."""

from __future__ import annotations

from dataclasses import dataclass

from railgauge.core.terms import Term
from railgauge.diagnosis.catalogue.effect import Effect


class CauseSeverity(Term):
    """How bad a cause is for the jobs on its node; ``meaning`` says it in words. Worst first."""

    CRITICAL = "critical"
    MAJOR = "major"
    MINOR = "minor"
    UNKNOWN = "unknown"

    @property
    def meaning(self) -> str:
        return _SEVERITIES[self]

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(CauseSeverity).index(self)


class CauseAction(Term):
    """The kind of work that removes a cause; ``meaning`` says it in words."""

    DRAIN = "drain"
    RESET = "reset"
    RESEAT = "reseat"
    EXCHANGE = "exchange part"
    REPAIR_LINK = "repair the link"
    CORRECT = "correct a setting"
    COMPARE = "compare with a good node"
    ASK_VENDOR = "ask vendor"
    MEASURE_AGAIN = "measure again"

    @property
    def meaning(self) -> str:
        return _ACTIONS[self]


_SEVERITIES = {
    CauseSeverity.CRITICAL: "the part does not work, or its results are wrong: jobs fail there",
    CauseSeverity.MAJOR: "jobs run, but slower or less reliably than they should",
    CauseSeverity.MINOR: "costs nothing that was measured, or little: it can wait for the next"
    " maintenance",
    CauseSeverity.UNKNOWN: "says nothing about the hardware: something kept it from being measured",
}
_ACTIONS = {
    CauseAction.DRAIN: "give the node no new jobs, and examine it as the remedy says",
    CauseAction.RESET: "reset the GPUs or what connects them, or power-cycle the node",
    CauseAction.RESEAT: "take the card or board out, put it back, and check its slot",
    CauseAction.EXCHANGE: "replace the part, or swap it with a good one",
    CauseAction.REPAIR_LINK: "clean, reseat or replace cable and transceiver, or use another port",
    CauseAction.CORRECT: "correct a setting, service, module, version or file",
    CauseAction.COMPARE: "find what differs from a good node: BIOS, firmware, clocks, slots",
    CauseAction.ASK_VENDOR: "hold the node against its order, with the vendor",
    CauseAction.MEASURE_AGAIN: "remove what kept it from being measured, and measure again",
}
# Work that takes a part away from the jobs of the node, or restarts it.
_NEEDS_EMPTY_NODE = frozenset(
    {
        CauseAction.DRAIN,
        CauseAction.RESET,
        CauseAction.RESEAT,
        CauseAction.EXCHANGE,
        CauseAction.REPAIR_LINK,
    }
)


AMONG_NODES = frozenset(
    {"nodes-differ", "firmware-mismatch", "one-machine", "slow-leaf", "slow-storage"}
)
"""Causes that, if they name several nodes, hold them against each other or are of what they share:
they blame none of them."""


@dataclass(frozen=True, slots=True)
class CauseTriage:
    """The severity and the action of one cause."""

    severity: CauseSeverity
    action: CauseAction

    @property
    def drains(self) -> bool:
        """Whether the node should get no new jobs: they would fail, or the work disturbs them."""
        return self.severity is CauseSeverity.CRITICAL or self.action in _NEEDS_EMPTY_NODE


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of cause: what it is, what to do about it, and what it makes go wrong.

    ``severity`` and ``action`` say how soon it is repaired and by which kind of work, and whether
    the node may get jobs meanwhile; ``remedy`` says how. ``folds``: the same cause on several nodes
    is one entry, because one setting fixes them all. ``prepared_by`` is the step of ``--prepare``
    that applies the remedy, on platforms that have it. ``over_slurm`` is the remedy where the nodes
    are reached through Slurm, if it is another one.

    Example: ``link-down`` is critical, its action is to repair the link, and its node is drained.
    """

    means: str
    remedy: str
    basis: str
    severity: CauseSeverity
    action: CauseAction
    effect: Effect
    folds: bool = False
    prepared_by: str = ""
    over_slurm: str = ""

    @property
    def triage(self) -> CauseTriage:
        return CauseTriage(self.severity, self.action)


CRITICAL, MAJOR, MINOR, UNKNOWN = CauseSeverity
DRAIN, RESET, RESEAT, EXCHANGE, REPAIR_LINK, CORRECT, COMPARE, ASK_VENDOR, MEASURE_AGAIN = (
    CauseAction
)
