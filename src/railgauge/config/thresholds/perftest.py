"""The settings of perftest that a site's network needs, from its hostfile."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields, replace
from typing import Any

from railgauge.config.thresholds.model import Expectation, Measurement, Platform
from railgauge.core.limits import Basis
from railgauge.core.model import PerftestSettings

DMA_BUF = "dma-buf"
PEER_MODULES = ("nvidia_peermem", "nv_peer_mem", "amdgpu_peermem", "ib_peer_mem")
_BASIS = Basis("hostfile", "perftest registers GPU memory by DMA-BUF, which needs no peer memory")
_MODULES = ("kernel_module", "boot_module")


def with_perftest(platform: Platform, settings: PerftestSettings) -> Platform:
    """Return the platform whose perftest measurements have the site's settings as options.

    With ``dmabuf`` the nodes need DMA-BUF in place of a peer-memory module.
    """
    measured = {n: _set(m, settings) for n, m in platform.measurements.items()}
    platform = replace(platform, measurements=measured)
    return _by_dmabuf(platform) if settings.dmabuf else platform


def _set(measurement: Measurement, settings: PerftestSettings) -> Measurement:
    if measurement.tool != "perftest":
        return measurement
    given: dict[str, Any] = {
        one.name: value
        for one in fields(settings)
        if (value := getattr(settings, one.name)) not in (None, False)
    }
    if measurement.memory != "gpu":
        given.pop("dmabuf", None)
    return replace(measurement, options={**measurement.options, **given})


def _by_dmabuf(platform: Platform) -> Platform:
    expected, reasons = dict(platform.expected), dict(platform.not_applicable)
    if "peer_memory" in expected:
        expected["peer_memory"] = Expectation(
            "peer_memory", "contains", [DMA_BUF], _BASIS, "/perftest/dmabuf"
        )
    for name in _MODULES:
        wanted = expected[name].value if name in expected else ()
        if not isinstance(wanted, Collection) or not set(PEER_MODULES).intersection(wanted):
            continue
        if rest := [module for module in wanted if module not in PEER_MODULES]:
            expected[name] = replace(expected[name], value=rest)
        else:
            del expected[name]
            reasons[name] = "Only the peer-memory module is required, and DMA-BUF needs none."
    return replace(platform, expected=expected, not_applicable=reasons)
