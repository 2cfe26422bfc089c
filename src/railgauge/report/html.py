"""pytest-html: the columns of its table, and what stands above and below it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import pytest

from railgauge.core.model import Judgement
from railgauge.core.terms import Rung
from railgauge.core.units import format_value
from railgauge.judging.record import ItemRecord, from_json
from railgauge.report import page
from railgauge.report.excerpts import excerpts
from railgauge.report.plots import Plot
from railgauge.verdict.counts import RunVerdict

_COLUMNS = ("Measured", "Limit", "Margin", "Basis")
# With more rows than this the passed ones are drawn only when asked for.
_MOST_ROWS = 2000
_HERE = Path(__file__).parent


class Columns:
    """Hooks of pytest-html. ``evidence`` goes into the title of the page.

    A basis is told in full once, below the table, and by its number in the rows. Each quote of a
    cell takes six bytes of the page: attributes go without where they can.
    """

    def __init__(self, evidence: Callable[[], str]) -> None:
        self._evidence = evidence
        self.bases: dict[str, int] = {}

    def pytest_html_report_title(self, report: Any) -> None:
        report.title = f"railgauge acceptance report ({self._evidence()} evidence)"

    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        cells.insert(1, '<th class="sortable" data-column-type="outcome">Outcome</th>')
        heads = [f'<th data-column-type="{name.lower()}">{name}</th>' for name in _COLUMNS]
        cells[3:3] = heads

    def pytest_html_results_table_row(self, report: pytest.TestReport, cells: list[str]) -> None:
        # Of an item's phases pytest-html shows the call, and what went wrong before or after it.
        shown = report.when == "call" or not report.passed
        data = getattr(report, "railgauge", None) if shown else None
        item = from_json(data) if data else None
        cells[1] = _name(report.nodeid, item)
        cells.insert(1, f'<td class="col-outcome{_bad(item)}">{_outcome(item)}</td>')
        cells[3:3] = [f"<td class=col-{n.lower()}>{self._cell(item, n)}</td>" for n in _COLUMNS]
        cells[-1] = f"<td class=col-links>{_links(item)}</td>"

    def _cell(self, item: ItemRecord | None, column: str) -> str:
        if item is None:
            return ""
        if not item.judgements:
            return escape(item.reason) if column == "Measured" else ""
        if column == "Basis":
            return " ".join(dict.fromkeys(self._basis(one.basis) for one in item.judgements))
        several = len(item.judgements) > 1
        lines = [
            f"{judged.metric}: {text}" if several else text
            for judged in item.judgements
            if (text := _text(judged, column))
        ]
        return "<br>".join(escape(line) for line in dict.fromkeys(lines))

    def _basis(self, basis: str) -> str:
        number = self.bases.setdefault(basis, len(self.bases) + 1)
        source = basis.partition(":")[0]
        return f"<a href=#basis-{number}>{escape(source)}&nbsp;[{number}]</a>"


def _name(nodeid: str, item: ItemRecord | None) -> str:
    """The id, and what the row can be filtered by."""
    nodes, rung = (" ".join(item.nodes), str(item.rung)) if item else ("", "")
    said = escape(nodeid.removeprefix("tests/"))
    keys = f'data-n="{escape(nodes)}" data-r={rung or 0} data-o="{_outcome(item)}"'
    return f"<td class=col-testId {keys}>{said}</td>"


def _outcome(item: ItemRecord | None) -> str:
    return str(item.outcome).replace("_", " ") if item else ""


def _bad(item: ItemRecord | None) -> str:
    return "" if item and item.outcome in page.GOOD else " rg-bad"


def _text(judged: Judgement, column: str) -> str:
    if column == "Measured":
        return judged.measured
    if column == "Limit":
        return _limit(judged)
    return "" if judged.margin is None else f"{judged.margin:+.1%}"


def _limit(judged: Judgement) -> str:
    """The limit, and beside it what the hardware can do at most."""
    beside = {"ideal": judged.ideal, "ceiling": judged.physical_ceiling}
    shown = [
        f"{name} {format_value(value, judged.unit)}"
        for name, value in beside.items()
        if value is not None
    ]
    return ", ".join([judged.limit, *shown])


def _links(item: ItemRecord | None) -> str:
    if item is None or not item.transcript:
        return ""
    return f'<a target=_blank href="{escape(item.transcript)}">transcript</a>'


# --- above and below the table ---


def above(
    verdict: RunVerdict, records: Mapping[str, ItemRecord], context: Any, plots: Sequence[Plot]
) -> str:
    """Style and script, the first screen, the plots, and what the rows need when they open."""
    first = page.first_screen(verdict, records, context, {plot.rung for plot in plots})
    counts = f'data-items="{len(records)}" data-most="{_MOST_ROWS}"'
    data = {
        "rg-lists": _lists(records),
        "rg-cases": excerpts(records.values(), context.store.folder),
    }
    return "".join(
        (
            f"<style>{_resource('page.css')}</style>",
            *(_data(name, value) for name, value in data.items()),
            f"<script {counts}>{_resource('page.js')}</script>",
            f'<div class="rg">{first}{"".join(_rungs(plots))}<h2 id="rows">All rows</h2></div>',
        )
    )


def below(verdict: RunVerdict, columns: Columns | None) -> str:
    """Every basis in full, and what this platform does not have."""
    return f'<div class="rg" id="rg-after">{page.bases(columns.bases if columns else {})}' + (
        f"{page.absent(verdict)}</div>"
    )


def _resource(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _data(name: str, value: object) -> str:
    """JSON that no text of a node can end."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>'


def _lists(records: Mapping[str, ItemRecord]) -> dict[str, list[str]]:
    items = records.values()
    return {
        "rungs": sorted({str(item.rung) for item in items}),
        "nodes": list(dict.fromkeys(node for item in items for node in item.nodes)),
        "outcomes": sorted({_outcome(item) for item in items}),
    }


def _rungs(plots: Sequence[Plot]) -> list[str]:
    """The plots, rung by rung."""
    by_rung: dict[int, list[Plot]] = {}
    for plot in plots:
        by_rung.setdefault(plot.rung, []).append(plot)
    return [
        f'<h2 id="rung-{rung}">Rung {rung}: {Rung(rung).folder}</h2>'
        f'<div class="plots">{"".join(map(_figure, found))}</div>'
        for rung, found in by_rung.items()
    ]


def _figure(plot: Plot) -> str:
    return f"<figure>{plot.svg}<figcaption>{escape(plot.caption)}</figcaption></figure>"
