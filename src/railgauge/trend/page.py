"""The page of ``railgauge trend --html``: one file without scripts, offline and printable. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from railgauge.core import naming, pages
from railgauge.core.units import format_size, format_value
from railgauge.trend.findings import series_of
from railgauge.trend.plots import PlotLine, chart
from railgauge.trend.sentences import MetricChange, headline, metric_changes, sentence, summary
from railgauge.trend.values import (
    REGRESSION,
    STEP,
    Fleet,
    Night,
    SeriesKey,
    Trend,
    TrendFinding,
    Values,
)

_LINES_MAX = 60
_Kind = tuple[str, str, str, "int | None"]
_Limits = Mapping[_Kind, float]


@dataclass(frozen=True, slots=True)
class _Plot:
    title: str
    svg: str


@dataclass(frozen=True, slots=True)
class _Finding:
    title: str
    verdict: str
    says: str
    chance: str
    plots: tuple[_Plot, ...]


@dataclass(frozen=True, slots=True)
class _Fleet:
    fleet: Fleet
    nights: tuple[str, ...]
    summary: str
    findings: tuple[_Finding, ...]
    changes: tuple[tuple[str, ...], ...]
    plots: tuple[_Plot, ...]


_HEAD = ("Metric", "Series", "Was", "Is", "Change", "Worst series")


def page(seen: Sequence[tuple[Sequence[Night], Trend]], left_out: Sequence[tuple[str, str]]) -> str:
    """Return the page: for every fleet its findings, then the latest night, then the plots."""
    fleets = [_fleet(nights, trend) for nights, trend in seen]
    regressions = [
        one.title for fleet in fleets for one in fleet.findings if one.verdict == REGRESSION
    ]
    title = (
        f"{regressions[0]}{f' and {len(regressions) - 1} more' if regressions[1:] else ''}"
        if regressions
        else "no regression"
    )
    template = "trend/templates/page.html.j2"
    return pages.render(template, title=title, fleets=fleets, head=_HEAD, left_out=left_out)


def _fleet(nights: Sequence[Night], trend: Trend) -> _Fleet:
    values, limits = series_of(nights), _limits(nights)
    findings = (_finding(finding, trend.nights, values, limits) for finding in trend.findings)
    rows = (_row(one) for one in metric_changes(nights, trend))
    plots = _all(trend, values, limits)
    return _Fleet(trend.fleet, trend.nights, summary(trend), tuple(findings), tuple(rows), plots)


def _limits(nights: Sequence[Night]) -> dict[_Kind, float]:
    """The strictest limit of the latest night for each metric and size."""
    found: dict[_Kind, float] = {}
    for key, limit in nights[-1].limits.items():
        strictest = min if key.lower_is_better else max
        found[_kind(key)] = strictest(limit, found.get(_kind(key), limit))
    return found


def _finding(
    finding: TrendFinding, nights: Sequence[str], values: Values, limits: _Limits
) -> _Finding:
    plots = _of_finding(finding, nights, values, limits)
    return _Finding(
        headline(finding), finding.verdict, sentence(finding), f"{finding.chance:.2g}", plots
    )


def _row(one: MetricChange) -> tuple[str, ...]:
    size = "" if one.size_bytes is None else format_size(one.size_bytes)
    was = "" if one.earlier is None else format_value(one.earlier, one.unit)
    change = "not measured before" if one.change is None else f"{one.change:+.1%}"
    worst = "" if one.worst is None else f"{one.worst:+.1%} {one.where}"
    now = format_value(one.tonight, one.unit)
    return f"{one.subject} {one.metric} {size}", str(one.series), was, now, change, worst


def _of_finding(
    finding: TrendFinding, nights: Sequence[str], values: Values, limits: _Limits
) -> tuple[_Plot, ...]:
    """A plot for each metric and size that moved, with all of its series for comparison."""
    moved = {move.key for move in finding.series}
    kinds = dict.fromkeys(map(_kind, moved))
    since = nights.index(finding.since) if finding.kind == STEP else None
    return tuple(
        _plot(kind, nights, values, frozenset(moved), since=since, limit=limits.get(kind))
        for kind in sorted(kinds, key=str)
    )


def _all(trend: Trend, values: Values, limits: _Limits) -> tuple[_Plot, ...]:
    moved = frozenset(m.key for f in trend.regressions for m in f.series)
    kinds = dict.fromkeys(map(_kind, values))
    return tuple(
        _plot(kind, trend.nights, values, moved, since=None, limit=limits.get(kind))
        for kind in kinds
    )


def _kind(key: SeriesKey) -> _Kind:
    return key.subject, key.metric, key.unit, key.size_bytes


def _plot(
    kind: _Kind,
    nights: Sequence[str],
    values: Values,
    moved: frozenset[SeriesKey],
    *,
    since: int | None,
    limit: float | None,
) -> _Plot:
    subject, metric, unit, size_bytes = kind
    keys = [key for key in values if _kind(key) == kind]
    keys.sort(key=lambda key: key not in moved)
    lines = [PlotLine(_name(key), values[key], key in moved) for key in keys[:_LINES_MAX]]
    size = "" if size_bytes is None else f" {format_size(size_bytes)}"
    count = (
        f"{len(lines)} of {len(keys)} series" if len(lines) < len(keys) else f"{len(keys)} series"
    )
    thick = [_name(key) for key in keys if key in moved][:4]
    named = f"; thick: {', '.join(thick)}" if thick else ""
    title = f"{subject} {metric}{size}, {count}{named}"
    return _Plot(title, chart(title, nights, lines, unit, since, limit=limit))


def _name(key: SeriesKey) -> str:
    return " ".join(part for part in (naming.place(key.nodes), key.pairing) if part)
