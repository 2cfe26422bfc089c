"""Compare the required checks of a level with the questions that a run's records answer. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache

from railgauge.core.model import GOOD, Outcome
from railgauge.core.units import format_size
from railgauge.judging.record import ItemRecord
from railgauge.planning.required import ItemKey, RequiredCheck

NOT_ASKED = "no item of this run asked for it"
NEVER_RAN = "the run ended before this item"


def unanswered(
    required: Iterable[RequiredCheck], records: Mapping[str, ItemRecord], why: str = ""
) -> Iterator[ItemRecord]:
    """Return a *not run* record for each required check that no item answers or accounts for.

    ``why`` is the reason; without it the reason is that no item asked.

    An item answers a required check if it passed and asked exactly that question. An item with
    another outcome (failed, error, blocked, not run) accounts for its subject: it is counted
    itself.
    """
    passed = [item for item in records.values() if item.outcome in GOOD]
    answered = {question for item in passed for question in item.questions}
    accounted = {key for r in records.values() if r.outcome not in GOOD for key in _keys(r)}
    for check in required:
        if check.question not in answered and check.key not in accounted:
            yield not_run(check, why or NOT_ASKED)


def _keys(item: ItemRecord) -> Iterator[ItemKey]:
    for way in item.ways:
        yield ItemKey(item.subject, way, item.nodes, item.pairing, item.size_bytes)


def not_run(check: RequiredCheck, why: str) -> ItemRecord:
    """The *not run* record of a required check."""
    key = check.key
    size = "" if key.size_bytes is None else format_size(key.size_bytes)
    where = "-".join(part for part in (check.place, key.part, size) if part)
    return ItemRecord(
        id=f"{key.subject}::{key.way}[{where}]",
        rung=check.rung,
        subject=key.subject,
        title=_title(key.subject, key.way),
        outcome=Outcome.NOT_RUN,
        nodes=key.nodes,
        pairing=key.part,
        size_bytes=key.size_bytes,
        reason=check.why_not or why,
        ways=_ways(key.way),
    )


@cache  # an almost empty run has half a million such records
def _title(subject: str, way: str) -> str:
    return f"{subject}, {way}"


@cache
def _ways(way: str) -> tuple[str, ...]:
    return (way,)


def is_of_a_test(item_id: str) -> bool:
    """Whether an item was collected from a test; the ids of other items name no file."""
    return ".py::" in item_id.partition("[")[0]


def never_ran(item: ItemRecord, why: str = "") -> ItemRecord:
    """The record of an item that was collected but not run before the run ended, or was stopped."""
    return replace(item, outcome=Outcome.NOT_RUN, reason=why or NEVER_RAN)
