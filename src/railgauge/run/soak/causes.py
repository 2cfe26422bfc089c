"""The causes of a soak: those of its rounds, each of which is diagnosed like a run. Pure.

A cause that several rounds show is one entry, which says in how many rounds it was seen, and when
first.

Example: ``gpu-throttled at mx02, gpu3; in 4 of 7 rounds of the soak, first in round 4 at
2026-01-31 14:02:11 UTC, 2 min 5 s after the soak began``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from railgauge.core.naming import among
from railgauge.diagnosis import CATALOGUE, OPEN, STRAGGLER, UNDIAGNOSED, Cause, diagnose, nodes_of
from railgauge.diagnosis.model import LIKELY, FaultTiming, Where
from railgauge.run.soak.drift import node_of
from railgauge.run.soak.rounds import Round
from railgauge.trend.sentences import sentence
from railgauge.trend.values import Trend, TrendFinding

SLOW_NODE = "slow-node"
_Key = tuple[str, Where]


@dataclass(slots=True)
class SoakCauses:
    """The causes of the rounds so far, by what and where they are."""

    began: datetime | None = None
    _first: dict[_Key, Cause] = field(default_factory=dict)
    _rounds: dict[_Key, list[tuple[int, datetime | None]]] = field(default_factory=dict)
    _evidence: dict[_Key, dict[str, None]] = field(default_factory=dict)
    _explains: dict[_Key, dict[str, None]] = field(default_factory=dict)

    def take(self, judged: Round, began: datetime | None) -> None:
        """Diagnose a round in which something did not pass; ``began`` is when it was begun."""
        for cause in diagnose(judged.results()):
            own = [item for item in cause.evidence if item in judged.records]
            if not own or cause.cause == STRAGGLER:
                continue  # the ladder judges the facts of the survey
            key = (cause.cause, cause.where)
            self._first.setdefault(key, cause)
            self._rounds.setdefault(key, []).append((judged.number, _moment(cause, began)))
            self._evidence.setdefault(key, {}).update(dict.fromkeys(own))
            explained = [item for item in cause.explains if item in judged.records]
            self._explains.setdefault(key, {}).update(dict.fromkeys(explained))

    def found(self, rounds: int) -> tuple[Cause, ...]:
        """Every cause once; ``rounds`` is the number of all rounds.

        If one round leaves open which node is at fault and another decides it, they are one cause.
        """
        for key in [key for key, cause in self._first.items() if cause.confidence == OPEN]:
            decided = next((one for one in self._first if self._decides(one, key)), None)
            if decided is not None:
                self._join(decided, key)
        return tuple(self._cause(key, rounds) for key in self._first)

    def _decides(self, one: _Key, undecided: _Key) -> bool:
        nodes = nodes_of(one[1].node)
        among = nodes_of(undecided[1].node)
        is_sure = self._first[one].confidence != OPEN
        return is_sure and one[0] == undecided[0] and bool(nodes) and nodes < among

    def _join(self, decided: _Key, undecided: _Key) -> None:
        del self._first[undecided]
        seen = dict(self._rounds.pop(undecided)) | dict(self._rounds[decided])
        self._rounds[decided] = sorted(seen.items())
        self._evidence[decided].update(self._evidence.pop(undecided))
        self._explains[decided].update(self._explains.pop(undecided))

    def _cause(self, key: _Key, rounds: int) -> Cause:
        cause, seen = self._first[key], self._rounds[key]
        (number, moment), last = seen[0], seen[-1][0]
        many = f"in {len(seen)} of {rounds} rounds of the soak, first in round {number}"
        when = f" at {moment:%Y-%m-%d %H:%M:%S} UTC" if moment else ""
        after = (
            f", {lasting((moment - self.began).total_seconds())} after the soak began"
            if (moment and self.began)
            else ""
        )
        to_the_end = last == rounds and len(seen) == rounds - number + 1
        since = moment.isoformat() if moment and to_the_end and number > 1 else ""
        return replace(
            cause,
            says=f"{cause.says}; {many}{when}{after}",
            evidence=tuple(self._evidence[key]),
            explains=tuple(self._explains[key]),
            timing=FaultTiming(len(seen), rounds, since) if len(seen) < rounds else cause.timing,
        )


def _moment(cause: Cause, began: datetime | None) -> datetime | None:
    """When the fault began in its round, if that is known; else when the round began."""
    if cause.timing and cause.timing.since:
        return datetime.fromisoformat(cause.timing.since)
    return began


def of_drift(trend: Trend, item: str) -> tuple[Cause, ...]:
    """The causes of an item that failed because series got worse over the rounds."""
    return tuple(_of_finding(finding, item, trend) for finding in trend.regressions)


def _of_finding(finding: TrendFinding, item: str, trend: Trend) -> Cause:
    node = node_of(finding)
    name = SLOW_NODE if node else UNDIAGNOSED
    kind, rounds = CATALOGUE[name], len(trend.nights)
    return Cause(
        cause=name,
        where=Where(node or among(finding.scope.nodes), finding.scope.pairing),
        says=f"slower from round to round of the soak: {sentence(finding)}",
        evidence=(item,),
        explains=(),
        confidence=LIKELY if node else OPEN,
        would_decide="" if node else "a longer soak: more rounds tell a part from its partners",
        remedy=kind.remedy,
        basis=kind.basis,
        timing=FaultTiming(min(finding.nights, rounds), rounds),
    )


def lasting(seconds: float) -> str:
    """A time in words: ``45 s``, ``2 min 5 s``, ``3 h 20 min``."""
    whole = round(seconds)
    if whole < 60:  # noqa: PLR2004
        return f"{whole} s"
    if whole < 3600:  # noqa: PLR2004
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
