"""What a run does: the cases of a level, round by round, and the commands of a case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from railgauge.model import Case, Cluster, Command, Pair, Pairing
from railgauge.pairing import Rounds, choose, rounds
from railgauge.stacks import Stack, stack
from railgauge.thresholds.model import Measurement, Platform
from railgauge.tools import Setting, tool


@dataclass(frozen=True, slots=True)
class Level:
    """How much to measure: the level's name, and the rounds of node pairs that follow from it."""

    name: str
    rounds: Rounds

    @property
    def pairs(self) -> tuple[Pair, ...]:
        return tuple(pair for turn in self.rounds for pair in turn)


def level(platform: Platform, cluster: Cluster, name: str, count: int | None = None) -> Level:
    """The level ``name`` on this cluster; ``count`` is ``--rounds``."""
    nodes = [node.name for node in cluster.nodes]
    return Level(name, rounds(nodes, platform.pair_levels[name], count))


def pair_case(measurement: Measurement, level_name: str, pair: Pair, pairing: Pairing) -> Case:
    """The run of ``measurement`` on a pair and a pairing, with all sizes that the level wants."""
    extent = measurement.extents[level_name]
    return Case(measurement.name, (pair.source, pair.target), pairing, extent.sizes, extent.repeats)


def cases(platform: Platform, wanted: Level) -> Iterator[tuple[int, Case]]:
    """Every case of the level with the number of its round, in the order in which they run."""
    for measurement in sorted(platform.measurements.values(), key=lambda m: m.rung):
        pairings = choose(platform, measurement.memory, measurement.extents[wanted.name].pairings)
        for number, pairs in enumerate(wanted.rounds, 1):
            for pair in pairs:
                for pairing in pairings:
                    yield number, pair_case(measurement, wanted.name, pair, pairing)


def platform_stack(platform: Platform) -> Stack | None:
    """The GPU vendor's stack, or ``None`` where no GPUs are under test."""
    return stack(platform.gpus.vendor) if platform.gpus else None


def commands(case: Case, platform: Platform, cluster: Cluster, port: int) -> tuple[Command, ...]:
    """The commands of one run of ``case``, servers first."""
    measurement = platform.measurements[case.measurement]
    setting = Setting(case, measurement, cluster, platform_stack(platform))
    return tool(measurement.tool).commands(setting, port)
