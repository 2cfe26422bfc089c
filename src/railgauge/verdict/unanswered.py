"""What a level demands, against what the records of a run answer. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from railgauge.core.model import Outcome
from railgauge.core.units import format_size
from railgauge.judging.record import ItemRecord
from railgauge.planning.demand import Demand, ItemKey

_GOOD = (Outcome.PASSED, Outcome.MARGINAL)

NOT_ASKED = "no item of this run asked for it"
NEVER_RAN = "the run ended before it"


def unanswered(
    demanded: Iterable[Demand], records: Mapping[str, ItemRecord]
) -> Iterator[ItemRecord]:
    """A record for each demand that nothing answers and no item accounts for.

    Only an item that passed answers a demand, and only if it asked that very question. An item
    that ended otherwise (failed, an error, blocked, not run) accounts for what it is about: it is
    counted as what it is.
    """
    passed = [item for item in records.values() if item.outcome in _GOOD]
    answered = {question for item in passed for question in item.questions}
    accounted = {key for r in records.values() if r.outcome not in _GOOD for key in _keys(r)}
    for demand in demanded:
        if demand.question not in answered and demand.key not in accounted:
            yield _record(demand)


def _keys(item: ItemRecord) -> Iterator[ItemKey]:
    for way in item.ways:
        yield ItemKey(item.subject, way, item.nodes, item.pairing, item.size_bytes)


def _record(demand: Demand) -> ItemRecord:
    key = demand.key
    size = "" if key.size_bytes is None else format_size(key.size_bytes)
    where = "-".join(part for part in (demand.place, key.part, size) if part)
    return ItemRecord(
        id=f"{key.subject}::{key.way}[{where}]",
        rung=demand.rung,
        subject=key.subject,
        title=f"{key.subject}, {key.way}",
        outcome=Outcome.NOT_RUN,
        nodes=key.nodes,
        pairing=key.part,
        size_bytes=key.size_bytes,
        reason=demand.why_not or NOT_ASKED,
        ways=(key.way,),
    )


def is_of_a_test(item_id: str) -> bool:
    """Whether an item was collected: what no test asked for has an id that names no file."""
    return ".py::" in item_id.partition("[")[0]


def never_ran(item: ItemRecord) -> ItemRecord:
    """An item that was collected, and that the run did not come to."""
    return replace(item, outcome=Outcome.NOT_RUN, reason=NEVER_RAN)
