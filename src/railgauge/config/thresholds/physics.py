"""The physical ceiling of the declared hardware, and the ideal of a collective on it. Pure.

A collective is limited by what its nodes must exchange. For a message of S bytes (``size`` of
nccl-tests) with g GPUs per node and n GPUs in all, each node sends or receives these shares of S:

========================== ============= ============ =========================================
operation                  as it is run  minimum      why
========================== ============= ============ =========================================
all_reduce                 2(n-1)/n      1            a ring enters and leaves each node once; a
                                                      switch that reduces takes S and returns S
all_gather, reduce_scatter (n-1)/n       (n-g)/n      a ring; minimum: what the other nodes hold
broadcast, reduce          1             1            the whole message, once
alltoall                   g(n-g)/n      g(n-g)/n     each GPU sends S/n to each GPU elsewhere
gather, scatter            (n-g)/n       (n-g)/n      the parts of the GPUs that are elsewhere
sendrecv                   1             1            the last GPU of a node sends to the next
========================== ============= ============ =========================================

If the NICs of a node carry W bytes per second one way, the algorithm bandwidth S/t is W divided by
that share, and the bus bandwidth is the algorithm bandwidth times ``bus_factor``. An all_reduce as
it is run has a bus bandwidth of W; an alltoall has W (n-1) / (g(n-g)): 93.75 GB/s of 400 GB/s
between 2 x 8 GPUs.

Inside a node W is what a GPU sends to all others together: over one link to each of them, or over
one link to a switch. Rings over all links, and an alltoall, have a bus bandwidth of W; a sendrecv
uses one link. A switch may do the sum of an all_reduce itself, which then sends less than its bus
bandwidth assumes: an all_reduce over a switch has no ideal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from railgauge.config.thresholds.model import NEAR_LINKS, PCIE_GTS, Measurement, Nic, Platform
from railgauge.core.errors import Uncovered
from railgauge.core.limits import Limit
from railgauge.core.model import Pairing
from railgauge.core.terms import Scope
from railgauge.core.units import convert, dimension

# PCI Express Base Specification: the share of payload bits that the line encoding leaves (8b/10b
# up to generation 2, 128b/130b after; FLIT mode in 6).
_PCIE_ENCODING = {1: 8 / 10, 2: 8 / 10, 3: 128 / 130, 4: 128 / 130, 5: 128 / 130, 6: 242 / 256}

# (n, g) -> share of a message that crosses the NICs of a node one way.
_Share = Callable[[int, int], float]
_AS_RUN: Mapping[str, _Share] = {
    "all_reduce": lambda n, _: 2 * (n - 1) / n,
    "all_gather": lambda n, _: (n - 1) / n,
    "reduce_scatter": lambda n, _: (n - 1) / n,
    "broadcast": lambda _n, _g: 1.0,
    "reduce": lambda _n, _g: 1.0,
    "alltoall": lambda n, g: g * (n - g) / n,
    "gather": lambda n, g: (n - g) / n,
    "scatter": lambda n, g: (n - g) / n,
    "sendrecv": lambda _n, _g: 1.0,
}
_AT_LEAST: Mapping[str, _Share] = {
    **_AS_RUN,
    "all_reduce": lambda _n, _g: 1.0,
    "all_gather": lambda n, g: (n - g) / n,
    "reduce_scatter": lambda n, g: (n - g) / n,
}
# nccl-tests, doc/PERFORMANCE.md: bus bandwidth over algorithm bandwidth.
_PARTS = frozenset({"all_gather", "reduce_scatter", "alltoall", "alltoallv", "gather", "scatter"})
_WHOLE = frozenset({"broadcast", "reduce", "sendrecv", "hypercube"})
_STORAGE = frozenset({"shared_write", "shared_read"})
_BUS, _ALGORITHM = frozenset({"busbw", "avg_busbw"}), frozenset({"algbw"})
_NODES_MIN, _GPUS_MIN = 2, 2
# Values of ``Limit.of`` for a floor that is a share of the ideal, or of what a link carries.
IDEAL, LINK = "ideal", "link"
SHARES = {IDEAL: "an ideal", LINK: "a link"}


def bus_factor(operation: str, ranks: int) -> float | None:
    """Return busbw divided by algbw; ``None`` if it is not known for this operation."""
    if operation == "all_reduce":
        return 2 * (ranks - 1) / ranks
    if operation in _PARTS:
        return (ranks - 1) / ranks
    return 1.0 if operation in _WHOLE else None


def ideal_busbw(operation: str, gpus: int, nodes: int, nics: Sequence[float]) -> float | None:
    """Return the bus bandwidth of a collective as it is run with all ``nics`` busy, in their unit.

    ``gpus`` is the number of GPUs of a node that take part, ``nics`` the rate of each of the node's
    NICs one way. In a sendrecv only one GPU sends to the next node, over one NIC. ``None`` inside a
    node, where no NIC takes part, and for an operation whose traffic is not known.
    """
    if operation == "sendrecv":
        nics = [max(nics, default=0.0)]
    return _busbw(_AS_RUN, operation, (gpus, nodes), sum(nics))


def ideal_inside(operation: str, gpus: int, link: float, *, to_switch: bool) -> float | None:
    """Return the bus bandwidth of a collective between ``gpus`` of one node, in ``link``'s unit.

    ``link`` is what a GPU sends to each other GPU, or, with ``to_switch``, to all of them.
    ``None`` if it is not known for this operation.
    """
    if gpus < _GPUS_MIN or bus_factor(operation, gpus) is None or operation not in _AS_RUN:
        return None
    if to_switch:
        return None if operation == "all_reduce" else link
    return link if operation == "sendrecv" else (gpus - 1) * link


def most_busbw(operation: str, gpus: int, nodes: int, nics: Sequence[float]) -> float | None:
    """Return the bus bandwidth that no algorithm can exceed, not even a reduction in switches.

    Arguments and ``None`` are those of ``ideal_busbw``.
    """
    return _busbw(_AT_LEAST, operation, (gpus, nodes), sum(nics))


def _busbw(
    shares: Mapping[str, _Share], operation: str, size: tuple[int, int], together: float
) -> float | None:
    gpus, nodes = size
    ranks, share = gpus * nodes, shares.get(operation)
    factor = bus_factor(operation, ranks)
    if share is None or factor is None or nodes < _NODES_MIN:
        return None
    return factor * together / share(ranks, gpus)


def pcie_gbps(generation: int, width: int) -> float:
    """Return what a PCIe slot can carry one way, in Gb/s; packet headers are not subtracted."""
    return PCIE_GTS[generation] * width * _PCIE_ENCODING[generation]


def slot_need_gbps(platform: Platform, name: str) -> float | None:
    """Return what the PCIe link of a NIC must carry one way, in Gb/s; ``None`` without a slot.

    That is the rate of all ports of its card, or what the declared slot carries if that is less.
    """
    nic = platform.nic(name)
    if nic.pcie_generation is None or nic.pcie_width is None:
        return None
    ports = sum(port.data_rate_gbps for port in platform.nics if port.card == nic.card)
    return min(ports, pcie_gbps(nic.pcie_generation, nic.pcie_width))


def nic_ceiling_gbps(nic: Nic) -> float:
    """Return ``min(link, PCIe)`` in Gb/s one way: no valid measurement of this NIC is above it."""
    if nic.pcie_generation is None or nic.pcie_width is None:
        return nic.data_rate_gbps
    return min(nic.data_rate_gbps, pcie_gbps(nic.pcie_generation, nic.pcie_width))


def _path_gbps(platform: Platform, measurement: Measurement, nic: Nic) -> float:
    """Return the ceiling of a NIC; the ports of one card share its slot if both are measured."""
    beside = [other for other in platform.fabric_nics if other.card == nic.card]
    if not measurement.together or nic.pcie_generation is None or nic.pcie_width is None:
        return nic_ceiling_gbps(nic)
    share = pcie_gbps(nic.pcie_generation, nic.pcie_width) / len(beside)
    return min(nic_ceiling_gbps(nic), share)


def path_ceiling_gbps(platform: Platform, measurement: Measurement, pairing: Pairing) -> float:
    """Return what a path carries one way, in Gb/s: the ceiling of its slower NIC."""
    ends = (platform.nic(end.nic) for end in pairing.ends)
    return min(_path_gbps(platform, measurement, nic) for nic in ends)


def physical_ceiling(
    platform: Platform,
    measurement: Measurement,
    pairing: Pairing | None,
    limit: Limit,
    nodes: int = _NODES_MIN,
) -> float | None:
    """Return the ceiling of a bandwidth in the limit's unit; ``None`` if physics sets none.

    On a path it is the ceiling of the slower NIC. Between ``nodes`` it follows from all fabric NICs
    of a node, or the slots of the GPUs that take part, whichever carry less, and from the least
    that the collective must exchange. For a link between GPUs it is the raw rate. Collectives
    inside a node have no certain ceiling: with reductions in the switch less is sent than the bus
    bandwidth assumes; nor has storage, which may have a network of its own.
    """
    if dimension(limit.unit) != "bandwidth" or metric_of(limit) in _STORAGE:
        return None
    if measurement.scope == Scope.PATH and pairing is not None:
        gbps = path_ceiling_gbps(platform, measurement, pairing)
        return convert(ways(measurement) * gbps, "Gb/s", limit.unit)
    if measurement.scope not in (Scope.PAIR, Scope.GROUP):
        return _link_ceiling(platform, limit)
    nics = [nic_ceiling_gbps(nic) for nic in platform.fabric_nics]
    if metric_of(limit) not in _BUS | _ALGORITHM:
        return convert(sum(nics), "Gb/s", limit.unit)
    return _collective(platform, measurement, limit, nodes, (most_busbw, nics))


def ideal(
    platform: Platform,
    measurement: Measurement,
    pairing: Pairing | None,
    limit: Limit,
    nodes: int = _NODES_MIN,
) -> float | None:
    """Return what a collective over ``nodes`` reaches as it is run, in the limit's unit.

    Between nodes it uses the NICs beside the GPUs that take part, inside a node the links of its
    GPUs. ``None`` if this is not a collective, or if its traffic or the link is not known.
    """
    if metric_of(limit) not in _BUS | _ALGORITHM:
        return None
    if measurement.scope == Scope.NODE:
        return _inside(platform, measurement, limit)
    if measurement.scope not in (Scope.PAIR, Scope.GROUP):
        return None
    nics = [nic_ceiling_gbps(nic) for nic in _beside(platform, measurement, pairing)]
    return _collective(platform, measurement, limit, nodes, (ideal_busbw, nics))


def whole(
    platform: Platform,
    measurement: Measurement,
    pairing: Pairing | None,
    limit: Limit,
    nodes: int = _NODES_MIN,
) -> float | None:
    """Return what the floor is a share of, in the limit's unit; ``None`` if it is not known.

    ``link`` is the physical ceiling of a path, ``min(link, PCIe)``. Inside a node it is what a GPU
    sends to all others together, or, for a value of one link, over that link.
    """
    if limit.of != LINK:
        return ideal(platform, measurement, pairing, limit, nodes)
    if measurement.scope == Scope.PATH:
        return physical_ceiling(platform, measurement, pairing, limit, nodes)
    gpus = platform.gpus
    if measurement.scope != Scope.NODE or gpus is None or gpus.link_gb_per_s is None:
        return None
    one = gpus.to_switch or limit.metric in measurement.asserted("link")
    links = 1 if one or limit.metric == "average_bw" else gpus.count - 1
    return convert(links * gpus.link_gb_per_s, "GB/s", limit.unit)


def in_its_unit(limit: Limit, of: float | None) -> Limit:
    """Convert a floor that is a share of the ideal or of a link; return other limits unchanged.

    ``of`` is the result of ``whole``. Raises ``Uncovered`` if it is ``None``.
    """
    if limit.of not in SHARES:
        return limit
    if of is None or not isinstance(limit.floor, float):
        what = f"the floor of {limit.metric} is a share of {SHARES[limit.of]} that is not known"
        raise Uncovered(what, where=limit.pointer)
    return replace(limit, floor=limit.floor * of, of="")


def _inside(platform: Platform, measurement: Measurement, limit: Limit) -> float | None:
    gpus = platform.gpus
    if gpus is None or gpus.link_gb_per_s is None:
        return None
    taking, operation = gpus_per_node(platform, measurement), operation_of(measurement)
    found = ideal_inside(operation, taking, gpus.link_gb_per_s, to_switch=gpus.to_switch)
    return _as_asked(found, "GB/s", limit, (operation, taking))


_Busbw = Callable[[str, int, int, Sequence[float]], "float | None"]


def _collective(
    platform: Platform,
    measurement: Measurement,
    limit: Limit,
    nodes: int,
    by: tuple[_Busbw, Sequence[float]],
) -> float | None:
    busbw, nics = by
    if not nics:
        return None
    gpus, operation = gpus_per_node(platform, measurement), operation_of(measurement)
    slots = slots_gbps(platform, gpus)
    share = 1.0 if slots is None else min(1.0, slots / sum(nics))
    found = busbw(operation, gpus, nodes, [share * gbps for gbps in nics])
    return _as_asked(found, "Gb/s", limit, (operation, gpus * nodes))


def _as_asked(busbw: float | None, unit: str, limit: Limit, of: tuple[str, int]) -> float | None:
    """Convert a bus bandwidth to the limit's metric and unit; ``of`` is (operation, ranks)."""
    if busbw is None:
        return None
    factor = bus_factor(*of) if metric_of(limit) in _ALGORITHM else None
    return convert(busbw / (factor or 1.0), unit, limit.unit)


def operation_of(measurement: Measurement) -> str:
    return measurement.command.removesuffix("_perf")


def metric_of(limit: Limit) -> str:
    return limit.metric.partition("/")[0]


def gpus_per_node(platform: Platform, measurement: Measurement) -> int:
    """Return the ranks per node: as the options ask, else one for each GPU, else 1."""
    asked = measurement.options.get("gpus_per_node", measurement.options.get("ranks_per_node"))
    if isinstance(asked, int):
        return asked
    return platform.gpus.count if platform.gpus else 1


def _beside(
    platform: Platform, measurement: Measurement, pairing: Pairing | None
) -> tuple[Nic, ...]:
    """Return the fabric NICs near the GPUs that take part, or all fabric NICs if none is near."""
    count = gpus_per_node(platform, measurement)
    alone = count == 1 and pairing is not None and pairing.gpu is not None
    taking = [pairing.gpu] if alone and pairing else range(count)
    links = [platform.affinity.get(gpu, {}) for gpu in taking if gpu is not None]
    near = [
        nic
        for nic in platform.fabric_nics
        if any(beside.get(nic.name) in NEAR_LINKS for beside in links)
    ]
    return tuple(near) or platform.fabric_nics


def slots_gbps(platform: Platform, gpus: int) -> float | None:
    """Return what the slots of ``gpus`` GPUs carry one way; ``None`` if no slot is declared."""
    names = ("gpu_pcie_generation", "gpu_pcie_width")
    expected = [platform.expected[name].value for name in names if name in platform.expected]
    match expected:
        case [int(generation), int(width)] if generation in PCIE_GTS:
            return gpus * pcie_gbps(generation, width)
    return None


def ways(measurement: Measurement) -> int:
    return 2 if measurement.options.get("bidirectional") else 1


def _link_ceiling(platform: Platform, limit: Limit) -> float | None:
    if platform.gpus is None or platform.gpus.link_gb_per_s is None:
        return None
    of_gpu = 1 if platform.gpus.to_switch else platform.gpus.count - 1
    links = {"link_bw": 1, "average_bw": 1, "gpu_actual": of_gpu}.get(limit.metric)
    return (
        None if links is None else convert(links * platform.gpus.link_gb_per_s, "GB/s", limit.unit)
    )
