"""Which programs a run needs on a node: by the platform file, or by the hardware. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from railgauge.core.model import Cluster
from railgauge.describing.bus import PciFunction
from railgauge.describing.readiness.model import ProgramNeed, SelfReport
from railgauge.facts import NodeFacts
from railgauge.stacks import stack, vendors

VERBS = ProgramNeed("ibv_devinfo", ("rdma",))
_PERFTEST = (
    *("ib_write_bw", "ib_read_bw", "ib_send_bw"),
    *("ib_write_lat", "ib_read_lat", "ib_send_lat"),
)
_LAUNCHERS = {"openmpi": "mpirun", "mpich": "mpiexec", "slurm": "srun"}
_OF_VENDOR = {"nvidia": "nvbandwidth", "amd": "TransferBench"}
_COLLECTIVE, _TCP = "all_reduce_perf", "iperf3"


def asked_for(cluster: Cluster, planned: Sequence[str] | None) -> tuple[str, ...]:
    """Return every program that a node is asked for. ``planned`` are those of the platform file."""
    found = planned if planned is not None else _usual(cluster)
    listing = [name for vendor in vendors() for name in stack(vendor).listing]
    return tuple(dict.fromkeys((*found, *listing, *VERBS.names)))


def _usual(cluster: Cluster) -> tuple[str, ...]:
    mpi = _LAUNCHERS.get(cluster.launcher, "mpirun")
    return (*_PERFTEST, _TCP, mpi, _COLLECTIVE, *_OF_VENDOR.values())


def of_node(
    cluster: Cluster, planned: Sequence[str] | None, output: SelfReport, facts: NodeFacts | None
) -> tuple[ProgramNeed, ...]:
    """Return the programs that the measurements on a node need."""
    if planned is not None:
        return tuple(map(ProgramNeed, planned))
    vendor = vendor_on(output.bus)
    has_rdma = bool(facts and facts.nics)
    found = [*(_PERFTEST if has_rdma else (_TCP,))]
    if vendor:
        found += [_LAUNCHERS.get(cluster.launcher, "mpirun"), _COLLECTIVE]
        found += [_OF_VENDOR[vendor]] if vendor in _OF_VENDOR else []
    return tuple(map(ProgramNeed, found))


def may_need_rdma(planned: Sequence[str] | None) -> bool:
    """Whether a measurement needs RDMA; true without a platform file."""
    names = [name.rpartition("/")[2] for name in planned or ()]
    return planned is None or any(name in _PERFTEST for name in names)


def gpus_on(bus: Sequence[PciFunction], vendor: str) -> int:
    """Return how many GPUs of a vendor are on the PCI bus."""
    return sum(one.is_gpu and one.vendor == stack(vendor).pci_vendor for one in bus)


def vendor_on(bus: Sequence[PciFunction]) -> str:
    """Return the vendor with the most GPUs on the bus; empty if there are none."""
    best = max(vendors(), key=lambda vendor: gpus_on(bus, vendor))
    return best if gpus_on(bus, best) else ""


def vendor_of(output: SelfReport) -> str:
    """Return the vendor whose tools a node is asked by: that of its bus, else of its programs."""
    there = (name for name in vendors() if set(stack(name).listing) & set(output.programs))
    return vendor_on(output.bus) or next(there, "")
