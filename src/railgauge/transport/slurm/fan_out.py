"""One command on many nodes in one step: thousands of nodes cost one ``srun``.

``srun --label`` says before each line which task printed it, but cuts lines at 1 KiB and mixes
them. What a node prints therefore travels as base64, whose lines are short, between a line that
names the node and one with a dot.
"""

from __future__ import annotations

import base64
import binascii
import re
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import IO

from railgauge.core.errors import CommandTimedOut, ConnectionLost, NodeUnreachable, NoEvidence
from railgauge.core.model import Command, Node, Transcript
from railgauge.transport import Answer, shell
from railgauge.transport.capture import Capture
from railgauge.transport.job import GRACE_S, Start
from railgauge.transport.slurm import REMEDY, end_step, lines, start_step
from railgauge.transport.slurm.steps import step_argv

# A node that is gone keeps srun for 20 s, and then the step ends on the others as well: those
# that were not through are asked again, without it.
_ROUNDS = 4
_LAUNCH_LIMIT_S = 60.0
# Neither a limit of the site nor a node that fails may end the step on the others.
_OPTIONS = ("--label", "--wait=0", "--kill-on-bad-exit=0", "--no-kill")
_END = b"."
# Of a command that timeout ended by TERM; by KILL there is none.
_LIMIT_CODES = (shell.TIMEOUT_CODE, None)
_FAILED = re.compile(r"srun: error: (?P<what>.* on node (?P<node>[^\s:]+): .*)")


def fan_out(nodes: Sequence[Node], command: Command) -> Iterator[Answer]:
    """Each node's transcript as it comes, or why there is none.

    A node that said nothing at all, and that nobody complains about, is left out: it is to be
    asked by itself. Standard error is not brought along.
    """
    for node in nodes:
        if node.slurm.refusal:
            remedy = REMEDY.format(node=node.name)
            yield node.name, NodeUnreachable(node.slurm.refusal, where=node.name, remedy=remedy)
    left = {node.name: node for node in nodes if not node.slurm.refusal}
    for _ in range(_ROUNDS):
        before = len(left)
        for name, answer in _round(list(left.values()), command) if left else ():
            del left[name]
            yield name, answer
        if len(left) == before:
            return


def _round(nodes: Sequence[Node], command: Command) -> Iterator[Answer]:
    """One step; nodes that it ended on before they were through are not among the answers."""
    start = Start.now()
    argv = lines.gathered(shell.command_line(command, start.nonce))
    argv = step_argv(nodes[0].slurm, [node.name for node in nodes], argv, *_OPTIONS)
    answers = Answers(command, start, {node.name for node in nodes})
    with TemporaryFile() as said:
        step = start_step(argv, said)
        limit = threading.Timer(command.time_limit_s + GRACE_S + _LAUNCH_LIMIT_S, end_step, [step])
        limit.daemon = True
        limit.start()
        try:
            assert step.stdout
            for labelled in step.stdout:
                yield from answers.take(labelled)
            is_late = not limit.is_alive()
        finally:
            limit.cancel()
            _end(step)
        yield from answers.failures(_text(said), is_late=is_late)


def _end(step: subprocess.Popen[bytes]) -> None:
    with suppress(subprocess.TimeoutExpired):
        end_step(step)
    assert step.stdin
    assert step.stdout
    with suppress(OSError):
        step.stdin.close()
    step.stdout.close()
    step.wait()


def _text(said: IO[bytes]) -> str:
    said.seek(0)
    return said.read().decode(errors="replace")


@dataclass
class Answers:
    """What the nodes of one step have printed so far, taken apart by label.

    The label is srun's own, so no node can speak for another; a node that claims the name of
    another spoils that name and has none itself.
    """

    command: Command
    start: Start
    waiting: set[str]
    _names: dict[bytes, str] = field(default_factory=dict)
    _captures: dict[str, Capture] = field(default_factory=dict)

    def take(self, labelled: bytes) -> Iterator[Answer]:
        """One line as srun printed it. At most one answer: that of a node which is through."""
        label, colon, text = labelled.partition(b": ")
        if not colon:
            return
        label = label.strip()
        if label not in self._names:
            self._names[label] = self._claimed(text)
            return
        name = self._names[label]
        if name in self.waiting:
            yield from self._add(name, text)

    def _claimed(self, text: bytes) -> str:
        name = text.strip().decode(errors="replace")
        if name in self._captures:
            self.waiting.discard(name)
            return ""
        self._captures[name] = Capture(self.start.nonce)
        return name

    def _add(self, name: str, text: bytes) -> Iterator[Answer]:
        capture, line = self._captures[name], text.strip()
        if line != _END:
            with suppress(binascii.Error, ValueError):
                capture.take_stdout(base64.b64decode(line, validate=True))
        elif capture.pid is not None:  # else the line was not even begun: no base64, or no timeout
            self.waiting.discard(name)
            yield name, self._transcript(name, capture)

    def _transcript(self, name: str, capture: Capture) -> Transcript:
        duration_s = time.monotonic() - self.start.monotonic_s
        code = capture.exit_code
        is_late = code in _LIMIT_CODES and duration_s >= self.command.time_limit_s
        return Transcript(
            node=name,
            argv=self.command.argv,
            exit_code=None if is_late else code,
            stdout=capture.text()[0],
            stderr="",
            duration_s=duration_s,
            started_at=self.start.at,
            environment=self.command.environment,
            error=CommandTimedOut.kind if is_late else ConnectionLost.kind if code is None else "",
        )

    def failures(self, complaints: str, *, is_late: bool) -> Iterator[Answer]:
        """Why those who still wait will not answer, as far as that is known."""
        for found in _FAILED.finditer(complaints):
            name = found["node"]
            if name in self.waiting:
                self.waiting.discard(name)
                yield name, _unreachable(name, found["what"])
        if is_late:
            for name in sorted(self.waiting):
                yield name, self._late(name)

    def _late(self, name: str) -> NoEvidence:
        if name in self._captures:
            return ConnectionLost("it went silent before the command ended", where=name)
        return NodeUnreachable("Slurm could not start a step on it in time", where=name)


def _unreachable(name: str, what: str) -> NoEvidence:
    return NodeUnreachable(f"Slurm says: {what}", where=name, remedy=REMEDY.format(node=name))
