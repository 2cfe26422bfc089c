"""Write findings and changes of metrics as sentences, for terminal, page and report alike. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from railgauge.core import naming
from railgauge.core.units import format_size, format_value
from railgauge.trend.findings import series_of
from railgauge.trend.values import (
    DRIFT,
    FEWEST_NIGHTS,
    IMPROVEMENT,
    STEP,
    Night,
    SeriesKey,
    Trend,
    TrendFinding,
    TrendScope,
    Values,
)


def sentence(finding: TrendFinding) -> str:
    """One line for a finding: verdict, first night, place, size of the change, number of series."""
    better = finding.verdict == IMPROVEMENT
    by = f"{abs(finding.worse):.1%} {'better' if better else 'worse'}"
    how = f"drift since {finding.since}" if finding.kind == DRIFT else f"since {finding.since}"
    if finding.recovered:
        how = f"since {finding.recovered}, after nights from {finding.since}"
    of = f"{len(finding.series)} of {finding.of} series" if finding.of > 1 else "1 series"
    levels = f"{_levels(finding)}, " if _levels(finding) else ""
    return f"{finding.verdict} {how}: {where(finding.scope)}: {by} ({levels}{of})"


def headline(finding: TrendFinding) -> str:
    """What a finding is about, in a few words: ``viper, host_send_bandwidth: 4.0% worse``."""
    better = "better" if finding.verdict == IMPROVEMENT else "worse"
    over = f", recovered {finding.recovered[:8]}" if finding.recovered else ""
    return f"{where(finding.scope)}: {abs(finding.worse):.1%} {better}{over}"


def where(scope: TrendScope) -> str:
    """``viper, host_send_bandwidth bw_average 8MiB over mlx5_0``."""
    place = naming.place(scope.nodes) or "all nodes"
    size = "" if scope.size_bytes is None else format_size(scope.size_bytes)
    over = f"over {scope.pairing}" if scope.pairing else ""
    what = " ".join(part for part in (scope.subject, scope.metric, size, over) if part)
    return f"{place}, {what or 'all metrics'}"


def _levels(finding: TrendFinding) -> str:
    """The level before and after, in words, if all series are of one metric and size."""
    keys = {(m.key.subject, m.key.metric, m.key.unit, m.key.size_bytes) for m in finding.series}
    if len(keys) != 1:
        return ""
    unit = finding.series[0].key.unit
    before = statistics.median(move.before for move in finding.series)
    after = statistics.median(move.after for move in finding.series)
    return f"{format_value(before, unit)} to {format_value(after, unit)}"


def summary(trend: Trend) -> str:
    """One line for a trend: nights, series that were judged or have too few nights, regressions."""
    nights, regressions = len(trend.nights), len(trend.regressions)
    few = f", {trend.too_few} with too few nights to tell: needs {FEWEST_NIGHTS}"
    found = f"{regressions} regression{'' if regressions == 1 else 's'}"
    judged = f"{trend.judged} series judged{few if trend.too_few else ''}"
    return f"{nights} night{'' if nights == 1 else 's'}, {judged}: {found}"


@dataclass(frozen=True, slots=True)
class MetricChange:
    """One metric at one size on the latest night compared with the earlier nights.

    For a series with a regression, only the nights before its loss count as earlier.
    ``earlier`` and ``tonight`` are medians over the series. ``worst`` is the change of the series
    that lost most (or gained least), as a share of its own earlier median, and ``where`` is the
    place of that series. ``earlier`` and ``worst`` are ``None`` if no series was measured before.
    """

    subject: str
    metric: str
    unit: str
    size_bytes: int | None
    series: int
    tonight: float
    earlier: float | None
    worst: float | None
    where: str

    @property
    def change(self) -> float | None:
        return None if self.earlier is None else self.tonight / self.earlier - 1


def metric_changes(nights: Sequence[Night], trend: Trend) -> list[MetricChange]:
    """Return the change of every metric and size of the latest night; ``trend`` is that of them."""
    groups: dict[tuple[str, str, str, int | None], list[SeriesKey]] = {}
    for key in sorted(nights[-1].values, key=lambda key: key.order):
        group = (key.subject, key.metric, key.unit, key.size_bytes)
        groups.setdefault(group, []).append(key)
    values, until, latest = series_of(nights), _good_until(trend), len(nights) - 1
    before = {
        key: [v for night, v in found.items() if night < until.get(key, latest)]
        for key, found in values.items()
    }
    return [_metric_change(keys, values, before, latest) for keys in groups.values()]


def _good_until(trend: Trend) -> dict[SeriesKey, int]:
    """The first bad night of each series with a regression; a drift has none."""
    found: dict[SeriesKey, int] = {}
    for one in trend.regressions:
        since = trend.nights.index(one.since)
        for move in one.series if one.kind == STEP else ():
            found[move.key] = min(since, found.get(move.key, since))
    return found


def _metric_change(
    keys: Sequence[SeriesKey],
    values: Values,
    earlier: Mapping[SeriesKey, Sequence[float]],
    latest: int,
) -> MetricChange:
    before = {key: earlier[key] for key in keys}
    known = {key: statistics.median(found) for key, found in before.items() if found}
    changes = {key: values[key][latest] / known[key] - 1 for key in known}
    worst = max(changes, key=lambda key: _loss(key, changes[key]), default=None)
    first = keys[0]
    return MetricChange(
        subject=first.subject,
        metric=first.metric,
        unit=first.unit,
        size_bytes=first.size_bytes,
        series=len(keys),
        tonight=statistics.median(values[key][latest] for key in known or keys),
        earlier=statistics.median(known.values()) if known else None,
        worst=changes[worst] if worst else None,
        where=" ".join(filter(None, (naming.place(worst.nodes), worst.pairing))) if worst else "",
    )


def _loss(key: SeriesKey, change: float) -> float:
    return change if key.lower_is_better else -change
