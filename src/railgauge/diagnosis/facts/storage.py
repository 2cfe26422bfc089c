"""Storage that does not deliver what the hostfile declares of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from railgauge.config.thresholds.storage import GROUP_STORAGE, NODE_GDS, NODE_STORAGE
from railgauge.core.naming import folded
from railgauge.core.storage import TOGETHER, StorageMount
from railgauge.core.terms import BESIDE_ROLES
from railgauge.diagnosis.model import CauseRule, Context, Finding, JudgedItem, Where, missed
from railgauge.judging.record import ItemRecord
from railgauge.tools.fio.parse import parse
from railgauge.tools.fio.together import SharedRun, shared_run

_OF_NODES = (NODE_STORAGE, NODE_GDS)


def slow_storage(context: Context) -> Iterator[Finding]:
    """One finding for each node and mount; one for a shared mount that is slow everywhere."""
    found: dict[str, dict[str, list[JudgedItem]]] = {}
    for record in context.about(*_OF_NODES):
        for judged in missed(record):
            mount = judged.metric.partition("/")[2].rpartition("-")[0]
            found.setdefault(mount, {}).setdefault(record.nodes[0], []).append((record, judged))
    for mount, by_node in found.items():
        for node, items in _places(context, mount, by_node).items():
            says = "; ".join(dict.fromkeys(judged.reason for _, judged in items))
            evidence = {record.id: record for record, _ in items}
            yield Finding("slow-storage", Where(node, mount), says, tuple(evidence.values()))


def _places(
    context: Context, mount: str, by_node: dict[str, list[JudgedItem]]
) -> dict[str, list[JudgedItem]]:
    declared = context.results.cluster.storage.get(mount)
    measured = {
        record.nodes[0]
        for record in context.results.records.values()
        if record.subject in _OF_NODES and record.judgements
    }
    if not (declared and declared.shared and len(measured) > 1 and measured == by_node.keys()):
        return by_node
    return {folded(by_node): [item for items in by_node.values() for item in items]}


def shared_storage(context: Context) -> Iterator[Finding]:
    """What all nodes at once found on a shared mount: wrong blocks, slow clients, too little."""
    declared = context.results.cluster.storage.items()
    mounts = [(name, one) for name, one in declared if one.together]
    for record in context.about(GROUP_STORAGE) if mounts else ():
        shared = _SharedItem(record, *mounts[0], _runs(context, record))
        yield from shared.wrong()
        yield from shared.slow()


BlockCheck = tuple[str, str]
"""The node that wrote a file, and the one that read it."""
_ENDS = (0, 1)


@dataclass(frozen=True, slots=True)
class _SharedItem:
    """One item about a shared mount, and what each repeat of it shows."""

    record: ItemRecord
    name: str
    mount: StorageMount
    runs: tuple[SharedRun, ...]

    def wrong(self) -> Iterator[Finding]:
        """Wrong blocks: the nodes that write or read wrong data, or the mount."""
        reason = self._missed().get("corrupt")
        if reason:
            wrong = {pair for run in self.runs for pair, errors in run.errors.items() if errors}
            every = {pair for run in self.runs for pair in run.errors}
            for node in corrupting(self.record.nodes, wrong, every) or [""]:
                yield self._finding("storage-corruption", node, reason)

    def slow(self) -> Iterator[Finding]:
        """The slow clients; the mount itself if too little comes and no client is slow."""
        missed, clients = self._missed(), dict[str, list[str]]()
        for way in TOGETHER:
            for run in self.runs if f"fairness_{way}" in missed else ():
                for node in run.slow_clients(way, self.mount.fairness):
                    clients.setdefault(node, []).append(_described(run, way, node))
        for node, says in clients.items():
            yield self._finding("slow-client", node, "; ".join(says))
        slow = [missed[name] for name in map("shared_{}".format, TOGETHER) if name in missed]
        if slow and not clients:
            yield self._finding("slow-storage", folded(self.record.nodes), "; ".join(slow))

    def _missed(self) -> dict[str, str]:
        """The reason of each metric that missed its limit."""
        return {judged.metric: judged.reason for judged in missed(self.record)}

    def _finding(self, cause: str, node: str, says: str) -> Finding:
        return Finding(cause, Where(node, self.name), says, (self.record,))


def corrupting(nodes: Sequence[str], wrong: set[BlockCheck], every: set[BlockCheck]) -> list[str]:
    """The nodes of which all files, or all that they read, are wrong, as others do not explain.

    Between two nodes that write wrong data one that reads both finds all of it wrong: what it finds
    is theirs, because each of them alone explains what another one finds.
    """
    ends = {
        (node, end): {one for one in every if one[end] == node} for node in nodes for end in _ENDS
    }
    blamed = {end: checks for end, checks in ends.items() if len(checks) > 1 and checks <= wrong}
    by = Counter(check for checks in blamed.values() for check in checks)
    alone = (node for (node, _), found in blamed.items() if any(by[one] == 1 for one in found))
    return list(dict.fromkeys(alone))


def _described(run: SharedRun, way: str, node: str) -> str:
    rates = run.rates[way]
    middle = median(rates.values())
    return f"{way} {rates[node]:.4g} MB/s while all nodes do, whose median is {middle:.4g} MB/s"


def _runs(context: Context, record: ItemRecord) -> tuple[SharedRun, ...]:
    case = record.questions[0].case if record.questions else None
    result = context.results.kept(case) if case else None
    sides = [
        {one.node: parse(one.stdout) for one in run if one.role not in BESIDE_ROLES}
        for run in (result.runs if result else ())
    ]
    return tuple(map(shared_run, sides))


RULES: tuple[CauseRule, ...] = (slow_storage, shared_storage)
