"""One record of a run: what became of each test item. Every report reads it, none keeps its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from railgauge.core.errors import NoEvidence, RailgaugeError
from railgauge.core.model import Judgement, Outcome
from railgauge.core.plain import from_plain, to_plain
from railgauge.core.question import Question
from railgauge.core.terms import Rung

# One line an item, written as it ends; ``SCHEMA_VERSION`` stands in each.
FILE = "records.jsonl"
SCHEMA_VERSION = 2

# The kind of an error that is nobody's but the suite's.
OWN_ERROR = "bug"
# One line a judgement, written as it is made.
MEASUREMENTS = "measurements.jsonl"

_ORDER = list(Outcome)


@dataclass(frozen=True, slots=True)
class ItemRecord:
    """One test item: what it is about, what came of it, and on what evidence.

    ``subject`` is the measurement or expectation of the platform file; ``transcript`` a path
    below the run's folder; ``blocked_by`` the ids of items on lower rungs. ``pairing`` is the part
    of the node: a GPU/NIC pairing, a GPU, a NIC, a link, or the fact that is compared.
    ``error_where`` names node and tool of an error. ``questions`` are what the item asked, in
    order; ``by_evidence`` says that its outcome follows from them and the evidence alone. ``ways``
    are those in which it would ask for its subject, known before it does.
    """

    id: str
    rung: Rung
    subject: str
    title: str
    outcome: Outcome
    nodes: tuple[str, ...] = ()
    pairing: str = ""
    size_bytes: int | None = None
    judgements: tuple[Judgement, ...] = ()
    reason: str = ""
    error_kind: str = ""
    error_where: str = ""
    remedy: str = ""
    blocked_by: tuple[str, ...] = ()
    transcript: str = ""
    duration_s: float = 0.0
    questions: tuple[Question, ...] = ()
    by_evidence: bool = False
    ways: tuple[str, ...] = ()

    def part_at(self, node: str) -> str:
        """The part of this node: its own end of a path between two rails, else ``pairing``."""
        ends = self.pairing.split(":")
        if len(self.nodes) != len(ends) or node not in self.nodes:
            return self.pairing
        return ends[self.nodes.index(node)]

    @property
    def asserted(self) -> bool:
        """Whether a value was compared with a limit that counts."""
        return self.outcome in (Outcome.PASSED, Outcome.MARGINAL, Outcome.FAILED)

    def to_json(self) -> dict[str, Any]:
        """Only simple types: records travel between processes."""
        plain: dict[str, Any] = to_plain(self)
        return plain


def from_json(data: Mapping[str, Any], where: str = "") -> ItemRecord:
    """The record that ``to_json`` was made of. Raises ``BadInput`` for anything else."""
    return from_plain(ItemRecord, data, where)


def measurement(item: ItemRecord, judgement: Judgement) -> dict[str, Any]:
    """The line of ``measurements.jsonl`` that a judgement of an item makes, without its stamp."""
    line: dict[str, Any] = {
        "id": item.id,
        "subject": item.subject,
        "nodes": item.nodes,
        "pairing": item.pairing,
        "size_bytes": item.size_bytes,
        "metric": judgement.metric,
        "unit": judgement.unit,
        "better": judgement.better,
        "values": judgement.values,
        "measured": judgement.measured,
        "limit": judgement.limit,
        "basis": judgement.basis,
        "floor": judgement.floor,
        "ceiling": judgement.ceiling,
        "physical_ceiling": judgement.physical_ceiling,
        "ideal": judgement.ideal,
        "margin": judgement.margin,
        "outcome": str(judgement.outcome),
        "pointer": judgement.pointer,
        "not_shown": judgement.not_shown,
    }
    return line


def blank(item: ItemRecord) -> ItemRecord:
    """An item as it was before anything was known of it but what it is about."""
    return replace(
        item,
        outcome=Outcome.ERROR,
        judgements=(),
        reason="",
        error_kind="",
        error_where="",
        remedy="",
        by_evidence=False,
    )


def settled(
    begun: ItemRecord, judgements: Sequence[Judgement], error: NoEvidence | None
) -> ItemRecord:
    """What became of an item, from its judgements and from what could not be judged alone.

    A missed limit is not hidden by another metric that could not be judged, nor an error by a
    record that does not count.
    """
    item = replace(begun, judgements=tuple(judgements), by_evidence=True)
    failed = [judged for judged in judgements if judged.outcome is Outcome.FAILED]
    if failed:
        return replace(item, outcome=Outcome.FAILED, reason="; ".join(j.reason for j in failed))
    if error is not None:
        return with_error(item, error)
    if any(judged.outcome is Outcome.RECORD_ONLY for judged in judgements):
        return replace(item, outcome=Outcome.RECORD_ONLY, reason=record_only(judgements))
    reason = "; ".join(judged.reason for judged in judgements if judged.reason)
    return replace(item, outcome=worst_of(judgements), reason=reason)


def record_only(judgements: Sequence[Judgement]) -> str:
    return "record only: " + "; ".join(f"{j.metric} {j.measured}" for j in judgements)


def with_error(item: ItemRecord, error: RailgaugeError) -> ItemRecord:
    """An item of which nothing can be told, and why."""
    return replace(
        item,
        outcome=Outcome.ERROR,
        reason=f"{error.where}: {error.what}" if error.where else error.what,
        error_kind=error.kind,
        error_where=error.where,
        remedy=error.remedy,
    )


def worst_of(judgements: Sequence[Judgement]) -> Outcome:
    """The outcome of an item with these judgements; without any there is nothing to pass on."""
    return max((j.outcome for j in judgements), key=_ORDER.index, default=Outcome.ERROR)


def merged(earlier: ItemRecord | None, later: ItemRecord) -> ItemRecord:
    """What counts when an item ran twice: the worse of both, and never simply passed.

    A retry that passes is flaky; one that could not tell does not undo a failure.
    """
    if earlier is None or earlier.outcome is Outcome.NOT_RUN:
        return later
    good = (Outcome.PASSED, Outcome.MARGINAL)
    if later.outcome in good and earlier.outcome not in good:
        reason = f"passed only when run again; first: {earlier.reason or earlier.outcome}"
        return replace(later, outcome=Outcome.FLAKY, reason=reason)
    return max(later, earlier, key=lambda record: _ORDER.index(record.outcome))
