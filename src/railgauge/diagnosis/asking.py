"""Make measurements of items again: the same question, with other nodes or turned round. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import ceil, log

from railgauge.core.model import Outcome
from railgauge.core.question import LIMITS, READ, TRANSPORT, Question
from railgauge.core.terms import Flow
from railgauge.diagnosis.history import nic_of
from railgauge.diagnosis.model import Cause, RunResults
from railgauge.diagnosis.over_paths import flow_of, has_rate
from railgauge.judging.confirmation import MOST_REPEATS, Remeasurement
from railgauge.judging.record import ItemRecord

_PAIR = PARTNERS = 2
_UNSEEN = 0.05
_TIMES = 3


def turned(cause: Cause, record: ItemRecord, instead: Mapping[str, str]) -> Iterator[Remeasurement]:
    """The same measurement in the other direction; none between rails, where the ends differ.

    It is repeated, because what is slow at times only is fine in one.
    """
    asked = asked_again(cause, (), record, instead)
    case = asked.question.case
    if case is not None and not (case.pairing and case.pairing.peer):
        back = replace(case, nodes=case.nodes[::-1], repeats=max(_TIMES, case.repeats))
        yield replace(asked, question=replace(asked.question, case=back))


def with_each(
    cause: Cause, suspect: str, worst: ItemRecord, others: Iterable[str]
) -> Iterator[Remeasurement]:
    """The item's measurement, each time with another partner."""
    (other,) = set(worst.nodes) - {suspect}
    for partner in others:
        yield asked_again(cause, (suspect,), worst, {other: partner})


def worst_item(records: Iterable[ItemRecord]) -> ItemRecord | None:
    """The item of one or two nodes to measure again: a rate that missed its limit by most."""
    return next(iter(by_margin(records)), None)


def by_margin(records: Iterable[ItemRecord], *, broken: bool = False) -> list[ItemRecord]:
    """The items that can be measured again, and failed; or are ``broken``: ended in an error.

    Rates come first, because a latency that is fine clears no part of what carries too little.
    """
    wanted = Outcome.ERROR if broken else Outcome.FAILED
    fit = (r for r in records if len(r.nodes) <= _PAIR and r.outcome is wanted)
    able = (record for record in fit if asks(record) is not None)
    return sorted(able, key=lambda record: (not has_rate(record), _margin(record)))


def _margin(record: ItemRecord) -> float:
    missed = [j for j in record.judgements if j.outcome is Outcome.FAILED]
    return min((j.margin for j in missed if j.margin is not None), default=0.0)


def asks(record: ItemRecord) -> Question | None:
    """The last question of the item, if it can be measured again.

    An item whose tool failed got no further than to read what the tool printed.
    """
    last = record.questions[-1] if record.questions else None
    if last and last.kind == READ:
        last = replace(last, kind=LIMITS, size_bytes=record.size_bytes)
    return last if last and last.case and last.kind in (LIMITS, TRANSPORT) else None


def _repeats(cause: Cause, least: int) -> int:
    """How often to measure: often enough that a fault that comes and goes shows in 19 of 20 cases.

    It shows in a share of the measurements, and two partners share the repeats.
    """
    if cause.course is None or not comes_and_goes(cause):
        return least
    fine = 1 - cause.course.slow / cause.course.of
    needed = log(_UNSEEN) / log(fine) / PARTNERS if fine else least
    return max(least, min(MOST_REPEATS, ceil(needed)))


def asked_again(
    cause: Cause, suspects: tuple[str, ...], record: ItemRecord, instead: Mapping[str, str]
) -> Remeasurement:
    question = asks(record)
    assert question is not None
    assert question.case is not None
    nodes = tuple(instead.get(node, node) for node in question.case.nodes)
    where = cause.where
    repeats = _repeats(cause, question.case.repeats)
    again = replace(question, case=replace(question.case, nodes=nodes, repeats=repeats))
    return Remeasurement(cause.cause, where.node, where.device, where.peer, suspects, again)


def comes_and_goes(cause: Cause) -> bool:
    return cause.course is not None and not cause.course.since


def is_one_way(results: RunResults, record: ItemRecord) -> bool:
    """Whether the item moved its payload in one direction."""
    return flow_of(record, results.platform.measurements) in (Flow.FORWARD, Flow.BACKWARD)


def over_another_nic(results: RunResults, node: str, like: ItemRecord) -> ItemRecord | None:
    """An item like this one in which the node used another NIC, if there is one."""
    others = (
        record
        for record in results.records.values()
        if record.subject == like.subject
        and record.size_bytes == like.size_bytes
        and node in record.nodes
        and len(set(record.nodes)) == _PAIR
        and nic_of(record.part_at(node)) != nic_of(like.part_at(node))
        and asks(record) is not None
    )
    return next(others, None)
