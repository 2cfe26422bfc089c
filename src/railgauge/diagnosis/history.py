"""The measurements of a run as events, each with the time at which it started. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone

from railgauge.core.model import Judgement, Outcome
from railgauge.core.question import LIMITS
from railgauge.core.terms import Rung
from railgauge.diagnosis.each_way import EachWay
from railgauge.diagnosis.model import GOOD, RunResults
from railgauge.diagnosis.pattern import has_value
from railgauge.diagnosis.shares import Shares
from railgauge.judging.confirmation import Confirmed
from railgauge.judging.record import ItemRecord
from railgauge.tools.metric import LOWER

_PAIR = 2
BOTH, SENDS, RECEIVES = "both", "sends", "receives"


@dataclass(frozen=True, slots=True)
class Event:
    """One repeat of one measurement: when it started (``None`` if unknown), and its result.

    It is ``slow`` if it missed a limit, ``marginal`` if the measurement came close to one.
    ``share`` is the share of the peers' value that it reached, ``None`` without a peer. ``part``
    is what the node that it is an event of used of the ``pairing``. ``kind`` is the metric and
    unit: only events of one kind can be compared. ``least`` is what each direction reached at least
    (see ``each_way``), ``both`` whether there were two.
    """

    key: str
    start: datetime | None
    slow: bool
    marginal: bool
    nodes: tuple[str, ...]
    pairing: str
    part: str
    subject: str
    kind: tuple[str, str]
    size_bytes: int | None
    rung: Rung
    share: float | None
    least: float | None
    both: bool


class History:
    """All measurements of a run as events."""

    def __init__(self, results: RunResults) -> None:
        self._results = results
        records = results.records.values()
        self._shares = Shares(records)
        good = (record for record in records if record.outcome in GOOD)
        self._each_way = EachWay.of(good, results.platform.measurements)
        self._of_node: dict[str, list[ItemRecord]] = {}
        for record in records:
            if record.outcome in (*GOOD, Outcome.FAILED) and has_value(record):
                for node in dict.fromkeys(record.nodes):
                    self._of_node.setdefault(node, []).append(record)
        self._made: dict[str, list[Event]] = {}

    def of(self, node: str) -> list[Event]:
        """The events between the node and one other, in the order of the run if that is known."""
        if node not in self._made:
            pairs = [r for r in self._of_node.get(node, ()) if len(set(r.nodes)) == _PAIR]
            events = _merged(event for record in pairs for event in self._events(record, node))
            events.sort(key=lambda one: (one.start is None, one.start or _NEVER))
            self._made[node] = events
        return self._made[node]

    def nics(self, node: str, among: Iterable[Event] | None = None) -> set[str]:
        """The NICs that the node used in its events, or in those that are ``among`` these."""
        keys = None if among is None else {event.key for event in among}
        return {nic_of(e.part) for e in self.of(node) if keys is None or e.key in keys}

    def again(self, node: str) -> list[Confirmed]:
        """What was measured again of the node, as a suspect."""
        return [one for one in self._results.confirmed if node in one.asked.suspects]

    def _events(self, record: ItemRecord, node: str) -> Iterator[Event]:
        case = next((q.case for q in record.questions if q.kind == LIMITS and q.case), None)
        starts = [_moment(text) for text in self._results.starts(case)] if case else []
        repeats = case.repeats if case else 1
        for judged in record.judgements:
            # The node may be part of all that passed.
            share = self._shares.of(record, judged, (node,)) or self._shares.of(record, judged)
            for number, slow in enumerate(missed_repeats(judged, repeats)):
                yield Event(
                    key=f"{case.key if case else record.id} {number}",
                    start=starts[number] if len(starts) == repeats else None,
                    slow=slow,
                    marginal=judged.outcome is Outcome.MARGINAL,
                    nodes=record.nodes,
                    pairing=record.pairing,
                    part=record.part_at(node),
                    subject=record.subject,
                    kind=(judged.metric, judged.unit),
                    size_bytes=judged.size_bytes or record.size_bytes,
                    rung=record.rung,
                    share=share,
                    least=self._each_way.least(record, judged),
                    both=self._each_way.is_both(record),
                )

    def sends(self, event: Event, node: str) -> str:
        """How the node takes part: by its place in the pair and the direction of the tool."""
        measurement = self._results.platform.measurements.get(event.subject)
        if measurement is None or measurement.options.get("bidirectional"):
            return BOTH
        backwards = "read" in measurement.command or bool(measurement.options.get("reverse"))
        return SENDS if (event.nodes[0] == node) is not backwards else RECEIVES


def nic_of(part: str) -> str:
    """The NIC of a pairing: ``mlx5_0`` of ``gpu3-mlx5_0``."""
    return part.rpartition("-")[2]


_NEVER = datetime.max.replace(tzinfo=timezone.utc)


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else None


def missed_repeats(judged: Judgement, repeats: int) -> Iterator[bool]:
    """For each repeat whether it missed the limit; for all if they cannot be told apart."""
    lower, values = judged.better == LOWER, judged.values
    limit = judged.ceiling if lower else judged.floor
    if judged.worst is None or limit is None:
        return
    if repeats < 1 or not values or len(values) % repeats:
        yield from [judged.outcome is Outcome.FAILED] * repeats
        return
    each = len(values) // repeats
    for start in range(0, len(values), each):
        some = values[start : start + each]
        yield max(some) > limit if lower else min(some) < limit


def _merged(events: Iterable[Event]) -> list[Event]:
    """One event for each repeat: it is slow, or marginal, if any of its values is."""
    found: dict[tuple[str, tuple[str, str]], Event] = {}
    for event in events:
        key = (event.key, event.kind)
        known = found.setdefault(key, event)
        if (event.slow, event.marginal) > (known.slow, known.marginal):
            found[key] = event
    return list(found.values())
