"""Versions that a hostfile declares, because the platform file leaves them to each site."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from railgauge.config.thresholds.model import Expectation, Platform
from railgauge.core.errors import BadInput
from railgauge.core.limits import Basis
from railgauge.core.model import ALL_MODELS

# The expectations of a version: these names are allowed under ``versions`` in a hostfile.
VERSIONS = (
    "kernel", "os", "bios", "ofed", "nic_firmware", "gpu_driver", "gpu_runtime", "gpu_vbios",
    "gpu_kernel_module", "gpu_fabric_manager", "collective_library",
)  # fmt: skip

_BASIS = Basis("hostfile", "the cluster's hostfile declares this version")


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
        if own and own.rule in _SAID and (own.rule, own.value) != _rule(versions[name]):
            raise BadInput(
                f"versions.{name} is {declared[name].value}, the platform file has {own.value}",
                where=where,
                remedy=f"declare it in one of the two; the other is {platform.path}",
            )
    reasons = {k: why for k, why in platform.not_applicable.items() if k not in declared}
    return replace(platform, expected={**platform.expected, **declared}, not_applicable=reasons)


_SAID = ("equals", "one_of", "by_model")


def _declared(name: str, wanted: Mapping[str, str]) -> Expectation:
    return Expectation(name, *_rule(wanted), _BASIS, f"/versions/{name}")


def _rule(wanted: Mapping[str, str]) -> tuple[str, object]:
    if wanted.keys() == {ALL_MODELS}:
        return "equals", wanted[ALL_MODELS]
    return "by_model", dict(wanted)
