"""The platform of one cluster: values of the hostfile replace those of the platform file."""

from __future__ import annotations

from dataclasses import replace

from railgauge.config.thresholds.model import Expectation, Measurement, Platform
from railgauge.config.thresholds.perftest import with_perftest
from railgauge.config.thresholds.storage import with_storage
from railgauge.config.thresholds.versions import with_versions
from railgauge.core.devices import DeviceNames
from railgauge.core.limits import Basis
from railgauge.core.model import Cluster
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

    If ``model`` is empty, the platform is returned unchanged.
    """
    if not model:
        return platform
    named = {name: _naming(one, model) for name, one in platform.measurements.items()}
    return replace(platform, measurements=named)


def lacking_model(platform: Platform) -> tuple[str, ...]:
    """Return the names of the measurements that still need the name of a model."""
    return tuple(name for name, one in platform.measurements.items() if _is_open(one))


def _naming(measurement: Measurement, model: str) -> Measurement:
    if not _is_open(measurement):
        return measurement
    return replace(measurement, options={**measurement.options, "model": model})


def _is_open(measurement: Measurement) -> bool:
    return measurement.options.get("model") == OF_HOSTFILE
