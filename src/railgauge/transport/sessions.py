"""The open connections of one process, and what is done when one breaks.

A command that was running when its connection broke is not run again: its measurement is an
error, because a node that fails under load must not pass on a second attempt. If a connection is
found dead before a command is sent, nothing is lost, and a new one is opened. A node that was
reached before gets time to come back: ``SshSettings.patience_s`` in total for a run.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from railgauge.core.errors import ConnectionLost, NodeUnreachable, NoEvidence
from railgauge.core.exhaustion import no_fault_of_a_node
from railgauge.core.model import Cluster, Command, Node, Transcript
from railgauge.transport import Entry, InVain, Running, Session, never
from railgauge.transport.waits import WAITS_OF_PROCESS, Waits

Done = TypeVar("Done")
Connect = Callable[[Node], Session]
# Called first on every new connection; an error counts as a node that cannot be reached.
Greet = Callable[[str, Session], None]

_PAUSE_S = 1.0  # between two attempts; an unplugged cable is not back sooner


class Sessions:
    """One connection for each node, opened on first use.

    A node that could not be reached is not tried again: a dead node costs one connection time
    limit, plus ``patience_s`` if it was reached before.
    """

    def __init__(
        self,
        cluster: Cluster,
        connect: Connect,
        greet: Greet = lambda *_: None,
        was_there: Callable[[str], bool] = lambda _: False,
        masked: Callable[[Transcript], Transcript] = lambda one: one,
    ) -> None:
        """``was_there`` returns whether another process of this run has reached a node.

        ``masked`` returns a transcript without secrets; ``run`` applies it to each transcript.
        """
        self._cluster = cluster
        self._connect = connect
        self._greet = greet
        self._was_there = was_there
        self.masked = masked
        self.waits = WAITS_OF_PROCESS
        self._open: dict[str, _Lasting] = {}
        self._opening: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._dead: dict[str, NoEvidence] = {}
        self._patience_s: dict[str, float] = {}  # what is left of it, for nodes reached before
        self._closed = False
        self._hurried = False
        self._interrupted = False

    def __getitem__(self, node: str) -> Session:
        """Return the session of ``node``, opened if needed.

        Raises the ``TransportError`` of the last attempt if the node cannot be reached.
        """
        self.refuse_interrupted()
        if node in self._dead:
            raise self._dead[node]
        with self._opening[node]:
            session = self._open.get(node)
            if session is None:
                reached = self._reached(node)
                session = _Lasting(reached, partial(self._again, node), self.masked, self.waits)
                self._open[node] = session
            return session

    def replace_lost(self, node: str) -> None:
        """Open a new connection in the place of one that is known to be lost.

        Raises the ``TransportError`` of the last attempt if the node cannot be reached.
        """
        session = self._open.get(node)
        if session and session.lost:
            self.drop(node)
            self[node]

    def drop(self, node: str) -> None:
        """Forget a connection that broke; the next use opens a new one."""
        session = self._open.pop(node, None)
        if session:
            self._note_lost(node, session)
            session.close()

    def _note_lost(self, node: str, session: Session) -> None:
        if session.lost and not self._closed:
            self.waits.news.append(f"{node}: {session.lost}; its connection is lost")

    @contextmanager
    def interrupted(self) -> Iterator[None]:
        """End the commands of all threads; none of them starts another one while the block runs."""
        self._interrupted = True
        try:
            for node in list(self._open):
                self.drop(node)
            yield
        finally:
            self._interrupted = False

    def refuse_interrupted(self) -> None:
        """Raise ``KeyboardInterrupt`` in a thread whose commands were ended."""
        if self._interrupted:
            raise KeyboardInterrupt

    def hurry(self) -> None:
        """Stop waiting for nodes to come back; the rest of the run uses those it can reach."""
        self._hurried = True

    def close(self) -> None:
        self._closed = True
        for node in list(self._open):
            self.drop(node)

    def _again(self, node: str, dead: Session) -> Session:
        """Return a new connection in the place of one that was lost."""
        self._note_lost(node, dead)
        dead.close()
        return self._reached(node)

    def _reached(self, node: str) -> Session:
        """Return a new connection; wait up to its remaining patience for a node reached before."""
        self.refuse_interrupted()
        if self._closed:
            raise ConnectionLost("the session is closed", where=node)
        if node in self._dead:
            raise self._dead[node]
        with self.waits.at(node, "a connection"):
            return self._tried(node)

    def _tried(self, node: str) -> Session:
        began = time.monotonic()
        while True:
            try:
                session = self._greeted(node)
            except NoEvidence as error:
                waited_s = time.monotonic() - began
                if not _may_be_temporary(error) or waited_s + _PAUSE_S > self._patience_of(node):
                    self._dead[node] = _after(error, waited_s)
                    raise self._dead[node] from None
                time.sleep(_PAUSE_S)
                self.refuse_interrupted()
            else:
                if node in self._patience_s:
                    self._patience_s[node] -= time.monotonic() - began
                else:
                    self._patience_s[node] = self._cluster.node(node).ssh.patience_s
                return session

    def _patience_of(self, node: str) -> float:
        """Return the remaining patience in seconds; 0 for a node never reached, or in a hurry."""
        if self._hurried:
            return 0.0
        if node not in self._patience_s and self._was_there(node):
            self._patience_s[node] = self._cluster.node(node).ssh.patience_s
        return self._patience_s.get(node, 0.0)

    def _greeted(self, node: str) -> Session:
        with no_fault_of_a_node():
            session = self._connect(self._cluster.node(node))
        try:
            self._greet(node, session)
        except BaseException:
            session.close()
            raise
        return session


def _may_be_temporary(error: NoEvidence) -> bool:
    """Whether the cause may be temporary: a node that reboots, or a network that is down."""
    return isinstance(error, (NodeUnreachable, ConnectionLost))


def _after(error: NoEvidence, waited_s: float) -> NoEvidence:
    """Return the error, with the time spent on retries added if there was more than one attempt."""
    if waited_s < _PAUSE_S:
        return error
    what = f"{error.what}; tried for {waited_s:.0f} s"
    return type(error)(what, where=error.where, remedy=error.remedy)


class _Lasting:
    """A ``Session`` that opens a new connection if its own is dead before a command is sent."""

    def __init__(
        self,
        session: Session,
        reopened: Callable[[Session], Session],
        masked: Callable[[Transcript], Transcript],
        waits: Waits,
    ) -> None:
        self._session = session
        self._waits = waits
        self._reopened = reopened
        self._masked = masked
        self._reopening = threading.Lock()

    @property
    def lost(self) -> str:
        return self._session.lost

    def run(self, command: Command, in_vain: InVain = never) -> Transcript:
        with self._waits.of_tool(command.node, command.argv):
            return self._masked(self._having(lambda session: session.run(command, in_vain)))

    @property
    def entry(self) -> Entry:
        return self._session.entry

    def start(self, command: Command) -> Running:
        return self._having(lambda session: session.start(command))

    def close(self) -> None:
        self._session.close()

    def _having(self, act: Callable[[Session], Done]) -> Done:
        """Act on the connection, or on a new one if that is already dead."""
        session = self._session
        with no_fault_of_a_node():
            try:
                return act(session)
            except ConnectionLost:
                return act(self._after(session))

    def _after(self, dead: Session) -> Session:
        """Return the replacement of the broken connection ``dead``, the same one to all threads."""
        with self._reopening:
            if self._session is dead:
                self._session = self._reopened(dead)
            return self._session
