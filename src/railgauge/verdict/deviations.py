"""What accepted deviations cover in a run. Pure.

A deviation changes the verdict and no item: what failed stays failed. It covers an item only if the
item was judged completely. Errors, items that did not run, and wrong results are never covered. An
item that several causes explain is covered only if all of them are accepted.

A limit that the platform file declares as loose is a deviation too: it weakens the judgement, and
covers no item.

Example: ``mx07`` misses a limit because of ``link-rate-degraded``, which is accepted until
2027-01-31. A run that ended on that day is *accepted with deviations*; one that ended on the next
day is *rejected*. Days are those of UTC: the time zone of a machine is a setting.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timezone
from typing import Any

from railgauge.config.deviations import THE_CLUSTER, Deviation, DeviationError
from railgauge.config.thresholds import Platform, loose
from railgauge.core.model import Cluster, Outcome
from railgauge.core.terms import Term
from railgauge.diagnosis import CATALOGUE, SUITE_ERROR, UNDIAGNOSED, Cause, nodes_of
from railgauge.judging.correctness import CORRUPTION
from railgauge.judging.record import ItemRecord

# Causes that nobody can accept: nothing is known, or nothing that is computed can be trusted.
_NEVER = {
    UNDIAGNOSED: "no rule explains these items; name each item that you accept",
    SUITE_ERROR: "an error of the suite says nothing about the hardware",
    "data-corruption": "wrong results cannot be accepted",
}
_PARTS = re.compile(r"[-:]")


class DeviationState(Term):
    """What a deviation does in a run."""

    APPLIED = "applied"
    EXPIRED = "expired"
    UNMATCHED = "matches nothing"
    REFUSED = "covers nothing"
    LOOSE = "loose limit"


@dataclass(frozen=True, slots=True)
class DeviationEffect:
    """A deviation, its state, and the ids of the failed items that it covers.

    ``says`` is why it covers nothing, or not all that it names; empty if it covers all.
    """

    deviation: Deviation
    state: DeviationState
    covers: tuple[str, ...] = ()
    says: str = ""

    def to_json(self) -> dict[str, Any]:
        """As ``verdict.json`` holds it."""
        effect = {"state": str(self.state), "covers": list(self.covers), "says": self.says}
        return {**asdict(self.deviation), **effect}

    @property
    def head(self) -> str:
        """``mx07, mlx5_3: link-rate-degraded``."""
        return f"{self.deviation.subject}: {self.deviation.what}"

    @property
    def effect(self) -> str:
        """One clause: until when it counts, and what it covers."""
        until, number = self.deviation.until, len(self.covers)
        items = f"{number} failed item{'s' * (number != 1)}"
        words = {
            DeviationState.APPLIED: f"accepted until {until}, covers {items}",
            DeviationState.EXPIRED: f"EXPIRED on {until}, covers nothing",
            DeviationState.UNMATCHED: "MATCHES NOTHING in this run",
            DeviationState.REFUSED: "COVERS NOTHING",
            DeviationState.LOOSE: "LOOSE LIMIT, which the platform file wants",
        }[self.state]
        return f"{words}; {self.says}" if self.says else words

    @property
    def signature(self) -> str:
        """Who accepted it, and why."""
        return f"{self.deviation.who}: {self.deviation.reason}"


def refuse_unusable(deviations: Iterable[Deviation], cluster: Cluster) -> None:
    """Raise ``DeviationError`` for a deviation that this cluster can never have."""
    names = {node.name for node in cluster.nodes}
    for one in deviations:
        if one.cause and one.cause not in CATALOGUE:
            raise _unusable(one, f"no cause is named {one.cause[:60]!r}", "railgauge causes")
        if why := _NEVER.get(one.cause):
            raise _unusable(one, f"{one.cause} cannot be accepted: {why}")
        if strange := sorted(one.nodes - names):
            raise _unusable(one, f"{cluster.name} has no node {strange[0][:80]}")
        if one.device in names:
            raise _unusable(one, f"{one.device} is a node: write several as mx[01-02]")


def _unusable(one: Deviation, what: str, see: str = "") -> DeviationError:
    remedy = f"{see} lists them" if see else ""
    return DeviationError(what, where=f"deviation of {one.subject[:80]!r}", remedy=remedy)


def effects(
    deviations: Sequence[Deviation],
    causes: Sequence[Cause],
    records: Mapping[str, ItemRecord],
    ended: str,
) -> tuple[DeviationEffect, ...]:
    """Return what each deviation does in a run, in their order.

    ``ended`` is when the run ended (ISO 8601 with its offset); without it no deviation counts.
    """
    if not deviations:
        return ()
    accepted = _Accepted(causes, records, [one for one in deviations if _counts(one, ended)])
    return tuple(
        accepted.effect(one) if _counts(one, ended) else _past(one, ended) for one in deviations
    )


def loose_limits(platform: Platform) -> tuple[DeviationEffect, ...]:
    """Return a deviation for each limit that the platform file declares as loose.

    They cover no item, but a run judged by them is accepted with deviations at best.
    """
    says = {one.pointer: one.says for one in loose.loose(platform)}
    return tuple(
        DeviationEffect(
            Deviation(THE_CLUSTER, one.reason, one.who, until="", item=one.pointer),
            DeviationState.LOOSE,
            says=says.get(one.pointer, ""),
        )
        for one in platform.loose
    )


def covered(found: Iterable[DeviationEffect]) -> frozenset[str]:
    """The ids of all items that these deviations cover."""
    return frozenset(item for effect in found for item in effect.covers)


def _counts(one: Deviation, ended: str) -> bool:
    return bool(ended) and utc_day(datetime.fromisoformat(ended)) <= one.last_day


def utc_day(moment: datetime) -> date:
    return moment.astimezone(timezone.utc).date()


def _past(one: Deviation, ended: str) -> DeviationEffect:
    if not ended:
        why = "the run did not record when it ended"
        return DeviationEffect(one, DeviationState.REFUSED, says=why)
    day = utc_day(datetime.fromisoformat(ended))
    return DeviationEffect(one, DeviationState.EXPIRED, says=f"the run ended on {day} (UTC)")


class _Accepted:
    """The failed items of a run, the causes of each, and which causes are accepted."""

    def __init__(
        self,
        causes: Sequence[Cause],
        records: Mapping[str, ItemRecord],
        counting: Iterable[Deviation],
    ) -> None:
        self._failed = {k: r for k, r in records.items() if r.outcome is Outcome.FAILED}
        self._causes = causes
        self._of_item: dict[str, set[int]] = {}
        for number, cause in enumerate(causes):
            for item in (*cause.evidence, *cause.explains):
                self._of_item.setdefault(item, set()).add(number)
        self._accepted = {number for one in counting for number in self._matches(one)}

    def _matches(self, one: Deviation) -> set[int]:
        return {number for number, cause in enumerate(self._causes) if _is_of(one, cause)}

    def effect(self, one: Deviation) -> DeviationEffect:
        named = list(self._named(one))
        if not named:
            return DeviationEffect(one, DeviationState.UNMATCHED, says=self._why_none(one))
        left = {item: why for item in named if (why := self._refused(one, item))}
        covers = tuple(item for item in named if item not in left)
        state = DeviationState.APPLIED if covers else DeviationState.REFUSED
        why = next(iter(left.values()), "")
        says = f"not {len(left)} item{'s' * (len(left) != 1)}: {why}" if left else ""
        return DeviationEffect(one, state, covers, says)

    def _named(self, one: Deviation) -> Iterator[str]:
        """The failed items that a deviation is about."""
        matches = self._matches(one)
        for item, record in self._failed.items():
            is_named = one.item == item and _is_at(one, record)
            if is_named or matches & self._of_item.get(item, set()):
                yield item

    def _why_none(self, one: Deviation) -> str:
        if one.item in self._failed:
            return "the item that failed is about another part"
        if self._matches(one):
            return "nothing failed because of the cause; what could not be measured stays open"
        return ""

    def _refused(self, one: Deviation, item: str) -> str:
        """Why a failed item is not covered; empty if it is."""
        if why := _never(self._failed[item]):
            return why
        if one.cause and (others := self._of_item[item] - self._accepted):
            cause = self._causes[min(others)]
            return f"{cause.cause} at {cause.where} is not accepted, and explains it as well"
        return ""


def _never(record: ItemRecord) -> str:
    """Why nobody can accept a failed item; empty if somebody can."""
    if any(j.metric == CORRUPTION and j.outcome is Outcome.FAILED for j in record.judgements):
        return "wrong results cannot be accepted"
    if record.beside:
        return f"a part of it could not be measured ({record.beside})"
    if any(judged.outcome is Outcome.RECORD_ONLY for judged in record.judgements):
        return "a part of it has no limit yet"
    return "" if record.by_evidence else "no evidence shows why it failed"


def _is_of(one: Deviation, cause: Cause) -> bool:
    """Whether a deviation names this cause and all the nodes that may have it."""
    nodes = nodes_of(cause.where.node) | ({cause.where.peer} - {""})
    is_there = nodes <= one.nodes if nodes else not one.nodes
    return one.cause == cause.cause and is_there and one.device in ("", cause.where.device)


def _is_at(one: Deviation, record: ItemRecord) -> bool:
    """Whether the subject of a deviation is a part of what an item is about."""
    parts = {record.pairing, *_PARTS.split(record.pairing)}
    return one.nodes <= set(record.nodes) and (not one.device or one.device in parts)
