"""Storage that does not deliver what the hostfile declares of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from railgauge.config.thresholds.storage import NODE_STORAGE
from railgauge.core.naming import folded
from railgauge.diagnosis.model import CauseClaim, Context, JudgedItem, Where, missed


def slow_storage(context: Context) -> Iterator[CauseClaim]:
    """One claim for each node and mount; one in all for a shared mount that is slow everywhere."""
    found: dict[str, dict[str, list[JudgedItem]]] = {}
    for record in context.about(NODE_STORAGE):
        for judged in missed(record):
            mount = judged.metric.partition("/")[2].rpartition("-")[0]
            found.setdefault(mount, {}).setdefault(record.nodes[0], []).append((record, judged))
    for mount, by_node in found.items():
        for node, items in _places(context, mount, by_node).items():
            says = "; ".join(dict.fromkeys(judged.reason for _, judged in items))
            evidence = {record.id: record for record, _ in items}
            yield CauseClaim("slow-storage", Where(node, mount), says, tuple(evidence.values()))


def _places(
    context: Context, mount: str, by_node: dict[str, list[JudgedItem]]
) -> dict[str, list[JudgedItem]]:
    declared = context.results.cluster.storage.get(mount)
    measured = {
        record.nodes[0]
        for record in context.results.records.values()
        if record.subject == NODE_STORAGE and record.judgements
    }
    if not (declared and declared.shared and len(measured) > 1 and measured == by_node.keys()):
        return by_node
    return {folded(by_node): [item for items in by_node.values() for item in items]}


RULES: tuple[Callable[[Context], Iterator[CauseClaim]], ...] = (slow_storage,)
