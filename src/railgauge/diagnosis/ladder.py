"""How far the ladder holds around a cause: which rungs still reach their limits, and which miss."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from railgauge.core.model import Judgement, Outcome
from railgauge.core.terms import Rung
from railgauge.core.units import format_value
from railgauge.diagnosis.model import CauseClaim, RunResults, missed
from railgauge.diagnosis.reach import nodes_of
from railgauge.judging.dispersion import two_groups
from railgauge.judging.record import ItemRecord

_GOOD = (Outcome.PASSED, Outcome.MARGINAL)
Line = tuple[ItemRecord, Judgement]


def passes_and_misses(
    claim: CauseClaim, explained: Sequence[ItemRecord], results: RunResults
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What holds and what misses, a line for each measurement, with its value closest to failing.

    ``misses`` is told only where the cause made something above it miss: behind closed gates there
    is nothing to tell. ``holds`` goes no higher than the highest rung that misses.
    """
    above = [line for record in explained for line in _missed(record)]
    shown = [line for record in claim.evidence for line in _missed(record)]
    failing = {record.subject for record, _ in (*shown, *above)}
    highest = max((record.rung for record, _ in above), default=Rung.APPLICATION)
    nodes = nodes_of(claim.where.node) if claim.where.node else set()
    fine = [
        (record, judged)
        for record in results.records.values()
        if record.outcome in _GOOD
        and Rung.PREFLIGHT < record.rung <= highest
        and record.subject not in failing
        if not nodes or nodes & set(record.nodes)
        for judged in record.judgements
        if judged.margin is not None and judged.unit != "count"
    ]
    return _held(fine), _lost([*shown, *above]) if above else ()


def _missed(record: ItemRecord) -> list[Line]:
    return [(record, judged) for judged in missed(record) if judged.margin is not None]


def _held(lines: Iterable[Line]) -> tuple[str, ...]:
    """One line for each measurement: at its largest message, the value closest to its limit."""
    chosen: dict[tuple[int, str], Line] = {}
    for line in lines:
        key = (line[0].rung, line[0].subject)
        chosen[key] = min(chosen.get(key, line), line, key=_largest_first)
    return tuple(_text(*chosen[key]) for key in sorted(chosen))


def _largest_first(line: Line) -> tuple[int, float]:
    return -(line[1].size_bytes or 0), line[1].margin or 0.0


def _lost(lines: Iterable[Line]) -> tuple[str, ...]:
    """One line for each metric of each measurement: what missed its limit by most."""
    chosen: dict[tuple[int, str, str], Line] = {}
    for line in lines:
        key = (line[0].rung, line[0].subject, line[1].metric)
        chosen[key] = min(chosen.get(key, line), line, key=lambda one: one[1].margin or 0.0)
    return tuple(_text(*chosen[key]) for key in sorted(chosen))


def _text(record: ItemRecord, judged: Judgement) -> str:
    line = f"{record.subject} {judged.metric} {judged.measured} ({judged.limit})"
    return f"{line}: {swing}" if (swing := swing_of(judged)) else line


def swing_of(judged: Judgement) -> str:
    """The two groups that the samples of a missed judgement fall into, in words, if they do."""
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
