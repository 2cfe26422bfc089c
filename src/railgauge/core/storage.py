"""Storage that a hostfile declares, and what each figure of it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class StorageFigure:
    """What of a mount is measured: ``metric`` of fio in ``unit``, and the fio job that shows it."""

    metric: str
    unit: str
    job: str


FIGURES: Mapping[str, StorageFigure] = {
    "write_mb_per_s": StorageFigure("bandwidth_write", "MB/s", "write"),
    "read_mb_per_s": StorageFigure("bandwidth_read", "MB/s", "read"),
    "random_write_iops": StorageFigure("iops_write", "1/s", "randwrite"),
    "random_read_iops": StorageFigure("iops_read", "1/s", "randread"),
    "creates_per_s": StorageFigure("creates", "1/s", "create"),
    "stats_per_s": StorageFigure("stats", "1/s", "stat"),
    "deletes_per_s": StorageFigure("deletes", "1/s", "delete"),
}
"""The figures that a mount may declare, in the order in which they are measured."""


TOGETHER = {way: f"together_{way}_mb_per_s" for way in ("write", "read")}
"""The figures of all nodes at once, by the way that the data go."""


GDS = {way: f"gds_{way}_gib_per_s" for way in ("write", "read")}
"""The figures between the mount and a GPU's memory (GPUDirect Storage), by the same way."""


@dataclass(frozen=True, slots=True)
class StorageMount:
    """A declared path. ``least`` is what it must deliver to one node, by the name of the figure.

    ``size_mib`` is how much one job writes, ``seconds`` how long a job takes, ``files`` how many
    files the jobs of metadata use. ``basis`` is where the figures come from. ``together`` is what
    a node gets on average while all use it, ``write`` and ``read`` in MB/s, and ``fairness`` the
    least share of the median that one of them gets. ``gds`` is what one GPU, of number ``gds_gpu``,
    must get by GPUDirect Storage, in GiB/s.
    """

    path: str
    basis: str
    shared: bool = False
    size_mib: int = 4096
    seconds: int = 10
    files: int = 10_000
    least: Mapping[str, float] = field(default_factory=dict)
    together: Mapping[str, float] = field(default_factory=dict)
    fairness: float = 0.0
    gds: Mapping[str, float] = field(default_factory=dict)
    gds_gpu: int = 0
