"""Commands by any program that runs a line on a node: kubectl, oc, docker, ip netns, nsenter.

``exec`` of the hostfile is its argv; ``sh -c LINE`` is appended. The program must pass on stdin,
stdout and stderr without a terminal between them.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from functools import partial

from railgauge.core.errors import NodeUnreachable, TransportError
from railgauge.core.model import Node
from railgauge.transport import Session, silence
from railgauge.transport.capture import Pipes, Sink
from railgauge.transport.job import KILLED_CODE, LinkSession
from railgauge.transport.local import LocalPipes, ProgramLink, started
from railgauge.transport.shell import IN_USE_CODE, Sent
from railgauge.transport.tag import Tag

# Exit codes of a command that does not report its own; others may be those of the program.
_WITHOUT_REPORT = (KILLED_CODE, IN_USE_CODE)


def connect(node: Node, tag: Tag | None = None) -> Session:
    """Return a session on ``node``, after one command there has succeeded.

    Raises ``NodeUnreachable`` with what the program printed, or if it passes no input on: commands
    are read from there, because arguments are seen by every user.
    """
    remedy = f"try: {shlex.join((*node.exec, 'true'))}"
    try:
        done = subprocess.run(
            [*node.exec, "sh", "-c", "exec sh"],
            input=b"echo railgauge\n",
            capture_output=True,
            timeout=silence.LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        what = f"{node.exec[0]} did not answer within {silence.LIMIT_S:g} s"
        raise NodeUnreachable(what, where=node.name, remedy=remedy) from None
    except OSError as error:
        what = f"cannot start {node.exec[0]}: {error.strerror}"
        raise NodeUnreachable(what, where=node.name, remedy="install it here") from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(said) if line.strip()), "it printed nothing")
        what = f"{node.exec[0]} ended with {done.returncode}: {last[:300]}"
        raise NodeUnreachable(what, where=node.name, remedy=remedy)
    if b"railgauge" not in done.stdout:
        what = f"{node.exec[0]} does not pass its standard input on to the node"
        remedy = "add its option for that to exec in the hostfile: kubectl exec -i, docker exec -i"
        raise NodeUnreachable(what, where=node.name, remedy=remedy)
    return LinkSession(
        node, ProgramLink(node.name, f"by {node.exec[0]}", partial(_start, node)), tag
    )


class ExecPipes:
    """The output of one process of the program."""

    def __init__(
        self, process: subprocess.Popen[bytes], sent: Sent, lose: Callable[[], None]
    ) -> None:
        self._pipes = LocalPipes(process, sent.script, keep_open=sent.asks, lose=lose)

    def drain(self, stdout: Sink, stderr: Sink) -> int | None:
        """Return the exit code of a killed command; ``None`` for what may be the program's own.

        The command reports its exit code in its output.
        """
        code = self._pipes.drain(stdout, stderr)
        return code if code in _WITHOUT_REPORT else None

    def answer(self) -> None:
        self._pipes.answer()

    def close(self) -> None:
        self._pipes.close()


def _start(node: Node, sent: Sent, lose: Callable[[], None]) -> Pipes:
    try:
        return ExecPipes(started(*node.exec, "sh", "-c", sent.line), sent, lose)
    except OSError as error:
        what = f"cannot start {node.exec[0]}: {error}"
        raise TransportError(what, where=node.name) from error
