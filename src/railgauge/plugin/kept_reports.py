"""What pytest's reporters keep of a phase until the end of the session.

pytest's terminal and pytest-html keep all reports, some 2 KiB for an item. The terminal counts
those of calls, and shows at the end what was captured in any. The others and the keywords, which
repeat what the id says, are let go of when every reporter has had them.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import cached_property
from typing import Any

import pytest
from pytest_html.basereport import BaseReport

_UNTOLD = ""  # the category of what the terminal does not count: setups and teardowns that passed


class KeptReports:
    """Plugin of the controller that lets go of reports."""

    def __init__(self, config: pytest.Config) -> None:
        self._plugins = config.pluginmanager

    @cached_property
    def _of_pages(self) -> dict[str, Any]:
        """The reports that pytest-html keeps by item, for itself; it has no name as a plugin."""
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
            self._of_pages.pop(report.nodeid, None)  # which it has made into rows
        return result

    def _of_terminal(self, report: pytest.TestReport) -> None:
        terminal: Any = self._plugins.getplugin("terminalreporter")
        untold = terminal.stats.get(_UNTOLD) if terminal else None
        if untold and untold[-1] is report and not report.sections:
            untold.pop()
