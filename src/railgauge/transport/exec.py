"""Commands by any program that runs a line on a node: kubectl, oc, docker, ip netns, nsenter.

``exec`` of the hostfile is its argv; ``sh -c LINE`` is appended. The program must pass on stdin,
stdout and stderr without a terminal between them.
"""

from __future__ import annotations

import shlex
import subprocess

from railgauge.core.errors import NodeUnreachable, TransportError
from railgauge.core.model import Node
from railgauge.transport import Session
from railgauge.transport.capture import Pipes, Sink
from railgauge.transport.job import KILLED_CODE, LinkSession
from railgauge.transport.local import LocalPipes, started
from railgauge.transport.shell import IN_USE_CODE, Sent
from railgauge.transport.tag import Tag

_ANSWER_LIMIT_S = 60.0
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
            timeout=_ANSWER_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        what = f"{node.exec[0]} did not answer within {_ANSWER_LIMIT_S:g} s"
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
    return LinkSession(node, ExecLink(node), tag)


class ExecPipes:
    """The output of one process of the program."""

    def __init__(self, process: subprocess.Popen[bytes], script: str) -> None:
        self._pipes = LocalPipes(process, script)

    def drain(self, stdout: Sink, stderr: Sink) -> int | None:
        """Return the exit code of a killed command; ``None`` for what may be the program's own.

        The command reports its exit code in its output.
        """
        code = self._pipes.drain(stdout, stderr)
        return code if code in _WITHOUT_REPORT else None

    def close(self) -> None:
        self._pipes.close()


class ExecLink:
    """A ``NodeConnection`` whose lines are run by the program."""

    def __init__(self, node: Node) -> None:
        self._node = node

    @property
    def way(self) -> str:
        return f"by {self._node.exec[0]}"

    def execute(self, sent: Sent) -> Pipes:
        try:
            return ExecPipes(started(*self._node.exec, "sh", "-c", sent.line), sent.script)
        except OSError as error:
            what = f"cannot start {self._node.exec[0]}: {error}"
            raise TransportError(what, where=self._node.name) from error

    def close(self) -> None:
        """Do nothing: there is no connection to close."""
