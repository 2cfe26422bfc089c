"""One record of a run: what became of each test item. Every report reads it, none keeps its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from railgauge.model import Judgement, Outcome

_ORDER = list(Outcome)


@dataclass(frozen=True, slots=True)
class ItemRecord:
    """One test item: what it is about, what came of it, and on what evidence.

    ``subject`` is the measurement or expectation of the platform file; ``transcript`` a path
    below the run's folder; ``blocked_by`` the ids of items on lower rungs. ``pairing`` is the part
    of the node: a GPU/NIC pairing, a GPU, a NIC, a link, or the fact that is compared.
    ``error_where`` names node and tool of an error.
    """

    id: str
    rung: int
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

    @property
    def asserted(self) -> bool:
        """Whether a value was compared with a limit that counts."""
        return self.outcome in (Outcome.PASSED, Outcome.MARGINAL, Outcome.FAILED)

    def to_json(self) -> dict[str, Any]:
        """Only simple types: records travel between processes."""
        data = asdict(self)
        data["outcome"] = str(self.outcome)
        data["judgements"] = [_judgement_json(judgement) for judgement in self.judgements]
        return {k: list(v) if isinstance(v, tuple) else v for k, v in data.items()}


def _judgement_json(judgement: Judgement) -> dict[str, Any]:
    data = asdict(judgement)
    plain = {"outcome": str(judgement.outcome), "values": list(judgement.values)}
    return {**data, **plain, "points_at": [list(part) for part in judgement.points_at]}


def from_json(data: Mapping[str, Any]) -> ItemRecord:
    """The record that ``to_json`` was made of."""
    judgements = tuple(_judgement(one) for one in data["judgements"])
    return ItemRecord(
        **{
            **data,
            "outcome": Outcome(data["outcome"]),
            "nodes": tuple(data["nodes"]),
            "blocked_by": tuple(data["blocked_by"]),
            "judgements": judgements,
        }
    )


def _judgement(data: Mapping[str, Any]) -> Judgement:
    typed = {"outcome": Outcome(data["outcome"]), "values": tuple(data["values"])}
    return Judgement(**{**data, **typed, "points_at": tuple(map(tuple, data["points_at"]))})


def worst_of(judgements: Sequence[Judgement]) -> Outcome:
    """The outcome of an item with these judgements; without any there is nothing to pass on."""
    return max((j.outcome for j in judgements), key=_ORDER.index, default=Outcome.ERROR)


def merged(earlier: ItemRecord | None, later: ItemRecord) -> ItemRecord:
    """What counts when an item ran twice: the worse of both, and never simply passed.

    A retry that passes is flaky; one that could not tell does not undo a failure.
    """
    if earlier is None:
        return later
    good = (Outcome.PASSED, Outcome.MARGINAL)
    if later.outcome in good and earlier.outcome not in good:
        reason = f"passed only when run again; first: {earlier.reason or earlier.outcome}"
        return replace(later, outcome=Outcome.FLAKY, reason=reason)
    return max(later, earlier, key=lambda record: _ORDER.index(record.outcome))
