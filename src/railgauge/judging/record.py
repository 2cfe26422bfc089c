"""The record of a run: the result of each test item, which all reports read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from railgauge.core.codec import from_plain, to_plain
from railgauge.core.errors import NoEvidence, RailgaugeError
from railgauge.core.model import Judgement, Outcome
from railgauge.core.question import Question
from railgauge.core.terms import Rung

# One line an item, written when the item ends; each line holds ``SCHEMA_VERSION``.
FILE = "records.jsonl"
SCHEMA_VERSION = 2

# The kind of an error of the suite itself.
OWN_ERROR = "bug"

_ORDER = list(Outcome)


def line(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a line of ``records.jsonl`` holds."""
    return {"schema_version": SCHEMA_VERSION, **item}


@dataclass(frozen=True, slots=True)
class EarlierOutcome:
    """The result of an item in an earlier run, kept beside that of a later one."""

    run: str
    outcome: Outcome
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ItemRecord:
    """One test item: its subject, its outcome, and its evidence.

    ``subject`` is the measurement or expectation of the platform file; ``transcript`` a path below
    the run's folder; ``blocked_by`` the ids of items on lower rungs. ``pairing`` is the part of the
    node: a GPU/NIC pairing, a GPU, a NIC, a link, or the fact that is compared. ``error_where`` is
    the node and tool of an error, ``NODE: TOOL``. ``questions`` are the item's questions, in order;
    ``by_evidence`` means that its outcome follows from them and the evidence alone. ``ways`` are
    the kinds of its questions, known before it runs. ``beside`` is the error of a failed item of
    which a part could not be judged; empty for other items. ``earlier`` holds failures of the item
    in the runs that this one continues.
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
    beside: str = ""
    earlier: tuple[EarlierOutcome, ...] = ()

    def part_at(self, node: str) -> str:
        """The part of ``node``: its end of a path between two rails, else ``pairing``."""
        ends = self.pairing.split(":")
        if len(self.nodes) != len(ends) or node not in self.nodes:
            return self.pairing
        return ends[self.nodes.index(node)]

    @property
    def member(self) -> str:
        """The subject with a dash, as the id of an item of a family has it before the place."""
        words = self.id.partition("[")[2]
        return f"{self.subject}-" if words.startswith(f"{self.subject}-") else ""

    @property
    def asserted(self) -> bool:
        """Whether a value was compared with a limit that counts."""
        return self.outcome in (Outcome.PASSED, Outcome.MARGINAL, Outcome.FAILED)

    def to_json(self) -> dict[str, Any]:
        """The record in plain JSON types, since records are passed between processes."""
        plain: dict[str, Any] = to_plain(self)
        return plain


def from_json(data: Mapping[str, Any], where: str = "") -> ItemRecord:
    """The record that ``to_json`` was made of. Raises ``BadInput`` for anything else."""
    return from_plain(ItemRecord, data, where)


def measurement(item: ItemRecord, judgement: Judgement) -> dict[str, Any]:
    """The line of ``measurements.jsonl`` for a judgement of an item, without its stamp."""
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
    """The item without any result, as before it ran."""
    return replace(
        item,
        outcome=Outcome.ERROR,
        judgements=(),
        reason="",
        error_kind="",
        error_where="",
        remedy="",
        by_evidence=False,
        beside="",
        earlier=(),
    )


def settled(
    begun: ItemRecord, judgements: Sequence[Judgement], error: NoEvidence | None
) -> ItemRecord:
    """The item with its outcome, from its judgements and the error that ended it.

    A failed judgement outranks an error, and an error outranks a judgement that is record only.
    """
    known: dict[str, Any] = {"judgements": tuple(judgements), "by_evidence": True}
    failed = [judged for judged in judgements if judged.outcome is Outcome.FAILED]
    if failed:
        reason, beside = "; ".join(j.reason for j in failed), str(error) if error else ""
        return replace(begun, **known, outcome=Outcome.FAILED, reason=reason, beside=beside)
    if error is not None:
        return with_error(replace(begun, **known), error)
    if any(judged.outcome is Outcome.RECORD_ONLY for judged in judgements):
        reason = record_only(judgements)
        return replace(begun, **known, outcome=Outcome.RECORD_ONLY, reason=reason)
    reason = "; ".join(judged.reason for judged in judgements if judged.reason)
    return replace(begun, **known, outcome=worst_of(judgements), reason=reason)


def record_only(judgements: Sequence[Judgement]) -> str:
    return "record only: " + "; ".join(f"{j.metric} {j.measured}" for j in judgements)


def with_error(item: ItemRecord, error: RailgaugeError) -> ItemRecord:
    """The item with the outcome ``error``, and the error's reason and remedy."""
    return replace(
        item,
        outcome=Outcome.ERROR,
        reason=f"{error.where}: {error.what}" if error.where else error.what,
        error_kind=error.kind,
        error_where=error.where,
        remedy=error.remedy,
    )


def worst_of(judgements: Sequence[Judgement]) -> Outcome:
    """The worst outcome of the judgements; ``error`` without any."""
    return worst(judged.outcome for judged in judgements)


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The worst of these outcomes; ``error`` without any."""
    return max(outcomes, key=_ORDER.index, default=Outcome.ERROR)


def merged(earlier: ItemRecord | None, later: ItemRecord) -> ItemRecord:
    """The record that counts when an item ran twice: the one with the worse outcome.

    If the first did not pass and the second did, the outcome is ``flaky``.
    """
    if earlier is None or earlier.outcome is Outcome.NOT_RUN:
        return later
    good = (Outcome.PASSED, Outcome.MARGINAL)
    if later.outcome in good and earlier.outcome not in good:
        reason = f"passed only when run again; first: {earlier.reason or earlier.outcome}"
        return replace(later, outcome=Outcome.FLAKY, reason=reason)
    return max(later, earlier, key=lambda record: _ORDER.index(record.outcome))


_COUNT = (Outcome.FAILED, Outcome.FLAKY)


def with_earlier(item: ItemRecord, before: Iterable[tuple[str, ItemRecord]]) -> ItemRecord:
    """The item with the failures that earlier runs found of it; ``before`` has the runs by name.

    Its outcome is the worst of all, and its reason names each. A failure that is still there is
    reported once.
    """
    for run, old in before:
        if old.outcome in _COUNT and not _is_found(item, old):
            item = _beside(item, run, old)
    return item


def _is_found(item: ItemRecord, old: ItemRecord) -> bool:
    """Whether each failure of the earlier run is also one of the item."""
    return bool(failed := _missed(old)) and not failed.keys() - _missed(item).keys()


def _missed(item: ItemRecord) -> dict[tuple[object, ...], Judgement]:
    wrong = (judged for judged in item.judgements if judged.outcome is Outcome.FAILED)
    return {(judged.metric, judged.points_at): judged for judged in wrong}


def _beside(item: ItemRecord, run: str, old: ItemRecord) -> ItemRecord:
    known = _missed(item)
    more = [judged for key, judged in _missed(old).items() if key not in known]
    earlier = f"{old.outcome} in {run}{_because(old)}"
    is_worse = _ORDER.index(old.outcome) > _ORDER.index(item.outcome)
    own = item.reason if item.earlier else f"now {item.outcome}{_because(item)}"
    return replace(
        blank(item) if is_worse else item,
        outcome=old.outcome if is_worse else item.outcome,
        judgements=(*item.judgements, *(replace(j, reason=f"{run}: {j.reason}") for j in more)),
        reason=f"{earlier}; {own}",
        by_evidence=item.by_evidence,
        beside=item.reason if is_worse and item.outcome is Outcome.ERROR else item.beside,
        blocked_by=() if is_worse else item.blocked_by,
        earlier=(*item.earlier, EarlierOutcome(run, old.outcome, old.reason)),
    )


def _because(item: ItemRecord) -> str:
    return f": {item.reason}" if item.reason else ""
