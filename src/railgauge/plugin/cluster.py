"""The cluster as it is reached for a whole run: what a lab or a transport has to start for that."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from railgauge.core.model import Cluster
from railgauge.plugin import options
from railgauge.plugin.reporters import tell
from railgauge.run.settings import RunSettings
from railgauge.transport.registry import opened


class Reached:
    """Open from before the survey until all sessions are closed."""

    def __init__(self, config: pytest.Config, settings: RunSettings) -> None:
        self._config = config
        self._settings = settings
        self._lab = ExitStack()

    def open(self) -> Cluster:
        """The cluster as sessions need it. Raises ``BadInput`` or ``TransportError``."""
        declared = self._settings.declared
        if self._settings.replayed:
            return declared
        if declared.transport == "lab":
            return self._started(declared)
        transport = ExitStack()
        self._config.add_cleanup(transport.close)  # when pytest has unconfigured itself
        return transport.enter_context(opened(declared, lambda line: tell(self._config, line)))

    def _started(self, declared: Cluster) -> Cluster:
        from railgauge import lab  # noqa: PLC0415 - only a lab needs it

        folder = TemporaryDirectory(prefix="railgauge-lab-", ignore_cleanup_errors=True)
        self._lab.callback(folder.cleanup)
        started = lab.start(
            declared,
            nodes=None,
            seed=options.lab_seed(self._config),
            faults=tuple(self._config.getoption("--lab-fault")),
            folder=Path(folder.name, "lab"),
        )
        self._lab.callback(started.close)
        return started.cluster

    def close_lab(self) -> None:
        self._lab.close()
