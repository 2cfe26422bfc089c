"""The items of the nodes' GPUs, from the samples that were kept with each measurement. Pure.

A node whose GPUs were not measured has no item, or one that is *not run* if measurements of them
were requested. If the samples of one measurement cannot be read, the item is an error, unless other
samples show that a limit was missed. In a merged run the samples of all its runs count, also those
of measurements that a later run made again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace

from railgauge.core.errors import NoEvidence
from railgauge.core.model import Case
from railgauge.core.naming import title
from railgauge.diagnosis import RunResults
from railgauge.facts import NodeFacts
from railgauge.judging.record import ItemRecord, settled
from railgauge.judging.telemetry import ITEMS, Watched, judged, watched
from railgauge.verdict.unanswered import never_ran


@dataclass(slots=True)
class _OfGpus:
    """What was found on one node so far: its first error, and how many there are.

    Only the first error is kept, because its traceback keeps the read outputs in memory.
    """

    watched: list[Watched] = field(default_factory=list)
    error: NoEvidence | None = None
    errors: int = 0

    def add(self, error: NoEvidence) -> None:
        self.error = self.error or error
        self.errors += 1


def made_of(results: RunResults) -> Iterator[ItemRecord]:
    """Return the record of each node's GPUs; none if the platform does not ask for them.

    Each case's evidence is read once, since it holds the samples of all its nodes.
    """
    if results.platform.telemetry is None:
        return
    nodes = {node.name: _OfGpus() for node in results.cluster.nodes}
    for run, part in (results.parts or {"": results}).items():
        _watch(nodes, part, f" in {run}" if run else "")
    asked = _asked(results)
    for node, of in nodes.items():
        if node in asked:
            yield _item(node, of, results)


def _watch(nodes: Mapping[str, _OfGpus], results: RunResults, where: str) -> None:
    """Add what the samples of a run show; ``where`` names the run if there are several."""
    boots = {node: _boots(node, results) for node in nodes}
    for case in _cases(results):
        kept = results.kept(case)
        for number, run in enumerate(kept.runs if kept else (), 1):
            shown = title(case) if case.repeats == 1 else f"run {number} of {title(case)}"
            for node in nodes.keys() & set(case.nodes):
                try:
                    found = watched(node, shown + where, run, results.platform, boots[node])
                    nodes[node].watched.append(found)
                except NoEvidence as error:
                    nodes[node].add(error)


def _item(node: str, of: _OfGpus, results: RunResults) -> ItemRecord:
    begun = ITEMS.begun(node)
    if not of.watched and not of.errors:
        why = "none of the measurements that load its GPUs was made"
        return never_ran(replace(begun, questions=()), why)
    judgements, error = judged(node, of.watched, results.platform) if of.watched else ((), None)
    return settled(begun, judgements, _first(of) or error)


def _first(of: _OfGpus) -> NoEvidence | None:
    """The first error, with the number of the others."""
    first = of.error
    if first is None or of.errors == 1:
        return first
    what = f"{first.what}; and {of.errors - 1} more measurements without samples"
    return type(first)(what, where=first.where, remedy=first.remedy)


def _asked(results: RunResults) -> Set[str]:
    """The nodes with an item of a measurement that loads GPUs."""
    records = results.records.values()
    return {n for one in records if results.platform.samples(one.subject) for n in one.nodes}


def _cases(results: RunResults) -> dict[Case, None]:
    """The cases whose GPUs are sampled, in the order of their items."""
    return {
        case: None
        for record in results.records.values()
        for question in record.questions
        for case in (question.case, question.other)
        if case and results.platform.samples(case.measurement)
    }


def _boots(node: str, results: RunResults) -> frozenset[str]:
    """The ids of the node's boots in this run and in those that it resumes."""
    found = results.found.get(node)
    own = {found.boot_id} if isinstance(found, NodeFacts) and found.boot_id else set()
    marks = {mark.boot_id for mark in results.marks if mark.node == node}
    reboots = {b for r in results.reboots if r.node == node for b in (r.was, r.now)}
    return frozenset(own | marks | reboots)
