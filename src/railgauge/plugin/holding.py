"""Takes, renews and releases the leases on the nodes during pytest's session."""

from __future__ import annotations

import os
from typing import Any

import pytest

from railgauge.acceptance.ending import Ending
from railgauge.leases.nodes import NamedTwice, NodeTaken
from railgauge.plugin.reporters import tell
from railgauge.run import distinct
from railgauge.run.holding import Holding, die_with
from railgauge.run.services import RunServices
from railgauge.run.settings import RunSettings
from railgauge.transport.registry import allots_nodes

_WORKER_INPUT = "railgauge_controller"


def end_with_controller(config: Any) -> None:
    """Have the kernel kill this worker when its controller dies."""
    die_with(config.workerinput[_WORKER_INPUT])


class HoldingHooks:
    """Plugin of the controller: holds the run's leases."""

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
        """Lease every node that can be reached. Raises ``BadInput`` if another run holds one."""
        run, cluster = self._run, self._run.cluster()
        if self._settings.replayed or allots_nodes(cluster.transport):
            return
        self._holding = Holding(
            run.sessions(), run.store.folder.name, run.tag.run, cluster, self._tell
        )
        try:
            self._holding.take([node.name for node in cluster.nodes], self._settings.wait_s)
        except NamedTwice:
            # Its message names both names of the machine.
            distinct.refuse_second_names(cluster, run.sessions(), self._settings.platform)
            raise

    def abandon(self) -> None:
        """Ask no node to end its lease: a lease ends with the connection to its node.

        If no memory is left, Python may wait forever for a thread that could not begin.
        """
        self._holding = None

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self) -> None:
        try:
            self.keep()
        except NodeTaken as error:
            # Printed here, because pytest prints its own line between exclamation marks.
            self._tell(f"railgauge: {error}")
            pytest.exit("another run holds a node", pytest.ExitCode.INTERRUPTED)

    def keep(self) -> None:
        """Renew leases on nodes. Raises ``NodeTaken`` if another run holds one by now."""
        if self._holding:
            self._holding.refuse_lost()
            self._holding.renew()

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self) -> None:
        """Release the leases before the connections are closed and the lab is stopped."""
        if self._holding:
            with self._ending.step("the leases on the nodes could not be released"):
                self._holding.release(self._ending.add_error)

    def _tell(self, line: str) -> None:
        tell(self._config, line)
