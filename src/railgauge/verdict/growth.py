"""The items of the nodes' error counters, from readings before and after a run. Pure.

The stored case of a node has one entry for each run: the runs that this one resumes, and itself. An
entry has the reading before the first measurement and, if the run came to its end, the one after
the last. A run without its last reading is *not run*; readings that show nothing are an error.
Readings between the rounds of a soak only show in which rounds counters grew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import pairwise

from railgauge.core.errors import CountersUnread, NoEvidence
from railgauge.core.model import Case, Transcript
from railgauge.core.question import CaseResult
from railgauge.core.terms import Role
from railgauge.diagnosis import RunResults
from railgauge.diagnosis.model import SoakRound
from railgauge.facts import NodeFacts
from railgauge.facts.counters import CounterReading, is_reading, parse_reading
from railgauge.judging.growth import (
    ITEMS,
    CountedSpan,
    CountedStep,
    NodeCounters,
    device_names,
    judged,
)
from railgauge.judging.record import ItemRecord, settled
from railgauge.planning import counters
from railgauge.verdict.unanswered import never_ran

_BOTH = 2
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
    if kept is None or (kept.error is None and not (kept.runs and _is_whole(kept.runs[-1]))):
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


def _is_whole(run: Sequence[Transcript]) -> bool:
    """Whether the counters were read again after the last measurement of a run."""
    return len(run) >= _BOTH and run[-1].role is not Role.COUNTERS_BETWEEN


@dataclass(frozen=True, slots=True)
class _Read:
    """One reading, and when it was made by the controller's clock."""

    reading: CounterReading
    at: datetime
    is_last: bool


def _counters(node: str, kept: CaseResult, results: RunResults) -> NodeCounters:
    """All spans that the readings of a node cover. Raises ``NoEvidence``."""
    if kept.error is not None:
        raise kept.error if isinstance(kept.error, NoEvidence) else NoEvidence(str(kept.error))
    runs = [
        [_read(output, role, node, results) for output, role in _with_roles(run)]
        for run in kept.runs
    ]
    _refuse_fewer(node, runs, results)
    own = runs[-1]
    _refuse_reboot(node, own, results)
    rounds = results.soak.rounds if results.soak else ()
    spans, lost = [_span(own, "the run", rounds)], 0
    for run, following in pairwise(runs):
        if span := _earlier(run, following, rounds):
            spans.insert(-1, span)
        else:
            lost += 1
    gap = f"what its counters counted in {lost} earlier runs is lost" if lost else ""
    return NodeCounters(
        node, spans, device_names(node, results.platform, results.found.get(node)), gap
    )


def _earlier(
    run: Sequence[_Read], following: Sequence[_Read], rounds: Sequence[SoakRound]
) -> CountedSpan | None:
    """The span of an earlier run, up to its last reading or, if it has none, to the next run's.

    ``None`` if nothing was read, or if the node was rebooted in between.
    """
    is_whole = bool(run) and run[-1].is_last
    readings = [*run, *(() if is_whole else following[:1])]
    boots = {one.reading.boot_id for one in readings}
    if len(readings) < _BOTH or len(boots) > 1:
        return None
    span = _span(readings, "an earlier run" if is_whole else _INTERRUPTED, rounds)
    return replace(span, is_measured=is_whole)


_INTERRUPTED = "an interrupted run and the time after it"


def _with_roles(run: Sequence[Transcript]) -> Iterator[tuple[Transcript, Role]]:
    """The readings of a run, each with the role that it must have in its place."""
    for at, output in enumerate(run):
        is_last = at == len(run) - 1 and output.role is Role.COUNTERS_AFTER
        between = Role.COUNTERS_AFTER if is_last else Role.COUNTERS_BETWEEN
        yield output, between if at else Role.COUNTERS_BEFORE


def _read(output: Transcript, role: Role, node: str, results: RunResults) -> _Read:
    asked = counters.reading(node, results.platform, results.cluster)
    if output.node != node or output.role != role or not is_reading(output.argv, asked.argv):
        raise CountersUnread("what is stored is the output of another command")
    if output.error:
        raise CountersUnread(f"the reading of the counters ended with {output.error}")
    reading = parse_reading(output.stdout, counters.stack_of(results.platform))
    if reading.boot_id is None:
        raise CountersUnread("the boot id is not known, so that a reboot would not be noticed")
    if (span := output.span) is None:
        raise CountersUnread("when the counters were read is not known")
    return _Read(reading, span[0], role is Role.COUNTERS_AFTER)


def _refuse_fewer(node: str, runs: Sequence[object], results: RunResults) -> None:
    """Raise unless there is an entry for each earlier run that left a mark."""
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


def _span(readings: Sequence[_Read], when: str, rounds: Sequence[SoakRound]) -> CountedSpan:
    before, after = readings[0], readings[-1]
    try:
        seconds = [_between_s(one, later) for one, later in pairwise(readings)]
        steps = _steps(readings, rounds)
    except TypeError:  # one of the times has no offset
        seconds, steps = [0.0], ()
    if min(seconds) < 0 or sum(seconds) <= 0:
        raise CountersUnread("the reading after the run is not later than the one before it")
    hours = sum(seconds) / _SECONDS_PER_HOUR
    return CountedSpan(before.reading, after.reading, hours, when, steps=steps)


def _between_s(one: _Read, later: _Read) -> float:
    """The seconds between two readings, by the node's uptime if both have it.

    The wall clock may have been set meanwhile, and a longer time would allow more errors.
    """
    start_s, end_s = one.reading.up_s, later.reading.up_s
    if start_s is not None and end_s is not None and start_s < end_s:
        return end_s - start_s
    return (later.at - one.at).total_seconds()


def _steps(readings: Sequence[_Read], rounds: Sequence[SoakRound]) -> tuple[CountedStep, ...]:
    """The parts of a run with a soak; without readings between its rounds there is only one."""
    if len(readings) <= _BOTH:
        return ()
    return tuple(
        CountedStep(later.reading, _part(one.at, later.at, rounds))
        for one, later in pairwise(readings)
    )


def _part(start: datetime, end: datetime, rounds: Sequence[SoakRound]) -> str:
    """``in round 3 of the soak (2026-11-24 15:27:25 UTC)``: the rounds between two readings."""
    own = [one for one in rounds if one.began and start <= _moment(one.began) <= end]
    if not own:
        is_before = any(one.began and end <= _moment(one.began) for one in rounds)
        return "in the ladder" if is_before else "after the soak"
    first, last = own[0], own[-1]
    began = f"{_moment(first.began).astimezone(timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
    if first is last:
        return f"in round {first.number} of the soak ({began})"
    return f"in rounds {first.number} to {last.number} of the soak (from {began})"


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
