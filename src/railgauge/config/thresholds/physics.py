"""What the declared hardware carries at most, and what a collective reaches on it at best. Pure.

A collective is bound by what its nodes must exchange. Of a message of S bytes (``size`` of
nccl-tests) with g GPUs a node and n GPUs in all, each node sends or receives, as shares of S:

========================== ============= ============ =========================================
operation                  as it is run  at the least why
========================== ============= ============ =========================================
all_reduce                 2(n-1)/n      1            a ring enters and leaves each node once; a
                                                      reduction in the switches takes S, gives S
all_gather, reduce_scatter (n-1)/n       (n-g)/n      a ring; at the least what others hold
broadcast, reduce          1             1            the whole message, once
alltoall                   g(n-g)/n      g(n-g)/n     each GPU sends S/n to each GPU elsewhere
gather, scatter            (n-g)/n       (n-g)/n      the parts of the GPUs that are elsewhere
sendrecv                   1             1            the last GPU of a node sends to the next
========================== ============= ============ =========================================

With W bytes per second over the NICs of a node one way, the algorithm bandwidth S/t is W over that
share, and the bus bandwidth that times ``bus_factor``. An all_reduce as it is run has a bus
bandwidth of W; an alltoall has W (n-1) / (g(n-g)): 93.75 GB/s of 400 GB/s between 2 x 8 GPUs.

Inside a node W is what a GPU sends to all others together: over one link to each of them, or over
one to a switch. Rings over all of these links, and an alltoall, have a bus bandwidth of W; a
sendrecv goes to one other GPU. A switch may add up an all_reduce itself, which then sends less than
its bus bandwidth counts: it has no ideal there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from railgauge.config.thresholds.model import NEAR_LINKS, PCIE_GTS, Measurement, Nic, Platform
from railgauge.core.errors import Uncovered
from railgauge.core.model import Limit, Pairing
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
_BUS, _ALGORITHM = frozenset({"busbw", "avg_busbw"}), frozenset({"algbw"})
_NODES_MIN, _GPUS_MIN = 2, 2
# What the floor of a limit may be a share of.
IDEAL = "ideal"


def bus_factor(operation: str, ranks: int) -> float | None:
    """Bus bandwidth over algorithm bandwidth; ``None`` for a collective without a known one."""
    if operation == "all_reduce":
        return 2 * (ranks - 1) / ranks
    if operation in _PARTS:
        return (ranks - 1) / ranks
    return 1.0 if operation in _WHOLE else None


def ideal_busbw(operation: str, gpus: int, nodes: int, nics: Sequence[float]) -> float | None:
    """The bus bandwidth of a collective as it is run, with all ``nics`` busy; in their unit.

    ``gpus`` are those of a node that take part, ``nics`` what each of the node's NICs carries one
    way. In a sendrecv one GPU alone sends to the next node, over one NIC. ``None`` inside a node,
    where no NIC takes part, and for an operation whose traffic is not known.
    """
    if operation == "sendrecv":
        nics = [max(nics, default=0.0)]
    return _busbw(_AS_RUN, operation, (gpus, nodes), sum(nics))


def ideal_inside(operation: str, gpus: int, link: float, *, to_switch: bool) -> float | None:
    """The bus bandwidth of a collective between the ``gpus`` of one node; in the unit of ``link``.

    ``link`` is what a GPU sends to each other one, or ``to_switch`` to all of them. ``None`` for
    what is not known.
    """
    if gpus < _GPUS_MIN or bus_factor(operation, gpus) is None or operation not in _AS_RUN:
        return None
    if to_switch:
        return None if operation == "all_reduce" else link
    return link if operation == "sendrecv" else (gpus - 1) * link


def most_busbw(operation: str, gpus: int, nodes: int, nics: Sequence[float]) -> float | None:
    """What no algorithm can pass, be it a tree or a reduction in the switches; else as above."""
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
    """What a PCIe slot can carry one way, in Gb/s, before packet headers."""
    return PCIE_GTS[generation] * width * _PCIE_ENCODING[generation]


def nic_ceiling_gbps(nic: Nic) -> float:
    """``min(link, PCIe)`` in Gb/s one way: no honest measurement through this NIC is above it."""
    if nic.pcie_generation is None or nic.pcie_width is None:
        return nic.data_rate_gbps
    return min(nic.data_rate_gbps, pcie_gbps(nic.pcie_generation, nic.pcie_width))


def physical_ceiling(
    platform: Platform,
    measurement: Measurement,
    pairing: Pairing | None,
    limit: Limit,
    nodes: int = _NODES_MIN,
) -> float | None:
    """The ceiling of a bandwidth in the limit's unit; ``None`` where physics sets none.

    On a path it is that of the slower NIC; between ``nodes`` that of all fabric NICs of a node
    together, or of the slots of the GPUs that take part, with what the collective must at least
    exchange; of a link between GPUs its raw rate. Collectives inside a node have none that is sure:
    reductions in the switch move less than the bus bandwidth counts.
    """
    if dimension(limit.unit) != "bandwidth":
        return None
    if measurement.scope == Scope.PATH and pairing is not None:
        gbps = min(nic_ceiling_gbps(platform.nic(end.nic)) for end in pairing.ends)
        return convert(_ways(measurement) * gbps, "Gb/s", limit.unit)
    if measurement.scope not in (Scope.PAIR, Scope.GROUP):
        return _link_ceiling(platform, limit)
    nics = [nic_ceiling_gbps(nic) for nic in platform.fabric_nics]
    if _metric(limit) not in _BUS | _ALGORITHM:
        return convert(sum(nics), "Gb/s", limit.unit)
    return _collective(platform, measurement, limit, nodes, (most_busbw, nics))


def ideal(
    platform: Platform,
    measurement: Measurement,
    pairing: Pairing | None,
    limit: Limit,
    nodes: int = _NODES_MIN,
) -> float | None:
    """What a collective over ``nodes`` reaches as it is run, in the limit's unit.

    Between nodes it goes over the NICs beside the GPUs that take part, inside one over the links of
    its GPUs. ``None`` for what is no collective, and where its traffic, or the link, is not known.
    """
    if _metric(limit) not in _BUS | _ALGORITHM:
        return None
    if measurement.scope == Scope.NODE:
        return _inside(platform, measurement, limit)
    if measurement.scope not in (Scope.PAIR, Scope.GROUP):
        return None
    nics = [nic_ceiling_gbps(nic) for nic in _beside(platform, measurement, pairing)]
    return _collective(platform, measurement, limit, nodes, (ideal_busbw, nics))


def in_its_unit(limit: Limit, best: float | None) -> Limit:
    """A floor that is a share of the ideal as a value in its unit; other limits as they are.

    ``best`` is the ideal where it is asked. Raises ``Uncovered`` if there is none.
    """
    if limit.of != IDEAL:
        return limit
    if best is None or not isinstance(limit.floor, float):
        what = f"the floor of {limit.metric} is a share of an ideal that is not known"
        raise Uncovered(what, where=limit.pointer)
    return replace(limit, floor=limit.floor * best, of="")


def _inside(platform: Platform, measurement: Measurement, limit: Limit) -> float | None:
    gpus = platform.gpus
    if gpus is None or gpus.link_gb_per_s is None:
        return None
    taking, operation = _gpus_per_node(platform, measurement), _operation(measurement)
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
    gpus, operation = _gpus_per_node(platform, measurement), _operation(measurement)
    slots = _slots_gbps(platform, gpus)
    share = 1.0 if slots is None else min(1.0, slots / sum(nics))
    found = busbw(operation, gpus, nodes, [share * gbps for gbps in nics])
    return _as_asked(found, "Gb/s", limit, (operation, gpus * nodes))


def _as_asked(busbw: float | None, unit: str, limit: Limit, of: tuple[str, int]) -> float | None:
    """A bus bandwidth of an operation and so many ranks as the limit's metric, in its unit."""
    if busbw is None:
        return None
    factor = bus_factor(*of) if _metric(limit) in _ALGORITHM else None
    return convert(busbw / (factor or 1.0), unit, limit.unit)


def _operation(measurement: Measurement) -> str:
    return measurement.command.removesuffix("_perf")


def _metric(limit: Limit) -> str:
    return limit.metric.partition("/")[0]


def _gpus_per_node(platform: Platform, measurement: Measurement) -> int:
    """The ranks that take part on a node: as asked, or all GPUs; without any GPU one."""
    asked = measurement.options.get("gpus_per_node", measurement.options.get("ranks_per_node"))
    if isinstance(asked, int):
        return asked
    return platform.gpus.count if platform.gpus else 1


def _beside(
    platform: Platform, measurement: Measurement, pairing: Pairing | None
) -> tuple[Nic, ...]:
    """The fabric NICs near the GPUs that take part; all of them where none is near."""
    count = _gpus_per_node(platform, measurement)
    alone = count == 1 and pairing is not None and pairing.gpu is not None
    taking = [pairing.gpu] if alone and pairing else range(count)
    links = [platform.affinity.get(gpu, {}) for gpu in taking if gpu is not None]
    near = [
        nic
        for nic in platform.fabric_nics
        if any(beside.get(nic.name) in NEAR_LINKS for beside in links)
    ]
    return tuple(near) or platform.fabric_nics


def _slots_gbps(platform: Platform, gpus: int) -> float | None:
    """What the slots of so many GPUs carry one way, where the platform says what slots they are."""
    names = ("gpu_pcie_generation", "gpu_pcie_width")
    expected = [platform.expected[name].value for name in names if name in platform.expected]
    match expected:
        case [int(generation), int(width)] if generation in PCIE_GTS:
            return gpus * pcie_gbps(generation, width)
    return None


def _ways(measurement: Measurement) -> int:
    return 2 if measurement.options.get("bidirectional") else 1


def _link_ceiling(platform: Platform, limit: Limit) -> float | None:
    if platform.gpus is None or platform.gpus.link_gb_per_s is None:
        return None
    of_gpu = 1 if platform.gpus.to_switch else platform.gpus.count - 1
    links = {"link_bw": 1, "average_bw": 1, "gpu_actual": of_gpu}.get(limit.metric)
    return (
        None if links is None else convert(links * platform.gpus.link_gb_per_s, "GB/s", limit.unit)
    )
