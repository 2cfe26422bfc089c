"""The settings of one run as values: the cluster, the platform, and the options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from railgauge.config.deviations import Deviation
from railgauge.config.thresholds import Platform
from railgauge.core.model import Cluster
from railgauge.judging import stamp
from railgauge.judging.stamp import Evidence
from railgauge.planning.needs import Candidate
from railgauge.planning.part import LevelPart, within
from railgauge.planning.plan import Level
from railgauge.planning.soak import SoakPlan
from railgauge.run.disk_quota import MOST_BYTES

# The part name of the process that the user started; a worker's is its xdist name, such as gw0.
MAIN = "main"


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of a run: all its processes derive the same ones, except for ``part``.

    ``declared`` is the cluster as the hostfile declares it; the addresses at which its nodes are
    reached may differ. ``not_applicable`` gives a reason for each subject that is not tested here.
    ``not_limited`` are subjects that could be tested and that the platform file does not have.
    ``replayed`` is the folder of the unpacked bundle whose transcripts are judged in place of
    nodes, ``unverified`` why that bundle does not verify, empty if it does. ``resumed`` is the
    folder of the run that is resumed. ``wait_s`` is how many seconds to wait for nodes that another
    run holds, ``disk_limit_bytes`` what its folder may take. ``deviations`` are the accepted
    deviations. ``operator`` is who runs it. ``measures`` is the part of the level that it measures,
    ``None`` for all of it. ``at_once`` is the number of measurements that are made at a time.
    ``has_sub_items``: all checks of a test on one node are one item of pytest. ``has_workers``:
    other processes run the items.
    """

    declared: Cluster
    platform: Platform
    level: Level
    rounds: int | None = None
    tests: tuple[Candidate, ...] = ()
    not_applicable: Mapping[str, str] = field(default_factory=dict)
    not_limited: tuple[str, ...] = ()
    part: str = MAIN
    replayed: Path | None = None
    unverified: str = ""
    resumed: Path | None = None
    no_gates: bool = False
    prepare: bool = False
    confirm: bool = False
    wait_s: float = 0.0
    disk_limit_bytes: int = MOST_BYTES
    deviations: tuple[Deviation, ...] = ()
    soak: SoakPlan | None = None
    operator: str = ""
    measures: LevelPart | None = None
    at_once: int = 1
    has_sub_items: bool = False
    has_workers: bool = False

    def used(self, cluster: Cluster) -> Cluster:
        """The nodes of the cluster that the run surveys, leases and measures."""
        return within(cluster, self.measures.uses) if self.measures else cluster

    @property
    def is_worker(self) -> bool:
        return self.part != MAIN

    @property
    def environment(self) -> dict[str, str]:
        """All environment variables that a command may be given."""
        every = [m.environment for m in self.platform.measurements.values()]
        sources = (self.platform.environment, *every, self.declared.environment)
        return {name: value for source in sources for name, value in source.items()}

    def evidence_of(self, found: Iterable[object]) -> Evidence:
        """The kind of evidence, given the survey's answers; that of a replay depends on neither."""
        if self.replayed:
            return Evidence.NOT_VERIFIED if self.unverified else Evidence.REPLAYED
        return stamp.of_nodes(found, self.declared.transport)
