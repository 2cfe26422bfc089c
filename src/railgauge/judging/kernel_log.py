"""Judge the kernel log of a node during a run. Pure.

Lines of one kind, code and device are one judgement: failed if the table of kinds calls them a
fault, marginal if it calls them a note. Without such lines the item passes, with the number of
lines that were read. Each judgement names the measurements that ran on the node when its first line
was written.

Faults from before the run are judgements of their own: they fail a sign-off, and are marginal, and
so listed, at other levels.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone

from railgauge.config.thresholds import LEVELS, Platform
from railgauge.core.model import Judgement, Outcome
from railgauge.core.naming import listed
from railgauge.core.question import KERNEL
from railgauge.core.terms import Rung
from railgauge.facts.kernel.events import KernelEvent, event_of, events
from railgauge.facts.kernel.kinds import ERROR_LEVEL, LINK_FLAP
from railgauge.facts.kernel.log import KernelRecord, record_of
from railgauge.facts.kernel.xids import Gravity
from railgauge.facts.model import LoggedFault
from railgauge.judging.at_end import EndOfRunChecks

SUBJECT = "kernel_log"
ITEMS = EndOfRunChecks(
    "kernel",
    SUBJECT,
    "No node's kernel logs a fault of its hardware while the node is measured.",
    Rung.PREFLIGHT,
    KERNEL,
    is_read=True,
)
BEFORE = "faults-before-run"
_NONE = "no line that names a fault"
_NONE_BEFORE = "no line that names a fault, from the boot to the run"
_POINTER = "/kernel_log"
_MOST_GROUPS, _MOST_SHOWN, _MOST_RUNNING = 40, 500, 3
# The clock of the kernel's log is not synchronised like the wall clock, and may drift against it.
_DRIFT = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class Ran:
    """A measurement on the node: its title, and its start and end by the controller's clock."""

    title: str
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class KernelWindow:
    """The kernel log of a node during a run.

    ``at`` gives the time of each record by its number, if it is known. ``own_mark`` is the last
    record at the survey: records up to it are of the runs that this one continues. ``gap`` names
    the records of those that are lost; empty if none is. ``before`` are the faults from before the
    run, which fail at ``level`` signoff alone.
    """

    records: Sequence[KernelRecord]
    at: Mapping[int, datetime]
    own_mark: int
    gap: str = ""
    before: Sequence[LoggedFault] = ()
    level: str = ""


RunsMade = Callable[[], Sequence[Ran]]
"""Returns the measurements on the node. It reads files, and is called only if a line needs it."""


def judged(
    node: str,
    window: KernelWindow,
    known: Mapping[str, str],
    platform: Platform,
    running: RunsMade,
) -> tuple[Judgement, ...]:
    """Return the judgements of a node; ``known`` are its devices by address and name."""
    declared = {nic.name for nic in platform.nics}
    found = _grouped(_of_a_declared_link(e, declared) for e in events(window.records, known))
    judgements = [
        _judgement(node, one, window, running) for one in list(found.values())[:_MOST_GROUPS]
    ]
    more = len(found) - len(judgements)
    whole = [_whole(window, platform, more)] if more or window.gap or not judgements else []
    return (*whole, *judgements, *_before(node, window, known, platform))


def _before(
    node: str, window: KernelWindow, known: Mapping[str, str], platform: Platform
) -> Iterator[Judgement]:
    """The faults from before the run, if the platform file limits them."""
    since_boot = platform.kernel_log.since_boot if platform.kernel_log else None
    for fault in window.before if since_boot else ():
        record = record_of(fault.line)
        event = event_of(record, known) if record else None
        if event is None:
            continue
        count = "1 line" if fault.count == 1 else f"{fault.count} lines"
        where = f" at {event.device}" if event.device else ""
        yield Judgement(
            metric=BEFORE,
            outcome=Outcome.FAILED if window.level == LEVELS[-1] else Outcome.MARGINAL,
            measured=f"{event.name}{where}, {count}",
            limit=_NONE_BEFORE,
            basis=str(since_boot),
            reason=(
                f"{event.name}{where} before the run: {event.means} ({count} since boot): "
                f"{shown(event.record.text)!r}; {event.action}"
            ),
            pointer=f"{_POINTER}/since_boot",
            points_at=((node, event.device),) if event.device else (),
        )


@dataclass(frozen=True, slots=True)
class LogSince:
    """The part of a log that counts: records after ``number``, and not before ``at_us``.

    ``words`` describes it. Without values it is the log since boot.
    """

    words: str = "since boot"
    number: int = -1
    at_us: float = 0.0

    def of(self, faults: Iterable[LoggedFault]) -> tuple[LoggedFault, ...]:
        """Return the faults whose last line is in that part."""
        read = ((fault, record_of(fault.latest)) for fault in faults)
        return tuple(
            fault
            for fault, last in read
            if last and last.number > self.number and last.at_us >= self.at_us
        )


def judged_alone(
    node: str, faults: Sequence[LoggedFault], known: Mapping[str, str], basis: str, since: LogSince
) -> tuple[Judgement, ...]:
    """Return the judgements of a node that is checked by itself: each of ``faults`` fails.

    ``known`` are its devices by address and name; ``since`` is the part of the log.
    """
    read = ((fault, record_of(fault.latest)) for fault in faults)
    events = ((fault, event_of(record, known)) for fault, record in read if record)
    judgements = [
        _of_lines(node, event, fault.count, _since(fault, since))
        for fault, event in events
        if event
    ]
    good = Judgement(SUBJECT, Outcome.PASSED, f"none {since.words}", _NONE, basis, pointer=_POINTER)
    return tuple(judgements) or (good,)


def _since(fault: LoggedFault, since: LogSince) -> str:
    """The time of a fault's lines, which are counted from the boot on."""
    is_all = since == LogSince()
    return since.words if is_all or fault.count == 1 else f"since boot, the last one {since.words}"


def _of_a_declared_link(event: KernelEvent, declared: Collection[str]) -> KernelEvent:
    """The event; a link that the platform does not declare may go down without harm."""
    if event.kind.cause == LINK_FLAP and event.device not in declared:
        return replace(event, gravity=Gravity.NOTE)
    return event


def _grouped(found: Iterator[KernelEvent]) -> dict[tuple[str, str], list[KernelEvent]]:
    """The events of each kind at each device, faults first."""
    groups: dict[tuple[str, str], list[KernelEvent]] = {}
    for event in found:
        groups.setdefault((event.name, event.device), []).append(event)
    return dict(sorted(groups.items(), key=lambda group: not _is_fault(group[1])))


def _is_fault(group: Sequence[KernelEvent]) -> bool:
    return any(event.gravity is Gravity.FAULT for event in group)


def _worst(group: Sequence[KernelEvent]) -> KernelEvent:
    return next((event for event in group if event.gravity is Gravity.FAULT), group[0])


def _judgement(
    node: str, group: Sequence[KernelEvent], window: KernelWindow, running: RunsMade
) -> Judgement:
    is_between = _is_between_runs(group, window, running)
    is_fault = _is_fault(group) and not is_between
    when = "between two runs" if is_between else _moment(group[0].record, window, running)
    return _of_lines(node, _worst(group), len(group), when, is_fault=is_fault)


def _of_lines(
    node: str, worst: KernelEvent, lines: int, when: str, *, is_fault: bool = True
) -> Judgement:
    count = "1 line" if lines == 1 else f"{lines} lines"
    where = f" at {worst.device}" if worst.device else ""
    return Judgement(
        metric=worst.kind.cause,
        outcome=Outcome.FAILED if is_fault else Outcome.MARGINAL,
        measured=f"{worst.name}{where}, {count}",
        limit=_NONE,
        basis=worst.kind.basis,
        reason=(
            f"{worst.name}{where}: {worst.means} ({count}, {when}): "
            f"{shown(worst.record.text)!r}; {worst.action}"
        ),
        pointer=_POINTER,
        points_at=((node, worst.device),) if worst.device else (),
    )


def _is_between_runs(group: Sequence[KernelEvent], window: KernelWindow, running: RunsMade) -> bool:
    """Whether all lines are from before this run's survey, while nothing was measured."""
    if any(event.record.number > window.own_mark for event in group):
        return False
    times = [window.at.get(event.record.number) for event in group]
    return all(time is not None and not _during(time, running()) for time in times)


def _moment(record: KernelRecord, window: KernelWindow, running: RunsMade) -> str:
    time = window.at.get(record.number)
    if time is None:
        return "at an unknown time"
    titles = list(dict.fromkeys(one.title for one in _during(time, running())))
    during = f"while {listed(titles, _MOST_RUNNING)} ran" if titles else "between measurements"
    return f"first at {time.astimezone(timezone.utc):%H:%M:%S} UTC, {during}"


def _during(time: datetime, ran: Sequence[Ran]) -> list[Ran]:
    return [one for one in ran if one.start - _DRIFT <= time <= one.end + _DRIFT]


def _whole(window: KernelWindow, platform: Platform, more: int) -> Judgement:
    """The judgement on the log as a whole: passed, unless a part of it is unknown or not listed."""
    errors = [r for r in window.records if r.is_kernels and r.level <= ERROR_LEVEL]
    some = f", {len(errors)} of them at level error or above" if errors else ""
    reasons = [window.gap] if window.gap else []
    if more:
        reasons.append(f"{more} more kinds of lines at other devices: see the transcript")
    basis = platform.kernel_log.basis if platform.kernel_log else ""
    return Judgement(
        metric=SUBJECT,
        outcome=Outcome.FAILED if more else Outcome.MARGINAL if reasons else Outcome.PASSED,
        measured=f"{len(window.records)} lines{some}",
        limit=_NONE,
        basis=str(basis),
        reason="; ".join(reasons),
        pointer=_POINTER,
    )


def shown(text: str) -> str:
    """A line as reports show it: shortened, and without characters that cannot be printed."""
    plain = "".join(one if one.isprintable() else "?" for one in text[:_MOST_SHOWN])
    return plain + ("…" if len(text) > _MOST_SHOWN else "")
