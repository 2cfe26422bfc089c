"""Makes the cluster ready for the first test: reaches, leases, prepares and surveys its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import NoReturn

import pytest

from railgauge import labs
from railgauge.core.errors import BadInput, Exhausted, NoEvidence, RailgaugeError
from railgauge.core.model import Cluster, Command, Transcript
from railgauge.core.programs import placed
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.facts import NodeAnswer
from railgauge.planning.vendor import platform_stack
from railgauge.plugin import options
from railgauge.plugin.ending import Ending
from railgauge.plugin.holding import HoldingHooks
from railgauge.plugin.reporters import tell
from railgauge.report import terminal
from railgauge.run import distinct, logins, reboots, storage, survey, takeover
from railgauge.run.counters import CounterReader
from railgauge.run.prepare import Preparer
from railgauge.run.services import RunServices
from railgauge.run.settings import RunSettings
from railgauge.run.survey import found_to_json
from railgauge.site import installed
from railgauge.transport import registry


class SessionStart:
    """The controller's steps before the first test, and their undoing at the end.

    Bad input ends the session with one line and pytest's usage error.
    """

    def __init__(
        self,
        config: pytest.Config,
        settings: RunSettings,
        run: RunServices,
        ending: Ending,
        holding: HoldingHooks,
    ) -> None:
        self._config = config
        self._settings = settings
        self._run = run
        self._ending = ending
        self._holding = holding
        self._preparer: Preparer | None = None
        self._lab = ExitStack()

    def reach(self, planned: Sequence[str]) -> Cluster:
        """Return the cluster with the nodes' addresses; ``planned`` are the ids of the items."""
        try:
            if self._run.earlier is not None:
                self._run.earlier.refuse_other_items(planned)
            cluster = self._as_before(self._settings.used(self._reached()))
            if not self._run.recorded:
                registry.load(cluster.transport)
        except RailgaugeError as error:
            _refuse(error)
        except (Exception, SystemExit) as error:
            if failed := installed.failed_import(error):
                _refuse(installed.told(failed))
            raise
        return cluster

    def survey(self, cluster: Cluster) -> None:
        """Lease every node, prepare it if ``--prepare`` is given, and survey it."""
        storage.keep_input(self._run.store, self._settings, cluster)
        try:
            self._holding.take()  # before anything else is done on a node
        except BadInput as error:
            _refuse(error)
        self._prepare(cluster)
        found = self._found(cluster)
        self._refuse_other_machines(found)
        self._keep_earlier()
        self._read_counters(cluster, found)
        survey.keep(found, self._run.store, self._settings)
        self._log_changes(found)
        self._refuse_confused(cluster, found)

    def keep_leases(self) -> None:
        """Renew leases on nodes. Raises ``NodeTaken`` if another run holds one by now."""
        self._holding.keep()

    def abandon_leases(self) -> None:
        """Leave it to the nodes to end the leases, for which this machine has no means left."""
        self._holding.abandon()

    # --- the cluster ---

    def _reached(self) -> Cluster:
        """The cluster as reached. Raises ``BadInput`` or ``TransportError``."""
        declared = self._settings.declared
        if self._settings.replayed:
            return declared
        if declared.transport == "lab":
            seed, faults = options.lab_seed(self._config), self._config.getoption("--lab-fault")
            with PROGRESS_OF_PROCESS.during("starting the lab"):
                return self._lab.enter_context(labs.started(declared, seed=seed, faults=faults))
        transport = ExitStack()
        self._config.add_cleanup(transport.close)  # after pytest_unconfigure
        used = self._settings.used(declared)
        return transport.enter_context(registry.opened(used, self._tell))

    def _as_before(self, cluster: Cluster) -> Cluster:
        """The cluster; a run that carries another one on places ranks as that one did."""
        earlier = self._run.earlier
        first = next(earlier.clusters(), None) if earlier else None
        return replace(cluster, ranks=first[1].ranks) if first else cluster

    def close_lab(self) -> None:
        """Stop the lab; no session may use it afterwards."""
        self._lab.close()

    # --- preparations ---

    def _prepare(self, cluster: Cluster) -> None:
        """Apply the preparations if ``--prepare`` is given; nothing else changes a node."""
        if not self._settings.prepare:
            return

        def run(command: Command) -> Transcript:
            return self._run.sessions()[command.node].run(placed(command, cluster.tools))

        steps = self._settings.platform.preparations
        self._preparer = Preparer(run, self._run.store, cluster.rootfs, steps)
        try:
            self._preparer.apply(node.name for node in cluster.nodes)
        except NoEvidence as error:
            self.undo_preparations()
            _refuse(f"--prepare: {error}")
        terminal.prepared(self._config, self._preparer.changes)

    def undo_preparations(self) -> None:
        if self._preparer is not None:
            try:
                complaints = self._preparer.undo()
            except Exhausted as error:
                by_hand = f"railgauge undo --hostfile FILE {self._run.store.folder.name}"
                complaints = [f"{error}; then {by_hand}"]
            self._preparer = None  # report once; after an interrupt above, undo runs again
            for complaint in complaints:
                self._ending.add_error(f"prepare: NOT UNDONE: {complaint}")

    # --- the survey ---

    def _found(self, cluster: Cluster) -> Mapping[str, NodeAnswer]:
        """Survey every node; in a replay, return the recorded survey."""
        if self._run.recorded:
            return self._run.recorded.found
        stack = platform_stack(self._settings.platform)
        found = survey.survey(cluster, self._run.sessions(), stack, self._tell_error)
        return logins.tried(found, cluster, self._settings, self._run.sessions())

    def _tell_error(self, answer: NodeAnswer) -> None:
        if isinstance(answer, NoEvidence):
            self._tell(f"survey: {answer}")

    def _tell(self, line: str) -> None:
        tell(self._config, line)

    def _read_counters(self, cluster: Cluster, found: Mapping[str, NodeAnswer]) -> None:
        """Read the error counters before the survey is written, after which workers measure."""
        run, platform = self._run, self._settings.platform
        if platform.growth is not None and not run.recorded:
            reader = CounterReader(platform, cluster, run.sessions(), run.store)
            reader.begin(found, run.earlier)

    def _keep_earlier(self) -> None:
        """Keep what earlier runs have found, by which items are judged as well."""
        run = self._run
        if run.earlier is not None:
            takeover.keep_earlier(run.store, run.earlier)
        if run.recorded:
            takeover.keep_recorded(run.store, run.recorded.earlier)

    def _log_changes(self, found: Mapping[str, NodeAnswer]) -> None:
        """Record rebooted nodes, and what has changed since the run that is carried on."""
        run = self._run
        if run.recorded:
            reboots.keep(run.store, run.recorded.reboots())
            reboots.keep_marks(run.store, run.recorded.marks())
        if run.earlier is not None:
            facts = found_to_json(found)
            takeover.log_changes(run.store, run.earlier, run.cluster(), facts, self._tell)

    def _refuse_other_machines(self, found: Mapping[str, NodeAnswer]) -> None:
        if self._run.earlier is not None:
            try:
                takeover.refuse_other_machines(self._run.earlier, found)
            except BadInput as error:
                _refuse(error)

    def _refuse_confused(self, cluster: Cluster, found: Mapping[str, NodeAnswer]) -> None:
        if self._run.recorded:  # a replay does not refuse what the run accepted
            return
        try:
            distinct.check(cluster, found, self._settings.platform)
        except BadInput as error:
            _refuse(error)


def _refuse(why: object) -> NoReturn:
    """End the session with one line and pytest's usage error, which it prints as it is."""
    raise pytest.UsageError(f"railgauge: {why}") from None
