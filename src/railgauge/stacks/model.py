"""What a GPU stack is asked, and what it answers: values and the contract, no vendor."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

_ABSENT_FILE = 66
_TIMED_OUT = (124, 137)
_NOT_FOUND = 127
_WHO_WAS_NOT_FOUND = re.compile(r"([^\s:]+): (?:command )?not found")
_LONGEST_REASON = 200


@dataclass(frozen=True, slots=True)
class Section:
    """What one command of the probe printed, stdout and stderr together.

    ``exit_code`` is ``None`` where the section has no proper end; ``problem`` then says why.
    """

    name: str
    text: str
    exit_code: int | None = 0
    problem: str = ""

    @property
    def failure(self) -> str:
        """Why the text is no evidence, in one line; empty when the command went well."""
        if self.exit_code is None:
            return f"{self.name}: {self.problem or 'the output is cut off'}"
        if self.exit_code == 0:
            return ""
        return self._explain(self.exit_code)

    def _explain(self, code: int) -> str:
        said = next((line.strip() for line in reversed(self.text.splitlines()) if line.strip()), "")
        said = said[:_LONGEST_REASON]
        if code == _ABSENT_FILE:
            return said or f"{self.name}: no such file"
        if code in _TIMED_OUT:
            return f"{self.name}: no answer within its time limit (exit {code})"
        if code == _NOT_FOUND:
            match = _WHO_WAS_NOT_FOUND.search(said)
            return f"{match[1] if match else self.name}: command not found (exit {code})"
        return f"{self.name}: {said or 'printed nothing'} (exit {code})"


def section(sections: Mapping[str, Section], name: str) -> Section:
    """The section of that name; one that was never printed reads as cut off."""
    return sections.get(name) or Section(name, "", None, "the probe printed no such section")


@dataclass(frozen=True, slots=True)
class GpuFacts:
    """One GPU as its vendor's tool lists it. ``memory_mib`` is the size, not the use."""

    index: int
    model: str
    bus_id: str | None
    memory_mib: int | None


@dataclass(frozen=True, slots=True)
class StackFacts:
    """What a vendor's tools said about a node.

    ``topology`` maps ``gpu0`` to the distance of every other device: ``{"mlx5_0": "PXB"}``.
    ``processes`` are the processes that hold GPU memory, one readable line each.
    ``missing`` maps a field of ``NodeFacts`` to the reason why it could not be read.
    """

    gpus: tuple[GpuFacts, ...] = ()
    driver: str | None = None
    software: Mapping[str, str] = field(default_factory=dict)
    topology: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    processes: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)


class Stack(Protocol):
    """One GPU vendor: how its tools are asked and read, and what its libraries are called."""

    @property
    def name(self) -> str:
        """The vendor, as platform files spell it."""

    @property
    def probe_commands(self) -> Mapping[str, str]:
        """Section name (no blanks) to shell text, which runs in a shell of its own.

        The probe limits its time, gives it no input and merges its stderr into its stdout.
        """

    @property
    def collective_prefix(self) -> str:
        """The prefix of the collective library's variables: ``NCCL``, ``RCCL``, ``MCCL``."""

    @property
    def peer_memory(self) -> str:
        """The name of the driver's directory under ``/sys/kernel/mm/memory_peers``."""

    def parse(self, sections: Mapping[str, Section]) -> StackFacts:
        """Read the sections of ``probe_commands``; never raises, whatever they hold."""

    def perftest_memory_flags(self, gpu: int) -> tuple[str, ...]:
        """The arguments that make perftest use the memory of that GPU."""
