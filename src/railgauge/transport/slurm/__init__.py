"""Commands through Slurm: each is a step (``srun``) of the one allocation that a run uses.

``allocation`` obtains it before the first command, ``nodes`` finds why a node is not in it, and
``fan_out`` runs one command on many nodes in one step.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Callable
from functools import partial
from typing import Any

from railgauge.core.errors import NodeUnreachable, TransportError
from railgauge.core.model import Node
from railgauge.core.private_files import umask_of_commands
from railgauge.transport import Session
from railgauge.transport.capture import Pipes, Sink
from railgauge.transport.job import LinkSession
from railgauge.transport.local import LocalPipes, ProgramLink, kill_all
from railgauge.transport.shell import Sent
from railgauge.transport.slurm import lines, nodes
from railgauge.transport.slurm.steps import environment, folder, step_argv
from railgauge.transport.tag import Tag

_END_LIMIT_S = 2.0  # for srun to end its step after TERM; a dead node never answers it
_EXIT_CODE = re.compile(rb"srun: error: \S+: task 0: Exited with exit code (\d+)\n\Z")
_SRUN_ERROR = b"srun: error: "
_LINE_BYTES = 400
REMEDY = "see: scontrol show node {node}"


def connect(node: Node, tag: Tag | None = None) -> Session:
    """Return a session whose commands are steps on ``node``.

    Raises ``NodeUnreachable`` with Slurm's reason. Slurm is asked on every call, because a node
    may have gone down since the allocation was made.
    """
    refusal = node.slurm.refusal or nodes.refusal_in_job(node.name, node.slurm.job)
    if refusal:
        raise NodeUnreachable(refusal, where=node.name, remedy=REMEDY.format(node=node.name))
    way = f"steps of the Slurm job {node.slurm.job}"
    return LinkSession(node, ProgramLink(node.name, way, partial(_start, node)), tag)


def _start(node: Node, sent: Sent, lose: Callable[[], None]) -> Pipes:
    """Run the line as a step on the node."""
    argv = step_argv(node.slurm, [node.name], lines.attended(sent))
    try:
        return StepPipes(start_step(argv), sent.script, lose)
    except OSError as error:
        raise TransportError(f"cannot start srun: {error}", where=node.name) from error


def start_step(argv: tuple[str, ...], stderr: Any = subprocess.PIPE) -> subprocess.Popen[bytes]:
    """Start ``srun`` in a session of its own, which keeps the terminal's Ctrl-C away from it.

    Its stdin stays open for as long as this process lives. A command on the node that reads it to
    its end thus notices when this process dies, even if this process could not end the step.
    """
    return subprocess.Popen(
        [argument.encode("utf-8", "surrogateescape") for argument in argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=environment(),
        cwd=folder(),
        start_new_session=True,
        umask=umask_of_commands(),
    )


def end_step(process: subprocess.Popen[bytes]) -> None:
    """End a step and its ``srun``. TERM makes Slurm kill the tasks; KILL leaves them running."""
    with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(_END_LIMIT_S)
    kill_all(process)


class StepPipes:
    """The output of one step."""

    def __init__(
        self, process: subprocess.Popen[bytes], script: str, lose: Callable[[], None]
    ) -> None:
        self._pipes = LocalPipes(process, script, keep_open=True, end=end_step, lose=lose)

    def drain(self, stdout: Sink, stderr: Sink) -> int | None:
        """Return the command's exit code, or ``None`` if ``srun`` failed and reported none.

        Any exit code of ``srun`` other than 0 may be its own.
        """
        tail = _Tail(stderr)
        try:
            code = self._pipes.drain(stdout, tail.take)
        finally:
            reported = tail.end()
        return 0 if code == 0 else reported

    def answer(self) -> None:
        """Do nothing: a step watches its input for its end, and no lease is held under Slurm."""

    def close(self) -> None:
        self._pipes.close()


class _Tail:
    """Passes stderr on, without the line at its end in which ``srun`` reports the exit code."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._held = b""

    def take(self, chunk: bytes) -> None:
        self._held += chunk
        self._pass(len(self._held) - self._begun())

    def end(self) -> int | None:
        """Pass on the rest and return the exit code; ``None`` if ``srun`` did not report one."""
        found = _EXIT_CODE.search(self._held)
        self._pass(found.start() if found else len(self._held))
        return int(found[1]) if found else None

    def _pass(self, count: int) -> None:
        if count:
            self._sink(self._held[:count])
        self._held = self._held[count:]

    def _begun(self) -> int:
        """Return how many bytes at the end may be that line or its beginning."""
        at = self._held.rfind(_SRUN_ERROR)
        if at >= 0 and len(self._held) - at <= _LINE_BYTES:
            return len(self._held) - at
        sizes = range(min(len(_SRUN_ERROR), len(self._held)), 0, -1)
        return next((size for size in sizes if _SRUN_ERROR.startswith(self._held[-size:])), 0)
