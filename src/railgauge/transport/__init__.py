"""Ways to reach a node: one module for each, all behind one contract.

A transport opens a ``Session`` on a node; a session runs commands there. Errors of paramiko, of
sockets and of the operating system are translated here into those of ``railgauge.core.errors``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from railgauge.core.errors import NoEvidence
from railgauge.core.model import Command, Node, Transcript

InVain = Callable[[], bool]
"""Whether a command waits in vain, for something that will not happen; it is then stopped."""


def never() -> bool:
    """The ``InVain`` of a command that waits for nothing but its own end."""
    return False


class Running(Protocol):
    """A command that was started and runs in the background."""

    def wait_ready(self, time_limit_s: float) -> None:
        """Return once the command listens on ``Command.listens_on``.

        Raises ``ToolFailed`` if it ended first (its transcript is then complete), ``PortInUse``
        if another process already listens there, ``CommandTimedOut`` at the time limit.
        """

    def first_line(self, time_limit_s: float) -> str:
        """Wait for the first line of stdout and return it without its line end.

        Raises ``ToolFailed`` if the command ended without one, ``ConnectionLost`` if it was cut
        off, ``CommandTimedOut`` at the time limit.
        """

    def line(self, number: int, time_limit_s: float) -> str | None:
        """Wait for line ``number`` of stdout, from 0, and return it without its line end.

        ``None`` if it does not come within the time limit, or the command ended without it.
        """

    def so_far(self) -> Transcript:
        """The command's transcript so far; while it runs it has no exit code and no error."""

    @property
    def printed_bytes(self) -> int:
        """How much the command has printed to stdout so far."""

    @property
    def has_ended(self) -> bool:
        """Whether the command has ended or is out of reach. Sends nothing to the node."""

    def wait(self, time_limit_s: float) -> Transcript:
        """Wait until the command has ended and return its transcript.

        At the time limit the command is stopped and ``error`` of the transcript is set.
        """

    def stop(self) -> Transcript:
        """End the process group with TERM, then KILL. Does nothing if the command has ended."""


@dataclass(frozen=True, slots=True)
class Entry:
    """How a session entered its node: ``way``, such as ``root by the key ~/.ssh/id_rsa``.

    ``printed`` is what the start-up files of the login shell printed before the last command
    began, its first characters.
    """

    way: str
    printed: str = ""


class Session(Protocol):
    """One open connection to one node."""

    @property
    def entry(self) -> Entry:
        """How the node was entered."""

    @property
    def lost(self) -> str:
        """Why the connection is lost; empty while that is not known here. Sends nothing."""

    def run(self, command: Command, in_vain: InVain = never) -> Transcript:
        """Run ``command`` to its end, or until it is ``in_vain``, which is asked each second.

        A non-zero exit code does not raise.

        Raises ``TransportError`` only if there is no transcript. A command that is cut off (time
        limit, lost connection) gives a transcript with its output so far and with ``error`` set.
        """

    def start(self, command: Command) -> Running:
        """Start ``command`` in the background, in its own process group."""

    def close(self) -> None:
        """End every command that was started and close the connection; may be called twice."""


Tell = Callable[[str], None]
"""Prints one line for the person who runs the suite."""

Answer = tuple[str, Transcript | NoEvidence]
"""The name of a node, and its transcript or the reason why there is none."""

FanOut = Callable[[Sequence[Node], Command], Iterator[Answer]]
"""Runs one command on many nodes and yields each answer when it arrives.

``Command.node`` is ignored. A slow node does not delay the answers of the others. The caller asks
each node without an answer by itself.
"""
