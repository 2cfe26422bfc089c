"""``report.html``: pytest-html writes the file, and railgauge lays it out from the record.

The page of pytest-html itself draws its rows by script, from one attribute with all of them. Here
every row is in the page, so that it reads without script too.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import pytest
from markupsafe import Markup
from pytest_metadata.plugin import metadata_key

from railgauge.core import pages
from railgauge.core.terms import Rung
from railgauge.judging.record import ItemRecord
from railgauge.report import page, rows
from railgauge.report.certificate import document
from railgauge.report.certificate.certified import CertifiedRun
from railgauge.report.excerpts import excerpts
from railgauge.report.plots import Plot
from railgauge.run import masks
from railgauge.run.settings import RunSettings
from railgauge.run.store import Store
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

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        lay_out(session.config)

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_report_title(self, report: Any) -> None:
        report.title = f"railgauge acceptance report ({self._evidence()} evidence)"

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: pytest.TestReport, cells: list[str]) -> None:
        """Keep what no record has; an empty row is none for pytest-html."""
        cells.clear()
        captured = "\n".join(f"{name}\n{text}" for name, text in report.sections if text.strip())
        if captured and report.when == "teardown":
            self.logs[report.nodeid] = captured[:_LOG_CHARACTERS]
        is_shown = report.when in ("call", "collect") or not report.passed
        if is_shown and not hasattr(report, "railgauge"):
            told = report.longreprtext or captured
            self.others.append((report.nodeid, report.outcome, told[:_LOG_CHARACTERS]))


class _Layout:
    """Stands in for the template of pytest-html."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def render(self, **given: Any) -> str:
        """Return the page; ``given`` are the values that pytest-html has for its own template."""
        parts = given["additional_summary"]
        return pages.render(
            _PAGE,
            title=given["title"],
            made=f"{given['date']} {given['time']}",
            writer=f"pytest-html {given['version']}",
            parts=[_markup(p) for where in ("prefix", "summary", "postfix") for p in parts[where]],
            around=sorted(self._config.stash.get(metadata_key, {}).items()),
            script_hash=_digest(pages.source(_SCRIPT)),
            style_file=STYLE,
        )


def _markup(part: str) -> Markup:
    """Return what a plugin gave pytest-html for its page; railgauge's own is from templates."""
    return Markup(part)  # noqa: S704


def lay_out(config: pytest.Config) -> None:
    """Have pytest-html write the page of this module."""
    for plugin in config.pluginmanager.get_plugins():
        if type(plugin).__module__.startswith("pytest_html.") and hasattr(plugin, "_template"):
            plugin._template = _Layout(config)


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
    nights: NightsTold | None = None,
) -> str:
    """Return first screen, certificate, plots, all rows, their outputs and bases.

    ``columns`` has what pytest reported beside the records, ``nights`` what earlier nights say.
    """
    verdict, records = certified.verdict, certified.records
    columns = columns or Columns(lambda: verdict.evidence)
    shown = document.sections(certified, columns.bases)
    told = excerpts(records.values(), store.folder)
    cases = {name: f"c{number}" for number, name in enumerate(told)}
    links = rows.PageLinks(rows.anchors(records), cases, columns.bases, columns.logs)
    nodes = [node.name for node in certified.cluster.nodes]
    return pages.render(
        "report/templates/above.html.j2",
        groups=rows.groups(records.values(), nodes, links),
        items=len(records),
        masked=masks.told(store.folder),
        node_names=nodes,
        rung_names=_rung_names(records),
        outcomes=sorted({str(one.outcome).replace("_", " ") for one in records.values()}),
        rungs=_rungs(plots),
        cases=[(cases[name], name, case) for name, case in told.items()],
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
