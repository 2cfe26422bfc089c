"""The page of ``railgauge trend --html``: one file, no script, works offline and on paper. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from railgauge.core import naming
from railgauge.core.units import format_size, format_value
from railgauge.trend.findings import series_of
from railgauge.trend.plots import PlotLine, chart
from railgauge.trend.sentences import MetricChange, metric_changes, sentence, summary
from railgauge.trend.values import STEP, Finding, Night, SeriesKey, Trend

_STYLE = """
body{font:15px/1.45 system-ui,sans-serif;max-width:72rem;margin:0 auto;padding:1rem;color:#1b1f24;
background:#fff}
h1{font-size:1.5rem;margin:.2rem 0}
h2{font-size:1.2rem;margin:1.6rem 0 .3rem;border-bottom:1px solid #cfd6dd}
h3{font-size:1rem;margin:1rem 0 .2rem}
.evidence{font-weight:600;border:2px solid #1b1f24;padding:.05rem .5rem;display:inline-block}
.finding{border-left:.4rem solid #57606a;padding:.2rem .7rem;margin:.6rem 0;overflow-wrap:anywhere}
.regression{border-color:#b3261e;background:#fdf1f0}
.regression::before{content:"\\25bc";font-weight:700}
.improvement::before{content:"\\25b2";font-weight:700}
.recovered::before{content:"\\25c6";font-weight:700}.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%}
td,th{padding:.15rem .5rem;border-bottom:1px solid #e3e7eb;text-align:right}
td:first-child,th:first-child,td:last-child,th:last-child{text-align:left}
td+td{white-space:nowrap}
.plots{display:grid;gap:.8rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,30rem),1fr))}
figure{margin:0}figcaption{font-size:.85rem;overflow-wrap:anywhere}
svg{width:100%;height:auto;font:12px system-ui,sans-serif}.grid{stroke:#d8dee4}
.quiet polyline{fill:none;stroke:#7d8896;stroke-width:1;opacity:.55}
.quiet circle{fill:#7d8896;opacity:.55}.told polyline{fill:none;stroke:#b3261e;stroke-width:2.5}
.told circle{fill:#b3261e}.since{stroke:#1b1f24;stroke-dasharray:4 3}
@media print{figure,.finding{break-inside:avoid}}
"""
_LINES_MAX = 60


def page(seen: Sequence[tuple[Sequence[Night], Trend]], said: Sequence[tuple[str, str]]) -> str:
    """Everything about every fleet: findings first, then the latest night, then the plots."""
    body = "".join(part for nights, trend in seen for part in _fleet(nights, trend))
    left_out = "".join(f"<li>{escape(name)}: {escape(why)}</li>" for name, why in said)
    tail = f"<h2>Left out</h2><ul>{left_out}</ul>" if left_out else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>railgauge trend</title><style>{_STYLE}</style></head>"
        f"<body><h1>railgauge trend</h1>{body}{tail}</body></html>\n"
    )


def _fleet(nights: Sequence[Night], trend: Trend) -> Iterator[str]:
    fleet, values = trend.fleet, series_of(nights)
    yield f"<h2>{escape(fleet.cluster)} ({escape(fleet.platform)})</h2>"
    yield f'<p><span class="evidence">{escape(fleet.evidence.upper())} evidence</span> '
    yield f"{escape(trend.nights[0])} to {escape(trend.nights[-1])}. {escape(summary(trend))}.</p>"
    for finding in trend.findings:
        yield f'<div class="finding {finding.verdict}"> {escape(sentence(finding))}. '
        yield f"By chance: {finding.chance:.2g} for the whole report.</div>"
        yield f'<div class="plots">{_of_finding(finding, trend.nights, values)}</div>'
    yield "<h3>The latest night against the median of the earlier ones</h3>"
    rows = "".join(map(_row, metric_changes(nights)))
    yield f'<div class="wide"><table>{_HEAD}{rows}</table></div>'
    yield f'<h3>All series</h3><div class="plots">{_all(trend, values)}</div>'


_HEAD = (
    "<tr><th>Metric</th><th>Series</th><th>Was</th><th>Is</th><th>Change</th>"
    "<th>Worst series</th></tr>"
)


def _row(one: MetricChange) -> str:
    size = "" if one.size_bytes is None else format_size(one.size_bytes)
    was = "" if one.earlier is None else format_value(one.earlier, one.unit)
    change = "not measured before" if one.change is None else f"{one.change:+.1%}"
    worst = "" if one.worst is None else f"{one.worst:+.1%} {one.where}"
    now = format_value(one.tonight, one.unit)
    cells = (f"{one.subject} {one.metric} {size}", one.series, was, now, change, worst)
    return f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in cells)}</tr>"


Values = Mapping[SeriesKey, Mapping[int, float]]


def _of_finding(finding: Finding, nights: Sequence[str], values: Values) -> str:
    """A plot for each metric and size that moved, with all series of it for comparison."""
    moved = {move.key for move in finding.series}
    kinds = dict.fromkeys(map(_kind, moved))
    since = nights.index(finding.since) if finding.kind == STEP else None
    return "".join(
        _figure(kind, nights, values, frozenset(moved), since) for kind in sorted(kinds, key=str)
    )


def _all(trend: Trend, values: Values) -> str:
    told = frozenset(m.key for f in trend.regressions for m in f.series)
    kinds = dict.fromkeys(map(_kind, values))
    return "".join(_figure(kind, trend.nights, values, told, None) for kind in kinds)


_Kind = tuple[str, str, str, int | None]


def _kind(key: SeriesKey) -> _Kind:
    return key.subject, key.metric, key.unit, key.size_bytes


def _figure(
    kind: _Kind,
    nights: Sequence[str],
    values: Values,
    told: frozenset[SeriesKey],
    since: int | None,
) -> str:
    subject, metric, unit, size_bytes = kind
    keys = [key for key in values if _kind(key) == kind]
    keys.sort(key=lambda key: key not in told)
    lines = [PlotLine(_name(key), values[key], key in told) for key in keys[:_LINES_MAX]]
    size = "" if size_bytes is None else f" {format_size(size_bytes)}"
    count = (
        f"{len(lines)} of {len(keys)} series" if len(lines) < len(keys) else f"{len(keys)} series"
    )
    thick = [_name(key) for key in keys if key in told][:4]
    named = f"; thick: {', '.join(thick)}" if thick else ""
    title = f"{subject} {metric}{size}, {count}{named}"
    plot = chart(title, nights, lines, unit, since)
    return f"<figure>{plot}<figcaption>{escape(title)}</figcaption></figure>"


def _name(key: SeriesKey) -> str:
    return " ".join(part for part in (naming.place(key.nodes), key.pairing) if part)
