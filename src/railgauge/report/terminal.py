"""The terminal output of a run: its header, and the verdict at the end."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from railgauge.core.model import Outcome
from railgauge.core.terms import Verdict
from railgauge.diagnosis import CERTAIN, OPEN, STRAGGLER, Cause
from railgauge.diagnosis.left_open.unknown import Unknown
from railgauge.judging.record import ItemRecord
from railgauge.judging.stamp import Evidence
from railgauge.report.causes import about, leading, printable, unexplained
from railgauge.run import masks
from railgauge.run.settings import RunSettings
from railgauge.trend.tonight import NightsTold
from railgauge.verdict.counts import (
    RunVerdict,
    failure_groups,
    left_out,
    worst_measurements,
)
from railgauge.verdict.decision import limit_notes, subnet_notes
from railgauge.verdict.deviations import DeviationEffect, loose_limits

_LETTERS = {
    Outcome.MARGINAL: ("marginal", "m", ("MARGINAL", {"yellow": True})),
    Outcome.RECORD_ONLY: ("record only", "r", ("RECORD ONLY", {"yellow": True})),
    Outcome.BLOCKED: ("blocked", "b", ("BLOCKED", {"yellow": True})),
    Outcome.NOT_RUN: ("not run", "n", ("NOT RUN", {"yellow": True})),
    Outcome.ERROR: ("error", "E", ("ERROR", {"red": True})),
}
_COLOURS = {
    Verdict.ACCEPTED: "green",
    Verdict.QUALIFIED: "green",
    Verdict.REJECTED: "red",
    Verdict.NOT_QUALIFIED: "red",
}
_MOST_LINES = 10
_MOST_ABSENT = 6


def header(settings: RunSettings, folder: Path | None) -> list[str]:
    """Return the first lines of a run: cluster, platform, level and kind of evidence.

    ``folder`` is where the reports are written; ``None`` if there are none.
    """
    cluster, platform, level = settings.declared, settings.platform, settings.level
    lines = [
        f"cluster: {cluster.name}, {len(cluster.nodes)} nodes over {cluster.transport}, "
        f"platform {platform.name} ({platform.title})",
        f"level: {level.name}, {len(level.pairs)} node pairs in {len(level.rounds)} rounds",
    ]
    lines += (*limit_notes(platform), *subnet_notes(level))
    lines += [
        f"accepted deviation: {printable(f'{one.subject}: {one.what}, until {one.until}')}"
        for one in settings.deviations[:_MOST_LINES]
    ]
    lines += [
        f"loose limit: {printable(f'{one.head}; {one.says}; {one.signature}')}"
        for one in loose_limits(platform)[:_MOST_LINES]
    ]
    evidence = settings.evidence_of(())  # what is known before the survey
    if evidence != Evidence.HARDWARE:
        lines.append(_no_hardware(evidence))
    if settings.unverified:
        lines.append(printable(f"NOT VERIFIED, so nothing is accepted: {settings.unverified}"))
    if folder:
        lines.append(f"reports: {folder}")
    return lines


def _no_hardware(evidence: str) -> str:
    return f"evidence: {evidence.upper()} - no hardware is measured in this run"


def played(config: pytest.Config, evidence: str, expected: str) -> None:
    """Print that the surveyed nodes are simulated, which the header could not know."""
    out = config.pluginmanager.getplugin("terminalreporter")
    if out is not None and evidence != expected:
        out.write_line(_no_hardware(evidence), yellow=True)


def status(outcome: Outcome, report: pytest.TestReport) -> Any:
    """Return category, letter and word of a phase's report; ``None`` for pytest's default."""
    if report.passed and report.when == "call" and outcome is Outcome.MARGINAL:
        return _LETTERS[outcome]
    if report.skipped or (report.failed and outcome is Outcome.ERROR):
        return _LETTERS.get(outcome)
    return None


def summary(
    out: pytest.TerminalReporter,
    verdict: RunVerdict,
    records: Mapping[str, ItemRecord],
    nights: NightsTold | None = None,
) -> None:
    """Print the last screen: causes, problems, smallest margins, earlier nights, counts."""
    out.section("railgauge", sep="=", bold=True)
    _causes(out, verdict.causes)
    _failure_groups(out, unexplained(verdict, records))
    _not_run(out, verdict, records)
    _unknown(out, verdict.unknown)
    _worst(out, records)
    _nights(out, nights)
    for note in verdict.notes:
        _paragraph(out, "note", [note])
    _counts(out, verdict)
    _measured_again(out, verdict.measured_again)
    _deviations(out, verdict.deviations)


def last_word(out: pytest.TerminalReporter, verdict: RunVerdict, folder: Path) -> None:
    """Print the verdict and where the report is, below everything that pytest prints."""
    colour = _COLOURS.get(verdict.verdict, "yellow")
    simulated = (
        "" if verdict.evidence == Evidence.HARDWARE else f" ({verdict.evidence.upper()} evidence)"
    )
    out.write_line("")
    scope = f" ({verdict.scope})" if verdict.scope else ""
    out.write_line(
        f"{verdict.cluster}{scope}: {verdict.heading}{simulated}, "
        f"asserted {verdict.counts.asserted} of {verdict.counts.planned}",
        **{colour: True, "bold": True},
    )
    for line in textwrap.wrap(printable(verdict.reservation), 96):
        out.write_line(f"    {line}", yellow=True, bold=True)
    if masked := masks.summary(folder):
        out.write_line(masked)
    out.write_line(f"report: {folder / 'report.html'}")


def _causes(out: pytest.TerminalReporter, causes: Sequence[Cause]) -> None:
    """Print each root cause: where, the evidence for it, and what to do."""
    for number, cause in enumerate(leading(causes, _MOST_LINES), 1):
        sure = {CERTAIN: "", OPEN: " (not decided)"}.get(cause.confidence, f" ({cause.confidence})")
        head = printable(f"cause {number}: {cause.cause}, {cause.where}{sure}")
        colour = "yellow" if cause.cause == STRAGGLER else "red"
        out.write_line(head, **{colour: True}, bold=True)
        for label, texts in about(cause):
            _paragraph(out, label, texts)
    if len(causes) > _MOST_LINES:
        shown = leading(causes, _MOST_LINES)
        others = Counter(cause.cause for cause in causes if cause not in shown)
        kinds = ", ".join(f"{count} {kind}" for kind, count in others.most_common())
        out.write_line(f"{others.total()} more causes, see verdict.json: {kinds}", red=True)


def _paragraph(out: pytest.TerminalReporter, label: str, texts: Sequence[str]) -> None:
    inline = [", ".join(texts)] if label == "seen in" else texts
    lines = [line for one in inline for line in textwrap.wrap(one, 86, subsequent_indent="  ")]
    for first, line in zip([f"{label}:", *[""] * (len(lines) - 1)], lines, strict=True):
        out.write_line(f"    {first:<10}{line}")


def _failure_groups(out: pytest.TerminalReporter, records: Sequence[ItemRecord]) -> None:
    """Print failures, then errors; blocked items follow from these and are only counted."""
    found = failure_groups(records)
    for group in found[:_MOST_LINES]:
        out.write_line(f"{group.what}: {group.ids}", red=True)
        remedy = f"; {group.remedy}" if group.remedy else ""
        for line in textwrap.wrap(printable(f"{group.reason}{remedy}"), 96):
            out.write_line(f"    {line}")
    if len(found) > _MOST_LINES:
        out.write_line(f"{len(found) - _MOST_LINES} more of these, see the report", red=True)


def _not_run(
    out: pytest.TerminalReporter, verdict: RunVerdict, records: Mapping[str, ItemRecord]
) -> None:
    """Print the required items that did not run; like errors they prevent acceptance."""
    counts = verdict.counts
    if not counts.not_run:
        return
    out.write_line(
        f"not run: {counts.not_run} of {counts.planned} items that level {verdict.level} requires;"
        f" {counts.ran} ran",
        yellow=True,
        bold=True,
    )
    absent = left_out(records.values())
    for what, number in absent[:_MOST_LINES]:
        out.write_line(f"    {number:>7} {what}", yellow=True)
    if len(absent) > _MOST_LINES:
        others = sum(number for _, number in absent[_MOST_LINES:])
        out.write_line(f"    {others:>7} of {len(absent) - _MOST_LINES} other kinds", yellow=True)


def _unknown(out: pytest.TerminalReporter, unknown: Sequence[Unknown]) -> None:
    """Print what is not known of the nodes: behind gates, after errors, and outside the plan."""
    for one in unknown[:_MOST_LINES]:
        _paragraph(out, "unknown", [printable(f"{one.place}: {', '.join(one.what)}; {one.why}")])
    if len(unknown) > _MOST_LINES:
        out.write_line(f"    {len(unknown) - _MOST_LINES} more of these, see the report")


def _measured_again(out: pytest.TerminalReporter, lines: Sequence[str]) -> None:
    """Print what a later run replaced in a merged one, with its first result."""
    for line in lines[:_MOST_LINES]:
        for part in textwrap.wrap(printable(f"MEASURED AGAIN, {line}"), 96, subsequent_indent="  "):
            out.write_line(part, yellow=True, bold=True)
    if len(lines) > _MOST_LINES:
        more = f"{len(lines) - _MOST_LINES} more that were measured again, see the report"
        out.write_line(more, yellow=True)


def _deviations(out: pytest.TerminalReporter, effects: Sequence[DeviationEffect]) -> None:
    """Print every accepted deviation: what it covers, until when, who accepted it, and why."""
    for one in effects[:_MOST_LINES]:
        texts = (one.head, one.effect, one.signature)
        _paragraph(out, "accepted", [printable("; ".join(texts))])
    if len(effects) > _MOST_LINES:
        out.write_line(f"    {len(effects) - _MOST_LINES} more deviations, see the report")


def _worst(out: pytest.TerminalReporter, records: Mapping[str, ItemRecord]) -> None:
    lines = worst_measurements(records.values())
    if not lines:
        return
    out.write_line("closest to their limits:")
    for line in lines:
        out.write_line(
            f"  {line.margin:+7.1%}  {line.measured:<24} limit {line.limit:<16} "
            f"{f'ceiling {line.ceiling}' if line.ceiling else '':<20} {line.subject} {line.where}"
        )


def _nights(out: pytest.TerminalReporter, nights: NightsTold | None) -> None:
    """Print the changes over the nights that ``railgauge trend`` finds, the new ones first."""
    if nights is None:
        return
    out.write_line(printable(f"nights compared: {nights.summary}"))
    for label, lines in (("new", nights.new), ("known", nights.earlier)):
        for line in lines[:_MOST_LINES]:
            _paragraph(out, label, [printable(line)])
        if len(lines) > _MOST_LINES:
            out.write_line(f"    {len(lines) - _MOST_LINES} more of these: railgauge trend")


def _counts(out: pytest.TerminalReporter, verdict: RunVerdict) -> None:
    counts = verdict.counts
    words = (
        ("passed", counts.passed),
        ("marginal", counts.marginal),
        ("failed", counts.failed),
        ("error", counts.error),
        ("blocked", counts.blocked),
        ("flaky", counts.flaky),
        ("record only", counts.record_only),
        ("not run", counts.not_run),
    )
    shown = ", ".join(f"{number} {word}" for word, number in words if number)
    out.write_line(f"items: {counts.planned} planned: {shown}")
    covered = ", ".join(
        f"{part['tested']} of {part['declared']} {name.replace('_', ' ')}"
        for name, part in verdict.coverage.items()
    )
    out.write_line(f"asserted on: {covered}")
    if verdict.not_applicable:
        absent = sorted(verdict.not_applicable)
        some = f"{', '.join(absent[:_MOST_ABSENT])} and {len(absent) - _MOST_ABSENT} more"
        names = some if len(absent) > _MOST_ABSENT else ", ".join(absent)
        out.write_line(f"not applicable here: {names}")
    if verdict.excluded_line:
        out.write_line(verdict.excluded_line, yellow=True)
