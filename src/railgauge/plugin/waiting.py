"""Prints whom a run waits for."""

from __future__ import annotations

import time
from contextlib import ExitStack

import pytest

from railgauge.plugin.reporters import keep_terminal, tell
from railgauge.report.causes import printable
from railgauge.run.services import RunServices
from railgauge.run.settings import RunSettings
from railgauge.run.waiting import PassedOn, WaitLines, each_second


class WaitHooks:
    """Plugin of the controller and of each worker, which passes its lines on."""

    def __init__(self, config: pytest.Config, settings: RunSettings, run: RunServices) -> None:
        self._config, self._settings = config, settings
        self._lines = WaitLines(run.waits)
        self._passed_on = PassedOn(run.store.folder / "leases")
        self._looking = ExitStack()

    def pytest_sessionstart(self) -> None:
        keep_terminal(self._config)
        self._looking.enter_context(each_second(self._look))

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self) -> None:
        self._looking.close()

    def _look(self) -> None:
        lines = list(self._lines.due(time.monotonic()))
        if self._settings.is_worker:
            self._passed_on.leave(self._settings.part, lines)
            return
        for line in (*lines, *self._passed_on.new()):
            tell(self._config, printable(line))
