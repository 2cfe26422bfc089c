"""``report.html``: the page of railgauge, made from the record; it replaces that of pytest-html.

The page of pytest-html draws its rows by script, from one attribute with all of them. Here every
row is in the page, so that it reads without script too. pytest-html says where the page is, and its
hooks give what other plugins add; when it has written its own page, this one replaces that.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import pytest_html
from markupsafe import Markup
from pytest_metadata.plugin import metadata_key

from railgauge.core import pages
from railgauge.core.terms import Rung
from railgauge.judging.record import ItemRecord
from railgauge.report import page, rows
from railgauge.report.certificate import document
from railgauge.report.certificate.certified import CertifiedRun
from railgauge.report.excerpts import excerpts
from railgauge.report.lines import ReportLines
from railgauge.report.plots import Plot
from railgauge.run import masks
from railgauge.run.settings import RunSettings
from railgauge.run.store import Store, write_whole
from railgauge.trend.tonight import NightsTold

# The style of the page as a file of its own, for servers that forbid styles inside a page.
STYLE = "report.css"
_PAGE = "report/templates/page.html.j2"
_SCRIPT = "report/page.js"
_LOG_CHARACTERS = 20_000


class Columns:
    """Hooks of pytest-html. ``evidence`` is the kind of evidence in the title of the page.

    Rows are made from records at the end. Of what pytest reports, only what no record has is kept:
    tests that are not of the ladder, and what was captured while an item ran.
    """

    def __init__(self, evidence: Callable[[], str]) -> None:
        self._evidence = evidence
        self.bases: dict[str, int] = {}
        self.logs: dict[str, str] = {}
        self.others: list[tuple[str, str, str]] = []
        self._added: tuple[list[str], list[str], list[str]] | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_report_title(self, report: Any) -> None:
        report.title = self._title()

    def _title(self) -> str:
        return f"railgauge acceptance report ({self._evidence()} evidence)"

    @pytest.hookimpl(optionalhook=True, trylast=True)
    def pytest_html_results_summary(
        self, prefix: list[str], summary: list[str], postfix: list[str]
    ) -> None:
        """Keep the lists to which all plugins add their content for the page."""
        self._added = (prefix, summary, postfix)

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Write the page when pytest-html has written its own, if it has."""
        result = yield
        if self._added is not None:
            parts = [part for added in self._added for part in added]
            write_whole(_place(session.config), _page(self._title(), parts, session.config))
        return result

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: pytest.TestReport, cells: list[str]) -> None:
        """Keep what no record has; pytest-html drops the emptied row."""
        cells.clear()
        captured = "\n".join(f"{name}\n{text}" for name, text in report.sections if text.strip())
        if captured and report.when == "teardown":
            self.logs[report.nodeid] = captured[:_LOG_CHARACTERS]
        is_shown = report.when in ("call", "collect") or not report.passed
        if is_shown and not hasattr(report, "railgauge"):
            text = report.longreprtext or captured
            self.others.append((report.nodeid, report.outcome, text[:_LOG_CHARACTERS]))


def _place(config: pytest.Config) -> Path:
    """The file that pytest-html writes: its option, with variables and ~ expanded."""
    path = Path(os.path.expandvars(config.getoption("htmlpath"))).expanduser()
    return config.invocation_params.dir / path


def _page(title: str, parts: Sequence[str], config: pytest.Config) -> str:
    return pages.render(
        _PAGE,
        title=title,
        made=f"{datetime.now():%d-%b-%Y %H:%M:%S}",
        writer=f"railgauge and pytest-html {pytest_html.__version__}",
        parts=list(map(_markup, parts)),
        around=sorted(config.stash.get(metadata_key, {}).items()),
        script_hash=_digest(pages.source(_SCRIPT)),
        style_file=STYLE,
    )


def _markup(part: str) -> Markup:
    """Return what a plugin gave pytest-html for its page; railgauge's own is from templates."""
    return Markup(part)  # noqa: S704


def style() -> str:
    """Return the style sheet of the page."""
    return pages.source("report/page.css") + pages.source("report/certificate.css")


def _digest(script: str) -> str:
    return b64encode(sha256(script.encode()).digest()).decode()


def content(
    certified: CertifiedRun,
    settings: RunSettings,
    store: Store,
    plots: Sequence[Plot],
    columns: Columns | None,
    *,
    lines: ReportLines,
    nights: NightsTold | None = None,
) -> str:
    """Return first screen, certificate, plots, all rows, their outputs and bases.

    ``columns`` has what pytest reported beside the records, ``lines`` are the rows, and ``nights``
    is the comparison with earlier nights.
    """
    verdict, records = certified.verdict, lines.records
    columns = columns or Columns(lambda: verdict.evidence)
    shown = document.sections(certified, columns.bases)
    found = excerpts(records.values(), store.folder)
    cases = {name: f"c{number}" for number, name in enumerate(found)}
    logs = {lines.line_of(item): log for item, log in columns.logs.items()}
    links = rows.PageLinks(rows.Anchors(lines), cases, columns.bases, logs, lines.numbers)
    nodes = [node.name for node in certified.cluster.nodes]
    return pages.render(
        "report/templates/above.html.j2",
        groups=rows.groups(records.values(), nodes, links),
        items=len(records),
        masked=masks.summary(store.folder),
        node_names=nodes,
        rung_names=_rung_names(records),
        outcomes=sorted({str(one.outcome).replace("_", " ") for one in records.values()}),
        rungs=_rungs(plots),
        cases=[(cases[name], name, case) for name, case in found.items()],
        others=columns.others,
        numbers=columns.bases,
        not_applicable=sorted(verdict.not_applicable.items()),
        bases=(),
        nights=nights,
        **shown,
        **page.first_screen(certified, settings, store, {p.rung for p in plots}, links.rows),
    )


def paragraphs(lines: Iterable[str]) -> str:
    """Return each line as a paragraph, escaped."""
    return str(pages.parts("report/templates/rows.html.j2").paragraphs(list(lines)))


def _rung_names(records: Mapping[str, ItemRecord]) -> list[tuple[int, str]]:
    return [(rung, Rung(rung).folder) for rung in sorted({one.rung for one in records.values()})]


def _rungs(plots: Sequence[Plot]) -> list[tuple[int, str, list[Plot]]]:
    """Return (number, name, plots) of each rung that has plots."""
    by_rung: dict[int, list[Plot]] = {}
    for plot in plots:
        by_rung.setdefault(plot.rung, []).append(plot)
    return [(rung, Rung(rung).folder, found) for rung, found in by_rung.items()]
