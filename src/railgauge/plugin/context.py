"""What one session holds: the cluster, the platform, the level, and the folder of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path

import pytest

from railgauge.config import hostfile, thresholds
from railgauge.config.thresholds import Platform
from railgauge.core.errors import BadInput
from railgauge.core.model import Case, Cluster, Command
from railgauge.core.question import CaseResult
from railgauge.core.redaction import secret_values
from railgauge.facts import NodeAnswer
from railgauge.judging import stamp, traffic
from railgauge.judging.stamp import Evidence
from railgauge.leases.files import Leases
from railgauge.planning import plan
from railgauge.planning.marks import asked
from railgauge.planning.needs import Candidate, candidates, not_limited
from railgauge.planning.plan import Level
from railgauge.plugin import holding, options, reboots, resuming, storage
from railgauge.plugin.ending import Ending
from railgauge.plugin.replay import Recording, Replayer, recording, refuse_connection
from railgauge.run import inputs
from railgauge.run.gates import Gates
from railgauge.run.resume import Earlier, Invocation
from railgauge.run.runner import Earlier as TakeOver
from railgauge.run.runner import Runner
from railgauge.run.store import Store
from railgauge.run.survey import FILE as SURVEY
from railgauge.run.survey import found_from_json
from railgauge.transport.registry import connect
from railgauge.transport.sessions import Sessions
from railgauge.transport.tag import Tag
from railgauge.verdict.decision import not_applicable

# On top of the longest measurement: connecting, waiting for leases, ending what hangs.
_GATE_SPARE_S = 300.0


@dataclass
class Context:
    """One session's state. Controller and workers each build their own from the same input."""

    config: pytest.Config
    declared: Cluster
    platform: Platform
    level: Level
    folder: Path | None
    complaints: list[str] = field(default_factory=list)
    tests: tuple[Candidate, ...] = ()
    not_applicable: dict[str, str] = field(default_factory=dict)
    not_limited: frozenset[str] = frozenset()
    recording: Recording | None = None
    earlier: Earlier | None = None
    ending: Ending = field(default_factory=Ending)
    junit: tuple[Path, ...] = ()

    @property
    def is_worker(self) -> bool:
        return hasattr(self.config, "workerinput")

    @property
    def evidence(self) -> Evidence:
        """What stands on every page. Known for certain once the nodes were surveyed."""
        return self._surveyed_evidence if self.is_surveyed else self.evidence_of({})

    @cached_property
    def _surveyed_evidence(self) -> Evidence:
        return self.evidence_of(self.found)

    def evidence_of(self, found: Mapping[str, NodeAnswer]) -> Evidence:
        """The evidence that such a survey gives; in a replay nothing is measured at all."""
        if self.recording:
            return Evidence.REPLAYED
        return stamp.of_nodes(found.values(), self.declared.transport)

    @property
    def is_surveyed(self) -> bool:
        """Whether the survey has ended, whichever process made it."""
        return self.folder is not None and (self.folder / SURVEY).exists()

    @property
    def rounds(self) -> int | None:
        """What ``--rounds`` says, or said in the run that is replayed."""
        said: int | None = self.config.getoption("--rounds")
        return said or (self.recording.plan.rounds if self.recording else None)

    @property
    def environment(self) -> dict[str, str]:
        """Every variable that a command may be given."""
        every = [m.environment for m in self.platform.measurements.values()]
        sources = (self.platform.environment, *every, self.declared.environment)
        return {name: value for source in sources for name, value in source.items()}

    @cached_property
    def store(self) -> Store:
        assert self.folder is not None, "nothing is stored when tests are only collected"
        return self.store_at(self.folder)

    def store_at(self, folder: Path) -> Store:
        """What writes there writes no secret."""
        return Store(folder, lambda: self.evidence, secret_values(self.environment))

    @cached_property
    def gates(self) -> Gates:
        measurements = self.platform.measurements.values()
        name = self.level.name
        made = (m for m in measurements if name in m.extents)
        longest_s = max((m.time_limit_s * m.extents[name].repeats for m in made), default=0.0)
        return Gates(self.store, longest_s + _GATE_SPARE_S)

    @cached_property
    def cluster(self) -> Cluster:
        """The cluster as it can be reached; written by the controller before the first test.

        The values of secret variables are not in that file.
        """
        reached = hostfile.cluster_from_json(self.store.read_json("cluster.json"))
        return replace(reached, environment=self.declared.environment)

    @cached_property
    def found(self) -> dict[str, NodeAnswer]:
        """What the survey found on each node; written by the controller."""
        return found_from_json(self.store.read_json(SURVEY)["nodes"])

    def result(self, case: Case) -> CaseResult:
        """What came of a case: measured now, or taken from this run."""
        return self.runner.measure(case)

    @cached_property
    def tag(self) -> Tag:
        """What every process that this session starts on a node carries."""
        return holding.tag(self)

    @cached_property
    def sessions(self) -> Sessions:
        if self.recording:
            return Sessions(self.cluster, refuse_connection)
        kind = self.cluster.transport
        opened = reboots.Watch(self)
        return Sessions(
            self.cluster, lambda node: connect(kind, node, self.tag), opened, opened.was_there
        )

    @cached_property
    def runner(self) -> Runner | Replayer:
        if self.recording:
            return Replayer(self.recording.contents, self.store)
        return self.runner_into(self.store, resuming.taking_over(self.earlier, self.store))

    def runner_into(self, store: Store, earlier: TakeOver) -> Runner:
        """A runner that keeps what it measures in ``store``, under the leases of this run."""
        leases = Leases(self.store.folder / "leases")
        return Runner(self.sessions, leases, store, self._plan, self._counters, earlier=earlier)

    def _plan(self, case: Case, port: int) -> tuple[Command, ...]:
        return plan.commands(case, self.platform, self.cluster, port)

    def _counters(self, case: Case) -> tuple[Command, ...]:
        spec = self.platform.measurements[case.measurement].traffic
        return traffic.probes(case.nodes, self.cluster.rootfs, spec, self.platform.fabric_nics)

    def hurry(self) -> None:
        """Wait for no node any more."""
        if "sessions" in self.__dict__:
            self.sessions.hurry()

    def close(self) -> None:
        if "sessions" in self.__dict__:
            self.sessions.close()
        if self.recording:
            self.recording.close()


CONTEXT = pytest.StashKey[Context]()


def build(config: pytest.Config) -> Context:
    """The context of this session. Raises ``BadInput`` before anything is touched."""
    earlier = resuming.earlier(config)
    replayed = recording(config)
    try:
        return _build(config, replayed, earlier)
    except BaseException:
        if replayed:
            replayed.close()
        raise


def _build(config: pytest.Config, replayed: Recording | None, earlier: Earlier | None) -> Context:
    cluster, platform = _replayed(config, replayed) if replayed else _site(config)
    level = _level(config, cluster, platform, replayed)
    started = resuming.invocation(config, cluster, platform, level.name, earlier)
    if earlier is not None:
        resuming.refuse_other_input(earlier, started, platform)
    folder = _folder(config, cluster, None if replayed else started)
    context = Context(config, cluster, platform, level, folder, recording=replayed, earlier=earlier)
    context.tests = candidates(asked(config.rootpath))
    context.not_applicable.update(not_applicable(platform, level, context.tests))
    context.not_limited = frozenset(not_limited(platform, level, context.tests))
    return context


def _site(config: pytest.Config) -> tuple[Cluster, Platform]:
    named = config.getoption("--platform")
    cluster, platform = inputs.site(options.hostfile(config), config.rootpath, named)
    return _with_lab_nodes(config, cluster), platform


def _replayed(config: pytest.Config, replayed: Recording) -> tuple[Cluster, Platform]:
    """The cluster of the bundle, by the limits of the bundle, unless others are named."""
    cluster = replayed.cluster
    if named := config.getoption("--platform"):
        platform = inputs.platform(named, config.rootpath)
    else:
        path = replayed.folder / "thresholds.json"
        platform = thresholds.load_file(path, path.read_text(encoding="utf-8"))
        inputs.check(platform, config.rootpath)
    return cluster, thresholds.on_site(platform, cluster, cluster.source)


def _level(
    config: pytest.Config, cluster: Cluster, platform: Platform, replayed: Recording | None
) -> Level:
    """As the options say; what they do not say in a replay is as it was in the run."""
    name, rounds = config.getoption("--level"), config.getoption("--rounds")
    if replayed:
        name, rounds = name or replayed.plan.level, rounds or replayed.plan.rounds
    return plan.level(platform, cluster, name or options.LEVEL, rounds)


def _with_lab_nodes(config: pytest.Config, cluster: Cluster) -> Cluster:
    """Lab options belong to a lab; its size is known before it is started."""
    count = config.getoption("--lab-nodes")
    if cluster.transport != "lab":
        if count or config.getoption("--lab-fault"):
            raise BadInput(
                f"--lab-nodes and --lab-fault need a lab, not transport {cluster.transport}",
                where=cluster.source,
                remedy="drop them, or name a hostfile with transport: lab",
            )
        return cluster
    from railgauge import lab  # noqa: PLC0415 - only a lab needs it
    from railgauge.lab import faults  # noqa: PLC0415

    cluster = lab.resized(cluster, count) if count else cluster
    for fault in config.getoption("--lab-fault"):
        faults.parse(fault, [node.name for node in cluster.nodes])
    return cluster


def _folder(config: pytest.Config, cluster: Cluster, started: Invocation | None) -> Path | None:
    if config.option.collectonly:
        return None
    if hasattr(config, "workerinput"):
        return Path(config.workerinput["railgauge_folder"])
    reports = config.rootpath / "reports"
    stem = f"{datetime.now().astimezone():%Y%m%d-%H%M%S}-{cluster.name}"
    with storage.begun(reports, stem) as folder:
        if started is not None:  # a replay is started anew, it takes no time
            resuming.begin(config, Store(folder), started)
    return folder
