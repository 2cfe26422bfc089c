"""Ways to reach a node: one module each behind one contract.

A transport opens a ``Session`` on a node; a session runs commands there. Everything foreign that
goes wrong (paramiko, sockets, the operating system) becomes one of ``railgauge.core.errors`` here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from railgauge.core.errors import NoEvidence
from railgauge.core.model import Command, Node, Transcript


class Running(Protocol):
    """A command that was started and goes on by itself."""

    def wait_ready(self, time_limit_s: float) -> None:
        """Return once the command listens on ``Command.listens_on``.

        Raises ``ToolFailed`` if it ended first (its transcript is then complete), ``PortInUse``
        if somebody else already listens there, ``CommandTimedOut`` at the time limit.
        """

    def first_line(self, time_limit_s: float) -> str:
        """The first line of stdout, without its end, as soon as it is there.

        Raises ``ToolFailed`` if the command ended without one, ``ConnectionLost`` if it was cut
        off, ``CommandTimedOut`` at the time limit.
        """

    @property
    def has_ended(self) -> bool:
        """Whether the command is over, or out of reach; asks nobody."""

    def wait(self, time_limit_s: float) -> Transcript:
        """The transcript once the command has ended.

        At the time limit the command is stopped and the transcript says so in ``error``.
        """

    def stop(self) -> Transcript:
        """End the whole process group, by TERM and then KILL; harmless if it has ended."""


class Session(Protocol):
    """One open connection to one node."""

    def run(self, command: Command) -> Transcript:
        """Run to the end. A non-zero exit code is a transcript, not an exception.

        Raises ``TransportError`` only where there is no transcript at all; a command that is cut
        off (time limit, lost connection) gives a transcript with what it printed and ``error``.
        """

    def start(self, command: Command) -> Running:
        """Start in the background, in a process group of its own."""

    def close(self) -> None:
        """End what was started and close the connection; may be called twice."""


Answer = tuple[str, Transcript | NoEvidence]
"""A node, and what it said or why it did not."""

FanOut = Callable[[Sequence[Node], Command], Iterator[Answer]]
"""Runs one command on many nodes, whichever its ``node`` is; answers as they come.

A slow node costs its own time only. Nodes without an answer are to be asked one by one.
"""
