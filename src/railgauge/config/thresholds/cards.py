"""The highest rates of known cards, to find a declared rate that no card of the model has. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from railgauge.config.thresholds.model import Nic, Platform

# Model -> (Gb/s of a port, PCIe generation): the adapters' user manuals; the generations are those
# of the device table of the Linux kernel's mlx5 driver.
_NICS: Mapping[str, tuple[float, int]] = {
    "MT4103": (56, 3),  # ConnectX-3 Pro
    "MT4113": (56, 3),  # Connect-IB
    "MT4115": (100, 3),  # ConnectX-4
    "MT4117": (50, 3),  # ConnectX-4 Lx
    "MT4119": (100, 3),  # ConnectX-5
    "MT4121": (100, 4),  # ConnectX-5 Ex
    "MT4123": (200, 4),  # ConnectX-6
    "MT4125": (200, 4),  # ConnectX-6 Dx
    "MT4127": (50, 4),  # ConnectX-6 Lx
    "MT4129": (400, 5),  # ConnectX-7
    "MT41682": (100, 4),  # BlueField
    "MT41686": (200, 4),  # BlueField-2
    "MT41692": (400, 5),  # BlueField-3
    "gVNIC": (200, 5),
}
# Model -> (GB/s of a link one way, whether it goes to a switch): thresholds/shared/datasheets.json.
_GPUS: Mapping[str, tuple[float, bool]] = {
    "NVIDIA H100 80GB HBM3": (450, True),
    "NVIDIA H200": (450, True),
    "NVIDIA B200": (900, True),
    "NVIDIA L40S": (31.5, True),
    "AMD Instinct MI300X": (64, False),
    "AMD Instinct MI325X": (64, False),
}
# Line encoding leaves at least 8 of 10 bits. Less would lower the ceiling of every limit.
_ENCODED_MIN = 0.8
_NEAR = 0.01


def undeclarable(platform: Platform) -> Iterator[str]:
    """Yield a message for each declared rate that no card of its model has."""
    for nic in platform.nics:
        yield from _of_nic(nic)
    gpus = platform.gpus
    known = _GPUS.get(gpus.model, (0.0, False))[0] if gpus else 0.0
    if gpus and gpus.link_gb_per_s and known and abs(gpus.link_gb_per_s / known - 1) > _NEAR:
        yield (
            f"/hardware/gpus/link: {gpus.link_gb_per_s:g} GB/s, but a link of {gpus.model} "
            f"carries {known:g} GB/s one way"
        )


def with_known_link(platform: Platform) -> Platform:
    """Return the platform with the link of its GPUs, if it is known and not declared."""
    gpus = platform.gpus
    if gpus is None or gpus.link_gb_per_s is not None or gpus.model not in _GPUS:
        return platform
    rate, to_switch = _GPUS[gpus.model]
    return replace(platform, gpus=replace(gpus, link_gb_per_s=rate, to_switch=to_switch))


def _of_nic(nic: Nic) -> Iterator[str]:
    where = f"/hardware/nics/{nic.name}"
    if nic.data_rate_gbps > nic.rate_gbps:
        yield (
            f"{where}: data_rate_gbps {nic.data_rate_gbps:g} is above its rate_gbps of "
            f"{nic.rate_gbps:g}: line encoding takes a part of it, and adds nothing"
        )
    if nic.data_rate_gbps < _ENCODED_MIN * (1 - _NEAR) * nic.rate_gbps:
        yield (
            f"{where}: data_rate_gbps {nic.data_rate_gbps:g} is below {_ENCODED_MIN:.0%} of its "
            f"rate_gbps of {nic.rate_gbps:g}, which every line encoding leaves"
        )
    rate, generation = _NICS.get(nic.model, (nic.rate_gbps, nic.pcie_generation))
    if nic.rate_gbps > rate * (1 + _NEAR):
        yield f"{where}: rate_gbps {nic.rate_gbps:g}, but no {nic.model} is faster than {rate:g}"
    if nic.pcie_generation and generation and nic.pcie_generation > generation:
        yield (f"{where}: PCIe generation {nic.pcie_generation}, but {nic.model} has {generation}")
