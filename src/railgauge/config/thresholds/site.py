"""A platform as one cluster has it: what the hostfile says in place of the platform file."""

from __future__ import annotations

from dataclasses import replace

from railgauge.config.thresholds.model import Measurement, Platform
from railgauge.config.thresholds.versions import with_versions
from railgauge.core.model import Cluster

# What a platform file writes in place of a name that only the hostfile knows.
OF_HOSTFILE = "{model}"


def on_site(platform: Platform, cluster: Cluster, where: str) -> Platform:
    """With the versions and the served model of ``cluster``. ``where`` is the hostfile.

    Raises ``BadInput`` where the platform file declares another version.
    """
    return with_versions(with_model(platform, cluster.model), cluster.versions, where)


def with_model(platform: Platform, model: str) -> Platform:
    """The platform with ``model`` wherever its measurements leave the name to the hostfile.

    Nothing changes if ``model`` is empty.
    """
    if not model:
        return platform
    named = {name: _naming(one, model) for name, one in platform.measurements.items()}
    return replace(platform, measurements=named)


def lacking_model(platform: Platform) -> tuple[str, ...]:
    """The measurements that cannot be made before a model is named."""
    return tuple(name for name, one in platform.measurements.items() if _is_open(one))


def _naming(measurement: Measurement, model: str) -> Measurement:
    if not _is_open(measurement):
        return measurement
    return replace(measurement, options={**measurement.options, "model": model})


def _is_open(measurement: Measurement) -> bool:
    return measurement.options.get("model") == OF_HOSTFILE
