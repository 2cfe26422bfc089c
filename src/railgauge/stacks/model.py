"""The contract of a GPU stack, and the values that it takes and returns; nothing of one vendor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Protocol

from railgauge.stacks.counting import GpuCounters
from railgauge.stacks.sampling import Sampler
from railgauge.stacks.sections import Section


@dataclass(frozen=True, slots=True)
class GpuFacts:
    """One GPU as its vendor's tools list it. ``None`` is a value that no tool reported.

    ``bus_id`` is in the kernel's notation, ``memory_mib`` is the size, not the use.
    ``power_limit_w`` is the limit in force, ``power_default_w`` the board's default.
    ``clock_mhz`` is the current clock of the compute units; locked clocks hold it while idle too.
    ``ecc_uncorrected`` counts errors since the driver was loaded. ``remap_pending`` and
    ``remap_failed`` concern memory rows (NVIDIA) or pages (AMD) that are to be replaced.
    ``links_up`` and ``links_total`` count NVLink, xGMI or MetaXLink links; ``link_rate_gbps`` is
    the rate of the slowest, decimal Gb/s in one direction. ``pcie_gen`` may be below its maximum
    while the GPU is idle. ``mig_enabled`` is whether the GPU is partitioned (MIG; sGPU of MetaX);
    ``compute_partition`` is ``SPX``, ``CPX``, …. ``fabric`` is the state and status of the GPU's
    registration with the NVLink fabric: ``Completed, Success``. ``device_id`` is that of PCI: the
    models of one family differ in it, whatever name the driver shows.
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
    device_id: str | None = None


def unread(gpus: tuple[GpuFacts, ...], why: Callable[[str], str]) -> dict[str, str]:
    """Return the reason ``why(field)`` for every field without a value, for ``StackFacts.missing``.

    A field that no GPU has is listed once, as ``gpus.*.fabric``; others are listed for each GPU.
    """
    found: dict[str, str] = {}
    for item in fields(GpuFacts):
        missing = [gpu.index for gpu in gpus if getattr(gpu, item.name) is None]
        if missing and len(missing) == len(gpus):
            found[f"gpus.*.{item.name}"] = why(item.name)
        else:
            found |= {f"gpus.{index}.{item.name}": why(item.name) for index in missing}
    return found


@dataclass(frozen=True, slots=True)
class GpuIdentity:
    """What identifies one GPU, as its tool prints it; the empty text if it prints nothing.

    ``slot`` is the place that the tool names: ``module 3``.
    """

    serial: str = ""
    uuid: str = ""
    part_number: str = ""
    slot: str = ""


@dataclass(frozen=True, slots=True)
class StackFacts:
    """The values of one node that a vendor's tools reported.

    ``software`` holds the versions of ``runtime`` (CUDA, ROCm or MACA), ``collective_library`` and
    ``fabric_manager``, and the kind of the ``kernel_module``; a version that was not read is left
    out. ``topology`` maps ``gpu0`` to the distance of every other device: ``{"mlx5_0": "PXB"}``.
    ``processes`` are the processes that hold GPU memory, one readable line for each.
    ``peer_memory`` is evidence in addition to the kernel's list of peer memory clients and modules.
    ``missing`` maps a field of ``NodeFacts`` to the reason why it could not be read.
    ``identities`` are those of the GPUs by number; ``unidentified`` is why a value is not in them.
    """

    gpus: tuple[GpuFacts, ...] = ()
    driver: str | None = None
    software: Mapping[str, str] = field(default_factory=dict)
    topology: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    processes: tuple[str, ...] = ()
    peer_memory: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    identities: Mapping[int, GpuIdentity] = field(default_factory=dict)
    unidentified: str = "the tool of its GPUs does not show it"


class Stack(Protocol):
    """One GPU vendor: the commands of its tools, their parser, and the names of its libraries."""

    @property
    def name(self) -> str:
        """The vendor's name in platform files."""

    @property
    def probe_commands(self) -> Mapping[str, str]:
        """Shell texts by section name (without blanks); each runs in its own shell.

        The probe limits its time, gives it no input and merges its stderr into its stdout. After
        one of them hits the time limit, the rest are not run. ``$R`` is the host's root without
        the trailing slash.
        """

    @property
    def collective_prefix(self) -> str:
        """The prefix of the collective library's variables: ``NCCL``, ``RCCL``, ``MCCL``."""

    @property
    def pci_vendor(self) -> str:
        """The PCI vendor of its GPUs, as in ``/sys/bus/pci/devices/*/vendor``: ``0x10de``."""

    @property
    def listing(self) -> tuple[str, ...]:
        """The programs that list its GPUs, any one of which is enough."""

    @property
    def peer_memory(self) -> str:
        """The entry of ``NodeFacts.peer_memory`` that proves that NICs can access GPU memory.

        It is a directory under ``/sys/kernel/mm/memory_peers``, one of ``peer_modules``, or an
        entry of ``StackFacts.peer_memory``.
        """

    @property
    def peer_modules(self) -> tuple[str, ...]:
        """Kernel modules that load only if they can register with the RDMA stack."""

    @property
    def diagnostics(self) -> tuple[str, ...]:
        """Names (``comm``) of processes that load the GPUs, even if no GPU tool lists them.

        A name with further words, ``dcgmi diag``, matches only a process that has these words
        among its arguments.
        """

    def parse(self, sections: Mapping[str, Section]) -> StackFacts:
        """Parse the sections of ``probe_commands``. Never raises, whatever they contain."""

    @property
    def perftest_dmabuf(self) -> tuple[str, ...]:
        """The arguments for GPU memory by DMA-BUF; empty if perftest has it not for this vendor."""

    @property
    def samplers(self) -> Sequence[Sampler]:
        """How the vendor's tool samples clocks, temperatures and power during a measurement.

        The first one that shows what a platform file limits is used, so that cheap ones come first.
        """

    @property
    def counters(self) -> GpuCounters | None:
        """How the vendor's tool shows the error counters of its GPUs; ``None`` if it is not known.

        Then no platform file of the vendor limits their growth.
        """

    def perftest_memory_flags(self, gpu: int) -> tuple[str, ...]:
        """Return the arguments that make perftest use the memory of that GPU."""
