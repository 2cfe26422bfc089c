"""How one run was asked for, as values: what it is about, and what the options say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from railgauge.config.thresholds import Platform
from railgauge.core.model import Cluster
from railgauge.judging import stamp
from railgauge.judging.stamp import Evidence
from railgauge.planning.needs import Candidate
from railgauge.planning.plan import Level

# The part of the process that the user started; a worker's is its name, as gw0.
MAIN = "main"


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The same in all processes of a run, but for ``part``: each makes it from the same input.

    ``declared`` is the cluster of the hostfile, not as it is reached. ``replayed`` is the folder of
    the unpacked bundle whose transcripts are judged in place of nodes, ``resumed`` that of the run
    that is carried on. ``wait_s`` is how long to wait for nodes that another run holds.
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
    resumed: Path | None = None
    no_gates: bool = False
    prepare: bool = False
    confirm: bool = False
    wait_s: float = 0.0

    @property
    def is_worker(self) -> bool:
        return self.part != MAIN

    @property
    def environment(self) -> dict[str, str]:
        """Every variable that a command may be given."""
        every = [m.environment for m in self.platform.measurements.values()]
        sources = (self.platform.environment, *every, self.declared.environment)
        return {name: value for source in sources for name, value in source.items()}

    @property
    def longest_s(self) -> float:
        """How long the longest measurement of the level may take."""
        name, every = self.level.name, self.platform.measurements.values()
        made = (m for m in every if name in m.extents)
        return max((m.time_limit_s * m.extents[name].repeats for m in made), default=0.0)

    def evidence_of(self, found: Iterable[object]) -> Evidence:
        """The evidence that such a survey gives; in a replay nothing is measured at all."""
        if self.replayed:
            return Evidence.REPLAYED
        return stamp.of_nodes(found, self.declared.transport)
