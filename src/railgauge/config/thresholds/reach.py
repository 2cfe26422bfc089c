"""The speed of healthy hardware, with which limits are compared. Pure.

It is the ceiling of the hardware (``physics``) times the share that is known to remain on this
path, and for small messages the share that their overhead leaves. The shares are cautious on
purpose: no healthy cluster of any site may fall below them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import fmean

from railgauge.config.thresholds.model import PCIE_GTS, Measurement, Platform
from railgauge.config.thresholds.physics import (
    LINK,
    bus_factor,
    gpus_per_node,
    ideal,
    metric_of,
    nic_ceiling_gbps,
    operation_of,
    pcie_gbps,
    physical_ceiling,
    slots_gbps,
    ways,
    whole,
)
from railgauge.core.limits import Curve, Limit
from railgauge.core.model import Pairing
from railgauge.core.terms import Scope
from railgauge.core.units import convert, dimension

# A floor below this share of what healthy hardware reaches finds no fault that halves it.
SHARE_MIN = 0.5
# A time of more than this many times the derived one is no latency of this hardware.
TIMES_MAX = 10
# From these sizes on the links decide, below them the message rate (docs/calibration.md). A
# collective cuts its message into a part for each step; the healthy tables of the documents reach
# half of their ideal at 32 MiB (002) and 64 MiB (000, 5.3).
LINK_DECIDES_BYTES = 64 * 2**10
LINKS_DECIDE_BYTES = 64 * 2**20
# ... and wherever the overhead of a message is less than a hundredth of its time.
_ALMOST = 0.99

# The share of a path's ceiling that remains if no data sheet gives more (docs/calibration.md).
_PEER_READS = 0.8  # GPU and NIC meet in a host bridge, which carries half of it or less
_BETWEEN = 0.9  # packet headers, and the flags of the library's protocol
_MEETING = 0.7  # the flows of an alltoall meet in the switches
_BY_CORES = 0.5  # without RDMA cores copy the payload
_OVER_SLOTS = _BOTH_WAYS = 0.7  # both ways of a slot are busy, and host memory may be on the way
_COMPUTING = 0.6  # the power limit holds no GPU at the clock of its data sheet
# A training step also moves memory and exchanges gradients, each for as long as its products.
_TRAINING, _OF_TRAINING = 0.25, ("compute_tflops", "model_tflops")

# Documents 000 and 004: one queue pair posts 3.6 and 3.9 million messages a second.
_MESSAGES_PER_S = 3.5e6
# The budget of docs/calibration.md for a message that crosses the fabric once.
_CROSSING_S, _CROSSING_SOCKETS_S, _STEP_INSIDE_S = 6e-6, 30e-6, 1e-6
# The largest of a thousand latencies is one during which the host did something else.
_OUTLIERS, _OUTLIER = frozenset({"lat_max", "lat_p999", "lat_stdev"}), 10
# The ceiling of the slowest path between two GPUs, PCIe 3.0 x16, in bytes per second.
_SLOWEST_INSIDE = 15.75e9
_AVERAGES = "avg_"
_COLLECTIVES = frozenset({"busbw", "avg_busbw", "algbw"})
_MOST_NODES = 1024
# Metrics that count what an option asks for.
_COUNTED = {
    "completed": ("num_prompts", "the number of requests that are sent"),
    "agreed": ("steps", "the number of steps that are replayed"),
}
_BITS = 8


@dataclass(frozen=True, slots=True)
class Reach:
    """The speed in the limit's unit: the share ``left`` of ``most``, the ceiling of ``what``."""

    most: float
    what: str
    left: float = 1.0


def reach(
    platform: Platform, measurement: Measurement, pairing: Pairing | None, limit: Limit
) -> Reach | None:
    """Return the speed of healthy hardware with large messages; ``None`` if it is unknown."""
    kind = dimension(limit.unit)
    option, what = _COUNTED.get(metric_of(limit), ("", ""))
    if asked := measurement.options.get(option):
        return Reach(float(str(asked)), what)
    if metric_of(limit) in _OF_TRAINING:
        return _of_data_sheet(limit, _TRAINING)
    if kind == "computing rate" or metric_of(limit) == "copy_bandwidth":
        return _of_data_sheet(limit, _COMPUTING if kind == "computing rate" else 1.0)
    return _carried(platform, measurement, pairing, limit) if kind == "bandwidth" else None


def _carried(
    platform: Platform, measurement: Measurement, pairing: Pairing | None, limit: Limit
) -> Reach | None:
    """The bandwidth of what carries the payload."""
    if measurement.victims:
        slowest = min(map(nic_ceiling_gbps, platform.fabric_nics))
        return Reach(convert(slowest, "Gb/s", limit.unit), "a NIC of the pair")
    if measurement.scope == Scope.PATH:
        return _over_path(platform, measurement, pairing, limit)
    if measurement.scope == Scope.NODE:
        return _inside(platform, measurement, limit)
    is_known = metric_of(limit) in _COLLECTIVES
    return _between(platform, measurement, pairing, limit) if is_known else None


def least_floor(
    platform: Platform,
    measurement: Measurement,
    pairing: Pairing | None,
    limit: Limit,
    size_bytes: int | None,
) -> float | None:
    """Return the lowest floor that still finds a fault, in the limit's unit; ``None`` if unknown.

    It is half of the reached speed. For smaller messages it falls with the size, because they take
    no longer than the smallest large one, but is at least a tenth of the speed with the derived
    overhead. For an average it is the average over its sizes.
    """
    of = (platform, measurement, pairing)
    if metric_of(limit) == "msg_rate" and size_bytes and measurement.scope == Scope.PATH:
        least = least_floor(*of, replace(_bandwidth(limit), metric="bw_average"), size_bytes)
        return None if least is None else convert(least / size_bytes, "1/s", limit.unit)
    found = reach(*of, limit)
    if found is None or (limit.over is None and metric_of(limit).startswith(_AVERAGES)):
        return None
    if limit.over is not None:
        one = replace(limit, over=None, metric=metric_of(limit).removeprefix(_AVERAGES))
        return fmean(least_floor(*of, one, size) or 0.0 for size in limit.over.sizes)
    half, reached = SHARE_MIN * found.left * found.most, found.left * found.most
    large = LINK_DECIDES_BYTES if measurement.scope == Scope.PATH else LINKS_DECIDE_BYTES
    if size_bytes is None or size_bytes >= large:
        return half
    overhead = _overhead(platform, measurement, limit, found.most)
    share = 1 / (1 + overhead / size_bytes)
    if share >= _ALMOST:
        return half
    return max(half * size_bytes / large, reached * share / TIMES_MAX)


def derived_time(
    platform: Platform,
    measurement: Measurement,
    pairing: Pairing | None,
    limit: Limit,
    size_bytes: int | None,
) -> float | None:
    """Return the time of a message by a budget, in the limit's unit; ``None`` if unknown."""
    if dimension(limit.unit) != "time" or size_bytes is None:
        return None
    metric = metric_of(limit)
    if measurement.scope == Scope.PATH and metric.startswith("lat_"):
        crossings = 2 if "read" in measurement.command else 1
        rate = _bytes_per_s(_over_path(platform, measurement, pairing, _bandwidth(limit)))
        seconds = crossings * _crossing_s(platform) * (_OUTLIER if metric in _OUTLIERS else 1)
    elif measurement.scope != Scope.PATH and metric == "time_us":
        found = reach(platform, measurement, pairing, replace(_bandwidth(limit), metric="algbw"))
        rate = _bytes_per_s(found) or _SLOWEST_INSIDE
        seconds = _steps_s(platform, measurement)
    else:
        return None
    return convert(seconds + (size_bytes / rate if rate else 0.0), "s", limit.unit)


def _bandwidth(limit: Limit) -> Limit:
    return replace(limit, unit="B/s", of="")


def _bytes_per_s(found: Reach | None) -> float:
    return found.most if found else 0.0


def _overhead(platform: Platform, measurement: Measurement, limit: Limit, most: float) -> float:
    """Return the bytes that the path would carry in the overhead time of a message."""
    if measurement.scope == Scope.PATH:
        return convert(most, limit.unit, "B/s") / _MESSAGES_PER_S
    ranks = gpus_per_node(platform, measurement) * (1 if measurement.scope == Scope.NODE else 2)
    factor = bus_factor(operation_of(measurement), ranks) if metric_of(limit) != "algbw" else 1.0
    return convert(most, limit.unit, "B/s") / (factor or 1.0) * _steps_s(platform, measurement)


def _steps_s(platform: Platform, measurement: Measurement) -> float:
    """Return the time of a small collective: chains inside the nodes, a tree between them."""
    inside = 2 * (gpus_per_node(platform, measurement) - 1) * _STEP_INSIDE_S
    nodes = {Scope.NODE: 1, Scope.GROUP: _MOST_NODES}.get(measurement.scope, 2)
    return inside + 2 * math.ceil(math.log2(nodes)) * _crossing_s(platform)


def _crossing_s(platform: Platform) -> float:
    return _CROSSING_S if _has_rdma(platform) else _CROSSING_SOCKETS_S


def _has_rdma(platform: Platform) -> bool:
    return any(nic.rdma for nic in platform.fabric_nics)


# --- the speed on each path ---


def _of_data_sheet(limit: Limit, left: float) -> Reach | None:
    """The speed of a GPU alone: the limit's ceiling is the value of its data sheet."""
    if limit.ceiling is None or isinstance(limit.ceiling, Curve):
        return None
    return Reach(limit.ceiling, "its own ceiling", left)


def _over_path(
    platform: Platform, measurement: Measurement, pairing: Pairing | None, limit: Limit
) -> Reach | None:
    most = physical_ceiling(platform, measurement, pairing, limit)
    if most is None or pairing is None:
        return None
    slot = slots_gbps(platform, 1) if pairing.gpu is not None else None
    if slot and (carried := convert(ways(measurement) * slot, "Gb/s", limit.unit)) < most:
        return Reach(carried, "the slot of the GPU", _PEER_READS)
    return Reach(most, pairing.nic, _PEER_READS if pairing.distance == "far" else 1.0)


def _inside(platform: Platform, measurement: Measurement, limit: Limit) -> Reach | None:
    metric = metric_of(limit)
    if metric in _COLLECTIVES:
        return _within_node(platform, measurement, limit)
    both = _BOTH_WAYS if "bidirectional" in metric else 1.0
    if metric.startswith(_OVER_SLOT):
        slot = slots_gbps(platform, 1)
        return Reach(convert(slot, "Gb/s", limit.unit), "the slot of a GPU", both) if slot else None
    if metric == _HEALTH_OF_NICS and platform.fabric_nics:
        least = min(map(nic_ceiling_gbps, platform.fabric_nics))
        return Reach(convert(least, "Gb/s", limit.unit), "a NIC")
    most = physical_ceiling(platform, measurement, None, limit)
    if metric.startswith(_OVER_LINKS):
        most = whole(platform, measurement, None, replace(limit, of=LINK))
    left = both * _left_inside(platform)
    return None if most is None else Reach(most, "the links of a GPU", left)


# Metrics of nvbandwidth and of Azure's checks.
_OVER_SLOT = ("host_to_device", "device_to_host")
_OVER_LINKS = ("device_to_device", "check_nccl_allreduce")
_HEALTH_OF_NICS = "check_ib_bw_gdr"


def _left_inside(platform: Platform) -> float:
    gpus = platform.gpus
    return _OVER_SLOTS if gpus and gpus.to_switch and is_slot(gpus.link_gb_per_s) else 1.0


def _within_node(platform: Platform, measurement: Measurement, limit: Limit) -> Reach | None:
    """The share of a collective over the links; a switch adds no slower than a ring over it."""
    gpus, ranks = platform.gpus, gpus_per_node(platform, measurement)
    if gpus is None or gpus.link_gb_per_s is None:
        slowest = convert(_SLOWEST_INSIDE, "B/s", limit.unit)
        return Reach(slowest, "the slowest way between two GPUs, PCIe 3.0 x16", _OVER_SLOTS)
    left, operation = _left_inside(platform), operation_of(measurement)
    if best := ideal(platform, measurement, None, limit):
        return Reach(best, "the ideal of the collective", left)
    if operation != "all_reduce" or ranks == 1:
        return None
    factor = bus_factor(operation, ranks) if metric_of(limit) == "algbw" else None
    most = convert(gpus.link_gb_per_s / (factor or 1.0), "GB/s", limit.unit)
    return Reach(most, "the links of a GPU", left)


def _between(
    platform: Platform, measurement: Measurement, pairing: Pairing | None, limit: Limit
) -> Reach | None:
    """The share of a collective over the NICs, or over the links of a node if those carry less."""
    counts = (3, _MOST_NODES) if measurement.scope == Scope.GROUP else (2,)
    found = [ideal(platform, measurement, pairing, limit, nodes) for nodes in counts]
    best = min((one for one in found if one is not None), default=None)
    if best is None:
        return None
    inside = _share_inside(platform, measurement)
    left = _MEETING if operation_of(measurement) == "alltoall" else _BETWEEN
    left = left if _has_rdma(platform) else _BY_CORES
    left *= _left_inside(platform) if inside < 1 else 1.0
    return Reach(best * inside, "the ideal of the collective", left)


def _share_inside(platform: Platform, measurement: Measurement) -> float:
    """The speed of the links between a node's GPUs as a share of that of its NICs, at most 1.

    Links that are not declared count as no slower than the NICs, except for a sendrecv, which uses
    one of them.
    """
    gpus, taking = platform.gpus, gpus_per_node(platform, measurement)
    is_one_link = operation_of(measurement) == "sendrecv"
    if gpus is None or taking == 1:
        return 1.0
    if gpus.link_gb_per_s is None and not is_one_link:
        return 1.0
    nics = [nic_ceiling_gbps(nic) / _BITS for nic in platform.fabric_nics]
    link = gpus.link_gb_per_s or convert(_SLOWEST_INSIDE, "B/s", "GB/s")
    links = 1 if gpus.to_switch or is_one_link else taking - 1
    return min(1.0, links * link / (max(nics) if is_one_link else sum(nics)))


def is_slot(link_gb_per_s: float | None, generations: Iterable[int] = PCIE_GTS) -> bool:
    """Whether the link of a GPU is its slot, because it has no other."""
    slots = (pcie_gbps(generation, 16) / _BITS for generation in generations)
    return link_gb_per_s is not None and any(abs(link_gb_per_s - one) < 1 for one in slots)
