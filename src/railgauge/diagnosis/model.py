"""A cause, and the scene that a rule looks at: what went wrong, and all that is known beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from railgauge.config.thresholds.model import Platform
from railgauge.core.model import Cluster, Judgement, Outcome
from railgauge.core.naming import shortened
from railgauge.core.terms import Rung
from railgauge.facts import FactsByNode, NodeFacts
from railgauge.facts.boot import Reboot
from railgauge.judging.confirmation import Confirmed
from railgauge.judging.record import ItemRecord

CERTAIN, LIKELY, OPEN = "certain", "likely", "open"
WENT_WRONG = frozenset({Outcome.FAILED, Outcome.ERROR})


@dataclass(frozen=True, slots=True)
class Where:
    """The faulty part: a node, a device of it, and for a path between two nodes the other one.

    ``node`` is empty where the cause lies in no single node, and a NodeSet (``mx[01-04]``) where
    one setting is wrong on several. Where the evidence does not decide it is ``mx01|mx02``, and
    again a NodeSet if those are more than a few.
    """

    node: str
    device: str = ""
    peer: str = ""

    def __str__(self) -> str:
        node = shortened(self.node)
        path = f"{node} and {self.peer}" if self.peer else node or "the cluster"
        return f"{path}, {self.device}" if self.device else path


@dataclass(frozen=True, slots=True)
class CauseClaim:
    """What a rule found: a cause by name, where, why it thinks so, and the items that show it.

    ``confidence`` is ``certain`` (a fact or a counter says it), ``likely`` (the pattern of the
    measurements does) or ``open`` (the evidence does not decide; ``would_decide`` would).
    """

    cause: str
    where: Where
    says: str
    evidence: tuple[ItemRecord, ...]
    confidence: str = CERTAIN
    would_decide: str = ""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What came of measuring the suspects again: in a word, and a line for each measurement."""

    state: str
    seen: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"state": self.state, "seen": list(self.seen)}


@dataclass(frozen=True, slots=True)
class Cause:
    """One root cause as reports show it and ``verdict.json`` holds it.

    ``evidence`` are the ids of the items that show it, ``explains`` those of the items above it
    that went wrong or were blocked because of it. ``passes`` and ``misses`` tell rung by rung what
    still reaches its limits on the node and what does not.
    """

    cause: str
    where: Where
    says: str
    evidence: tuple[str, ...]
    explains: tuple[str, ...]
    confidence: str
    would_decide: str
    remedy: str
    basis: str
    passes: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()
    confirmation: Confirmation | None = None

    def to_json(self) -> dict[str, Any]:
        where = {"node": self.where.node, "device": self.where.device, "peer": self.where.peer}
        return {
            "cause": self.cause,
            "where": where,
            "says": self.says,
            "evidence": list(self.evidence),
            "explains": len(self.explains),
            "confidence": self.confidence,
            "would_decide": self.would_decide,
            "remedy": self.remedy,
            "basis": self.basis,
            "passes": list(self.passes),
            "misses": list(self.misses),
            "confirmation": self.confirmation and self.confirmation.to_json(),
        }


@dataclass(frozen=True, slots=True)
class RunResults:
    """All that a run found: the record of every item, and the facts of every node that answered.

    ``reboots`` are those that were noticed, ``confirmed`` what came of measuring suspects again.
    """

    records: Mapping[str, ItemRecord]
    found: FactsByNode
    platform: Platform
    cluster: Cluster
    reboots: tuple[Reboot, ...] = ()
    confirmed: tuple[Confirmed, ...] = ()


@dataclass(frozen=True, slots=True)
class Scene:
    """The results, and which items that went wrong no rule explained yet, the lowest rung first."""

    results: RunResults
    open: tuple[ItemRecord, ...]

    def without(self, explained: Iterable[ItemRecord]) -> Scene:
        gone = {record.id for record in explained}
        return replace(self, open=tuple(r for r in self.open if r.id not in gone))

    def about(self, *subjects: str) -> list[ItemRecord]:
        """The open items of these subjects."""
        return [record for record in self.open if record.subject in subjects]

    def on(self, rung: Rung, node: str) -> list[ItemRecord]:
        """The open items of one rung that one node takes part in."""
        return [record for record in self.open if record.rung == rung and node in record.nodes]

    def facts(self, node: str) -> NodeFacts | None:
        """What the survey found on a node, if it answered."""
        found = self.results.found.get(node)
        return found if isinstance(found, NodeFacts) else None

    def judged(self, metric: str) -> Iterator[tuple[ItemRecord, Judgement]]:
        """Open items with a failed judgement of this metric."""
        for record in self.open:
            for judged in missed(record):
                if judged.metric == metric:
                    yield record, judged


def missed(record: ItemRecord) -> Sequence[Judgement]:
    """The judgements of an item that missed their limits."""
    return [judged for judged in record.judgements if judged.outcome is Outcome.FAILED]


def by_node(records: Iterable[ItemRecord]) -> dict[str, list[ItemRecord]]:
    """Items of single nodes by their node, in order."""
    found: dict[str, list[ItemRecord]] = {}
    for record in records:
        found.setdefault(record.nodes[0] if record.nodes else "", []).append(record)
    return found
