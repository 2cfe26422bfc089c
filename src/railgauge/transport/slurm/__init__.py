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
from typing import Any

from railgauge.core.errors import NodeUnreachable, TransportError
from railgauge.core.model import Node
from railgauge.core.private_files import umask_of_commands
from railgauge.transport import Session
from railgauge.transport.capture import Pipes, Sink
from railgauge.transport.job import LinkSession
from railgauge.transport.local import LocalPipes
from railgauge.transport.shell import Sent
from railgauge.transport.slurm import lines, nodes
from railgauge.transport.slurm.steps import environment, folder, step_argv
from railgauge.transport.tag import Tag

_END_LIMIT_S = 2.0  # for srun to end its step after TERM; a dead node never answers it
_EXIT_CODE = re.compile(rb"srun: error: \S+: task 0: Exited with exit code (\d+)\n\Z")
_SRUN_SAYS = b"srun: error: "
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
    return LinkSession(node, SlurmLink(node), tag)


class SlurmLink:
    """A ``NodeConnection`` whose lines run as steps on one node."""

    def __init__(self, node: Node) -> None:
        self._node = node

    @property
    def way(self) -> str:
        return f"steps of the Slurm job {self._node.slurm.job}"

    def execute(self, sent: Sent) -> Pipes:
        argv = step_argv(self._node.slurm, [self._node.name], lines.attended(sent))
        try:
            return StepPipes(start_step(argv), sent.script)
        except OSError as error:
            raise TransportError(f"cannot start srun: {error}", where=self._node.name) from error

    def close(self) -> None:
        """Do nothing: the allocation belongs to the run."""


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
    with contextlib.suppress(ProcessLookupError):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(_END_LIMIT_S)
    with contextlib.suppress(ProcessLookupError):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


class StepPipes:
    """The output of one step."""

    def __init__(self, process: subprocess.Popen[bytes], script: str) -> None:
        self._process = process
        self._pipes = LocalPipes(process, script, keep_open=True)

    def drain(self, stdout: Sink, stderr: Sink) -> int | None:
        """Return the command's exit code, or ``None`` if ``srun`` failed and reported none.

        Any exit code of ``srun`` other than 0 may be its own.
        """
        tail = _Tail(stderr)
        try:
            code = self._pipes.drain(stdout, tail.take)
        finally:
            said = tail.end()
        return 0 if code == 0 else said

    def close(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            end_step(self._process)
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
        said = _EXIT_CODE.search(self._held)
        self._pass(said.start() if said else len(self._held))
        return int(said[1]) if said else None

    def _pass(self, count: int) -> None:
        if count:
            self._sink(self._held[:count])
        self._held = self._held[count:]

    def _begun(self) -> int:
        """Return how many bytes at the end may be that line or its beginning."""
        at = self._held.rfind(_SRUN_SAYS)
        if at >= 0 and len(self._held) - at <= _LINE_BYTES:
            return len(self._held) - at
        sizes = range(min(len(_SRUN_SAYS), len(self._held)), 0, -1)
        return next((size for size in sizes if _SRUN_SAYS.startswith(self._held[-size:])), 0)
