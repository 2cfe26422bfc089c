"""Makes the cluster ready: reaches, leases, prepares and surveys its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Protocol

from railgauge import labs
from railgauge.acceptance.ending import Ending
from railgauge.acceptance.request import Request
from railgauge.core.errors import BadInput, Exhausted, NoEvidence, RailgaugeError
from railgauge.core.model import Cluster, Command, Transcript
from railgauge.core.programs import placed
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.facts import NodeAnswer
from railgauge.planning.vendor import platform_stack
from railgauge.run import distinct, logins, reboots, storage, survey, takeover
from railgauge.run.counters import CounterReader
from railgauge.run.prepare import Preparer
from railgauge.run.services import RunServices
from railgauge.run.settings import RunSettings
from railgauge.site import installed
from railgauge.transport import Tell, registry


class Holds(Protocol):
    """The leases of the run on its nodes."""

    def take(self) -> None:
        """Lease every node that can be reached. Raises ``BadInput`` if another run holds one."""

    def keep(self) -> None:
        """Renew leases on nodes. Raises ``NodeTaken`` if another run holds one by now."""

    def abandon(self) -> None:
        """Leave it to the nodes to end the leases."""


class RunStart:
    """The steps before the first measurement, and their undoing at the end.

    They raise ``BadInput`` for what the user has to change.
    """

    def __init__(
        self,
        request: Request,
        settings: RunSettings,
        run: RunServices,
        ending: Ending,
        holds: Holds,
        *,
        tell: Tell,
    ) -> None:
        self._request = request
        self._settings = settings
        self._run = run
        self._ending = ending
        self._holds = holds
        self._tell = tell
        self._preparer: Preparer | None = None
        self._lab = ExitStack()

    def reach(self, planned: Sequence[str]) -> Cluster:
        """Return the cluster with the nodes' addresses; ``planned`` are the ids of the items.

        Raises ``RailgaugeError`` if it cannot be reached.
        """
        try:
            if self._run.earlier is not None:
                self._run.earlier.refuse_other_items(planned)
            cluster = self._as_before(self._settings.used(self._reached()))
            if not self._run.recorded:
                registry.load(cluster.transport)
        except RailgaugeError:
            raise
        except (Exception, SystemExit) as error:
            if failed := installed.failed_import(error):
                raise BadInput(installed.explained(failed)) from error
            raise
        return cluster

    def survey(self, cluster: Cluster) -> None:
        """Lease every node, prepare it if ``--prepare`` is given, and survey it."""
        storage.keep_input(self._run.store, self._settings, cluster)
        self._holds.take()  # before anything else is done on a node
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
        self._holds.keep()

    def abandon_leases(self) -> None:
        """Leave it to the nodes to end the leases: this machine has run out of resources."""
        self._holds.abandon()

    # --- the cluster ---

    def _reached(self) -> Cluster:
        """The cluster as reached. Raises ``BadInput`` or ``TransportError``."""
        declared = self._settings.declared
        if self._settings.replayed:
            return declared
        if declared.transport == "lab":
            asked = self._request
            lab = labs.started(declared, seed=asked.lab_seed, faults=asked.options.lab_fault)
            with PROGRESS_OF_PROCESS.during("starting the lab"):
                return self._lab.enter_context(lab)
        used = self._settings.used(declared)
        return self._request.closing.enter_context(registry.opened(used, self._tell))

    def _as_before(self, cluster: Cluster) -> Cluster:
        """The cluster; a resumed run places ranks as the first run did."""
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
            raise BadInput(str(error), where="--prepare") from None
        changes = self._preparer.changes
        self._tell(f"prepare: {len(changes)} settings changed, to be undone at the end")
        for one in changes:
            self._tell(f"  {one.node}: {one.step}: {one.before} -> {one.after}")

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

    def _read_counters(self, cluster: Cluster, found: Mapping[str, NodeAnswer]) -> None:
        """Read the error counters before the survey is written: measuring begins after that."""
        run, platform = self._run, self._settings.platform
        if platform.growth is not None and not run.recorded:
            reader = CounterReader(platform, cluster, run.sessions(), run.store)
            reader.begin(found, run.earlier)

    def _keep_earlier(self) -> None:
        """Keep the results of earlier runs, because items are judged by them as well."""
        run = self._run
        if run.earlier is not None:
            takeover.keep_earlier(run.store, run.earlier)
        if run.recorded:
            takeover.keep_recorded(run.store, run.recorded.earlier)

    def _log_changes(self, found: Mapping[str, NodeAnswer]) -> None:
        """Record rebooted nodes, and what has changed since the run that is resumed."""
        run = self._run
        if run.recorded:
            reboots.keep(run.store, run.recorded.reboots())
            reboots.keep_marks(run.store, run.recorded.marks())
        if run.earlier is not None:
            takeover.log_changes(run.store, run.earlier, run.cluster(), found, self._tell)

    def _refuse_other_machines(self, found: Mapping[str, NodeAnswer]) -> None:
        if self._run.earlier is not None:
            takeover.refuse_other_machines(self._run.earlier, found)

    def _refuse_confused(self, cluster: Cluster, found: Mapping[str, NodeAnswer]) -> None:
        if self._run.recorded:  # a replay does not refuse what the run accepted
            return
        distinct.check(cluster, found, self._settings.platform)
