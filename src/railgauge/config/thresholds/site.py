"""The platform of one cluster: values of the hostfile replace those of the platform file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from typing import Any

from railgauge.config.thresholds.model import Expectation, Measurement, Platform
from railgauge.config.thresholds.storage import with_storage
from railgauge.core.devices import DeviceNames
from railgauge.core.errors import BadInput
from railgauge.core.limits import Basis
from railgauge.core.model import ALL_MODELS, Cluster, PerftestSettings
from railgauge.core.terms import LaunchWay, Scope
from railgauge.launchers import LAUNCHED

# The placeholder in platform files for the model that the hostfile names.
OF_HOSTFILE = "{model}"

NODE_LOGIN = "node_login"
_BY_SSH = Basis("hostfile", "launch: ssh has the first node of a collective log in to the others")


def on_site(platform: Platform, cluster: Cluster, where: str) -> Platform:
    """Return the platform with the values that the hostfile of ``cluster`` sets.

    They are the versions, the served model, perftest's settings, the names of devices, the logins
    between nodes and the storage.

    ``where`` is the hostfile. Raises ``BadInput`` if the platform file declares another version.
    """
    served = with_perftest(with_model(platform, cluster.model), cluster.perftest)
    stored = with_storage(served, cluster.storage)
    named = replace(stored, devices=DeviceNames(cluster.devices))
    return with_versions(with_logins(named, cluster), cluster.versions, where)


def with_logins(platform: Platform, cluster: Cluster) -> Platform:
    """Return the platform with the expectation that nodes can log in where collectives need it."""
    if cluster.launch != LaunchWay.SSH or len(cluster.nodes) == 1 or not _launches(platform):
        return platform
    wanted = Expectation(NODE_LOGIN, "equals", [], _BY_SSH, "/launch")
    return replace(platform, expected={**platform.expected, NODE_LOGIN: wanted})


def _launches(platform: Platform) -> bool:
    """Whether a launcher starts ranks on several nodes at once for this platform."""
    made = platform.measurements.values()
    return any(m.tool in LAUNCHED and m.scope in (Scope.PAIR, Scope.GROUP) for m in made)


def with_model(platform: Platform, model: str) -> Platform:
    """Return the platform with ``model`` in all measurements that take it from the hostfile.

    Without a model the platform has none of these: the report lists them, with that reason.
    """
    made = {
        name: _naming(one, model)
        for name, one in platform.measurements.items()
        if model or not _is_open(one)
    }
    return replace(platform, measurements=made, model=model)


def _naming(measurement: Measurement, model: str) -> Measurement:
    if not _is_open(measurement):
        return measurement
    return replace(measurement, options={**measurement.options, "model": model})


def _is_open(measurement: Measurement) -> bool:
    return measurement.options.get("model") == OF_HOSTFILE


# --- versions, which the platform file leaves to each site ---

# The expectations of a version: these names are allowed under ``versions`` in a hostfile.
VERSIONS = (
    "kernel", "os", "bios", "ofed", "nic_firmware", "gpu_driver", "gpu_runtime", "gpu_vbios",
    "gpu_kernel_module", "gpu_fabric_manager", "collective_library",
)  # fmt: skip

_DECLARED_BY_HOSTFILE = Basis("hostfile", "the cluster's hostfile declares this version")


def with_versions(
    platform: Platform, versions: Mapping[str, Mapping[str, str]], where: str
) -> Platform:
    """Return the platform with an expectation of exactly each version that the cluster declares.

    ``versions`` maps name -> model of the device (``*`` for all) -> version. A declared version
    replaces an expectation that all nodes have the same one, and an entry of ``not_applicable``.
    ``where`` is the hostfile. Raises ``BadInput`` if the platform file declares another version.
    """
    declared = {name: _declared(name, wanted) for name, wanted in versions.items()}
    for name in versions:
        own = platform.expected.get(name)
        if own and own.rule in _EXACT and (own.rule, own.value) != _rule(versions[name]):
            raise BadInput(
                f"versions.{name} is {declared[name].value}, the platform file has {own.value}",
                where=where,
                remedy=f"declare it in one of the two; the other is {platform.path}",
            )
    reasons = {k: why for k, why in platform.not_applicable.items() if k not in declared}
    return replace(platform, expected={**platform.expected, **declared}, not_applicable=reasons)


_EXACT = ("equals", "one_of", "by_model")


def _declared(name: str, wanted: Mapping[str, str]) -> Expectation:
    return Expectation(name, *_rule(wanted), _DECLARED_BY_HOSTFILE, f"/versions/{name}")


def _rule(wanted: Mapping[str, str]) -> tuple[str, object]:
    if wanted.keys() == {ALL_MODELS}:
        return "equals", wanted[ALL_MODELS]
    return "by_model", dict(wanted)


# --- the settings of perftest that the site's network needs ---

DMA_BUF = "dma-buf"
PEER_MODULES = ("nvidia_peermem", "nv_peer_mem", "amdgpu_peermem", "ib_peer_mem")
_BY_DMA_BUF = Basis(
    "hostfile", "perftest registers GPU memory by DMA-BUF, which needs no peer memory"
)
_MODULES = ("kernel_module", "boot_module")


def with_perftest(platform: Platform, settings: PerftestSettings) -> Platform:
    """Return the platform whose perftest measurements have the site's settings as options.

    With ``dmabuf`` the nodes need DMA-BUF in place of a peer-memory module.
    """
    measured = {n: _set(m, settings) for n, m in platform.measurements.items()}
    platform = replace(platform, measurements=measured)
    return _by_dmabuf(platform) if settings.dmabuf else platform


def _set(measurement: Measurement, settings: PerftestSettings) -> Measurement:
    if measurement.tool not in ("perftest", "congestion"):
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
            "peer_memory", "contains", [DMA_BUF], _BY_DMA_BUF, "/perftest/dmabuf"
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
