"""Limits of counters and sensors that find no fault: growth, traffic, subnet, peers, GPUs. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator

from railgauge.config.thresholds.model import (
    PCIE_GTS,
    FabricLimits,
    GrowthLimit,
    Nic,
    Platform,
    Traffic,
)
from railgauge.config.thresholds.physics import nic_ceiling_gbps
from railgauge.config.thresholds.telemetry import Telemetry
from railgauge.stacks.sampling import POWER

# The InfiniBand and the PCI Express specification: the highest bit error rate of a link.
_BIT_ERRORS_MAX = 1e-12
# The slot of a GPU: none is faster than this on a platform of today.
_NEWEST, _LANES = 5, 16
# The payload of a packet of Ethernet over TCP.
PACKET_BYTES = 1448
_SECONDS = 3600
# A path that bypasses the NICs moves nothing over them; an idle NIC is 100 % below the mean of all.
# No packet is longer than 64 KiB, not even one that the driver merged.
_PAYLOAD_MIN, _PAYLOAD_MAX, _IDLE, _LONGEST_PACKET = 0.25, 100, 1.0, 2**16
_BEHIND_MAX = 0.5
# A GPU throttles far below this, and never draws twice its limit.
_HOTTEST, _POWER_MAX, _CLOCK_MIN, _SAMPLES_MIN = 125, 2, 0.5, 0.5

_Found = Iterator[tuple[str, str]]


def loose_counters(platform: Platform) -> _Found:
    """Yield the JSON pointer of each such limit, and how it is too loose."""
    for name, measurement in platform.measurements.items():
        where = f"/measurements/{name}"
        yield from _first(f"{where}/traffic", _of_traffic(measurement.traffic))
        yield from _first(f"{where}/fabric", _of_fabric(measurement.fabric))
    for name, growth in (platform.growth or {}).items():
        yield from _first(f"/growth/{name}", _of_growth(platform, name, growth))
    if platform.peers and platform.peers.behind_max > _BEHIND_MAX:
        says = f"a part may be {platform.peers.behind_max:.0%} behind its peers"
        yield "/peers", f"{says}, more than {_BEHIND_MAX:.0%}"
    if platform.telemetry:
        yield from _of_telemetry(platform, platform.telemetry)


def _first(pointer: str, found: Iterator[str]) -> _Found:
    for says in [*found][:1]:
        yield pointer, says


def _of_telemetry(platform: Platform, limits: Telemetry) -> _Found:
    """The limits of telemetry, compared with the values that are expected of the GPU's board."""
    clock, most = limits.clock, _expected(platform, "gpu_clock_max")
    if clock and most and clock.floor_mhz < _CLOCK_MIN * most * 0.999:
        yield "/telemetry/clock", f"floor {clock.floor_mhz:g} MHz is below half of {most:g} MHz"
    elif clock and clock.share < _SAMPLES_MIN:
        yield "/telemetry/clock", f"share {clock.share:g} leaves out more than half of the samples"
    power = _expected(platform, "gpu_power_limit")
    for what, limit in limits.most.items():
        highest = _HOTTEST if what != POWER else _POWER_MAX * power if power else math.inf
        if limit.value > highest:
            yield (
                f"/telemetry/{what.replace(' ', '_')}",
                f"ceiling {limit.value:g} is above {highest:g}",
            )


def _expected(platform: Platform, name: str) -> float | None:
    found = platform.expected.get(name)
    is_number = found is not None and isinstance(found.value, int | float)
    return (
        float(str(found.value))
        if found and is_number and found.rule in ("equals", "at_least")
        else None
    )


def _of_traffic(limit: Traffic | None) -> Iterator[str]:
    if limit is None:
        return
    least, most = limit.share
    if least < _PAYLOAD_MIN:
        yield f"share from {least:g} finds no path that bypasses the NICs: below {_PAYLOAD_MIN}"
    if most > _PAYLOAD_MAX:
        yield f"share to {most:g} finds no foreign traffic: above {_PAYLOAD_MAX}"
    if limit.spread is not None and limit.spread >= _IDLE:
        yield f"spread {limit.spread:g} finds no idle NIC, which is 100 % below the mean"
    if limit.devmem_packet is not None and limit.devmem_packet > _LONGEST_PACKET:
        yield f"devmem_packet {limit.devmem_packet}: no packet is longer than {_LONGEST_PACKET}"


def _of_fabric(limit: FabricLimits | None) -> Iterator[str]:
    if limit is None:
        return
    for counter, most in limit.most.items():
        if most > _ERRORS.get(counter, math.inf):
            yield f"{counter} {most:g} is above the {_ERRORS[counter]} of infiniband-diags"
    if limit.bit_error_rate is not None and limit.bit_error_rate > _BIT_ERRORS_MAX:
        rate = f"bit_error_rate {limit.bit_error_rate:g}"
        yield f"{rate} is above the {_BIT_ERRORS_MAX:g} of the InfiniBand specification"


# The thresholds of infiniband-diags (its file error_thresholds), for counters since a clearing.
_ERRORS = {
    **dict.fromkeys(("SymbolErrorCounter", "LinkErrorRecoveryCounter", "LinkDownedCounter"), 10),
    **dict.fromkeys(("PortRcvErrors", "LocalLinkIntegrityErrors"), 10),
    "ExcessiveBufferOverrunErrors": 10,
    **dict.fromkeys(("PortRcvRemotePhysicalErrors", "PortRcvSwitchRelayErrors"), 100),
    **dict.fromkeys(("PortXmitDiscards", "PortXmitConstraintErrors"), 100),
    **dict.fromkeys(("PortRcvConstraintErrors", "VL15Dropped"), 100),
}


def _of_growth(platform: Platform, name: str, limit: GrowthLimit) -> Iterator[str]:
    """Whether a group of counters may grow faster in an hour, or in a run, than is sound."""
    allowed = limit.ceiling if limit.ceiling is not None else limit.per_hour or 0.0
    most, why = _growth_max(platform, name)
    if allowed > math.ceil(most):
        yield f"{allowed:g} is above {math.ceil(most):g} an hour, {why}"


def _growth_max(platform: Platform, name: str) -> tuple[float, str]:
    links = max((nic_ceiling_gbps(nic) for nic in platform.nics), default=0.0)
    slots = max(map(_slot_gbps, platform.nics), default=0.0)
    standard = f"which a bit error rate of {_BIT_ERRORS_MAX:g} gives"
    if name in _OF_MEMORY:
        return 0.0, "for each such error lost data or replaced memory"
    if name in _OF_GPUS:
        return 100.0, "ten times what is derived for a good GPU (railgauge docs telemetry)"
    if name in _OF_SLOTS:
        of_gpu = PCIE_GTS[_NEWEST] * _LANES if platform.gpus else 0.0
        return max(slots, of_gpu) * 1e9 * _SECONDS * _BIT_ERRORS_MAX, standard
    if name in _OF_CONGESTION:
        return links * 1e9 / 8 / PACKET_BYTES * _SECONDS / 100, "a hundredth of all packets"
    return links * 1e9 * _SECONDS * _BIT_ERRORS_MAX, standard


def _slot_gbps(nic: Nic) -> float:
    speed, width = nic.pcie_link or (0.0, 0)
    return speed * width


_OF_MEMORY = {"gpu_ecc_uncorrected", "gpu_remapped_rows", "gpu_retired_pages", "pcie_uncorrected"}
_OF_GPUS = {"gpu_ecc_corrected", "gpu_link_errors"}
_OF_SLOTS = {"gpu_pcie_replays", "pcie_corrected"}
_OF_CONGESTION = {"congestion_notifications", "pause_frames", "rdma_receiver_not_ready"}
