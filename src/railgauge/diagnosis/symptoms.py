"""The ways in which an item goes wrong, read from its record. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from railgauge.core import errors
from railgauge.core.model import Judgement, Outcome
from railgauge.core.problems import ProblemKind
from railgauge.core.terms import Rung, Term
from railgauge.judging.correctness import CORRUPTION
from railgauge.judging.record import OWN_ERROR, ItemRecord


class Symptom(Term):
    """One way in which an item fails or ends in an error."""

    # failed
    FACT = "a fact that is not as required"
    SLOW = "a value that misses its limit"
    ROUTE = "a payload that took another path"
    COUNTED = "error counters that grew"
    WRONG = "wrong results"
    TESTED = "a failed test of a diagnostic or of the subnet"
    # ended in an error
    UNKNOWN = "a fact that is not known"
    LOST = "a connection that was refused or lost"
    NO_TOOL = "a tool that is missing"
    NO_DEVICE = "a device that a tool does not find"
    REFUSED = "a tool that reports a failure"
    HUNG = "a command that ran into its time limit"
    NO_LAUNCH = "ranks that did not start"
    UNRESOLVED = "a name that a node does not resolve"
    DIED = "a rank that died"
    PORT_TAKEN = "a server's port that is taken"
    GARBAGE = "output that cannot be judged"
    OWN = "an error of the suite"


# An error of these is a fault at the node that it names; the others may follow from a partner's.
_AT_THE_NODE = frozenset(
    {Symptom.UNKNOWN, Symptom.LOST, Symptom.NO_TOOL, Symptom.NO_DEVICE, Symptom.PORT_TAKEN,
     Symptom.GARBAGE}
)  # fmt: skip

_BY_KIND: dict[type[errors.NoEvidence], Symptom] = {
    **dict.fromkeys(
        (errors.NodeUnreachable, errors.AuthenticationFailed, errors.HostKeyRejected,
         errors.ConnectionLost, errors.SetupFailed, errors.BecomeRefused, errors.OtherMachine),
        Symptom.LOST,
    ),
    errors.ToolMissing: Symptom.NO_TOOL,
    errors.DeviceMissing: Symptom.NO_DEVICE,
    **dict.fromkeys((errors.ToolError, errors.ToolFailed, errors.TransportError), Symptom.REFUSED),
    **dict.fromkeys((errors.CommandTimedOut, errors.ToolHangs), Symptom.HUNG),
    errors.SlowLoad: Symptom.SLOW,
    errors.LaunchFailed: Symptom.NO_LAUNCH,
    errors.NameNotResolved: Symptom.UNRESOLVED,
    errors.RankDied: Symptom.DIED,
    errors.PortInUse: Symptom.PORT_TAKEN,
    **dict.fromkeys(
        (errors.FactMissing, errors.VersionUndeclared, errors.KernelLogUnread,
         errors.TelemetryUnread, errors.CountersUnread),
        Symptom.UNKNOWN,
    ),
}  # fmt: skip
_BY_NAME = {error.kind: symptom for error, symptom in _BY_KIND.items()} | {OWN_ERROR: Symptom.OWN}
_ROUTES = frozenset({"transport", "traffic", "traffic_spread", "devmem"})
_COUNTERS = "link_errors"


def symptoms(record: ItemRecord) -> frozenset[Symptom]:
    """The ways in which a failed item failed, or the one in which an error ended it."""
    if record.outcome is Outcome.ERROR:
        if reported(record) is ProblemKind.PORT_IN_USE:
            return frozenset({Symptom.PORT_TAKEN})
        return frozenset({_BY_NAME.get(record.error_kind, Symptom.GARBAGE)})
    return frozenset(_failures(record))


def _failures(record: ItemRecord) -> Iterator[Symptom]:
    for judged in record.judgements:
        if judged.outcome is Outcome.FAILED:
            yield Symptom.FACT if record.rung == Rung.PREFLIGHT else _failure(judged)


def _failure(judged: Judgement) -> Symptom:
    if judged.metric == CORRUPTION:
        return Symptom.WRONG
    if judged.metric == _COUNTERS:
        return Symptom.COUNTED
    if judged.metric in _ROUTES:
        return Symptom.ROUTE
    return Symptom.TESTED if judged.worst is None else Symptom.SLOW


def blames(record: ItemRecord) -> str:
    """The only node that can be at fault for an error of this kind; empty if any of the item's."""
    if not symptoms(record) <= _AT_THE_NODE:
        return ""
    node = record.error_where.partition(": ")[0]
    return node if node in record.nodes else ""


def tool_of(record: ItemRecord) -> str:
    """The tool that the item's error names: ``ib_write_bw`` of ``n2: ib_write_bw``."""
    return record.error_where.partition(": ")[2]


def reported(record: ItemRecord) -> ProblemKind | None:
    """The kind of problem that a tool reported; its name ends the reason of the error."""
    return _PROBLEMS.get(record.reason.rpartition(" (")[2].removesuffix(")"))


_PROBLEMS = {str(kind): kind for kind in ProblemKind}
