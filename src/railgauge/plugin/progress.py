"""Shows the progress of the run on pytest's terminal, between the lines that pytest prints."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.plugin import masking
from railgauge.plugin.reporters import SCREEN, tell
from railgauge.run.progress.screen import Screen
from railgauge.run.progress.state import HowFar, Moment
from railgauge.run.services import RunServices
from railgauge.transport.waits import WAITS_OF_PROCESS


class ProgressHooks:
    """Plugin of the controller; ``far`` gives how far the ladder is while it is carried out."""

    def __init__(
        self, config: pytest.Config, run: RunServices, far: Callable[[], HowFar | None]
    ) -> None:
        self._config, self._run, self._far = config, run, far
        self._began_s = time.monotonic()
        self._asked = ExitStack()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        config = self._config
        if not config.pluginmanager.hasplugin("terminalreporter"):
            return
        is_verbose = config.get_verbosity() > 0
        about = (self._look, lambda line: tell(config, line), sys.stdout)
        screen = Screen(*about, mask=masking.shown, as_table=is_verbose)
        config.stash[SCREEN] = screen
        screen.begin()
        config.add_cleanup(screen.end)  # after pytest_unconfigure, which still writes files

    def _look(self) -> Moment:
        return Moment(
            "railgauge",
            self._began_s,
            time.monotonic(),
            str(PROGRESS_OF_PROCESS),
            self._far(),
            self._run.running.longest_first(),
            tuple(WAITS_OF_PROCESS.longest_first()),
        )

    # --- a person has the terminal ---

    def pytest_enter_pdb(self) -> None:
        if SCREEN in self._config.stash:
            self._asked.enter_context(self._config.stash[SCREEN].paused())

    def pytest_leave_pdb(self) -> None:
        self._asked.close()
