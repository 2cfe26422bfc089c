"""The samplers of the nodes' GPUs: one for each node, which runs on between measurements.

Starting and ending a sampler costs as much as a short measurement. So it is kept running, and each
measurement gets the lines that were printed during it. A sampler is replaced if it has ended, has
printed nothing for long, or is old. It is ended before a measurement that loads no GPU, which it
would only disturb.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache

from railgauge.core.model import Case, Command, Transcript
from railgauge.core.terms import Role
from railgauge.transport import Running
from railgauge.transport.sessions import Sessions

# The commands that sample the GPUs of a case's nodes until they are stopped; none without any.
GpuSamplers = Callable[[Case], tuple[Command, ...]]
# Returns what was sampled since a measurement began: one transcript for each node.
SampledSoFar = Callable[[], tuple[Transcript, ...]]

_FIRST_SAMPLE_LIMIT_S = 20.0
# Line 0 has the time, line 1 the heading; they are copied before the samples of each measurement.
_FIRST_SAMPLE = 2
# Each new sampler begins a new output, so that none becomes too large.
_OLD_S = 600.0
# Samples may be missing from a measurement for this long.
_SILENT_S = 30.0
_CASES = 64


@dataclass(slots=True)
class _Sampler:
    """A sampler that runs; ``grew_at_s`` is when more than ``size`` bytes were seen first."""

    command: Command
    running: Running
    started_s: float
    size: int
    grew_at_s: float


class GpuSampling:
    """The samplers of a run."""

    def __init__(
        self,
        sessions: Sessions,
        commands: GpuSamplers,
        *,
        gpus: int = 1,
        last_samples: Callable[[str], int] = lambda _: 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``last_samples``: the character of an output at which the last sample of each GPU begins.

        A node has ``gpus`` GPUs: a sampler prints a line for each of them in turn.
        """
        self._sessions = sessions
        self._commands = lru_cache(maxsize=_CASES)(commands)  # one case has many repeats
        self._first_of_all = _FIRST_SAMPLE + gpus - 1
        self._last_samples = last_samples
        self._clock = clock
        self._running: dict[str, _Sampler] = {}
        self._silent: set[str] = set()  # nodes whose sampler printed nothing in time

    @contextmanager
    def during(self, case: Case) -> Iterator[SampledSoFar]:
        """Sample the GPUs of a case's nodes, from before the first line of the block on.

        It begins after the first sample, so that a measurement is not disturbed by the start of
        the samplers, and a short one has samples too. An error ends the samplers of its nodes.
        """
        commands = self._commands(case)
        if not commands:
            self.end(case.nodes)
            yield lambda: ()
            return
        try:
            samplers = [self._sampler(command) for command in commands]
            for one in samplers:
                self._await_sample(one)
            sizes = [one.running.printed_bytes for one in samplers]
            yield lambda: tuple(map(self._part, samplers, sizes))
        except BaseException:
            self.end(case.nodes)
            raise

    def end(self, nodes: Iterable[str]) -> None:
        """End the samplers of the nodes, and their whole process groups."""
        for node in nodes:
            if one := self._running.pop(node, None):
                one.running.stop()

    def _sampler(self, command: Command) -> _Sampler:
        """The sampler of a node: the one that runs, or a new one in its place."""
        found = self._running.get(command.node)
        if found and self._is_good(found, command):
            return found
        self.end([command.node])
        now_s = self._clock()
        lasting = replace(command, time_limit_s=command.time_limit_s + _OLD_S)
        running = self._sessions[command.node].start(lasting)
        made = self._running[command.node] = _Sampler(command, running, now_s, 0, now_s)
        return made

    def _is_good(self, one: _Sampler, command: Command) -> bool:
        """Whether a sampler still works, and has time enough left for another measurement."""
        now_s, size = self._clock(), one.running.printed_bytes
        if size > one.size:
            one.size, one.grew_at_s = size, now_s
        left_s = one.command.time_limit_s + _OLD_S - (now_s - one.started_s)
        return (
            not one.running.has_ended
            and one.command.argv == command.argv
            and now_s - one.started_s < _OLD_S
            and now_s - one.grew_at_s < _SILENT_S
            and left_s >= command.time_limit_s
        )

    def _await_sample(self, one: _Sampler) -> None:
        """Wait for the first sample of each GPU; not again on a node that once gave none.

        Otherwise a short measurement would end between the samples of two GPUs.
        """
        node = one.command.node
        if one.size or node in self._silent:
            return
        if one.running.line(self._first_of_all, _FIRST_SAMPLE_LIMIT_S) is None:
            self._silent.add(node)

    def _part(self, one: _Sampler, size: int) -> Transcript:
        """The first two lines of a sampler, and its output since the output had ``size`` bytes.

        The last sample of each GPU before that is included. A character of several bytes, which no
        sampler prints, would move the start by less than a line.
        """
        output = one.running.so_far()
        head = _head(output.stdout)
        start = max(head, self._last_samples(output.stdout[:size]))
        text = output.stdout[:head] + output.stdout[start:]
        return replace(output, stdout=text, role=Role.TELEMETRY, argv=one.command.argv)


def _head(text: str) -> int:
    """The number of characters in the lines before the first sample."""
    end = 0
    for _ in range(_FIRST_SAMPLE):
        end = text.find("\n", end) + 1 or len(text)
    return end
