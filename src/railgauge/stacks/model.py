"""What a GPU stack is asked, and what it answers: values and the contract, no vendor."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
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
    """One GPU as its vendor's tools list it; ``None`` is what no tool of this node told.

    ``bus_id`` is spelled as the kernel does, ``memory_mib`` is the size and not the use.
    ``power_limit_w`` is the cap in force, ``power_default_w`` that of the board as it is delivered.
    ``clock_mhz`` is that of the compute units at the moment, which a lock holds also while idle.
    ``ecc_uncorrected`` counts errors since the driver was loaded. ``remap_pending`` and
    ``remap_failed`` speak of memory rows (NVIDIA) or pages (AMD) that wait to be replaced.
    ``links_up`` of ``links_total`` are NVLink, xGMI or MetaXLink; ``link_rate_gbps`` is the slowest
    of them, decimal Gb/s one way. ``pcie_gen`` may be below its maximum while the GPU is idle.
    ``mig_enabled`` says whether the GPU is cut into parts (MIG; sGPU of MetaX);
    ``compute_partition`` is ``SPX``, ``CPX``, …; ``fabric`` is what the GPU says of its
    registration with the NVLink fabric, state and status: ``Completed, Success``.
    """

    index: int
    model: str
    bus_id: str | None
    memory_mib: int | None
    numa_node: int | None = None
    persistence_mode: bool | None = None
    vbios: str | None = None
    power_limit_w: float | None = None
    power_default_w: float | None = None
    clock_max_mhz: int | None = None
    clock_mhz: int | None = None
    ecc_enabled: bool | None = None
    ecc_uncorrected: int | None = None
    remapped_rows: int | None = None
    retired_pages: int | None = None
    remap_pending: bool | None = None
    remap_failed: bool | None = None
    links_up: int | None = None
    links_total: int | None = None
    link_rate_gbps: float | None = None
    pcie_gen: int | None = None
    pcie_width: int | None = None
    pcie_max_gen: int | None = None
    pcie_max_width: int | None = None
    mig_enabled: bool | None = None
    compute_partition: str | None = None
    memory_partition: str | None = None
    fabric: str | None = None


def unread(gpus: tuple[GpuFacts, ...], why: Callable[[str], str]) -> dict[str, str]:
    """The reason ``why(field)`` of every field that has no value, for ``StackFacts.missing``.

    What no GPU has is named once, ``gpus.*.fabric``, and otherwise GPU by GPU.
    """
    found: dict[str, str] = {}
    for item in fields(GpuFacts):
        lacking = [gpu.index for gpu in gpus if getattr(gpu, item.name) is None]
        if lacking and len(lacking) == len(gpus):
            found[f"gpus.*.{item.name}"] = why(item.name)
        else:
            found |= {f"gpus.{index}.{item.name}": why(item.name) for index in lacking}
    return found


@dataclass(frozen=True, slots=True)
class StackFacts:
    """What a vendor's tools said about a node.

    ``software`` holds versions: ``runtime`` (CUDA, ROCm or MACA), ``collective_library``,
    ``fabric_manager``, and the kind of the ``kernel_module``; what was not read is absent there.
    ``topology`` maps ``gpu0`` to the distance of every other device: ``{"mlx5_0": "PXB"}``.
    ``processes`` are the processes that hold GPU memory, one readable line each.
    ``peer_memory`` is evidence beside the kernel's list of peer memory clients and modules.
    ``missing`` maps a field of ``NodeFacts`` to the reason why it could not be read.
    """

    gpus: tuple[GpuFacts, ...] = ()
    driver: str | None = None
    software: Mapping[str, str] = field(default_factory=dict)
    topology: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    processes: tuple[str, ...] = ()
    peer_memory: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)


class Stack(Protocol):
    """One GPU vendor: how its tools are asked and read, and what its libraries are called."""

    @property
    def name(self) -> str:
        """The vendor, as platform files spell it."""

    @property
    def probe_commands(self) -> Mapping[str, str]:
        """Section name (no blanks) to shell text, which runs in a shell of its own.

        The probe limits its time, gives it no input and merges its stderr into its stdout. After
        one of them has run out of time, the others are not asked any more. ``$R`` is the host's
        root without its last slash.
        """

    @property
    def collective_prefix(self) -> str:
        """The prefix of the collective library's variables: ``NCCL``, ``RCCL``, ``MCCL``."""

    @property
    def peer_memory(self) -> str:
        """What proves that NICs reach GPU memory: a name of ``NodeFacts.peer_memory``.

        That is a directory under ``/sys/kernel/mm/memory_peers``, one of ``peer_modules``, or a
        word of the stack's own (``StackFacts.peer_memory``).
        """

    @property
    def peer_modules(self) -> tuple[str, ...]:
        """Kernel modules that load only if they could register with the RDMA stack."""

    @property
    def diagnostics(self) -> tuple[str, ...]:
        """Processes that load the GPUs though no list of theirs need show it: their ``comm``.

        A name that is followed by words, ``dcgmi diag``, counts only with these words among its
        arguments.
        """

    def parse(self, sections: Mapping[str, Section]) -> StackFacts:
        """Read the sections of ``probe_commands``; never raises, whatever they hold."""

    def perftest_memory_flags(self, gpu: int) -> tuple[str, ...]:
        """The arguments that make perftest use the memory of that GPU."""
