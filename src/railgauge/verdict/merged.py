"""Merge the records of several runs into those of one. Pure.

Every item comes from one run. A later run replaces an item only if its purpose was to measure one
of the item's nodes again (``--only``); otherwise an item that two runs have measured is refused. If
a later run shows that another machine now has the name of a node, what the former machine passed
counts as not run.

Failures of one run close the gates of the others: an item that passed above a failure of its node
on a lower rung is *blocked*, as it would be in an undivided run. A failure stays a failure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from railgauge.config.thresholds import Platform
from railgauge.core.errors import BadInput
from railgauge.core.model import GOOD, Outcome
from railgauge.core.naming import listed
from railgauge.diagnosis import behind_peers
from railgauge.facts import FactsByNode, NodeFacts
from railgauge.facts.identity import exchanged
from railgauge.judging import by_evidence
from railgauge.judging.gates import Gates, ended
from railgauge.judging.record import ItemRecord, blank
from railgauge.planning.plan import gate_nodes
from railgauge.verdict.at_end import is_at_end
from railgauge.verdict.decision import RunPlan
from railgauge.verdict.history import MergedPart, Remeasured
from railgauge.verdict.unanswered import is_of_a_test, never_ran

WHOLE = "the whole level"
_BLOCKING = (Outcome.FAILED, Outcome.ERROR)
_BEHIND = (Outcome.PASSED, Outcome.MARGINAL, Outcome.RECORD_ONLY, Outcome.FLAKY)
_ORDER = list(Outcome)
_MOST_REASON = 160
_ELSEWHERE = "it was measured on another machine of this name"


@dataclass(frozen=True, slots=True)
class PartRun:
    """A run to merge: its plan, records and survey.

    ``no_gates`` is true if closed gates kept nothing from being measured.
    """

    plan: RunPlan
    records: Mapping[str, ItemRecord]
    no_gates: bool
    found: FactsByNode

    @property
    def only(self) -> tuple[str, ...]:
        """The nodes that it was made to measure again."""
        return self.plan.part.only if self.plan.part else ()

    @property
    def what(self) -> str:
        return self.plan.part.what if self.plan.part else WHOLE


@dataclass(frozen=True, slots=True)
class Assembled:
    """The items of several runs, lowest rung first. ``part_of`` is the number of an item's run."""

    records: Mapping[str, ItemRecord]
    part_of: Mapping[str, int]
    parts: tuple[MergedPart, ...]


def assemble(parts: Sequence[PartRun]) -> Assembled:
    """Return the items of runs, oldest first. Raises ``BadInput`` for what two runs measured."""
    _refuse_disorder(parts)
    records: dict[str, ItemRecord] = {}
    part_of: dict[str, int] = {}
    merged: list[MergedPart] = []
    machines: dict[str, NodeFacts] = {}
    for number, part in enumerate(parts):
        others = _other_machines(part, machines)
        replaced: list[tuple[ItemRecord, ItemRecord, int]] = []
        for item in _items(part):
            before = records.get(item.id)
            if before is not None and item.outcome is Outcome.NOT_RUN:
                continue
            if before is not None and before.outcome is not Outcome.NOT_RUN:
                _refuse_twice(item, parts[part_of[item.id]], part)
                replaced.append((before, item, part_of[item.id]))
            records[item.id], part_of[item.id] = item, number
        for name, item in records.items():
            if part_of[name] != number and item.outcome in GOOD and others & set(item.nodes):
                records[name] = never_ran(blank(item), _ELSEWHERE)
        merged.append(_merged_part(part, _again(part, replaced, parts)))
    ordered = sorted(records.values(), key=lambda item: item.rung)
    return Assembled({item.id: item for item in ordered}, part_of, tuple(merged))


def _items(part: PartRun) -> Iterator[ItemRecord]:
    """The items of tests; all others are made again from these."""
    for item in part.records.values():
        if is_of_a_test(item.id) and not is_at_end(item.id):
            yield item


def _refuse_disorder(parts: Sequence[PartRun]) -> None:
    seen = Counter(part.plan.run_id for part in parts)
    if twice := [run for run, count in seen.items() if count > 1]:
        raise BadInput("is given twice", where=twice[0])
    for part in parts:
        if not (part.plan.began and part.plan.ended):
            raise BadInput("does not say when it began and ended", where=part.plan.run_id)
    if list(parts) != in_order(parts):
        raise BadInput("is not in the order in which the runs began", where=parts[0].plan.run_id)
    for part in (one for one in parts if one.only):
        for other in (one for one in parts if not one.only):
            if _moment(part.plan.began) < _moment(other.plan.ended):
                raise BadInput(
                    f"began {part.plan.began}, before {other.plan.run_id} ended "
                    f"{other.plan.ended}: only a later measurement replaces an earlier one",
                    where=part.plan.run_id,
                )


def _moment(text: str) -> datetime:
    shown = repr(text[:40])
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(f"{shown} is not a time") from None
    if read.tzinfo is None:
        raise BadInput(f"{shown} is a time without its offset from UTC")
    return read


def in_order(parts: Iterable[PartRun]) -> list[PartRun]:
    """Return the runs, oldest first; those that do not say when they began come first."""
    return sorted(parts, key=began)


def began(part: PartRun) -> tuple[float, str]:
    """Return the place of a run in the order of beginning."""
    text = part.plan.began
    return (_moment(text).timestamp() if text else float("-inf"), part.plan.run_id)


def _other_machines(part: PartRun, machines: dict[str, NodeFacts]) -> set[str]:
    """The nodes that are different machines in this run, which measures them again.

    ``machines`` are those of the earlier runs; those of this one are added. Raises ``BadInput`` for
    a node that this run was not made to measure again.
    """
    others: set[str] = set()
    for node, facts in part.found.items():
        if not isinstance(facts, NodeFacts):
            continue
        changed = exchanged(machines.get(node, facts), facts)
        if changed and node not in part.only:
            raise BadInput(
                f"has another machine as {node} than an earlier run: {listed(changed)}",
                where=part.plan.run_id,
                remedy=f"measure it again with --only {node}",
            )
        machines[node] = facts
        others |= {node} if changed else set()
    return others


def _refuse_twice(item: ItemRecord, before: PartRun, part: PartRun) -> None:
    if set(item.nodes).isdisjoint(part.only):
        raise BadInput(
            f"has measured {item.id}, and {before.plan.run_id} has too",
            where=part.plan.run_id,
            remedy="merge one of the two; only a run with --only replaces a measurement",
        )


def _again(
    part: PartRun, replaced: Sequence[tuple[ItemRecord, ItemRecord, int]], parts: Sequence[PartRun]
) -> Iterator[Remeasured]:
    """What the run has replaced of each of its nodes, by the run that had measured it before."""
    for node in part.only:
        mine = [one for one in replaced if node in one[1].nodes]
        for number in sorted({number for _, _, number in mine}):
            earlier, pairs = parts[number], [one[:2] for one in mine if one[2] == number]
            before = [*(old for old, _ in pairs), *_compared(node, earlier)]
            now = [*(new for _, new in pairs), *_compared(node, part)]
            worst = max(before, key=lambda item: _ORDER.index(item.outcome))
            reason = "" if worst.outcome in GOOD else _short(worst.reason)
            plan = earlier.plan
            yield Remeasured(node, plan.run_id, plan.ended, _counts(before), _counts(now), reason)


def _compared(node: str, part: PartRun) -> Iterator[ItemRecord]:
    """The comparison of the node with its peers in a run; the merged run makes it again."""
    item = part.records.get(behind_peers.ITEMS.item_id(node))
    if item is not None:
        yield item


def _counts(items: Iterable[ItemRecord]) -> dict[str, int]:
    found = Counter(item.outcome for item in items)
    return {str(outcome): count for outcome, count in found.items()}


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_REASON else f"{line[: _MOST_REASON - 1]}…"


def _merged_part(part: PartRun, replaces: Iterable[Remeasured]) -> MergedPart:
    plan = part.plan
    return MergedPart(
        run_id=plan.run_id,
        began=plan.began,
        ended=plan.ended,
        operator=plan.operator,
        what=part.what,
        no_gates=part.no_gates,
        replaces=tuple(replaces),
    )


# --- gates ---


def gated(
    assembled: Assembled, records: Mapping[str, ItemRecord], platform: Platform
) -> dict[str, ItemRecord]:
    """Return ``records``, judged anew, with the gates that other runs close or open."""
    gates = Gates()
    nodes = {n: gate_nodes(platform, item.subject, item.nodes) for n, item in records.items()}
    for place, (name, item) in enumerate(records.items()):
        gates.note(ended(item, place, nodes[name]))
    return {
        name: _gated(item, assembled, records, gates.blockers(item.rung, nodes[name]))
        for name, item in records.items()
    }


def _gated(
    item: ItemRecord,
    assembled: Assembled,
    records: Mapping[str, ItemRecord],
    blockers: Iterable[str],
) -> ItemRecord:
    own = assembled.part_of[item.id]
    if assembled.parts[own].no_gates:
        return item
    others = [one for one in blockers if assembled.part_of[one] != own]
    if item.outcome in _BEHIND and others:
        return by_evidence.blocked(blank(item), others)
    if item.outcome is Outcome.BLOCKED and item.blocked_by:  # not skipped by anything else
        stays = [name for name in item.blocked_by if _blocks(records.get(name))]
        return _blocked_anew(item, list(dict.fromkeys((*stays, *others))))
    return item


def _blocks(item: ItemRecord | None) -> bool:
    return item is not None and item.outcome in (*_BLOCKING, Outcome.FLAKY)


def _blocked_anew(item: ItemRecord, blockers: Sequence[str]) -> ItemRecord:
    """The blocked item with its current blockers; its reason may continue after them.

    Without a blocker its gate is open now, but no run has measured it since.
    """
    if not blockers:
        freed = replace(blank(item), blocked_by=(), questions=())
        return never_ran(freed, "it was blocked, and was not measured when its gate had opened")
    was, now = by_evidence.blocked_by(item.blocked_by), by_evidence.blocked_by(blockers)
    return replace(item, blocked_by=tuple(blockers), reason=item.reason.replace(was, now))
