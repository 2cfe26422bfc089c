"""Causes that a tool itself reports, although rung 0 missed nothing: lost devices, bad memory."""

from __future__ import annotations

from collections.abc import Iterator

from railgauge.core.errors import DeviceMissing
from railgauge.diagnosis.catalogue import CATALOGUE
from railgauge.diagnosis.facts.pattern import Pattern, between_nodes
from railgauge.diagnosis.model import CauseRule, Context, Finding, Where
from railgauge.diagnosis.symptoms import Symptom, blames, reported, symptoms, tool_of
from railgauge.judging.record import ItemRecord

_BY_PROBLEM = {
    problem: cause for cause, kind in CATALOGUE.items() for problem in kind.effect.problems
}
_PORT = "port-in-use"


def lost_devices(context: Context) -> Iterator[Finding]:
    """One finding for each node and NIC over which a tool found no RDMA device."""
    lost: dict[tuple[str, str], list[ItemRecord]] = {}
    for record in context.open:
        if record.error_kind == DeviceMissing.kind:
            node = record.error_where.partition(": ")[0]
            if node in record.nodes:  # an error that names no node blames none
                lost.setdefault((node, _nic(context, record, node)), []).append(record)
    for (node, nic), records in lost.items():
        yield Finding("nic-missing", Where(node, nic), records[0].reason, tuple(records))


def _nic(context: Context, record: ItemRecord, node: str) -> str:
    """The NIC of ``mlx5_0`` or ``gpu0-mlx5_0``; empty for an item that names no NIC."""
    name = record.part_at(node).rpartition("-")[2]
    return name if any(nic.name == name for nic in context.results.platform.nics) else ""


def reports(context: Context) -> Iterator[Finding]:
    """Faults that the tool's own message names: at the node, or among the nodes that share them."""
    shared: dict[str, list[ItemRecord]] = {}
    alone: dict[tuple[str, str, str], list[ItemRecord]] = {}
    for record in context.open:
        if cause := _reported(record):
            node = blames(record) or (record.nodes[0] if len(set(record.nodes)) == 1 else "")
            if node:
                device = tool_of(record) if cause == _PORT else ""
                alone.setdefault((cause, node, device), []).append(record)
            else:
                shared.setdefault(cause, []).append(record)
    for (cause, node, device), records in alone.items():
        yield Finding(cause, Where(node, device), records[0].reason, tuple(records))
    for cause, records in shared.items():
        yield from between_nodes(context, records, Pattern(cause, says=lambda seen: seen[0].reason))


def _reported(record: ItemRecord) -> str:
    """The cause that the item's error names; empty for all other items."""
    if not record.error_kind:
        return ""
    if symptoms(record) == {Symptom.PORT_TAKEN}:
        return _PORT
    problem = reported(record)
    return _BY_PROBLEM.get(problem, "") if problem else ""


RULES: tuple[CauseRule, ...] = (lost_devices, reports)
