"""One command on many nodes in one step: thousands of nodes need one ``srun``.

``srun --label`` puts the task's number before each line, but cuts and mixes lines longer than
1 KiB. A node's output is therefore sent as base64, in short lines, after a line with the nonce and
the node's name and before a line with a dot. From two nodes (the output is ``ok``)::

    0: ab12 n1
    1: ab12 n2
    0: b2sK
    0: .
    1: b2sK
    1: .
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import selectors
import subprocess
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
from railgauge.transport.silence import Silence
from railgauge.transport.slurm import REMEDY, end_step, lines, start_step
from railgauge.transport.slurm.steps import step_argv

# A dead node blocks srun for 20 s, and then the step ends on the other nodes too. Those that had
# not finished are asked again in the next round, without the dead node.
_ROUNDS = 4
_LAUNCH_LIMIT_S = 60.0
_LOOK_S = 1.0
_CHUNK_BYTES = 1 << 16
# Neither a site's limit nor a node that fails may end the step on the other nodes.
_OPTIONS = ("--label", "--wait=0", "--kill-on-bad-exit=0", "--no-kill")
_END = b"."
# The exit code if timeout ended the command: by TERM its own, by KILL none.
_LIMIT_CODES = (shell.TIMEOUT_CODE, None)
_FAILED = re.compile(r"srun: error: (?P<what>.{0,1000} on node (?P<node>[^\s:]{1,255}): .*)")


def fan_out(nodes: Sequence[Node], command: Command) -> Iterator[Answer]:
    """Yield each node's transcript when it arrives, or the reason why there is none.

    A node that printed nothing, and about which Slurm reports no error, is left out: the caller
    asks it by itself. The transcripts have no stderr.
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
    """Run one step. Nodes that had not finished when it ended are missing from the answers."""
    start = Start.now()
    setup = () if command.plain else nodes[0].setup
    become = nodes[0].become if command.as_root else ()
    sent = shell.command_line(command, start.nonce, "", setup, become)
    argv = lines.gathered(sent.line, start.nonce)
    argv = step_argv(nodes[0].slurm, [node.name for node in nodes], argv, *_OPTIONS)
    answers = Answers(command, start, {node.name for node in nodes}, bool(setup))
    with TemporaryFile() as stderr:
        step = start_step(argv, stderr)
        try:
            _give(step, sent.script)
            for labelled in _printed(step):
                yield from answers.take(labelled) if labelled else answers.looked()
                if not labelled and not answers.waiting:
                    break  # Slurm itself waits much longer for the nodes that are silent
        finally:
            _end(step)
        yield from answers.failures(_text(stderr))


def _printed(step: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """Yield the lines that a step prints until its end, and after each ``LOOK_S`` an empty text."""
    assert step.stdout
    held, looked_s = b"", time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(step.stdout, selectors.EVENT_READ)
        while True:
            if selector.select(_LOOK_S):
                chunk = os.read(step.stdout.fileno(), _CHUNK_BYTES)
                *whole, held = (held + chunk).split(b"\n")
                yield from (line + b"\n" for line in whole)
                if not chunk:
                    return
            if time.monotonic() - looked_s >= _LOOK_S:
                looked_s = time.monotonic()
                yield b""


def _give(step: subprocess.Popen[bytes], script: str) -> None:
    """Write the script, and the end of the input; a step that has failed says why on stderr."""
    assert step.stdin
    with suppress(OSError):
        step.stdin.write(script.encode("utf-8", "surrogateescape"))
        step.stdin.close()


def _end(step: subprocess.Popen[bytes]) -> None:
    end_step(step)
    assert step.stdin
    assert step.stdout
    with suppress(OSError):
        step.stdin.close()
    step.stdout.close()
    step.wait()


def _text(stderr: IO[bytes]) -> str:
    stderr.seek(0)
    return stderr.read().decode(errors="replace")


@dataclass
class Answers:
    """The output of one step so far, separated into nodes by label.

    The label comes from srun, so no node can print under another's label. If two labels give the
    same node name, that node has no answer.
    """

    command: Command
    start: Start
    waiting: set[str]
    has_setup: bool = False
    _silences: dict[str, Silence] = field(default_factory=dict)
    _names: dict[bytes, str] = field(default_factory=dict)
    _captures: dict[str, Capture] = field(default_factory=dict)

    def take(self, labelled: bytes) -> Iterator[Answer]:
        """Take one line as srun printed it; yield the node's answer if the line completes it."""
        label, colon, text = labelled.partition(b": ")
        if not colon:
            return
        label = label.strip()
        if label not in self._names:
            nonce, _, name = text.strip().decode(errors="replace").partition(" ")
            if nonce == self.start.nonce:
                self._names[label] = self._claimed(name)
            return
        name = self._names[label]
        if name in self.waiting:
            yield from self._add(name, text)

    def _claimed(self, name: str) -> str:
        if name in self._captures:
            self.waiting.discard(name)
            return ""
        self._captures[name] = Capture(self.start.nonce)
        self._silences[name] = Silence(_LOOK_S)
        return name

    def looked(self) -> Iterator[Answer]:
        """A while has passed: yield the reason for each node that will not answer any more."""
        late_s = time.monotonic() - self.start.monotonic_s
        for name in sorted(self.waiting):
            quiet = self._silences.get(name)
            if quiet is None and late_s > _LAUNCH_LIMIT_S:
                what = f"Slurm has started no step on the node for {_LAUNCH_LIMIT_S:g} s"
                yield from self._without(name, NodeUnreachable(what, where=name))
            if quiet is None:
                continue
            quiet.looked()
            if quiet.is_too_long or late_s > _LAUNCH_LIMIT_S + self.command.time_limit_s + GRACE_S:
                why = "the output stopped before the command ended"
                yield from self._without(name, ConnectionLost(why, where=name))

    def _without(self, name: str, why: NoEvidence) -> Iterator[Answer]:
        self.waiting.discard(name)
        yield name, why

    def _add(self, name: str, text: bytes) -> Iterator[Answer]:
        capture, line = self._captures[name], text.strip()
        self._silences[name].heard()
        if line == lines.RUNS:
            return
        if line != _END:
            with suppress(binascii.Error, ValueError):
                capture.take_stdout(base64.b64decode(line, validate=True))
        elif capture.pid is not None and (capture.setup_at == 0 or not self.has_setup):
            self.waiting.discard(name)
            yield name, self._transcript(name, capture)
        else:
            # The command never started: base64 or timeout is missing, or setup has failed.
            self._silences[name] = Silence(0.0)  # it is not lost, and nothing more comes from it

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

    def failures(self, messages: str) -> Iterator[Answer]:
        """Yield Slurm's reason, where it gives one, why a node still missing will not answer."""
        for found in _FAILED.finditer(messages):
            if (name := found["node"]) in self.waiting:
                yield from self._without(name, _unreachable(name, found["what"]))


def _unreachable(name: str, what: str) -> NoEvidence:
    return NodeUnreachable(f"Slurm reports: {what}", where=name, remedy=REMEDY.format(node=name))
