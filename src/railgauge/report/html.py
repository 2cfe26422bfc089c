"""pytest-html: the columns of its table, and the parts of the page above and below it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest

from railgauge.core import pages
from railgauge.core.model import Judgement
from railgauge.core.terms import Rung
from railgauge.core.units import format_value
from railgauge.judging.record import ItemRecord, from_json
from railgauge.report import page
from railgauge.report.certificate import document
from railgauge.report.certificate.certified import CertifiedRun
from railgauge.report.excerpts import excerpts
from railgauge.report.plots import Plot
from railgauge.run.settings import RunSettings
from railgauge.run.store import Store
from railgauge.verdict.counts import RunVerdict

_COLUMNS = ("Measured", "Limit", "Margin", "Basis")
# A page with more rows than this hides the passed ones at first.
_MOST_ROWS = 2000
_ROW = "report/templates/row.html.j2"


class Columns:
    """Hooks of pytest-html. ``evidence`` is the kind of evidence in the title of the page.

    Rows refer to a basis by its number; its full text is below the table. A quote in a cell takes
    six bytes of the page, so attributes have none where HTML permits.
    """

    def __init__(self, evidence: Callable[[], str]) -> None:
        self._evidence = evidence
        self.bases: dict[str, int] = {}

    def pytest_html_report_title(self, report: Any) -> None:
        report.title = f"railgauge acceptance report ({self._evidence()} evidence)"

    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        row = pages.parts(_ROW)
        cells.insert(1, str(row.outcome_head()))
        cells[3:3] = [str(row.head(name)) for name in _COLUMNS]

    def pytest_html_results_table_row(self, report: pytest.TestReport, cells: list[str]) -> None:
        # pytest-html shows the call phase of an item, and setup or teardown if they went wrong.
        shown = report.when == "call" or not report.passed
        data = getattr(report, "railgauge", None) if shown else None
        item = from_json(data) if data else None
        row = pages.parts(_ROW)
        nodes, rung = (" ".join(item.nodes), item.rung) if item else ("", 0)
        outcome, is_good = _outcome(item), item is not None and item.outcome in page.GOOD
        # str, because Markup would escape the text that pytest-html adds to the cell.
        cells[1] = str(row.name(report.nodeid.removeprefix("tests/"), nodes, rung, outcome))
        cells.insert(1, str(row.outcome(outcome, is_good)))
        cells[3:3] = [
            *(str(row.lines(name.lower(), _lines(item, name))) for name in _COLUMNS[:-1]),
            str(row.bases(self._bases(item))),
        ]
        cells[-1] = str(row.links(item.transcript if item else ""))

    def _bases(self, item: ItemRecord | None) -> list[tuple[str, int]]:
        """Return (source, number) of each basis of the item, without repetition."""
        found = dict.fromkeys(judged.basis for judged in item.judgements) if item else {}
        return [
            (basis.partition(":")[0], self.bases.setdefault(basis, len(self.bases) + 1))
            for basis in found
        ]


def _lines(item: ItemRecord | None, column: str) -> list[str]:
    """Return the lines of a cell: the item's judgements, or the reason why there are none."""
    if item is None:
        return []
    if not item.judgements:
        return [item.reason] if column == "Measured" else []
    several = len(item.judgements) > 1
    lines = (
        f"{judged.metric}: {text}" if several else text
        for judged in item.judgements
        if (text := _text(judged, column))
    )
    return list(dict.fromkeys(lines))


def _outcome(item: ItemRecord | None) -> str:
    return str(item.outcome).replace("_", " ") if item else ""


def _text(judged: Judgement, column: str) -> str:
    if column == "Measured":
        return judged.measured
    if column == "Limit":
        return _limit(judged)
    return "" if judged.margin is None else f"{judged.margin:+.1%}"


def _limit(judged: Judgement) -> str:
    """Return the limit, with the ideal and the physical ceiling if they are known."""
    beside = {"ideal": judged.ideal, "ceiling": judged.physical_ceiling}
    shown = [
        f"{name} {format_value(value, judged.unit)}"
        for name, value in beside.items()
        if value is not None
    ]
    return ", ".join([judged.limit, *shown])


# --- above and below the table ---


def above(
    certified: CertifiedRun,
    settings: RunSettings,
    store: Store,
    plots: Sequence[Plot],
    columns: Columns | None,
) -> str:
    """Return style, script, first screen, certificate, plots, and the data of the rows that expand.

    ``columns`` has the numbers of the bases, which the certificate refers to.
    """
    verdict, records = certified.verdict, certified.records
    data = {
        "rg-lists": _lists(records),
        "rg-cases": excerpts(records.values(), store.folder),
    }
    shown = document.sections(certified, columns.bases if columns else {})
    return pages.render(
        "report/templates/above.html.j2",
        data=data,
        items=len(records),
        most=_MOST_ROWS,
        rungs=_rungs(plots),
        bases=(),
        **shown,
        **page.first_screen(verdict, records, settings, store, {plot.rung for plot in plots}),
    )


def below(verdict: RunVerdict, columns: Columns | None) -> str:
    """Return every basis in full, and what is not applicable on this platform."""
    return pages.render(
        "report/templates/below.html.j2",
        bases=list(columns.bases.items()) if columns else [],
        absent=sorted(verdict.not_applicable.items()),
    )


_CHARSET = '<meta charset="utf-8"/>'


def with_head(page: str) -> str:
    """Return pytest-html's page with its language, the viewport of phones, and what it may load."""
    _, found, rest = page.partition(_CHARSET)
    return f"{pages.render('report/templates/head.html.j2')}{rest}" if found else page


def paragraphs(lines: Iterable[str]) -> str:
    """Return each line as a paragraph, escaped."""
    return str(pages.parts(_ROW).paragraphs(list(lines)))


def _lists(records: Mapping[str, ItemRecord]) -> dict[str, list[str]]:
    items = records.values()
    return {
        "rungs": sorted({str(item.rung) for item in items}),
        "nodes": list(dict.fromkeys(node for item in items for node in item.nodes)),
        "outcomes": sorted({_outcome(item) for item in items}),
    }


def _rungs(plots: Sequence[Plot]) -> list[tuple[int, str, list[Plot]]]:
    """Return (number, name, plots) of each rung that has plots."""
    by_rung: dict[int, list[Plot]] = {}
    for plot in plots:
        by_rung.setdefault(plot.rung, []).append(plot)
    return [(rung, Rung(rung).folder, found) for rung, found in by_rung.items()]
