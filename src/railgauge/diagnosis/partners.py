"""Choose the nodes that a suspect is measured with. Pure.

A good node has no problem that is not explained by a cause elsewhere. Where the suspect lacks a
good node, one with a cause of its own will do, if that cause cannot reach the measurement: a node
behind a closed gate because a GPU link is down can still show which of two NICs is slow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from railgauge.core.model import Outcome
from railgauge.diagnosis import OPEN, UNDIAGNOSED, Cause, RunResults, nodes_of
from railgauge.diagnosis.effects import EFFECTS, Harm
from railgauge.diagnosis.model import GOOD
from railgauge.diagnosis.over_paths import has_rate
from railgauge.diagnosis.reach import can_reach
from railgauge.judging.record import ItemRecord

_DIFFERENCES = frozenset({"hardware-differs", "version-mismatch", "cpus-offline"})
_PAIR = 2
_PARTNERS = 2  # the path to a single partner could be faulty


def good_nodes(
    results: RunResults, causes: Iterable[Cause], harmless: Sequence[Cause] = ()
) -> tuple[str, ...]:
    """The nodes whose problems all have a cause elsewhere, in the order of the hostfile.

    Those that reached a limit with another node come first: the others may be slow. The nodes of
    the ``harmless`` causes count as good, and those of causes that make no measurement go wrong,
    such as versions of which nobody said which one is right.
    """
    suspects: set[str] = set()
    explained: set[str] = set()
    for cause in causes:
        if cause not in harmless and _reaches(cause) and not _is_of_groups(results, cause):
            suspects |= _named(cause)
        if cause.where.node and cause.cause != UNDIAGNOSED:
            explained |= {*cause.evidence, *cause.explains}
    for record in results.records.values():
        unexplained = record.outcome not in GOOD and record.id not in explained
        if unexplained and record.outcome is not Outcome.RECORD_ONLY:
            suspects |= set(record.nodes)
    names = [node.name for node in results.cluster.nodes if node.name not in suspects]
    proven = _proven(results) if names else set()
    return tuple(sorted(names, key=lambda name: name not in proven))


def _is_of_groups(results: RunResults, cause: Cause) -> bool:
    """Whether only collectives of more than two nodes show it, which suspect none in particular."""
    shown = [results.records[item] for item in cause.evidence if item in results.records]
    groups = [record for record in shown if len(set(record.nodes)) > _PAIR]
    return cause.confidence == OPEN and bool(shown) and len(groups) == len(shown)


def _proven(results: RunResults) -> set[str]:
    """The nodes of pairs that reached the limit of a rate."""
    pairs = (r for r in results.records.values() if len(set(r.nodes)) == _PAIR)
    return {name for r in pairs if r.outcome in GOOD and has_rate(r) for name in r.nodes}


def _reaches(cause: Cause) -> bool:
    """Whether the cause can make any measurement of its nodes go wrong, or fail."""
    effect = EFFECTS.get(cause.cause)
    return effect is None or bool(effect.reach) or effect.harm is Harm.UNMEASURED


def spare_nodes(
    results: RunResults,
    causes: Sequence[Cause],
    record: ItemRecord,
    harmless: Collection[str] = (),
) -> tuple[str, ...]:
    """The nodes with causes of their own, none of which can reach a measurement like this item.

    A faulty path can only if both of its nodes take part. Causes named in ``harmless`` cannot.
    """
    elsewhere = [
        cause
        for cause in causes
        if cause.cause in harmless
        or not (
            set(record.nodes) & _named(cause)
            if cause.where.peer
            else can_reach(cause, record, results.platform)
        )
    ]
    near = {name for cause in causes if cause not in elsewhere for name in _named(cause)}
    return tuple(name for name in good_nodes(results, causes, elsewhere) if name not in near)


def stand_ins(
    results: RunResults, causes: Sequence[Cause], record: ItemRecord, met: Collection[str] = ()
) -> tuple[str, ...]:
    """Nodes to measure a suspect of this item with where no good node is left, the best first.

    Spare nodes, then those that passed this measurement over this pairing, those that merely differ
    from others in memory, CPUs or versions, and suspects of other causes. A suspect that is fast
    with one of them is fine.
    """
    same = [r for r in results.records.values() if r.subject == record.subject]
    over = [r for r in same if r.pairing == record.pairing and has_rate(r)]
    proven = {node for r in over if r.outcome in GOOD for node in r.nodes}
    decided = [cause for cause in causes if cause.confidence != OPEN]
    ordered = (
        *spare_nodes(results, causes, record),
        *(node.name for node in results.cluster.nodes if node.name in proven),
        *spare_nodes(results, causes, record, _DIFFERENCES),
        *_unnamed(results, decided),
    )
    return tuple(n for n in dict.fromkeys(ordered) if n not in met and n not in record.nodes)


def _unnamed(results: RunResults, causes: Iterable[Cause]) -> Iterator[str]:
    """The nodes that none of the causes names."""
    named = {name for cause in causes for name in _named(cause)}
    return (node.name for node in results.cluster.nodes if node.name not in named)


def _named(cause: Cause) -> set[str]:
    return nodes_of(cause.where.node) | ({cause.where.peer} - {""})


def partners(
    records: Mapping[str, ItemRecord], suspect: str, subject: str, good: Sequence[str]
) -> Sequence[str]:
    """Up to two good nodes, first those not yet measured with.

    They are those that passed this measurement; if none did, those that it was planned for.
    """
    same = [record for record in records.values() if record.subject == subject]
    able = {node for record in same if record.outcome in GOOD for node in record.nodes}
    met = {node for record in same if suspect in record.nodes for node in record.nodes}
    planned = {node for record in same for node in record.nodes} - {suspect}
    fit = [node for node in good if node in able] or [node for node in good if node in planned]
    return sorted(fit, key=met.__contains__)[:_PARTNERS]
