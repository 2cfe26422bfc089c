"""Frees reports that pytest's reporters would keep until the end of the session.

pytest's terminal and pytest-html keep all reports, some 2 KiB for an item. At the end the terminal
needs those of calls, which it counts, and those with captured output. The other reports, and all
keywords, which repeat the id, are freed when every reporter has had them.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import cached_property
from typing import Any

import pytest
from pytest_html.basereport import BaseReport

_UNCOUNTED = ""  # the terminal's category of setups and teardowns that passed


class KeptReports:
    """Plugin of the controller that frees reports."""

    def __init__(self, config: pytest.Config) -> None:
        self._plugins = config.pluginmanager

    @cached_property
    def _of_pages(self) -> dict[str, Any]:
        """The reports that pytest-html keeps by item; it registers no plugin by name."""
        pages = (one for one in self._plugins.get_plugins() if isinstance(one, BaseReport))
        return getattr(next(pages, None), "_reports", {})

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(
        self, report: pytest.TestReport
    ) -> Generator[None, object, object]:
        result = yield
        report.keywords = {}
        self._of_terminal(report)
        if report.when == "teardown" and str(report.outcome) != "rerun":
            self._of_pages.pop(report.nodeid, None)  # its rows are made
        return result

    def _of_terminal(self, report: pytest.TestReport) -> None:
        terminal: Any = self._plugins.getplugin("terminalreporter")
        uncounted = terminal.stats.get(_UNCOUNTED) if terminal else None
        if uncounted and uncounted[-1] is report and not report.sections:
            uncounted.pop()
