"""What is unknown of each node after a run, and why. Pure; linear in the number of items.

A gate, an error or a stopped run leaves questions open, and a level does not ask all questions of
the declared hardware. Both are stated here, folded over nodes.

Example: the port of ``mlx5_0`` on ``mx02`` is down, so ``mx02`` was measured alone only. The line
is ``unknown of mx02: right results and speed of collectives with other nodes, GPU memory RDMA
over 2 pairings; blocked by link-down (mx02, mlx5_0)``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from railgauge.config.thresholds.model import Measurement
from railgauge.config.thresholds.storage import is_of_storage
from railgauge.core import naming
from railgauge.core.model import Outcome
from railgauge.core.question import TRAFFIC, TRANSPORT
from railgauge.core.terms import Rung, Scope
from railgauge.diagnosis.left_open.hidden import hidden
from railgauge.diagnosis.left_open.topics import COLLECTIVES, OWN, Topic, described
from railgauge.diagnosis.model import Cause, RunResults
from railgauge.diagnosis.whole import Diagnosis
from railgauge.judging.correctness import checks_results, has_right_results
from railgauge.judging.record import ItemRecord
from railgauge.launchers import LAUNCHED
from railgauge.planning.required import GPU, LINK

# The outcomes that leave an item's question open; the first one that a part has is reported.
_OPEN = (Outcome.ERROR, Outcome.BLOCKED, Outcome.NOT_RUN)
_MOST_REASONS = 3


@dataclass(frozen=True, slots=True)
class Unknown:
    """What is unknown of some nodes, in words, and why. ``nodes`` is a folded set of nodes."""

    nodes: str
    what: tuple[str, ...]
    why: str

    @property
    def place(self) -> str:
        """The nodes for display; items of no node are about the subnet."""
        return naming.shortened(self.nodes) if self.nodes else "the subnet"

    def __str__(self) -> str:
        return f"unknown of {self.place}: {', '.join(self.what)}; {self.why}"

    def to_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass(slots=True)
class _Part:
    """One part of a topic on a node: what was asked about it, answered, and left open."""

    asked: set[str]
    answered: set[str]
    open: dict[Outcome, ItemRecord]

    @property
    def left(self) -> ItemRecord | None:
        """The item that tells why the part is unknown; ``None`` if all was answered."""
        if self.asked <= self.answered:
            return None
        return next((self.open[outcome] for outcome in _OPEN if outcome in self.open), None)


def unknown(results: RunResults, diagnosis: Diagnosis) -> tuple[Unknown, ...]:
    """Return what the items of a run left open on each node: by node, then by reason.

    The results may have records of items that were not run, which tell nothing else.
    """
    records = _by_node(results)
    reasons = _Reasons.of(diagnosis.causes)
    lines: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for node in [*(node.name for node in results.cluster.nodes), ""]:
        # Node by node: a run that answered little has hundreds of open parts on each.
        for what, why in _of_node(_parts(node, records[node], results), reasons):
            lines.setdefault((what, why), []).append(node)
    for node, line in hidden(results, diagnosis):
        lines.setdefault(line, []).append(node)
    return tuple(folded(lines))


def folded(lines: Mapping[tuple[tuple[str, ...], str], Sequence[str]]) -> Iterator[Unknown]:
    """Make one line of what several nodes have in common."""
    for (what, why), nodes in lines.items():
        yield Unknown(naming.folded(filter(None, nodes)), what, why)


_Parts = dict[tuple[Topic, str], _Part]


def _by_node(results: RunResults) -> dict[str, list[ItemRecord]]:
    found: dict[str, list[ItemRecord]] = defaultdict(list)
    for record in results.records.values():
        for node in record.nodes or ("",):
            found[node].append(record)
    return found


def _parts(node: str, records: Iterable[ItemRecord], results: RunResults) -> _Parts:
    found: _Parts = {}
    for record in records:
        measurement = results.platform.measurements.get(record.subject)
        for topic in topics(record, measurement):
            key = (topic, _part(topic, record, node))
            part = found.setdefault(key, _Part(set(), set(), {}))
            _note(part, topic, record)
    return found


def _part(topic: Topic, record: ItemRecord, node: str) -> str:
    """The name of the part: a NIC, a pairing, a link, a fact; empty where the topic has none."""
    if topic is Topic.FACTS:
        return f"{record.subject} {record.pairing}"
    if topic in OWN:
        return record.subject
    return record.part_at(node) if node else record.pairing


def _note(part: _Part, topic: Topic, record: ItemRecord) -> None:
    part.asked.add(record.subject)
    if record.outcome not in _OPEN or (topic.is_of_results and has_right_results(record)):
        part.answered.add(record.subject)
    else:
        part.open.setdefault(record.outcome, record)


def topics(record: ItemRecord, measurement: Measurement | None) -> Iterator[Topic]:
    """Yield what an item is about; nothing for counters and logs, which belong to another item."""
    if record.rung == Rung.PREFLIGHT or measurement is None:
        yield Topic.FACTS
        return
    if {TRAFFIC, TRANSPORT}.intersection(record.ways):
        return
    if measurement.scope == Scope.PATH:
        yield Topic.PAIRINGS if measurement.memory == "gpu" else Topic.NICS
    elif measurement.rung == Rung.APPLICATION and measurement.scope != Scope.FABRIC:
        yield _application(measurement)
    elif measurement.tool in LAUNCHED:
        yield from COLLECTIVES[measurement.scope]
    elif LINK in record.ways:
        yield Topic.LINKS
    elif GPU in record.ways:
        yield Topic.COPIES
    else:
        yield Topic.OTHER


def _application(measurement: Measurement) -> Topic:
    if is_of_storage(measurement):
        return Topic.STORAGE
    return Topic.TRAINING if checks_results(measurement.tool) else Topic.SERVING


def _of_node(parts: _Parts, reasons: _Reasons) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what is unknown of one node, and why: once for errors, gates and what did not run."""
    left = {key: part.left for key, part in parts.items()}
    for outcome in _OPEN:
        open_ = {key: item for key, item in left.items() if item and item.outcome is outcome}
        if open_:
            yield tuple(described(open_)), reasons.why(outcome, open_.values())


@dataclass(frozen=True, slots=True)
class _Reasons:
    """The cause that shows or explains each item, in words, and the order of the causes."""

    shown: Mapping[str, str]
    order: Mapping[str, int]

    @classmethod
    def of(cls, causes: Sequence[Cause]) -> _Reasons:
        found: dict[str, str] = {}
        for cause in causes:
            for item in (*cause.evidence, *cause.explains):
                found.setdefault(item, f"{cause.cause} ({cause.where})")
        return cls(
            found, {words: place for place, words in enumerate(dict.fromkeys(found.values()))}
        )

    def why(self, outcome: Outcome, items: Iterable[ItemRecord]) -> str:
        if outcome is Outcome.BLOCKED:
            # Items of one node mostly have the same blockers: each list is read once.
            lists = dict.fromkeys(item.blocked_by or (item.reason,) for item in items)
            names = dict.fromkeys(self.name(one) for blockers in lists for one in blockers)
            return f"blocked by {self._listed(names)}"
        if outcome is Outcome.ERROR:
            kinds = (self.shown.get(one.id, one.error_kind or one.reason) for one in items)
            return f"not measured: {self._listed(kinds)}"
        return f"not run: {self._listed(item.reason for item in items)}"

    def _listed(self, reasons: Iterable[str]) -> str:
        """The reasons in the order of the causes, so that nodes with the same ones are alike."""
        known = sorted(dict.fromkeys(reasons), key=lambda one: self.order.get(one, len(self.order)))
        return naming.listed(known, _MOST_REASONS)

    def name(self, item_id: str) -> str:
        """The cause of an item; its own name if no cause has it."""
        return self.shown.get(item_id, item_id.rpartition("::")[2])
