"""Drift within a soak: the statistics of ``railgauge trend`` over rounds in place of nights. Pure.

Partners change from round to round, so a pair's value is one of the series of each of its nodes.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator

from railgauge.core.model import Judgement, Outcome
from railgauge.core.question import LIMITS
from railgauge.judging.record import ItemRecord
from railgauge.trend import findings
from railgauge.trend.sentences import sentence
from railgauge.trend.values import (
    FEWEST_NIGHTS,
    Fleet,
    Night,
    Rules,
    SeriesKey,
    Trend,
    TrendFinding,
)

FEWEST_ROUNDS = FEWEST_NIGHTS
_PAIR = 2
_FLEET = Fleet("", "", "")


def name_of(number: int) -> str:
    """A round's name in a trend, where names sort by time."""
    return f"round {number:04d}"


def night_of(number: int, records: Iterable[ItemRecord]) -> Night:
    """The medians of a round, by series."""
    found: dict[SeriesKey, list[float]] = {}
    for record in records:
        for key, values in _series(record):
            found.setdefault(key, []).extend(values)
    medians = {key: statistics.median(one) for key, one in found.items()}
    return Night(name_of(number), _FLEET, "", {k: v for k, v in medians.items() if v > 0})


def _series(record: ItemRecord) -> Iterator[tuple[SeriesKey, tuple[float, ...]]]:
    if not any(question.kind == LIMITS for question in record.questions):
        return
    each = [(n,) for n in record.nodes] if len(record.nodes) <= _PAIR else [record.nodes]
    for judged in record.judgements:
        if judged.values and judged.better and judged.unit not in ("", "count"):
            for nodes in each:
                yield _key(record, judged, nodes), judged.values


def _key(record: ItemRecord, judged: Judgement, nodes: tuple[str, ...]) -> SeriesKey:
    part = record.part_at(nodes[0])
    about = (record.subject, judged.metric, judged.unit, nodes)
    return SeriesKey(*about, part, record.size_bytes, judged.better)


def trend_of(nights: list[Night]) -> Trend | None:
    """The trend over the rounds; ``None`` if there are too few."""
    if len(nights) < FEWEST_ROUNDS:
        return None
    return findings(nights[:-1], nights[-1])


def judgement(trend: Trend) -> Judgement:
    """Judge the rounds: no series may get worse by more than chance."""
    worse = trend.regressions
    rules = Rules()
    return Judgement(
        metric="drift",
        outcome=Outcome.FAILED if worse else Outcome.PASSED,
        measured=f"{len(worse)} of {trend.judged} series got worse in {len(trend.nights)} rounds",
        limit=f"none worse by {rules.min_change:.0%} or more",
        basis="derived: the rules of railgauge trend (railgauge docs nightly), with rounds in place"
        f" of nights: a false finding in {rules.false_alarm_rate:.0%} of unchanged soaks",
        reason="; ".join(sentence(one) for one in worse),
    )


def node_of(finding: TrendFinding) -> str:
    """The one node that a finding is about; empty if it is about others or about a part."""
    scope = finding.scope
    return scope.nodes[0] if len(scope.nodes) == 1 and not scope.pairing else ""
