"""The services of one process of a run: built once from the settings, and closed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

from railgauge.config import hostfile
from railgauge.config.thresholds import Platform
from railgauge.core.case_cache import CaseCache
from railgauge.core.errors import NoEvidence
from railgauge.core.masking import MASK_OF_PROCESS
from railgauge.core.model import Case, Cluster, Command, Fabric, Node
from railgauge.core.question import CaseResult
from railgauge.core.run_files import CLUSTER
from railgauge.facts import NodeAnswer, NodeFacts, steal
from railgauge.judging import traffic
from railgauge.judging.answers import KeptAnswers
from railgauge.planning import plan, telemetry
from railgauge.planning.vendor import platform_stack
from railgauge.run import control_host
from railgauge.run.case_notes import CaseNotes
from railgauge.run.decided import Decisions, ReadDecisions, WrittenDecisions
from railgauge.run.disk_quota import DiskQuota
from railgauge.run.holding import read_tag
from railgauge.run.hung import HungTools
from railgauge.run.progress.state import RunningCases
from railgauge.run.reboots import Watch
from railgauge.run.resume import Earlier
from railgauge.run.run_folder import RunFolder
from railgauge.run.runner import Runner, ports_of
from railgauge.run.sampling import GpuSampling
from railgauge.run.settings import RunSettings
from railgauge.run.store import Store
from railgauge.run.survey import Surveyed, surveyed_again
from railgauge.run.takeover import taking_over
from railgauge.transport import Session
from railgauge.transport.registry import connect
from railgauge.transport.sessions import Sessions
from railgauge.transport.tag import Tag

Measure = Callable[[Case], CaseResult]
AssessorInput = tuple[Platform, Mapping[str, NodeAnswer], Measure, Fabric | None]
_Made = TypeVar("_Made")


class Once(Generic[_Made]):
    """A value that is made on first use; ``made`` is ``None`` before that."""

    def __init__(self, make: Callable[[], _Made]) -> None:
        self._make = make
        self._making = Lock()
        self.made: _Made | None = None

    def __call__(self) -> _Made:
        with self._making:
            if self.made is None:
                self.made = self._make()
        return self.made


@dataclass(frozen=True, slots=True)
class RunServices:
    """Everything that accesses the run's folder or the nodes.

    ``cluster`` has the addresses at which the nodes are reached. It and ``sessions`` are made on
    first use, because the controller writes those addresses after its workers have started.
    ``decisions`` are the engine's decisions about cases; only the controller has an engine.
    ``running`` are the measurements that go on in this process.
    ``earlier`` is the run that this one resumes, ``recorded`` the one that it replays. ``kept``
    gives the stored result of a case; ``None`` if it was not measured. ``measure`` measures a case,
    unless it was measured in this run; only the engine calls it. ``measure_in`` returns the
    function that measures a case of a confirmation or a soak, and stores it in a folder of the run.
    """

    store: Store
    decisions: Decisions
    surveyed: Surveyed
    tag: Tag
    cluster: Once[Cluster]
    sessions: Once[Sessions]
    running: RunningCases
    earlier: Earlier | None
    recorded: RunFolder | None
    kept: Callable[[Case], CaseResult | None]
    measure: Measure
    measure_in: Callable[[str], Measure]
    notes: CaseNotes
    answers: KeptAnswers = field(default_factory=KeptAnswers)

    @property
    def found(self) -> Mapping[str, NodeAnswer]:
        """The survey's answer for each node."""
        return self.surveyed.found

    def result(self, case: Case) -> CaseResult:
        """Return the result of a case that was measured. Raises ``NoEvidence`` if it was not."""
        if (result := self.kept(case)) is None:
            raise NoEvidence("was not measured", where=case.key)
        return result

    def evidence(self, settings: RunSettings) -> AssessorInput:
        """What an ``Assessor`` judges: by which limits, and what was found and measured."""
        return settings.platform, self.found, self.result, settings.declared.fabric

    def interrupted(self) -> AbstractContextManager[None]:
        """End the measurements of all threads; none starts another while the block runs."""
        return self.sessions().interrupted()

    def hurry(self) -> None:
        """Stop waiting for nodes that cannot be reached."""
        if self.sessions.made:
            self.sessions.made.hurry()

    def close(self) -> None:
        if self.sessions.made:
            self.sessions.made.close()


def built(
    settings: RunSettings, folder: Path, earlier: Earlier | None, recorded: RunFolder | None
) -> RunServices:
    """Build the services of this process for the run in ``folder``; its tag must exist already."""
    MASK_OF_PROCESS.know(settings.environment)
    surveyed = Surveyed(folder, settings.evidence_of)
    quota = DiskQuota(folder, settings.disk_limit_bytes)

    def store_in(name: str) -> Store:
        return Store(folder / name, lambda: surveyed.evidence, quota, folder)

    store = store_in("")
    tag = read_tag(folder, settings.part)
    cluster = Once(lambda: _reached(settings, store))
    measurements = settings.platform.measurements
    running = RunningCases(lambda case: measurements[case.measurement].typical_s * case.repeats)
    if recorded:
        sessions = Once(lambda: Sessions(cluster(), _refuse_connection))
    else:
        sessions = Once(lambda: _live(settings, cluster(), store, surveyed, tag))
    sampling = Once(lambda: _sampling(settings, cluster(), sessions()))
    hung = HungTools(lambda case: measurements[case.measurement].command)
    known = (settings, store, surveyed, cluster, sessions, sampling, earlier, hung)
    runners = _Runners(*known, running)

    def into(kept: Store, name: str) -> Measure:
        return _replaying(recorded, kept, name) if recorded else runners.into(kept, name)

    measure, kept, notes = into(store, ""), CaseCache[CaseResult](), CaseNotes(settings.platform)

    def stored(case: Case) -> CaseResult | None:
        found = kept.get(case)
        if found is None and (found := store.load(case)) is not None:
            kept.keep(case, found)
        return found

    return RunServices(
        store,
        _decisions(settings, store),
        surveyed,
        tag,
        cluster,
        sessions,
        running,
        earlier,
        recorded,
        stored,
        lambda case: kept.keep(case, notes.take(case, measure(case))),
        lambda name: into(store_in(name), name),
        notes,
    )


def _decisions(settings: RunSettings, store: Store) -> Decisions:
    if settings.is_worker:
        return ReadDecisions(store)
    return WrittenDecisions(store) if settings.has_workers else Decisions()


def _reached(settings: RunSettings, store: Store) -> Cluster:
    """The cluster that the controller wrote, with the hostfile's values that commands need.

    The controller's file has these values with secrets masked.
    """
    reached = hostfile.cluster_from_json(store.read_json(CLUSTER))
    own = settings.declared
    declared = {node.name: node for node in own.nodes}
    nodes = tuple(_as_declared(node, declared.get(node.name, node)) for node in reached.nodes)
    return replace(
        reached,
        nodes=nodes,
        environment=own.environment,
        runtime=own.runtime,
        launcher_args=own.launcher_args,
    )


def _as_declared(reached: Node, own: Node) -> Node:
    """The node with its declared commands; a lab replaces nodes, and these have none."""
    return replace(
        reached,
        setup=own.setup if reached.setup else (),
        become=own.become if reached.become else (),
        exec=own.exec if reached.exec else (),
    )


def _live(
    settings: RunSettings, cluster: Cluster, store: Store, surveyed: Surveyed, tag: Tag
) -> Sessions:
    again = partial(surveyed_again, cluster, platform_stack(settings.platform))
    watch = Watch(store, cluster.rootfs, lambda: surveyed.found, again)
    return Sessions(
        cluster,
        lambda node: connect(cluster.transport, node, tag),
        watch,
        watch.was_there,
        store.masked_transcript,
    )


@dataclass(frozen=True, slots=True)
class _Runners:
    """Makes the runners of one process, which share its sessions and samplers."""

    settings: RunSettings
    store: Store
    surveyed: Surveyed
    cluster: Once[Cluster]
    sessions: Once[Sessions]
    sampling: Once[GpuSampling]
    earlier: Earlier | None
    hung: HungTools
    running: RunningCases

    def into(self, kept: Store, folder: str) -> Measure:
        """Return a function that measures and stores in ``kept``.

        ``folder`` is that of confirmations or of a round of the soak, or empty.
        """
        runner = Once(lambda: self._runner(kept, folder))

        def measured(case: Case) -> CaseResult:
            with self.running.measuring(case):
                return runner().measure(case)

        return measured

    def _runner(self, kept: Store, folder: str) -> Runner:
        taken = taking_over(self.earlier, self.store, folder)
        ports = ports_of(self.cluster())
        plan, read = self._plan, self._counters
        return Runner(
            self.sessions(),
            kept,
            plan,
            read,
            sampling=self.sampling(),
            earlier=taken,
            ports=ports,
            loads=self._loads,
            watch=control_host.watched,
            measured_with=self._measured_with,
            hung=self.hung,
        )

    def _plan(self, case: Case, port: int) -> tuple[Command, ...]:
        return plan.commands(case, self.settings.platform, self.cluster(), port)

    def _measured_with(self, case: Case) -> tuple[Case, ...]:
        return plan.measured_with(case, self.settings.platform, self.settings.level.name)

    def _counters(self, case: Case) -> tuple[Command, ...]:
        platform = self.settings.platform
        spec = platform.measurements[case.measurement].traffic
        return traffic.probes(case.nodes, self.cluster().rootfs, spec, platform)

    def _loads(self, case: Case) -> tuple[Command, ...]:
        """The readers of the virtual nodes; the control host's load is always recorded."""
        found, own = self.surveyed.found, control_host.boot_id()
        answers = {node: found.get(node) for node in case.nodes}
        virtual = (
            node
            for node, facts in answers.items()
            if isinstance(facts, NodeFacts) and facts.virtual and facts.boot_id != own
        )
        return steal.readers(virtual, self.cluster().rootfs)


def _sampling(settings: RunSettings, cluster: Cluster, sessions: Sessions) -> GpuSampling:
    """The samplers of the run."""
    platform = settings.platform
    return GpuSampling(
        sessions,
        lambda case: telemetry.samplers(case, platform, cluster),
        gpus=platform.gpus.count if platform.gpus else 1,
        last_samples=lambda text: telemetry.last_samples(text, platform),
    )


def _refuse_connection(node: Node) -> Session:
    raise NoEvidence("a replay connects to no node", where=node.name)


def _replaying(recorded: RunFolder, store: Store, folder: str) -> Measure:
    """Return a function that stores and gives the recorded transcripts of a case.

    Of a case of the ladder it gives an error if there are none; of any other it raises that.
    """

    def measure(case: Case) -> CaseResult:
        try:
            result = recorded.result(case, folder)
        except NoEvidence as error:
            if folder:
                raise
            result = CaseResult((), error)
        return store.save(case, result)

    return measure
