"""List, around a cause, the measurements that reach their limits and those that miss."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from railgauge.core.model import GOOD, Judgement, Outcome
from railgauge.core.terms import Rung
from railgauge.core.units import format_value
from railgauge.diagnosis.model import Finding, JudgedItem, RunResults, missed
from railgauge.diagnosis.reach import nodes_of
from railgauge.judging.dispersion import two_groups
from railgauge.judging.record import ItemRecord


def passes_and_misses(
    finding: Finding, explained: Sequence[ItemRecord], results: RunResults
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what passes and what misses, as two tuples of lines, one line for each measurement.

    A line of ``passes`` has the value closest to failing, and none is above the highest rung that
    misses. ``misses`` is empty unless the cause made an item miss its limit: items that a gate
    blocked have no values.
    """
    above = [line for record in explained for line in _missed(record)]
    shown = [line for record in finding.evidence for line in _missed(record)]
    failing = {record.subject for record, _ in (*shown, *above)}
    highest = max((record.rung for record, _ in above), default=Rung.APPLICATION)
    nodes = nodes_of(finding.where.node) if finding.where.node else set()
    fine = [
        (record, judged)
        for record in results.records.values()
        if record.outcome in GOOD
        and Rung.PREFLIGHT < record.rung <= highest
        and record.subject not in failing
        if not nodes or nodes & set(record.nodes)
        for judged in record.judgements
        if judged.margin is not None and judged.unit != "count"
    ]
    return _held(fine), _lost([*shown, *above]) if above else ()


def _missed(record: ItemRecord) -> list[JudgedItem]:
    return [(record, judged) for judged in missed(record) if judged.margin is not None]


def _held(lines: Iterable[JudgedItem]) -> tuple[str, ...]:
    """One line for each measurement: the value closest to its limit at the largest message size."""
    chosen: dict[tuple[int, str], JudgedItem] = {}
    for line in lines:
        key = (line[0].rung, line[0].subject)
        chosen[key] = min(chosen.get(key, line), line, key=_largest_first)
    return tuple(_text(*chosen[key]) for key in sorted(chosen))


def _largest_first(line: JudgedItem) -> tuple[int, float]:
    return -(line[1].size_bytes or 0), line[1].margin or 0.0


def _lost(lines: Iterable[JudgedItem]) -> tuple[str, ...]:
    """One line for each metric of each measurement: the value that missed its limit by most."""
    chosen: dict[tuple[int, str, str], JudgedItem] = {}
    for line in lines:
        key = (line[0].rung, line[0].subject, line[1].metric)
        chosen[key] = min(chosen.get(key, line), line, key=lambda one: one[1].margin or 0.0)
    return tuple(_text(*chosen[key]) for key in sorted(chosen))


def _text(record: ItemRecord, judged: Judgement) -> str:
    line = f"{record.subject} {judged.metric} {judged.measured} ({judged.limit})"
    return f"{line}: {swing}" if (swing := swing_of(judged)) else line


def swing_of(judged: Judgement) -> str:
    """The two groups that a failed judgement's samples form, in words; empty if there are none."""
    values = judged.values
    groups = two_groups(values) if judged.outcome is Outcome.FAILED and len(values) > 1 else None
    if groups is None:
        return ""
    low, high, least, most, mean = (
        format_value(value, judged.unit)
        for value in (groups.low, groups.high, min(values), max(values), fmean(values))
    )
    return (
        f"{groups.low_count} iterations around {low}, {groups.high_count} around {high}; "
        f"from {least} to {most}, which a mean of {mean} would hide"
    )
