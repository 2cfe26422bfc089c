"""When the nodes are held, looked after and let go, in the course of pytest's session."""

from __future__ import annotations

import os
from typing import Any

import pytest

from railgauge.leases.nodes import NamedTwice, NodeTaken
from railgauge.plugin.ending import Ending
from railgauge.plugin.reporters import tell
from railgauge.run import distinct
from railgauge.run.holding import Holding, die_with
from railgauge.run.services import RunServices
from railgauge.run.settings import RunSettings
from railgauge.transport.registry import allots_nodes

_WORKER_INPUT = "railgauge_controller"


def end_with_controller(config: Any) -> None:
    """Let this process, a worker, end when its controller does."""
    die_with(config.workerinput[_WORKER_INPUT])


class HoldingHooks:
    """Plugin of the controller."""

    def __init__(
        self, config: pytest.Config, settings: RunSettings, run: RunServices, ending: Ending
    ) -> None:
        self._config = config
        self._settings = settings
        self._run = run
        self._ending = ending
        self._holding: Holding | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[_WORKER_INPUT] = os.getpid()

    def take(self) -> None:
        """Hold every node that can be reached. Raises ``BadInput`` if somebody else has one."""
        run, cluster = self._run, self._run.cluster()
        if self._settings.replayed or allots_nodes(cluster.transport):
            return
        self._holding = Holding(
            run.sessions(), run.store.folder.name, run.tag.run, cluster.rootfs, self._tell
        )
        try:
            self._holding.take([node.name for node in cluster.nodes], self._settings.wait_s)
        except NamedTwice:
            # This can say the other name too.
            distinct.look(cluster, run.sessions(), self._settings.platform)
            raise

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """A worker that died leaves what it was running."""
        if error and self._holding:
            self._holding.sweep(node.gateway.id)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._holding is None:
            return
        try:
            self._holding.refuse_lost()
        except NodeTaken as error:
            pytest.exit(f"railgauge: {error}", pytest.ExitCode.INTERRUPTED)
        if report.when == "teardown":
            # Workers must not wait for a node that somebody else's items are about.
            self._holding.renew(in_background=hasattr(report, "node"))

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self) -> None:
        """Before the connections are closed, and before a lab is."""
        if self._holding:
            with self._ending.step("the leases on the nodes could not be let go"):
                self._holding.release(self._ending.trouble)

    def _tell(self, line: str) -> None:
        tell(self._config, line)
