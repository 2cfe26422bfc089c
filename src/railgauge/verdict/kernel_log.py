"""The items of the nodes' kernel logs, from readings at the end of a run. Pure.

A log that was not read because the run ended early is *not run*. A log that could not be read, or
that lost a part, is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from railgauge.core.errors import KernelLogUnread, NoEvidence
from railgauge.core.model import Case, TimeSpan, Transcript
from railgauge.core.naming import title
from railgauge.core.question import CaseResult
from railgauge.core.secret_forms import MASK
from railgauge.core.terms import WATCHING_ROLES
from railgauge.diagnosis import RunResults
from railgauge.facts import NodeFacts
from railgauge.facts.boot import KernelMark
from railgauge.facts.kernel import log
from railgauge.facts.kernel.before import LATER_FAULTS, up_to
from railgauge.facts.kernel.events import devices
from railgauge.facts.model import LoggedFault
from railgauge.judging.kernel_log import (
    ITEMS,
    KernelWindow,
    LogSince,
    Ran,
    judged,
    judged_alone,
)
from railgauge.judging.record import ItemRecord, settled
from railgauge.verdict.unanswered import never_ran


@dataclass(frozen=True, slots=True)
class LogStart:
    """Where the part of a node's log begins that a run covers.

    ``own`` is the number of its last record at the survey, under ``boot_id``; ``first`` the same,
    or that of the run that this one resumes. ``gap`` is what is lost between the two.
    """

    boot_id: str
    own: int
    first: int
    gap: str = ""


def made_of(results: RunResults) -> Iterator[ItemRecord]:
    """Return the record of each node's kernel log; none if the platform does not ask for them."""
    if results.platform.kernel_log is None:
        return
    for node in results.cluster.nodes:
        yield _item(node.name, results)


def alone(results: RunResults, since: LogSince) -> Iterator[ItemRecord]:
    """Return the record of what the kernel of each node logged from ``since`` to the survey.

    None if the platform does not ask for it. It is for nodes that are checked without a run.
    """
    asked = results.platform.kernel_log
    if asked is None or asked.since_boot is None:
        return
    for node in results.cluster.nodes:
        yield _alone(node.name, results, str(asked.since_boot), since)


def _alone(node: str, results: RunResults, basis: str, since: LogSince) -> ItemRecord:
    begun, found = ITEMS.begun(node), results.found[node]
    if isinstance(found, NoEvidence):
        return settled(begun, (), found)
    try:
        _refuse_later(found, since)
        faults = since.of(_faults(node, results))
    except NoEvidence as error:
        return settled(begun, (), _at(node, error))
    judgements = judged_alone(node, faults, devices(found), basis, since)
    return settled(begun, judgements, _masked(node, KernelWindow((), {}, 0, before=faults)))


def _refuse_later(found: NodeFacts, since: LogSince) -> None:
    """Raise ``KernelLogUnread`` if the survey cannot have read all that was logged ``since``."""
    if since != LogSince() and (why := found.missing.get(LATER_FAULTS, "")):
        what = f"what the kernel logged {since.words} is not known: {why}"
        raise KernelLogUnread(what, remedy="judge all of it: --log-since boot")


def _item(node: str, results: RunResults) -> ItemRecord:
    begun, case = ITEMS.begun(node), _case(node)
    read = results.kept(case)
    if read is None:
        return never_ran(replace(begun, questions=()))
    try:
        window = _window(node, read, results)
    except NoEvidence as error:
        return settled(begun, (), _at(node, error))
    found = results.found[node]
    known = devices(found) if isinstance(found, NodeFacts) else {}
    ran = _Ran(node, results)
    judgements = judged(node, window, known, results.platform, ran)
    return settled(begun, judgements, _masked(node, window))


def _masked(node: str, window: KernelWindow) -> NoEvidence | None:
    """The error for masked lines: a hidden word may be that of a fault, named as a secret."""
    count = sum(one.is_kernels and MASK in one.text for one in window.records)
    count += sum(one.count for one in window.before if MASK in one.line)
    what = f"secrets were masked in {count} lines of the kernel: their full text is not known"
    return KernelLogUnread(what, where=node) if count else None


def _case(node: str) -> Case:
    case = ITEMS.case_of(node)
    assert case is not None
    return case


def _at(node: str, error: NoEvidence) -> NoEvidence:
    return error if error.where else type(error)(error.what, where=node, remedy=error.remedy)


def _window(node: str, read: CaseResult, results: RunResults) -> KernelWindow:
    """The part of the log that the run covers. Raises ``NoEvidence``."""
    start = start_of(node, results)
    output = _transcript(node, read, log.reading_argv(results.cluster.rootfs, start.first))
    reading = log.parse_reading(output.stdout)
    records = log.window(reading, start.boot_id, start.first)
    times = log.moments(records, reading, output)
    at = {record.number: time for record, time in zip(records, times, strict=True) if time}
    before = up_to(_faults(node, results), start.first)
    return KernelWindow(records, at, start.own, start.gap, tuple(before), results.level)


def _faults(node: str, results: RunResults) -> Sequence[LoggedFault]:
    """The faults that the survey found. Raises ``NoEvidence`` if they are asked for and unread."""
    found, asked = results.found[node], results.platform.kernel_log
    if asked is None or asked.since_boot is None:
        return ()
    assert isinstance(found, NodeFacts)
    if why := found.missing.get("kernel_faults", ""):
        what = f"what the kernel's log held of faults at the survey is not known: {why}"
        raise KernelLogUnread(what, remedy=log.remedy(why))
    return found.kernel_faults


def _transcript(node: str, read: CaseResult, argv: Sequence[str]) -> Transcript:
    if read.error is not None:
        raise read.error if isinstance(read.error, NoEvidence) else NoEvidence(str(read.error))
    if len(read.runs) != 1 or len(read.runs[0]) != 1:
        raise KernelLogUnread("what is stored is not one reading of the log")
    output = read.runs[0][0]
    if output.node != node or output.argv != tuple(argv):
        raise KernelLogUnread("what is stored is the output of another command")
    if output.error:
        raise KernelLogUnread(f"the reading of the kernel's log ended with {output.error}")
    return output


def start_of(node: str, results: RunResults) -> LogStart:
    """Return where the run's part of a log begins. Raises ``NoEvidence`` if that is not known."""
    found = results.found.get(node)
    if not isinstance(found, NodeFacts):
        raise found or KernelLogUnread("the node was not surveyed")
    if found.boot_id is None or found.kernel_log is None:
        name = "boot_id" if found.boot_id is None else "kernel_log"
        why = found.missing.get(name, "it was not read")
        raise KernelLogUnread(
            f"where the kernel's log stood at the start of the run is not known: {why}",
            remedy=log.remedy(why),
        )
    own = _number(found.kernel_log)
    return _with_earlier(node, LogStart(found.boot_id, own, own), results.marks)


def _with_earlier(node: str, own: LogStart, marks: Sequence[KernelMark]) -> LogStart:
    """The start, moved to that of the first run that this one resumes."""
    mine = [mark for mark in marks if mark.node == node]
    same = [_number(mark.record) for mark in mine if mark.boot_id == own.boot_id]
    lost = [mark.run for mark in mine if mark.boot_id != own.boot_id]
    gap = ""
    if lost:
        gap = f"what its kernel logged in {', '.join(lost)} is lost: the node was rebooted since"
    return replace(own, first=min([own.own, *same]), gap=gap)


def _number(text: str) -> int:
    """The number of a record; a bundle may hold anything in its place. Raises ``NoEvidence``."""
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        raise KernelLogUnread(f"{text[:40]!r} is no number of a record of the kernel's log")
    return int(text)


_MOST_DIGITS = 18


class _Ran:
    """What was measured on a node, read from the evidence when it is first asked for."""

    def __init__(self, node: str, results: RunResults) -> None:
        self._node = node
        self._results = results
        self._found: list[Ran] | None = None

    def __call__(self) -> Sequence[Ran]:
        if self._found is None:
            self._found = list(self._all())
        return self._found

    def _all(self) -> Iterator[Ran]:
        cases = {
            case: None
            for record in self._results.records.values()
            for question in record.questions
            for case in (question.case, question.other)
            if case and self._node in case.nodes and case != ITEMS.case_of(self._node)
        }
        yield from self._rounds()
        for case in cases:
            kept = self._results.kept(case)
            for run in kept.runs if kept else ():
                if span := _span(run):
                    yield Ran(title(case), *span)

    def _rounds(self) -> Iterator[Ran]:
        """The rounds of a soak, of which only what did not pass is kept item by item."""
        soak = self._results.soak
        for one in soak.rounds if soak else ():
            if one.began:
                times = map(datetime.fromisoformat, (one.began, one.ended))
                yield Ran(f"round {one.number} of the soak", *times)


def _span(run: Sequence[Transcript]) -> TimeSpan | None:
    """From the start of the first to the end of the last command of one repeat.

    A sampler of the GPUs does not count: it may have been started many repeats before.
    """
    own = [output for output in run if output.role not in WATCHING_ROLES]
    spans = [span for output in own if (span := output.span)]
    if not spans:
        return None
    return min(began for began, _ in spans), max(ended for _, ended in spans)
