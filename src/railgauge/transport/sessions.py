"""The open connections of one process, and what becomes of those that break.

A command that was running when its connection broke is never run again here: its measurement is
an error, for a node that falls over under load must not pass at the second try. A connection that
is found dead before a command is sent lost nothing, and is opened anew. A node that was there
before is given some time to come back, ``SshSettings.patience_s`` in all over a run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from railgauge.core.errors import ConnectionLost, NodeUnreachable, NoEvidence
from railgauge.core.model import Cluster, Command, Node, Transcript
from railgauge.transport import Running, Session

Connect = Callable[[Node], Session]
# What is done first on every new connection; an error is as if there were no way to the node.
Greet = Callable[[str, Session], None]

_PAUSE_S = 1.0  # between two attempts; what is unplugged is not back sooner


class Sessions:
    """One connection for each node, opened when first needed.

    A node that could not be reached is not tried again: one dead node costs one time limit, and
    its patience if it was there before.
    """

    def __init__(
        self,
        cluster: Cluster,
        connect: Connect,
        greet: Greet = lambda *_: None,
        was_there: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """``was_there`` says whether somebody else in this run has reached a node."""
        self._cluster = cluster
        self._connect = connect
        self._greet = greet
        self._was_there = was_there
        self._open: dict[str, _Lasting] = {}
        self._dead: dict[str, NoEvidence] = {}
        self._patience_s: dict[str, float] = {}  # of nodes that were there before
        self._closed = False
        self._hurried = False

    def __getitem__(self, node: str) -> Session:
        """Raises the ``TransportError`` of the last attempt if there is no way to the node."""
        if node in self._dead:
            raise self._dead[node]
        if node not in self._open:
            self._open[node] = _Lasting(self._reached(node), lambda: self._reached(node))
        return self._open[node]

    def drop(self, node: str) -> None:
        """Forget a connection that broke; the next use opens a new one."""
        session = self._open.pop(node, None)
        if session:
            session.close()

    def hurry(self) -> None:
        """Wait for nobody any more: what is still to be done is done where it can be."""
        self._hurried = True

    def close(self) -> None:
        self._closed = True
        for node in list(self._open):
            self.drop(node)

    def _reached(self, node: str) -> Session:
        """A new connection; a node that was there before is waited for as long as that may take."""
        if self._closed:
            raise ConnectionLost("the session is closed", where=node)
        if node in self._dead:
            raise self._dead[node]
        began = time.monotonic()
        while True:
            try:
                session = self._greeted(node)
            except NoEvidence as error:
                waited_s = time.monotonic() - began
                if not _may_pass(error) or waited_s + _PAUSE_S > self._patience_of(node):
                    self._dead[node] = _after(error, waited_s)
                    raise self._dead[node] from None
                time.sleep(_PAUSE_S)
            else:
                if node in self._patience_s:
                    self._patience_s[node] -= time.monotonic() - began
                else:
                    self._patience_s[node] = self._cluster.node(node).ssh.patience_s
                return session

    def _patience_of(self, node: str) -> float:
        """What is left of it; none for a node that never was there, or where all is over."""
        if self._hurried:
            return 0.0
        if node not in self._patience_s and self._was_there(node):
            self._patience_s[node] = self._cluster.node(node).ssh.patience_s
        return self._patience_s.get(node, 0.0)

    def _greeted(self, node: str) -> Session:
        session = self._connect(self._cluster.node(node))
        try:
            self._greet(node, session)
        except BaseException:
            session.close()
            raise
        return session


def _may_pass(error: NoEvidence) -> bool:
    """Whether a node that boots, or a network that is gone, can be the reason."""
    return isinstance(error, (NodeUnreachable, ConnectionLost))


def _after(error: NoEvidence, waited_s: float) -> NoEvidence:
    """The same error, which says for how long it was tried, if it was more than once."""
    if waited_s < _PAUSE_S:
        return error
    what = f"{error.what}; tried for {waited_s:.0f} s"
    return type(error)(what, where=error.where, remedy=error.remedy)


class _Lasting:
    """A ``Session`` that opens a new connection if it is dead before a command is sent."""

    def __init__(self, session: Session, reopened: Callable[[], Session]) -> None:
        self._session = session
        self._reopened = reopened
        self._reopening = threading.Lock()

    def run(self, command: Command) -> Transcript:
        session = self._session
        try:
            return session.run(command)
        except ConnectionLost:
            return self._after(session).run(command)

    def start(self, command: Command) -> Running:
        session = self._session
        try:
            return session.start(command)
        except ConnectionLost:
            return self._after(session).start(command)

    def close(self) -> None:
        self._session.close()

    def _after(self, dead: Session) -> Session:
        """The connection that takes the place of one that broke, for all threads that found out."""
        with self._reopening:
            if self._session is dead:
                dead.close()
                self._session = self._reopened()
            return self._session
