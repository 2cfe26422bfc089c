"""The measurements of the storage that a hostfile declares; without its section there are none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from railgauge.config.thresholds.model import (
    LEVELS,
    SIGNOFF,
    Assertion,
    Extent,
    Measurement,
    Platform,
)
from railgauge.config.thresholds.physics import slots_gbps
from railgauge.core.limits import Basis, Limit
from railgauge.core.storage import FIGURES, GDS, StorageMount
from railgauge.core.terms import Rung, Scope
from railgauge.core.units import convert

NODE_STORAGE, NODE_GDS, GROUP_STORAGE = "node_storage", "node_gds", "group_storage"
_READ_AS_WRITTEN = Basis("derived", "What one node wrote, every other node must read as it is.")
_PHASES = 6
# Blocks are counted; a margin is a share of its limit, which can so not be 0.
_NONE = 0.5
# A path that is slower than this is waited for no longer: a job writes its file once, and removes
# it; what a disk of one spindle does.
_SLOWEST_MIB_PER_S = 50
_SLOWEST_FILES_PER_S = 100
_START_S = 30
_OF_METADATA = ("creates_per_s", "stats_per_s", "deletes_per_s")


def with_storage(platform: Platform, mounts: Mapping[str, StorageMount]) -> Platform:
    """Return the platform with the measurements of these mounts."""
    made = [_of_nodes(mounts)] if any(one.least for one in mounts.values()) else []
    made += [_of_gpus(mounts, platform)] if any(one.gds for one in mounts.values()) else []
    made += [_of_all(name, one) for name, one in mounts.items() if one.together]
    return replace(
        platform, measurements={**platform.measurements, **{one.name: one for one in made}}
    )


def _of_nodes(mounts: Mapping[str, StorageMount]) -> Measurement:
    declared = {name: one for name, one in mounts.items() if one.least}
    limits = tuple(
        _limit(name, figure, least, one.basis)
        for name, one in declared.items()
        for figure, least in one.least.items()
    )
    return Measurement(
        name=NODE_STORAGE,
        rung=Rung.APPLICATION,
        tool="fio",
        command="fio",
        memory="host",
        asserts=tuple(Assertion(limit.metric, "run") for limit in limits),
        extents={level: Extent((), "all", 3 if level == SIGNOFF else 1) for level in LEVELS},
        limits=limits,
        time_limit_s=_START_S + sum(map(_longest_s, declared.values())),
        typical_s=1 + sum(map(_usual_s, declared.values())),
        options={"mounts": {name: _asked(one) for name, one in declared.items()}},
        scope=Scope.NODE,
    )


def _of_gpus(mounts: Mapping[str, StorageMount], platform: Platform) -> Measurement:
    """Between each declared path and the memory of a GPU, whose slot carries all of it."""
    slot = slots_gbps(platform, 1)
    ceiling = None if slot is None else convert(slot, "Gb/s", "GiB/s")
    declared = {name: one for name, one in mounts.items() if one.gds}
    limits = tuple(
        Limit(
            metric=f"bandwidth_{way}/{name}-{way}",
            unit="GiB/s",
            floor=least,
            ceiling=ceiling,
            basis=Basis("hostfile", one.basis),
            pointer=f"/storage/{name}/{GDS[way]}",
        )
        for name, one in declared.items()
        for way, least in one.gds.items()
    )
    seconds = sum(len(one.gds) * one.seconds for one in declared.values())
    fills_s = sum(one.size_mib for one in declared.values()) / _SLOWEST_MIB_PER_S
    return Measurement(
        name=NODE_GDS,
        rung=Rung.APPLICATION,
        tool="gdsio",
        command="gdsio",
        memory="gpu",
        asserts=tuple(Assertion(limit.metric, "run") for limit in limits),
        extents={level: Extent((), "all", 3 if level == SIGNOFF else 1) for level in LEVELS},
        limits=limits,
        time_limit_s=_START_S * (len(limits) + len(declared)) + seconds + fills_s,
        typical_s=5 + seconds,
        options={
            "mounts": {
                name: {
                    **{"path": one.path, "size_mib": one.size_mib, "seconds": one.seconds},
                    **{"gpu": one.gds_gpu, "ways": list(one.gds), "shared": one.shared},
                }
                for name, one in declared.items()
            }
        },
        scope=Scope.NODE,
    )


def is_of_storage(measurement: Measurement) -> bool:
    """Return whether it measures the storage that a hostfile declares."""
    return "mounts" in measurement.options


def shared_paths(measurement: Measurement) -> tuple[str, ...]:
    """Return the shared paths that a measurement uses; a second one would slow both down."""
    asked = mounts_of(measurement).values()
    return tuple(str(one["path"]) for one in asked if one.get("shared"))


def mounts_of(measurement: Measurement) -> Mapping[str, Mapping[str, Any]]:
    """Return what is asked of each mount, by its name."""
    asked = measurement.options.get("mounts")
    return asked if isinstance(asked, dict) else {}


def _asked(one: StorageMount) -> dict[str, object]:
    """What fio is asked of a mount, as plain data."""
    sizes = {"path": one.path, "size_mib": one.size_mib, "seconds": one.seconds, "files": one.files}
    return {**sizes, "shared": one.shared, "figures": list(one.least)}


def _of_all(name: str, mount: StorageMount) -> Measurement:
    """All nodes at once: what a node gets on average, the fairness, and no wrong block."""
    limits = []
    for way, least in mount.together.items():
        basis = Basis("hostfile", mount.basis)
        pointer = f"/storage/{name}/together_{way}_mb_per_s"
        limits.append(Limit(f"shared_{way}", "MB/s", least, None, basis, pointer=pointer))
        fair = f"/storage/{name}/fairness"
        limits.append(Limit(f"fairness_{way}", "1", mount.fairness, None, basis, pointer=fair))
    limits.append(
        Limit("corrupt", "count", None, _NONE, _READ_AS_WRITTEN, pointer=f"/storage/{name}")
    )
    lays_out = 3 * mount.size_mib / _SLOWEST_MIB_PER_S
    return Measurement(
        name=GROUP_STORAGE,
        rung=Rung.APPLICATION,
        tool="fio",
        command="fio",
        memory="host",
        asserts=tuple(Assertion(limit.metric, "run") for limit in limits),
        extents={level: Extent((), "all", 1) for level in LEVELS},
        limits=tuple(limits),
        time_limit_s=_PHASES * _START_S + 2 * mount.seconds + lays_out,
        typical_s=5 + 2 * mount.seconds,
        options={"together": True, "mounts": {name: _asked(mount)}},
        scope=Scope.GROUP,
    )


def _limit(mount: str, figure: str, least: float, basis: str) -> Limit:
    metric, unit = FIGURES[figure].metric, FIGURES[figure].unit
    return Limit(
        metric=f"{metric}/{mount}-{FIGURES[figure].job}",
        unit=unit,
        floor=least,
        ceiling=None,
        basis=Basis("hostfile", basis),
        pointer=f"/storage/{mount}/{figure}",
    )


def _longest_s(one: StorageMount) -> float:
    metadata = sum(name in one.least for name in _OF_METADATA)
    timed = len(one.least) - metadata
    lays_out = one.size_mib / _SLOWEST_MIB_PER_S if timed else 0
    return timed * (one.seconds + lays_out) + (1 + metadata) * one.files / _SLOWEST_FILES_PER_S


def _usual_s(one: StorageMount) -> float:
    return sum(1 if name in _OF_METADATA else one.seconds for name in one.least)
