"""pytest-html: the columns of its table, and the first screen above it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import pytest

from railgauge.diagnose import Cause
from railgauge.model import Judgement, Outcome
from railgauge.prepare import JOURNAL, from_journal
from railgauge.record import ItemRecord, from_json
from railgauge.report.causes import about, unexplained
from railgauge.units import format_value
from railgauge.verdict import Verdict, troubles, worst_measurements

_COLUMNS = ("Measured", "Limit", "Margin", "Basis")


class Columns:
    """Hooks of pytest-html. ``evidence`` goes into the title of the page."""

    def __init__(self, evidence: str) -> None:
        self._evidence = evidence

    def pytest_html_report_title(self, report: Any) -> None:
        report.title = f"railgauge acceptance report ({self._evidence} evidence)"

    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        cells.insert(1, '<th class="sortable" data-column-type="outcome">Outcome</th>')
        heads = [f'<th data-column-type="{name.lower()}">{name}</th>' for name in _COLUMNS]
        cells[3:3] = heads

    def pytest_html_results_table_row(self, report: pytest.TestReport, cells: list[str]) -> None:
        data = getattr(report, "railgauge", None)
        item = from_json(data) if data else None
        cells[1] = f'<td class="col-testId">{escape(_short_id(report.nodeid))}</td>'
        cells.insert(1, f'<td class="col-outcome">{_outcome(item)}</td>')
        cells[3:3] = [f'<td class="col-{n.lower()}">{_cell(item, n)}</td>' for n in _COLUMNS]
        cells[-1] = f'<td class="col-links">{_links(item)}</td>'


def _short_id(nodeid: str) -> str:
    return nodeid.removeprefix("tests/")


def _outcome(item: ItemRecord | None) -> str:
    return str(item.outcome).replace("_", " ") if item else ""


def _cell(item: ItemRecord | None, column: str) -> str:
    if item is None:
        return ""
    if not item.judgements:
        return escape(item.reason) if column == "Measured" else ""
    several = len(item.judgements) > 1
    lines = []
    for judged in item.judgements:
        margin = "" if judged.margin is None else f"{judged.margin:+.1%}"
        text = {"Measured": judged.measured, "Limit": _limit(judged), "Margin": margin}.get(
            column, judged.basis
        )
        lines.append(f"{judged.metric}: {text}" if several and column != "Basis" else text)
    return "<br>".join(escape(line) for line in dict.fromkeys(lines))


def _limit(judged: Judgement) -> str:
    """The limit, and beside it what the hardware can do at most."""
    if judged.physical_ceiling is None:
        return judged.limit
    return f"{judged.limit}, ceiling {format_value(judged.physical_ceiling, judged.unit)}"


def _links(item: ItemRecord | None) -> str:
    if item is None or not item.transcript:
        return ""
    return f'<a target="_blank" href="{escape(item.transcript)}">transcript</a>'


# --- the first screen ---


def summary(verdict: Verdict, records: Mapping[str, ItemRecord], context: Any) -> str:
    """Verdict, evidence, counts, coverage, troubles and the tightest margins."""
    parts = (
        _STYLE,
        _banner(verdict),
        _causes(verdict.causes),
        _identity(verdict, context),
        _troubles(unexplained(verdict, records)),
        _changes(context),
        _tightest(records),
        _coverage(verdict),
    )
    return f'<div class="rg">{"".join(parts)}</div>'


# Its own colours and borders: the page must read well on paper and without colour too. What
# machine ran pytest ("Environment") goes below what the run is about.
_STYLE = """<style>
.rg {max-width: 1100px; margin-bottom: 1.5em}
.rg table {border-collapse: collapse; margin: .5em 0 1.2em}
.rg td, .rg th {border: 1px solid #bbb; padding: .3em .6em; text-align: left; vertical-align: top}
.rg .num {text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap}
.rg .cause {border-left: 6px solid #7f1d1d; padding: .2em .9em; margin: .6em 0; background: #fafafa}
.rg .cause h3 {margin: .2em 0; font-size: 1.15em}
.rg .cause small {font-weight: normal; color: #555}
.rg .cause dl {display: grid; grid-template-columns: max-content 1fr; gap: .15em .8em}
.rg .cause dt {font-weight: bold} .rg .cause dd {margin: 0; overflow-wrap: anywhere}
.rg .verdict {border: 3px solid; padding: .6em .9em; font-size: 1.5em; font-weight: bold}
.rg .accepted {color: #14532d} .rg .rejected {color: #7f1d1d} .rg .incomplete {color: #713f12}
.rg .simulated {border: 3px dashed #7c2d12; color: #7c2d12; padding: .5em .9em; margin: .6em 0;
  font-weight: bold}
body {display: flex; flex-direction: column; font-size: 13px; max-width: 1500px}
#environment-header {order: 5} #environment {order: 6; align-self: flex-start}
.rg td, .rg th, #results-table th, #results-table td:not(.col-result), #environment td {color: #222}
#results-table {width: 100%} #results-table td {overflow-wrap: anywhere}
.col-testId {min-width: 17em} .col-measured, .col-limit {max-width: 17em}
.col-basis {max-width: 26em; font-size: .85em} .col-margin, .col-duration {white-space: nowrap}
@media print {.rg {max-width: none} .controls, .filters {display: none}}
</style>"""
_SYMBOLS = {"accepted": "&#10003;", "rejected": "&#10007;", "incomplete": "?"}


def _banner(verdict: Verdict) -> str:
    counts = verdict.counts
    text = (
        f"{_SYMBOLS[verdict.verdict]} {verdict.verdict.upper()}: "
        f"asserted {counts.asserted} of {counts.planned}"
    )
    banner = f'<div class="verdict {verdict.verdict}">{text}</div>'
    if verdict.evidence == "hardware":
        return banner
    return banner + (
        f'<div class="simulated">{verdict.evidence.upper()} evidence: '
        "no hardware was measured in this run.</div>"
    )


def _identity(verdict: Verdict, context: Any) -> str:
    cluster, counts = context.declared, verdict.counts
    rows = {
        "Cluster": f"{cluster.name}: {len(cluster.nodes)} nodes over {cluster.transport}",
        "Platform": f"{context.platform.name}: {context.platform.title}",
        "Level": f"{verdict.level}, {len(context.level.pairs)} node pairs",
        "Run": verdict.run_id,
        "Items": ", ".join(
            f"{number} {outcome}"
            for outcome in Outcome
            if (number := getattr(counts, str(outcome)))
        ).replace("_", " "),
    }
    if verdict.notes:
        rows["Noted"] = "; ".join(verdict.notes)
    if verdict.deselected:
        rows["Deselected"] = f"{verdict.deselected} items of this level, which say nothing"
    return _table((), [[escape(key), escape(value)] for key, value in rows.items()])


def _causes(causes: Sequence[Cause]) -> str:
    """A card for each root cause: where, why, how far the ladder holds, and what to do."""
    if not causes:
        return ""
    more = f"<p>{len(causes) - _MOST} more in verdict.json.</p>" if len(causes) > _MOST else ""
    cards = "".join(_card(number, cause) for number, cause in enumerate(causes[:_MOST], 1))
    return f"<h2>{'Cause' if len(causes) == 1 else 'Causes'}</h2>{cards}{more}"


def _card(number: int, cause: Cause) -> str:
    sure = f"<small>{_SURE[cause.confidence]}</small>"
    head = f"{number}. {escape(cause.cause)}: {escape(str(cause.where))} {sure}"
    rows = "".join(
        f"<dt>{escape(label)}</dt><dd>{_lines(said)}</dd>" for label, said in about(cause)
    )
    return f'<div class="cause"><h3>{head}</h3><dl>{rows}</dl></div>'


_SURE = {
    "certain": "a fact or a counter says so",
    "likely": "the pattern of the measurements says so",
    "open": "not decided",
}


def _lines(said: Sequence[str]) -> str:
    return "<br>".join(map(escape, said))


def _troubles(records: Sequence[ItemRecord]) -> str:
    """What went wrong on the lowest rung comes first: it explains what stands above it."""
    found = troubles(records)
    if not found:
        return ""
    rows = [
        [escape(t.what), escape(t.ids), escape(t.reason), escape(t.remedy)] for t in found[:_MOST]
    ]
    more = f"<p>{len(found) - _MOST} more in the table below.</p>" if len(found) > _MOST else ""
    head = ("What", "Where", "Why", "What to do")
    return f"<h2>What went wrong</h2>{_table(head, rows)}{more}"


_MOST = 20


def _changes(context: Any) -> str:
    """What --prepare changed on the nodes, and whether it was put back."""
    if not (context.store.folder / JOURNAL).exists():
        return ""
    rows = [
        [
            escape(change.node),
            escape(change.step),
            escape(f"{change.before} -> {change.after}"),
            "yes" if change.undone else "<b>NO</b>",
        ]
        for change in from_journal(context.store.read_json(JOURNAL))
    ]
    head = ("Node", "Setting", "Change", "Undone")
    return f"<h2>Changed by --prepare</h2>{_table(head, rows)}"


def _tightest(records: Mapping[str, ItemRecord]) -> str:
    lines = worst_measurements(records.values())
    if not lines:
        return ""
    rows = [
        [
            f"{w.margin:+.1%}",
            escape(w.measured),
            escape(w.limit),
            escape(w.ceiling),
            escape(f"{w.subject} {w.where}"),
        ]
        for w in lines
    ]
    return f"<h2>Closest to their limits</h2>{_table(_TIGHTEST, rows)}"


_TIGHTEST = ("Margin", "Measured", "Limit", "Ceiling", "What")


def _coverage(verdict: Verdict) -> str:
    rows = [
        [name, f'<span class="num">{part["tested"]} of {part["declared"]}</span>']
        for name, part in verdict.coverage.items()
    ]
    absent = [[escape(name), escape(why)] for name, why in sorted(verdict.not_applicable.items())]
    tables = f"<h2>Coverage</h2>{_table(('Asserted on', 'Tested of declared'), rows)}"
    if absent:
        tables += f"<h2>Not applicable to this platform</h2>{_table(('Test', 'Why'), absent)}"
    return tables


def _table(head: tuple[str, ...], rows: list[list[str]]) -> str:
    top = "".join(f"<th>{name}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{f'<thead><tr>{top}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"
