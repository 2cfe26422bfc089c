"""All errors that the suite raises, in two families and one that is in neither.

``BadInput``: the user has to correct a hostfile, a threshold file or an option. It is raised
before a node is contacted. ``NoEvidence``: a measurement or a fact could not be obtained. The
verdict of that item is *error*, never *failed* and never *passed*. Only ``LimitMissed``, a limit
that was missed, makes an item *failed*. ``Exhausted`` ends the run: the machine that it is started
on cannot go on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar

_SHOWN = 40  # complaints about one input
_LONGEST = 4_000
_KEPT_BEGIN, _KEPT_END = 3_500, 400


def cut(text: str) -> str:
    """Return the text of an error, without its middle if it is too long to read.

    It may quote a whole file or output.
    """
    if len(text) <= _LONGEST:
        return text
    begin, end = text[:_KEPT_BEGIN], text[-_KEPT_END:]
    left_out = len(text) - len(begin) - len(end)
    return f"{begin} … ({left_out} characters left out) … {end}"


class RailgaugeError(Exception):
    """What is wrong, where it is, and what to do next; its text is one line.

    ``kind`` is a stable name for reports and for tests.
    """

    kind: ClassVar[str] = "error"

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        self.what, self.where, self.remedy = self._bounded(what), cut(where), cut(remedy)
        super().__init__(self.what)

    def _bounded(self, what: str) -> str:
        return cut(what)

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{where}{self.what}{remedy}"


class BadInput(RailgaugeError):
    """The user's input cannot be used; nothing was run."""

    kind = "bad-input"


class BadInputs(BadInput):
    """Several errors in the input; the text is their number, then a line for each."""

    def __init__(self, complaints: Sequence[BadInput]) -> None:
        lines = [f"{len(complaints)} complaints about the input:", *map(str, complaints[:_SHOWN])]
        if len(complaints) > _SHOWN:
            lines.append(f"and {len(complaints) - _SHOWN} more")
        super().__init__("\n  ".join(lines))
        self.complaints = tuple(complaints)

    def _bounded(self, what: str) -> str:
        return what  # each of its lines is bounded


class Gathered:
    """Collects input errors and raises them together: the user can correct all at once."""

    def __init__(self) -> None:
        self.complaints: list[BadInput] = []
        self._texts: set[str] = set()

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Keep the ``BadInput`` that the block raises, once, and continue after the block."""
        try:
            yield
        except BadInput as error:
            self.add(error)

    def add(self, error: BadInput) -> None:
        each = error.complaints if isinstance(error, BadInputs) else (error,)
        new = {text: one for one in each if (text := str(one)) not in self._texts}
        self.complaints += new.values()
        self._texts.update(new)

    def raise_any(self) -> None:
        """Raise the collected error, or ``BadInputs`` if there are several."""
        if len(self.complaints) == 1:
            raise self.complaints[0]
        if self.complaints:
            raise BadInputs(self.complaints)


class HostfileError(BadInput):
    kind = "hostfile"


class ThresholdError(BadInput):
    kind = "thresholds"


class Uncovered(BadInput):
    """Something would be measured that has no limit, or more than one."""

    kind = "uncovered"


class BadBundle(BadInput):
    """A file is not a bundle, is unsafe to open, or is not what a run writes."""

    kind = "bundle"


class NotVerified(RailgaugeError):
    """The files of a run do not agree with its statement, its limits, its evidence or its verdict.

    ``where`` is the file at fault.
    """

    kind = "not-verified"


class Exhausted(RailgaugeError):
    """This machine has run out of memory, threads or descriptors.

    It is not ``NoEvidence``, because it says nothing about a node: it ends the run.
    """

    kind = "exhausted"


class NoEvidence(RailgaugeError):
    """A value could not be obtained, so it cannot be judged."""

    kind = "no-evidence"


class TransportError(NoEvidence):
    """A command could not be carried out on a node."""

    kind = "transport"


class NodeUnreachable(TransportError):
    kind = "node-unreachable"


class AuthenticationFailed(TransportError):
    kind = "authentication-failed"


class HostKeyRejected(TransportError):
    kind = "host-key-rejected"


class OnlyBySsh(TransportError):
    """The node can be reached only by the system's own ssh, with ``transport: exec``."""

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        super().__init__(what, where=where, remedy=remedy or _BY_SSH)


_BY_SSH = (
    "reach it by the ssh command: transport: exec (hostfiles/example-openssh.yaml), or see what "
    "railgauge check proposes"
)


class HostKeyBeyond(OnlyBySsh, HostKeyRejected):
    """The host is known by a certificate or a pattern, which the transport ssh does not check."""


class LoginBeyond(OnlyBySsh, AuthenticationFailed):
    """The ssh configuration names a way to log in that the transport ssh does not have."""


class NoCommonAlgorithm(OnlyBySsh, NodeUnreachable):
    """The node's sshd and the transport ssh have no algorithm in common."""


class OtherMachine(TransportError):
    """Another machine than the surveyed one answers under the name of a node."""

    kind = "other-machine"


class ConnectionLost(TransportError):
    """The connection ended while a command was running."""

    kind = "connection-lost"


class CommandTimedOut(TransportError):
    kind = "command-timed-out"


class ToolHangs(CommandTimedOut):
    """The tool was not started, because it has hung before on these nodes."""

    kind = "tool-hangs"


class SetupFailed(TransportError):
    """A line of the hostfile's ``setup`` failed, so the command was not started."""

    kind = "setup-failed"


class BecomeRefused(TransportError):
    """The hostfile's ``become`` did not run the command as root, so it was not started."""

    kind = "become-refused"


class PortInUse(TransportError):
    """Another process listens on the port of a server; a retry takes another port."""

    kind = "port-in-use"


class ToolError(NoEvidence):
    """A tool did not start, or it gave no usable result."""

    kind = "tool"


class ToolMissing(ToolError):
    kind = "tool-missing"


class DeviceMissing(ToolError):
    """The tool is installed, but the device that it should measure is missing."""

    kind = "device-missing"


class ToolFailed(ToolError):
    """The tool reported a failure, or exited with a code other than 0."""

    kind = "tool-failed"


class Unparsable(ToolError):
    """The output does not have the tool's format, or it is cut off."""

    kind = "unparsable"


class NameNotResolved(ToolError):
    """A node does not know the address of another one's name."""

    kind = "name-not-resolved"


class LaunchFailed(ToolError):
    """The launcher could not start the ranks on all of the nodes."""

    kind = "launch-failed"


class RankDied(ToolError):
    """A rank of a running collective was killed, crashed, or ended with an error."""

    kind = "rank-died"


class MetricMissing(ToolError):
    """The tool did not print a metric or a message size that is expected."""

    kind = "metric-missing"


class StabilityUnproven(ToolError):
    """There are too few rows to judge how iterations vary: a mean can hide the variation."""

    kind = "stability-unproven"


class ConditionsUnmet(ToolError):
    """The tool warns that the node was not in the state that a valid measurement needs."""

    kind = "conditions-unmet"


class UnitUnknown(NoEvidence):
    """A value's unit cannot be converted to the unit of the limit."""

    kind = "unit-unknown"


class Implausible(NoEvidence):
    """A value is physically or arithmetically impossible: the measurement is invalid, not good."""

    kind = "implausible"


class FactMissing(NoEvidence):
    """The probe of a node did not yield a fact that an expectation needs."""

    kind = "fact-missing"


class KernelLogUnread(NoEvidence):
    """A node's kernel log, or a part of it that a run covers, could not be read."""

    kind = "kernel-log-unread"


class TelemetryUnread(NoEvidence):
    """What the GPUs of a node did during a measurement was not sampled, or cannot be read."""

    kind = "telemetry-unread"


class CountersUnread(NoEvidence):
    """The error counters of a node were not read before and after a run, or show no difference."""

    kind = "counters-unread"


class VersionUndeclared(NoEvidence):
    """The node has other software than the limits were made with, and no file declares it."""

    kind = "version-undeclared"


class OtherThanAsked(ToolError):
    """The output shows that the tool did something other than what its command asks for."""

    kind = "other-than-asked"


class SlowLoad(ToolError):
    """What loads the fabric while others are measured reached too little to show anything."""

    kind = "slow-load"


class DataCorrupted(ToolError):
    """The tool found that data did not arrive as it was sent: the hardware failed."""

    kind = "data-corrupted"


class LimitMissed(AssertionError):
    """A measured value or a fact misses what the platform file requires: *failed*."""


def to_json(error: RailgaugeError) -> dict[str, str]:
    """Return an error as plain data, for another process or a later run."""
    return {"kind": error.kind, "what": error.what, "where": error.where, "remedy": error.remedy}


def from_json(data: dict[str, str]) -> RailgaugeError:
    """Return the error that ``to_json`` wrote; an unknown kind becomes ``NoEvidence``."""
    known = _by_kind(RailgaugeError).get(data["kind"], NoEvidence)
    return known(data["what"], where=data["where"], remedy=data["remedy"])


def _by_kind(base: type[RailgaugeError]) -> dict[str, type[RailgaugeError]]:
    found: dict[str, type[RailgaugeError]] = {}
    for inner in base.__subclasses__():
        found.update(_by_kind(inner))
    return found | ({base.kind: base} if "kind" in vars(base) else {})  # others inherit theirs
