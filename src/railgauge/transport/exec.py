"""Commands by any program that runs a line on a node: kubectl, oc, docker, ip netns, nsenter, ssh.

``exec`` of the hostfile is its argv. ``{line}`` in a word is the line, for a program that hands its
words to a shell, as ssh does; without it ``sh -c LINE`` is appended. The program must pass on
stdin, stdout and stderr without a terminal between them.

``{socket}`` in a word is a path of the connection's own, for a program whose calls share what the
first one has opened (ControlPath of ssh). That call then stays until the connection is closed: it
ends with its process group or, if this process is killed, with its standard input.
"""

from __future__ import annotations

import re
import secrets
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from railgauge.core.errors import NodeUnreachable, TransportError
from railgauge.core.model import Node
from railgauge.transport import Session, shell, silence
from railgauge.transport.capture import Capture, Pipes, Sink
from railgauge.transport.job import KILLED_CODE, LinkSession
from railgauge.transport.local import LocalPipes, ProgramLink, started
from railgauge.transport.shell import IN_USE_CODE, Sent
from railgauge.transport.tag import Tag

# Exit codes of a command that does not report its own; others may be those of the program.
_WITHOUT_REPORT = (KILLED_CODE, IN_USE_CODE)
_NO_STATUS = 255  # of ssh: its connection broke, or a signal ended the command
_END_LIMIT_S = 0.5
_LINE, _SOCKET, _NAME = "{line}", "{socket}", "s"
# A socket's path has at most 103 bytes on the strictest system, and ssh binds it under a name that
# is 17 longer.
_LONGEST_PATH = 103 - 17
_PLAIN = re.compile(r"[A-Za-z0-9_./-]+", re.ASCII)
_SHOWN_LINES, _SHOWN = 3, 300


def connect(node: Node, tag: Tag | None = None) -> Session:
    """Return a session on ``node``, after one command there has succeeded.

    Raises ``NodeUnreachable`` with what the program printed, or if it passes no input on: commands
    are read from the input, because every user can see arguments.
    """
    link = ExecLink(node)
    try:
        link.open()
    except BaseException:
        link.close()
        raise
    return LinkSession(node, link, tag)


class ExecPipes:
    """The output of one process of the program."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        sent: Sent,
        lose: Callable[[], None],
        is_connected: Callable[[], bool],
    ) -> None:
        """``is_connected`` returns whether the shared connection exists; false without one."""
        self._pipes = LocalPipes(process, sent.script, keep_open=sent.asks, lose=lose)
        self._is_connected = is_connected

    def drain(self, stdout: Sink, stderr: Sink) -> int | None:
        """Return the exit code of a killed command; ``None`` for one that may be the program's own.

        The command reports its exit code in its output.
        """
        code = self._pipes.drain(stdout, stderr)
        if code == _NO_STATUS and self._is_connected():
            return KILLED_CODE
        return code if code in _WITHOUT_REPORT else None

    def answer(self) -> None:
        self._pipes.answer()

    def close(self) -> None:
        self._pipes.close()


class ExecLink(ProgramLink):
    """A ``NodeConnection`` whose lines are run by the program."""

    def __init__(self, node: Node) -> None:
        super().__init__(node.name, f"by {node.exec[0]}", self._begin)
        self._node = node
        self._program = node.exec[0]
        self._is_shared = any(_SOCKET in word for word in node.exec)
        self._folder: Path | None = None
        self._first: Pipes | None = None
        self._greeting = Capture("")

    def open(self) -> None:
        """Have the program run a first line. Raises ``NodeUnreachable``."""
        nonce = secrets.token_hex(8)
        greeting = shell.greeting(nonce)
        try:
            self._folder = _private_folder() if self._is_shared else None
        except OSError as error:
            what = f"no folder for the socket of {self._program}: {error.strerror}"
            remedy = "set TMPDIR to a folder in which you can write"
            raise NodeUnreachable(what, where=self._node.name, remedy=remedy) from error
        try:
            process = started(*self._argv(greeting.line))
        except OSError as error:
            what = f"cannot start {self._program}: {error.strerror}"
            raise NodeUnreachable(what, where=self._node.name, remedy="install it here") from error
        self._first = LocalPipes(process, greeting.script, keep_open=self._is_shared)
        self._greeting = Capture(nonce)
        self._greeting.follow(self._first)
        self._check_answer()

    def execute(self, sent: Sent) -> Pipes:
        if self._folder and not self.lost and not self._is_connected():
            self._greeting.wait_done(_END_LIMIT_S)
            self.lost = f"{self._program} has ended: {self._last_words()}"
        return super().execute(sent)

    def _begin(self, sent: Sent, lose: Callable[[], None]) -> Pipes:
        try:
            process = started(*self._argv(sent.line))
        except OSError as error:
            what = f"cannot start {self._program}: {error}"
            raise TransportError(what, where=self._node.name) from error
        return ExecPipes(process, sent, lose, self._is_connected)

    def close(self) -> None:
        if self._first:
            self._first.close()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _is_connected(self) -> bool:
        """Whether the shared connection exists.

        Its socket goes before a call that used it ends, the first call itself a moment later.
        """
        there = self._folder is not None and (self._folder / _NAME).exists()
        return there and not self._greeting.ended

    def _argv(self, line: str, socket: str = "") -> tuple[str, ...]:
        """Return the argv that has the node run ``line``, by the connection's socket or another."""
        path = socket or f"{self._folder}/{_NAME}"
        words = tuple(word.replace(_SOCKET, path) for word in self._node.exec)
        if any(_LINE in word for word in words):
            return tuple(word.replace(_LINE, line) for word in words)
        return (*words, "sh", "-c", line)

    def _check_answer(self) -> None:
        greeting, where = self._greeting, self._node.name
        answered = greeting.wait_until(
            lambda: greeting.ended or (self._is_shared and greeting.pid is not None),
            silence.LIMIT_S,
        )
        # The folder of the socket is gone by then.
        remedy = f"try: {shlex.join(self._argv('true', socket='none'))}"
        if not answered:
            what = f"{self._program} did not answer within {silence.LIMIT_S:g} s"
            raise NodeUnreachable(what, where=where, remedy=remedy)
        if greeting.exit_code:
            what = f"{self._program} ended with {greeting.exit_code}: {self._last_words()}"
            raise NodeUnreachable(what, where=where, remedy=remedy)
        if greeting.pid is None:
            what = f"{self._program} does not pass its standard input on to the node"
            remedy = (
                "add its option for that to exec in the hostfile (kubectl exec -i, docker exec -i),"
                " or {line} where the line belongs if it hands its words to a shell, as ssh does"
            )
            raise NodeUnreachable(what, where=where, remedy=remedy)
        if self._folder and not self._is_connected():
            what = f"{self._program} has made no socket at the path that it got for {_SOCKET}"
            remedy = f"add its option for that (ControlMaster=auto of ssh), or leave out {_SOCKET}"
            raise NodeUnreachable(what, where=where, remedy=remedy)

    def _last_words(self) -> str:
        """Return the last lines that the program itself printed, as one."""
        lines = [line.strip() for line in self._greeting.text()[1].splitlines() if line.strip()]
        return "; ".join(lines[-_SHOWN_LINES:])[-_SHOWN:] or "it printed nothing"


def _private_folder() -> Path:
    """Return a new folder that only this user reads, with room for the path of a socket in it.

    ssh takes no blank in the path, and reads a percent sign as a token.
    """
    folder = Path(tempfile.mkdtemp(prefix="railgauge-"))
    path = f"{folder}/{_NAME}"
    if len(path) <= _LONGEST_PATH and _PLAIN.fullmatch(path):
        return folder
    folder.rmdir()
    return Path(tempfile.mkdtemp(prefix="railgauge-", dir="/tmp"))
