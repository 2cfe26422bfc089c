"""Everything that can go wrong, in two families.

``BadInput`` is the user's to mend and is raised before a node is touched: a hostfile,
a threshold file, an option. ``NoEvidence`` means that a measurement or a fact could not be
obtained: the verdict of that item is *error*, never *failed* and never *passed*.
A limit that was missed is ``LimitMissed``, the only *failed*.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar


class RailgaugeError(Exception):
    """What is wrong, where, and what to do next; reads as one line.

    ``kind`` is a stable word for reports and for tests.
    """

    kind: ClassVar[str] = "error"

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{where}{self.what}{remedy}"


class BadInput(RailgaugeError):
    """The user's input cannot be used; nothing was run."""

    kind = "bad-input"


class BadInputs(BadInput):
    """Several complaints about the input; reads as a line that counts them, and a line each."""

    def __init__(self, complaints: Sequence[BadInput]) -> None:
        lines = [f"{len(complaints)} complaints about the input:", *map(str, complaints)]
        super().__init__("\n  ".join(lines))
        self.complaints = tuple(complaints)


class Gathered:
    """Complaints that are raised together, so that all can be mended at once."""

    def __init__(self) -> None:
        self.complaints: list[BadInput] = []

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Keep what the block complains of, once, and go on after it."""
        try:
            yield
        except BadInput as error:
            self.add(error)

    def add(self, error: BadInput) -> None:
        each = error.complaints if isinstance(error, BadInputs) else (error,)
        said = set(map(str, self.complaints))
        self.complaints += [one for one in each if str(one) not in said]

    def raise_any(self) -> None:
        """Raise the one complaint, or ``BadInputs`` with all of them."""
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


class NoEvidence(RailgaugeError):
    """A value could not be obtained, so nothing can be said about it."""

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


class ConnectionLost(TransportError):
    """The connection ended while a command was running."""

    kind = "connection-lost"


class CommandTimedOut(TransportError):
    kind = "command-timed-out"


class PortInUse(TransportError):
    """Somebody else listens on the port that a server was to use; another port will do."""

    kind = "port-in-use"


class ToolError(NoEvidence):
    """A tool ran, or should have run, and gave no result that can be used."""

    kind = "tool"


class ToolMissing(ToolError):
    kind = "tool-missing"


class DeviceMissing(ToolError):
    """The tool is there, and the device that it should measure is not."""

    kind = "device-missing"


class ToolFailed(ToolError):
    """The tool said that it failed, or exited with a code other than 0."""

    kind = "tool-failed"


class Unparsable(ToolError):
    """The output is not what the tool prints, or is cut off."""

    kind = "unparsable"


class LaunchFailed(ToolError):
    """The launcher could not start the ranks on all of the nodes."""

    kind = "launch-failed"


class RankDied(ToolError):
    """A rank of a running collective was killed, crashed, or ended with an error."""

    kind = "rank-died"


class MetricMissing(ToolError):
    """A metric, or a message size, that should be there was not printed."""

    kind = "metric-missing"


class StabilityUnproven(ToolError):
    """Too few rows to tell whether iterations are alike: a mean can hide a swing."""

    kind = "stability-unproven"


class ConditionsUnmet(ToolError):
    """The tool warns that the node was not in the state that its figures need."""

    kind = "conditions-unmet"


class UnitUnknown(NoEvidence):
    """A unit that cannot be converted to the one of the limit."""

    kind = "unit-unknown"


class Implausible(NoEvidence):
    """A value that physics or arithmetic rules out: the measurement is invalid, not good."""

    kind = "implausible"


class FactMissing(NoEvidence):
    """The probe of a node did not yield a fact that an expectation needs."""

    kind = "fact-missing"


class VersionUndeclared(NoEvidence):
    """Other software than the limits were measured with, and nobody says that it is meant."""

    kind = "version-undeclared"


class OtherThanAsked(ToolError):
    """The output says that the tool did something else than its command asks for."""

    kind = "other-than-asked"


class DataCorrupted(ToolError):
    """The tool checked what was moved, and it was not what had been sent: the hardware failed."""

    kind = "data-corrupted"


class LimitMissed(AssertionError):
    """A measured value or a fact is not what the platform file asks for: *failed*."""


def to_json(error: RailgaugeError) -> dict[str, str]:
    """An error as plain data, for another process or a later run."""
    return {"kind": error.kind, "what": error.what, "where": error.where, "remedy": error.remedy}


def from_json(data: dict[str, str]) -> RailgaugeError:
    """The error that ``to_json`` was given; an unknown kind becomes ``NoEvidence``."""
    known = _by_kind(RailgaugeError).get(data["kind"], NoEvidence)
    return known(data["what"], where=data["where"], remedy=data["remedy"])


def _by_kind(base: type[RailgaugeError]) -> dict[str, type[RailgaugeError]]:
    found: dict[str, type[RailgaugeError]] = {}
    for inner in base.__subclasses__():
        found.update(_by_kind(inner))
    return {**found, base.kind: base}  # and not what has no kind of its own
