"""A cause, and the context that a rule reads: the unexplained items and all results of the run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from railgauge.config.deviations import Deviation
from railgauge.config.thresholds.model import Platform
from railgauge.core.model import Case, Cluster, Judgement, Outcome
from railgauge.core.naming import shortened
from railgauge.core.question import CaseResult
from railgauge.core.terms import Rung
from railgauge.diagnosis.catalogue import CATALOGUE
from railgauge.facts import FactsByNode, NodeFacts
from railgauge.facts.boot import KernelMark, Reboot
from railgauge.judging.confirmation import Confirmed
from railgauge.judging.own_output import RepeatedOutput
from railgauge.judging.record import ItemRecord

CERTAIN, LIKELY, OPEN = "certain", "likely", "open"
_DIGITS = 4
AGAIN = "repeat the measurements of {} (pytest --confirm does), also at another time"
TOOL = "tool-failing"
SUITE_ERROR, UNDIAGNOSED, STRAGGLER = "suite-error", "undiagnosed", "straggler"
WENT_WRONG = frozenset({Outcome.FAILED, Outcome.ERROR})

JudgedItem = tuple[ItemRecord, Judgement]
"""An item, and one of its judgements."""


@dataclass(frozen=True, slots=True)
class Where:
    """The faulty part: a node, one of its devices, and for a path between two nodes the ``peer``.

    ``node`` is empty where no single node has the fault, and a NodeSet (``mx[01-04]``) where one
    setting is wrong on several. Undecided suspects are ``mx01|mx02``, or a NodeSet if there are
    more than a few.
    """

    node: str
    device: str = ""
    peer: str = ""

    def to_json(self) -> dict[str, str]:
        return {"node": self.node, "device": self.device, "peer": self.peer}

    def __str__(self) -> str:
        node = shortened(self.node)
        path = f"{node} and {self.peer}" if self.peer else node or "the cluster"
        return f"{path}, {self.device}" if self.device else path


@dataclass(frozen=True, slots=True)
class FaultTiming:
    """A fault that was not there all the time: ``slow`` of ``of`` measurements of its part show it.

    ``since`` is the start of the first slow measurement (ISO 8601, UTC) if all before it were fine
    and all after it slow; empty for an intermittent fault.
    """

    slow: int
    of: int
    since: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "since" if self.since else "intermittent",
            "since": self.since,
            "slow": self.slow,
            "of": self.of,
        }


@dataclass(frozen=True, slots=True)
class Rival:
    """Another cause that explains the same, with its probability."""

    cause: str
    where: Where
    probability: float

    def to_json(self) -> dict[str, Any]:
        return {
            "cause": self.cause,
            "where": self.where.to_json(),
            "probability": round(self.probability, _DIGITS),
        }


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule's finding: the name of a cause, the part, the reason, and the items that show it.

    ``confidence`` is ``certain`` (a fact or a counter shows it), ``likely`` (the pattern of the
    measurements does) or ``open`` (undecided; ``would_decide`` is the missing measurement).
    ``timing`` is set if the fault was not there all the time. ``probability`` is that of a slow
    part, with its likeliest ``rivals``; ``None`` for what is not inferred from figures. ``again``
    are the keys of the cases measured again that tell of the part, or of a suspect; ``None`` for
    all that the cause's effects reach.
    """

    cause: str
    where: Where
    says: str
    evidence: tuple[ItemRecord, ...]
    confidence: str = CERTAIN
    would_decide: str = ""
    timing: FaultTiming | None = None
    probability: float | None = None
    rivals: tuple[Rival, ...] = ()
    again: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The result of measuring the suspects again: its state, and a line for each measurement."""

    state: str
    seen: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"state": self.state, "seen": list(self.seen)}


@dataclass(frozen=True, slots=True)
class Cause:
    """One root cause as reports show it and ``verdict.json`` holds it.

    ``evidence`` holds the ids of the items that show it, ``explains`` those of the items above it
    that failed, ended in an error or were blocked because of it. ``passes`` and ``misses`` list,
    rung by rung, what reaches its limits on the node and what does not. ``timing``, ``probability``
    and ``rivals`` are those of the finding.
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
    timing: FaultTiming | None = None
    probability: float | None = None
    rivals: tuple[Rival, ...] = ()

    @property
    def headline(self) -> str:
        """The first clause of what it says."""
        return self.says.partition("; ")[0]

    @property
    def drains(self) -> bool:
        """Whether its node should get no new jobs; not if several parts are suspected."""
        return self.confidence != OPEN and CATALOGUE[self.cause].triage.drains

    def to_json(self) -> dict[str, Any]:
        inferred: dict[str, Any] = {}
        if self.probability is not None:
            inferred["probability"] = round(self.probability, _DIGITS)
            inferred["rivals"] = [one.to_json() for one in self.rivals]
        timing = {"timing": self.timing.to_json()} if self.timing else {}
        kind = CATALOGUE[self.cause]
        return {
            "cause": self.cause,
            "where": self.where.to_json(),
            "severity": str(kind.severity),
            "action": str(kind.action),
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
            **timing,
            **inferred,
        }


Starts = Callable[[Case], Sequence[str]]
"""When each repeat of a case was started (ISO 8601, UTC); empty if that is not known."""


StoredResults = Callable[[Case], CaseResult | None]
"""What was stored of a case; ``None`` if nothing was."""


def _unknown(_case: Case) -> Sequence[str]:
    return ()


def _nothing(_case: Case) -> CaseResult | None:
    return None


def _none_twice() -> Sequence[RepeatedOutput]:
    return ()


@dataclass(frozen=True, slots=True)
class SoakRound:
    """One round of a soak: when it ran (ISO 8601, UTC), and how many of its items passed.

    ``measured`` is how many of its ``of`` cases have evidence or were blocked.
    """

    number: int
    began: str
    ended: str
    measured: int
    of: int
    passed: int
    others: int

    @property
    def is_whole(self) -> bool:
        return self.measured == self.of


@dataclass(frozen=True, slots=True)
class SoakResults:
    """What the evidence of a soak gives: its items, and the causes of those that did not pass.

    The passed items of a round are one item; every other item is one of its own. ``about`` is what
    ``verdict.json`` holds of the soak, ``notes`` the same in words.
    """

    items: tuple[ItemRecord, ...]
    causes: tuple[Cause, ...]
    rounds: tuple[SoakRound, ...]
    about: Mapping[str, Any]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunResults:
    """The results of a run: the record of every item, and the facts of every node that answered.

    ``reboots`` are the reboots that were noticed, ``confirmed`` the results of measuring suspects
    again. ``starts`` returns when each repeat of a case was started, ``kept`` its evidence.
    ``marks`` tell where the kernels' logs stood when the runs began that this one carries on.
    ``deviations`` are those that somebody has accepted; they change no cause. ``soak`` is ``None``
    for a run without one, or before it is judged. ``parts`` are those of the runs of which this one
    was merged, by run id, oldest first; empty for a run that measured itself. ``earlier`` are the
    runs that this one carries on, oldest first, each with its survey, with what was kept of it
    apart from what this run took over, and with the records that no evidence of it shows.
    ``repeated`` returns the outputs that are in the evidence more than once. ``level`` is known
    where end-of-run checks are judged.
    """

    records: Mapping[str, ItemRecord]
    found: FactsByNode
    platform: Platform
    cluster: Cluster
    reboots: tuple[Reboot, ...] = ()
    confirmed: tuple[Confirmed, ...] = ()
    starts: Starts = _unknown
    kept: StoredResults = _nothing
    marks: tuple[KernelMark, ...] = ()
    deviations: tuple[Deviation, ...] = ()
    soak: SoakResults | None = None
    parts: Mapping[str, RunResults] = field(default_factory=dict)
    earlier: Mapping[str, RunResults] = field(default_factory=dict)
    repeated: Callable[[], Sequence[RepeatedOutput]] = _none_twice
    level: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """The results, and the failures and errors that no rule explained yet, lowest rung first.

    ``findings`` are those that explain the others.
    """

    results: RunResults
    open: tuple[ItemRecord, ...]
    findings: tuple[Finding, ...] = ()

    def without(self, explained: Iterable[ItemRecord], findings: Iterable[Finding]) -> Context:
        gone = {record.id for record in explained}
        left = tuple(r for r in self.open if r.id not in gone)
        return replace(self, open=left, findings=(*self.findings, *findings))

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

    def measured(self, rungs: Collection[int]) -> Iterator[ItemRecord]:
        """The items of these rungs that reached their limits."""
        for record in self.results.records.values():
            if record.rung in rungs and record.outcome in (Outcome.PASSED, Outcome.MARGINAL):
                yield record

    def judged(self, metric: str) -> Iterator[JudgedItem]:
        """Open items with a failed judgement of this metric."""
        for record in self.open:
            for judged in missed(record):
                if judged.metric == metric:
                    yield record, judged


CauseRule = Callable[[Context], Iterable[Finding]]
"""Finds what one kind of evidence shows in the items that no earlier rule has explained."""


def missed(record: ItemRecord) -> Sequence[Judgement]:
    """The judgements of an item that missed their limits."""
    return [judged for judged in record.judgements if judged.outcome is Outcome.FAILED]


def worst_of(records: Sequence[ItemRecord]) -> str:
    """The measurement that missed its limit by most, or the first item's reason, in words."""
    lines = [(j.margin or 0.0, r, j) for r in records for j in missed(r)]
    if not lines:
        return records[0].reason
    _, record, judged = min(lines, key=lambda line: line[0])
    return f"{record.subject} {judged.metric} {judged.measured}, limit {judged.limit}"


def by_node(records: Iterable[ItemRecord]) -> dict[str, list[ItemRecord]]:
    """Items grouped by their first node, in order."""
    found: dict[str, list[ItemRecord]] = {}
    for record in records:
        found.setdefault(record.nodes[0] if record.nodes else "", []).append(record)
    return found
