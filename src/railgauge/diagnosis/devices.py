"""Devices that a tool asked for in vain, and that nothing on rung 0 has missed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from railgauge.core.errors import DeviceMissing
from railgauge.diagnosis.model import CauseClaim, Scene, Where
from railgauge.judging.record import ItemRecord


def lost_devices(scene: Scene) -> Iterator[CauseClaim]:
    """One claim for each node and NIC over which a tool found no RDMA device."""
    lost: dict[tuple[str, str], list[ItemRecord]] = {}
    for record in scene.open:
        if record.error_kind == DeviceMissing.kind:
            node = record.error_where.partition(": ")[0]
            if node in record.nodes:  # an error that names nobody is nobody's
                lost.setdefault((node, _nic(scene, record, node)), []).append(record)
    for (node, nic), records in lost.items():
        yield CauseClaim("nic-missing", Where(node, nic), records[0].reason, tuple(records))


def _nic(scene: Scene, record: ItemRecord, node: str) -> str:
    """The node's NIC, of ``mlx5_0`` or ``gpu0-mlx5_0``; none for an item that is about no NIC."""
    name = record.part_at(node).rpartition("-")[2]
    return name if any(nic.name == name for nic in scene.results.platform.nics) else ""


RULES: tuple[Callable[[Scene], Iterator[CauseClaim]], ...] = (lost_devices,)
