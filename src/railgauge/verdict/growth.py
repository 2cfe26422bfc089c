"""The items of the nodes' error counters, made of what was read before and after a run. Pure.

The stored case of a node has one entry for each run: those that this one carries on, and its own.
An entry has the reading before the first measurement and, if the run came to its end, the one after
the last. A run without its last reading is *not run*; readings that show nothing are an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from railgauge.core.errors import CountersUnread, NoEvidence
from railgauge.core.model import Case, Transcript
from railgauge.core.question import CaseResult
from railgauge.core.terms import Role
from railgauge.diagnosis import RunResults
from railgauge.facts import NodeFacts
from railgauge.facts.counters import CounterReading, is_reading, parse_reading
from railgauge.judging.growth import ITEMS, CountedSpan, NodeCounters, judged
from railgauge.judging.record import ItemRecord, settled
from railgauge.planning import counters
from railgauge.verdict.unanswered import never_ran

_ROLES = (Role.COUNTERS_BEFORE, Role.COUNTERS_AFTER)
_BOTH = len(_ROLES)
_SECONDS_PER_HOUR = 3600


def made_of(results: RunResults) -> Iterator[ItemRecord]:
    """Return the record of each node's counters; none if the platform limits no growth."""
    if results.platform.growth is None:
        return
    for node in results.cluster.nodes:
        yield _item(node.name, results)


def _item(node: str, results: RunResults) -> ItemRecord:
    begun, case = ITEMS.begun(node), _case(node)
    kept = results.kept(case)
    if kept is None or (kept.error is None and not (kept.runs and len(kept.runs[-1]) == _BOTH)):
        return never_ran(replace(begun, questions=()))
    try:
        found = _counters(node, kept, results)
    except NoEvidence as error:
        return settled(begun, (), _at(node, error))
    return settled(begun, *judged(found, results.platform))


def _at(node: str, error: NoEvidence) -> NoEvidence:
    return error if error.where else type(error)(error.what, where=node, remedy=error.remedy)


def _case(node: str) -> Case:
    case = ITEMS.case_of(node)
    assert case is not None
    return case


@dataclass(frozen=True, slots=True)
class _Read:
    """One reading, and when it was made by the controller's clock."""

    reading: CounterReading
    at: datetime


def _counters(node: str, kept: CaseResult, results: RunResults) -> NodeCounters:
    """All spans that the readings of a node cover. Raises ``NoEvidence``."""
    if kept.error is not None:
        raise kept.error if isinstance(kept.error, NoEvidence) else NoEvidence(str(kept.error))
    runs = [
        [_read(said, role, node, results) for said, role in _with_roles(run)] for run in kept.runs
    ]
    _refuse_fewer(node, runs, results)
    own = runs[-1]
    _refuse_reboot(node, own, results)
    spans, lost = [_span(own, "the run")], 0
    for run, following in pairwise(runs):
        if span := _earlier(run, following):
            spans.insert(-1, span)
        else:
            lost += 1
    gap = f"what its counters counted in {lost} earlier runs is lost" if lost else ""
    return NodeCounters(node, spans, _names(node, results), gap)


def _earlier(run: Sequence[_Read], following: Sequence[_Read]) -> CountedSpan | None:
    """The span of an earlier run, up to its last reading or, if it has none, to the next run's.

    ``None`` if nothing was read, or if the node was rebooted in between.
    """
    is_whole = len(run) == _BOTH
    readings = [*run, *(() if is_whole else following[:1])]
    if len(readings) < _BOTH or readings[0].reading.boot_id != readings[1].reading.boot_id:
        return None
    span = _span(readings, "an earlier run" if is_whole else _INTERRUPTED)
    return replace(span, is_measured=is_whole)


_INTERRUPTED = "an interrupted run and the time after it"


def _with_roles(run: Sequence[Transcript]) -> Iterator[tuple[Transcript, Role]]:
    if len(run) > _BOTH:
        raise CountersUnread(f"a run has {len(run)} readings of the counters")
    return zip(run, _ROLES, strict=False)


def _read(said: Transcript, role: Role, node: str, results: RunResults) -> _Read:
    asked = counters.reading(node, results.platform, results.cluster)
    if said.node != node or said.role != role or not is_reading(said.argv, asked.argv):
        raise CountersUnread("what is stored is the output of another command")
    if said.error:
        raise CountersUnread(f"the reading of the counters ended with {said.error}")
    reading = parse_reading(said.stdout, counters.stack_of(results.platform))
    if reading.boot_id is None:
        raise CountersUnread("the boot id is not known, so that a reboot would not be noticed")
    try:
        return _Read(reading, datetime.fromisoformat(said.started_at))
    except ValueError as error:
        raise CountersUnread("when the counters were read is not known") from error


def _refuse_fewer(node: str, runs: Sequence[object], results: RunResults) -> None:
    """Raise unless there is an entry for each earlier run of which something is known."""
    earlier = {mark.run for mark in results.marks if mark.node == node}
    if len(runs) <= len(earlier):
        raise CountersUnread(f"{len(earlier)} earlier runs, but readings of {len(runs) - 1}")


def _refuse_reboot(node: str, own: Sequence[_Read], results: RunResults) -> None:
    found = results.found.get(node)
    if not isinstance(found, NodeFacts):
        raise found or CountersUnread("the node was not surveyed")
    if any(read.reading.boot_id != found.boot_id for read in own):
        raise CountersUnread(
            "the node was rebooted during the run: what was counted before that is lost"
            if own[0].reading.boot_id == found.boot_id
            else "the counters are those of another node, or of another boot of this one"
        )


def _span(readings: Sequence[_Read], when: str) -> CountedSpan:
    before, after = readings
    try:
        seconds = (after.at - before.at).total_seconds()
    except TypeError:  # one of the times has no offset
        seconds = 0.0
    if seconds <= 0:
        raise CountersUnread("the reading after the run is not later than the one before it")
    return CountedSpan(before.reading, after.reading, seconds / _SECONDS_PER_HOUR, when)


def _names(node: str, results: RunResults) -> dict[str, tuple[str, ...]]:
    """The names of each declared device in the readings of the node."""
    platform, found = results.platform, results.found.get(node)
    gpus = found.gpus if isinstance(found, NodeFacts) else ()
    buses = {f"gpu{gpu.index}": (gpu.bus_id,) if gpu.bus_id else () for gpu in gpus}
    names = {nic.name: (platform.devices.on(node, nic.name),) for nic in platform.nics}
    count = platform.gpus.count if platform.gpus else 0
    return names | {gpu: (gpu, *buses.get(gpu, ())) for gpu in (f"gpu{i}" for i in range(count))}
