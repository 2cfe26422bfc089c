"""Prints whom a run waits for."""

from __future__ import annotations

import time
from contextlib import ExitStack

import pytest

from railgauge.plugin.reporters import keep_terminal, tell
from railgauge.report.causes import printable
from railgauge.run.services import RunServices
from railgauge.run.waiting import WaitLines, each_second


class WaitHooks:
    """Plugin of the controller."""

    def __init__(self, config: pytest.Config, run: RunServices) -> None:
        self._config = config
        self._lines = WaitLines(run.waits)
        self._looking = ExitStack()

    def pytest_sessionstart(self) -> None:
        keep_terminal(self._config)
        self._looking.enter_context(each_second(self._look))

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self) -> None:
        self._looking.close()

    def _look(self) -> None:
        for line in self._lines.due(time.monotonic()):
            tell(self._config, printable(line))
