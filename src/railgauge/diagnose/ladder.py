"""How far the ladder holds around a cause: which rungs still reach their limits, and which miss."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from railgauge.diagnose.model import Claim, Findings, missed
from railgauge.diagnose.reach import nodes_of
from railgauge.model import Judgement, Outcome
from railgauge.record import ItemRecord

_GOOD = (Outcome.PASSED, Outcome.MARGINAL)
Line = tuple[ItemRecord, Judgement]


def passes_and_misses(
    claim: Claim, explained: Sequence[ItemRecord], findings: Findings
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What holds and what misses, a line for each measurement, with its value closest to failing.

    Told only where the cause made something above it miss: behind closed gates there is nothing
    to tell. ``holds`` goes no higher than the highest rung that misses.
    """
    above = [line for record in explained for line in _missed(record)]
    if not above:
        return (), ()
    wrong = [*(line for record in claim.evidence for line in _missed(record)), *above]
    failing, highest = {r.subject for r, _ in wrong}, max(r.rung for r, _ in wrong)
    nodes = nodes_of(claim.where.node) if claim.where.node else set()
    fine = [
        (record, judged)
        for record in findings.records.values()
        if record.outcome in _GOOD and 0 < record.rung <= highest and record.subject not in failing
        if not nodes or nodes & set(record.nodes)
        for judged in record.judgements
        if judged.margin is not None
    ]
    return _lines(fine), _lines(wrong)


def _missed(record: ItemRecord) -> list[Line]:
    return [(record, judged) for judged in missed(record) if judged.margin is not None]


def _lines(lines: Iterable[Line]) -> tuple[str, ...]:
    """One line for each measurement, from the lowest rung up: its smallest margin."""
    worst: dict[tuple[int, str], Line] = {}
    for record, judged in lines:
        known = worst.setdefault((record.rung, record.subject), (record, judged))
        if (judged.margin or 0.0) < (known[1].margin or 0.0):
            worst[record.rung, record.subject] = (record, judged)
    return tuple(_text(*worst[key]) for key in sorted(worst))


def _text(record: ItemRecord, judged: Judgement) -> str:
    return f"{record.subject} {judged.metric} {judged.measured} ({judged.limit})"
