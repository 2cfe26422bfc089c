"""The section ``growth`` of a platform file: how much each group of counters may grow in a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from railgauge.config.thresholds.basis import basis_of
from railgauge.config.thresholds.counter_groups import GROUPS, CounterGroup
from railgauge.config.thresholds.model import GrowthLimit, Nic
from railgauge.core.errors import ThresholdError
from railgauge.stacks import stack


def read_growth(
    entry: Mapping[str, Any] | None, vendor: str, nics: Sequence[Nic], path: str
) -> Mapping[str, GrowthLimit] | None:
    """Return the limit of each group, in the order of ``GROUPS``; ``None`` without the section.

    The order of the file does not count: redacted files have another one. Counters of NICs are
    those of the fabric's. Raises ``ThresholdError`` for a group that no declared device has, and
    for counters that the tool of the GPUs' vendor does not show.
    """
    if entry is None:
        return None
    where = f"{path}: $/growth"
    fabric = [nic for nic in nics if nic.fabric]
    if not entry:
        raise ThresholdError("has no limit, so that nothing would be judged", where=where)
    if unknown := [name for name in entry if name not in GROUPS]:
        what = f"no such group of counters: {', '.join(unknown)}"
        raise ThresholdError(what, where=where, remedy=f"known: {', '.join(GROUPS)}")
    for name in entry:
        _refuse_unseen(GROUPS[name], vendor, fabric, f"{where}/{name}")
    named = (name for name in GROUPS if name in entry)
    return {name: _limit(entry[name], f"{where}/{name}") for name in named}


def _limit(entry: Mapping[str, Any], where: str) -> GrowthLimit:
    if ("ceiling" in entry) == ("per_hour" in entry):
        raise ThresholdError("needs either ceiling or per_hour", where=where)
    basis = basis_of(entry)
    return GrowthLimit(entry.get("ceiling"), entry.get("per_hour"), basis)


def some_device_has(group: CounterGroup, vendor: str, nics: Sequence[Nic]) -> bool:
    """Whether GPUs of a vendor (empty for none), or a NIC, have the counters of a group."""
    of_nics = group.of_nics
    return bool(group.of_gpus and vendor) or (of_nics is not None and any(map(of_nics, nics)))


def is_shown(group: CounterGroup, vendor: str) -> bool:
    """Whether they can be read: those of GPUs alone by the vendor's tool, the others by Linux."""
    return group.of_nics is not None or group.name in _shown(vendor)


def _refuse_unseen(group: CounterGroup, vendor: str, nics: Sequence[Nic], where: str) -> None:
    if not some_device_has(group, vendor, nics):
        raise ThresholdError("no declared device has these counters", where=where)
    if not is_shown(group, vendor):
        what = f"railgauge knows no tool of {vendor} that shows these counters"
        raise ThresholdError(what, where=where, remedy="leave the group out")


def _shown(vendor: str) -> Collection[str]:
    counters = stack(vendor).counters
    return counters.groups if counters else ()
