"""Commands over a ``NodeConnection``: the part that all transports share.

A transport provides a ``NodeConnection``, which executes one line of shell text on a node, and
gives it a script as its input.
``LinkSession`` turns it into a ``Session``; ``Job`` is its ``Running``.
"""

from __future__ import annotations

import contextlib
import secrets
import shlex
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial

from railgauge import containers
from railgauge.core import exhaustion
from railgauge.core.errors import (
    BecomeRefused,
    CommandTimedOut,
    ConnectionLost,
    PortInUse,
    SetupFailed,
    ToolFailed,
    TransportError,
)
from railgauge.core.model import Command, Node, Transcript
from railgauge.core.terms import Role
from railgauge.transport import Entry, InVain, never, shell
from railgauge.transport.capture import AnsweringPipes, Capture, Pipes
from railgauge.transport.connection import NodeConnection
from railgauge.transport.tag import Tag

GRACE_S = shell.KILL_AFTER_S + 5.0  # beyond the limit: for timeout's KILL and a slow connection
_STOP_LIMIT_S = 10.0
_PID_LIMIT_S = 5.0
_CLOSE_LIMIT_S = 2.0
# After a command has ended, processes that it left behind may hold its output open. They are
# killed once nothing has been printed for this long.
_QUIET_S = 1.0
KILLED_CODE = 137  # 128 + 9, the number of SIGKILL
_TIMEOUT_CODES = (shell.TIMEOUT_CODE, KILLED_CODE)  # of timeout: ended by TERM, ended by KILL
_NEARLY = 0.99  # the node's clock may run slightly faster than ours
_TOO_LARGE = "output-too-large"


@dataclass(frozen=True, slots=True)
class Start:
    """The moment just before a command is sent, so that a measured duration covers its time limit.

    ``nonce`` is that of the command's marker lines. ``at`` is ISO 8601 in UTC, ``monotonic_s``
    the monotonic clock in seconds.
    """

    nonce: str
    at: str
    monotonic_s: float

    @classmethod
    def now(cls) -> Start:
        at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        return cls(secrets.token_hex(8), at, time.monotonic())


class Job:
    """One command that was started; a ``Running``."""

    def __init__(
        self,
        command: Command,
        start: Start,
        pipes: Pipes,
        end_group: Callable[[int], None],
        *,
        setup: tuple[str, ...] = (),
        become: tuple[str, ...] = (),
    ) -> None:
        """``setup`` are the lines that run before the command, ``become`` the argv for root."""
        self._command = command
        self._setup = () if command.plain else setup
        self._become = become
        self._pipes = pipes
        self._end_group = end_group
        self._capture = Capture(start.nonce, after_setup=bool(self._setup))
        self._stopping = threading.Lock()
        self._stopped = False
        self._settled = False
        self._error = ""
        self._start = start
        self._capture.follow(pipes)

    def wait_ready(self, time_limit_s: float) -> None:
        capture = self._capture
        if self._command.listens_on is None:
            raise ValueError("only a command that listens on a port becomes ready")
        capture.wait_until(lambda: capture.ready or capture.in_use or self._is_over(), time_limit_s)
        if capture.in_use:
            raise PortInUse(
                f"port {self._command.listens_on} is taken",
                where=self._command.node,
                remedy="use another port, or find the process that listens there: ss -tlnp",
            )
        if not capture.ready:
            listen = f"listen on port {self._command.listens_on}"
            raise self._not_there(listen, time_limit_s)

    def first_line(self, time_limit_s: float) -> str:
        line = self._capture.line(0, time_limit_s)
        if line is None:
            raise self._not_there("print a line", time_limit_s)
        return line

    def line(self, number: int, time_limit_s: float) -> str | None:
        return self._capture.line(number, time_limit_s)

    def so_far(self) -> Transcript:
        runs = not self._is_over()
        made = self._transcript()
        # A command that runs looks like one whose connection was lost: neither has an exit code.
        return replace(made, error="") if runs and made.error == ConnectionLost.kind else made

    @property
    def printed_bytes(self) -> int:
        return self._capture.printed_bytes

    @property
    def printed_before(self) -> str:
        """What the login shell's start-up files printed, its first characters."""
        return self._capture.before.decode(errors="replace")

    @property
    def has_ended(self) -> bool:
        return self._is_over()

    def wait(self, time_limit_s: float, in_vain: InVain = never) -> Transcript:
        capture = self._capture
        deadline = time.monotonic() + time_limit_s
        # If another process holds the output open, no event reports that the command has ended:
        # ``_is_over`` has to be polled.
        while not (
            capture.wait_done(min(deadline - time.monotonic(), _QUIET_S)) or self._is_over()
        ):
            if time.monotonic() > deadline:
                break
            if in_vain():
                return self.stop()
        self._end(CommandTimedOut.kind)
        return self._transcript()

    def stop(self) -> Transcript:
        self._end("")
        return self._transcript()

    @property
    def is_settled(self) -> bool:
        """Whether the command has ended and, as far as known here, left nothing on the node."""
        return self._settled or (self._capture.ended and not self._was_killed())

    def _is_over(self) -> bool:
        """Whether the command has ended; a process that it left may still hold its output open."""
        return self._capture.ended or self._capture.exit_code is not None

    def _end(self, error: str) -> None:
        """End the command, by force if it is still running; ``error`` is then the reason."""
        with self._stopping:
            if self.is_settled:
                return
            if not self._is_over():
                self._stopped, self._error = True, error
            elif not self._was_killed() and self._falls_silent():
                return
            self._kill_group()
            self._close_pipes()
            self._settled = True

    def _was_killed(self) -> bool:
        """Whether ``timeout`` ended it, which waits for its own child only.

        Other processes of the group may still run.
        """
        return self._capture.exit_code in _TIMEOUT_CODES

    def _falls_silent(self) -> bool:
        """Wait for the output to end; return false if it stays open but silent for 1 s."""
        capture = self._capture
        while not capture.wait_until(lambda: capture.ended, _QUIET_S):
            if time.monotonic() - capture.changed_at > _QUIET_S:
                return False
        return True

    def _close_pipes(self) -> None:
        capture = self._capture
        if not capture.wait_until(lambda: capture.ended, _CLOSE_LIMIT_S):
            self._pipes.close()
            capture.wait_until(lambda: capture.ended, _CLOSE_LIMIT_S)

    def _kill_group(self) -> None:
        capture = self._capture
        capture.wait_until(lambda: capture.pid is not None or self._is_over(), _PID_LIMIT_S)
        if capture.pid is None or capture.pid <= 1:
            return
        try:
            self._end_group(capture.pid)
        except TransportError:
            # The node is out of reach; the time limit that runs there will end the command.
            self._error = ConnectionLost.kind

    def _has_hit_limit(self) -> bool:
        return self._was_killed() and self._duration_s() >= _NEARLY * self._command.time_limit_s

    def _duration_s(self) -> float:
        until = self._capture.over_at if self._is_over() else time.monotonic()
        return until - self._start.monotonic_s

    def _how_cut_off(self) -> str:
        """Return the kind of error that cut the command off; empty if it ended or was stopped."""
        if self._capture.overflow:
            return _TOO_LARGE
        if self._stopped:
            return self._error
        if self._capture.refused is not None:
            return BecomeRefused.kind
        if self._has_hit_limit():
            return CommandTimedOut.kind
        if self._capture.exit_code is None:
            return ConnectionLost.kind
        return SetupFailed.kind if self._setup and self._capture.setup_at != 0 else ""

    def _setup_error(self, stderr: str) -> str:
        """Return which line of ``setup`` failed and what it printed, on one line."""
        at, code = self._capture.setup_at, self._capture.exit_code
        last = _last_line(stderr) or "it printed nothing"
        if at is None:
            return f"setup: its lines could not be run ({code}): {last}"
        return f"setup: line {at} ended with {code}: {self._setup[at - 1]!r}: {last}"

    def _become_error(self, stderr: str) -> str:
        """Return what the program that becomes root printed instead of running the command."""
        last = _last_line(stderr) or "it printed nothing"
        return f"become: {shlex.join(self._become)} ended with {self._capture.refused}: {last}"

    def _transcript(self) -> Transcript:
        exhaustion.raise_if_exhausted(self._capture.broken)
        stdout, stderr = self._capture.text()
        error, command = self._how_cut_off(), self._command
        if error == SetupFailed.kind:
            stdout, stderr = "", self._setup_error(stderr)
        if error == BecomeRefused.kind:
            stdout, stderr = "", self._become_error(stderr)
        return Transcript(
            node=command.node,
            argv=command.argv,
            exit_code=None if error or self._stopped else self._capture.exit_code,
            stdout=stdout,
            stderr=stderr,
            duration_s=self._duration_s(),
            started_at=self._start.at,
            environment=command.environment,
            role=Role.CLIENT if command.listens_on is None else Role.SERVER,
            error=error,
        )

    def _not_there(self, what: str, time_limit_s: float) -> TransportError | ToolFailed:
        """Return the error for a command that did not do ``what``: it timed out, was cut off,
        or ended first."""
        where, late = self._command.node, f"{self._command.argv[0]} did not {what}"
        if not self._is_over():
            return CommandTimedOut(f"{late} within {time_limit_s:g} s", where=where)
        transcript = self._transcript()
        if transcript.error == ConnectionLost.kind:
            return ConnectionLost(f"{late}: the connection ended", where=where)
        if transcript.error == CommandTimedOut.kind:
            return CommandTimedOut(f"{late} within its time limit", where=where)
        if refusal := not_started(transcript):
            return refusal
        last = _last_line(transcript.stderr) or _last_line(transcript.stdout) or "(no output)"
        how = "was stopped" if self._stopped else f"ended with {transcript.exit_code}"
        return ToolFailed(f"{late} and {how}; its last line: {last}", where=where)


_REMEDIES: Mapping[type[TransportError], str] = {
    SetupFailed: "correct setup in the hostfile; each line runs in bash, not in a login shell: "
    "source /etc/profile.d/… first where it needs it",
    BecomeRefused: "give the login the right to run every program as root without a password "
    "(sudoers: USER ALL=(root) NOPASSWD: ALL), log in as root, or remove become from the hostfile",
}


def not_started(transcript: Transcript) -> TransportError | None:
    """Return the error for a command before which ``setup`` failed, or that could not be root's.

    ``None`` for any other.
    """
    for kind, remedy in _REMEDIES.items():
        if transcript.error == kind.kind:
            return kind(transcript.stderr, where=transcript.node, remedy=remedy)
    return None


class LinkSession:
    """A ``Session`` over a ``NodeConnection``; commands may run on it from several threads."""

    def __init__(self, node: Node, link: NodeConnection, tag: Tag | None = None) -> None:
        """Every process that is started here, and its children, carry ``tag``."""
        self._node_name = node.name
        self._setup = node.setup
        self._become = node.become
        self._link = link
        self._tag = tag.on(node.name) if tag else ""
        self._jobs: list[Job] = []
        self._lock = threading.Lock()
        self._closed = False

    @property
    def lost(self) -> str:
        return self._link.lost

    @property
    def entry(self) -> Entry:
        with self._lock:
            last = self._jobs[0] if self._jobs else None
        return Entry(self._link.way, last.printed_before if last else "")

    def run(self, command: Command, in_vain: InVain = never) -> Transcript:
        job = self.start(command)
        try:
            return job.wait(command.time_limit_s + GRACE_S, in_vain)
        except BaseException:  # on an interrupt too: nothing else refers to this job
            job.stop()
            raise

    def start(self, command: Command) -> Job:
        start = Start.now()
        become = self._become if command.as_root else ()
        sent = shell.command_line(
            command, start.nonce, self._tag, self._setup, become, beats=self._link.beats
        )
        if self._closed:
            raise ConnectionLost("the session is closed", where=self._node_name)
        pipes = self._link.execute(sent)
        if command.asks:
            pipes = AnsweringPipes(pipes)
        end = partial(self._end_group, become, _removal(command, start))
        job = Job(command, start, pipes, end, setup=self._setup, become=become)
        with self._lock:
            self._jobs = [job, *(other for other in self._jobs if not other.is_settled)]
        return job

    def close(self) -> None:
        self._closed = True
        with self._lock:
            jobs, self._jobs = self._jobs, []
        try:
            for job in jobs:
                job.stop()
        finally:
            self._link.close()

    def _end_group(self, become: tuple[str, ...], removal: tuple[str, ...], pid: int) -> None:
        nonce = secrets.token_hex(8)
        pipes = self._link.execute(shell.stop_line(pid, nonce, become, removal))
        capture = Capture(nonce)
        capture.follow(pipes)
        ended = capture.wait_until(lambda: capture.ended, _STOP_LIMIT_S)
        with contextlib.suppress(OSError):
            pipes.close()
        if not ended or capture.exit_code is None:
            raise ConnectionLost("the connection ended while stopping", where=self._node_name)


def _removal(command: Command, start: Start) -> tuple[str, ...]:
    """Return the argv that removes the command's container; empty if its group is all of it."""
    if command.container is None:
        return ()
    return containers.engine(command.container.engine).removal(shell.container_name(start.nonce))


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
