"""A platform as one cluster has it: values of the hostfile replace those of the platform file."""

from __future__ import annotations

from dataclasses import replace

from railgauge.config.thresholds.model import Measurement, Platform
from railgauge.config.thresholds.versions import with_versions
from railgauge.core.model import Cluster

# A platform file has this where the hostfile gives the name of the model.
OF_HOSTFILE = "{model}"


def on_site(platform: Platform, cluster: Cluster, where: str) -> Platform:
    """Return the platform with the versions and the served model of ``cluster``.

    ``where`` is the hostfile. Raises ``BadInput`` if the platform file declares another version.
    """
    return with_versions(with_model(platform, cluster.model), cluster.versions, where)


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
