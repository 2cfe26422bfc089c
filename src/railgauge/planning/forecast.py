"""Forecast a level's coverage of a cluster, and its duration. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from railgauge.config.thresholds.model import LEVELS, Measurement, Platform
from railgauge.config.thresholds.storage import shared_paths
from railgauge.core.model import Cluster, Pair
from railgauge.core.terms import Rung, Scope
from railgauge.planning import plan, scaling
from railgauge.planning.pairing import Leaves
from railgauge.planning.plan import Level


@dataclass(frozen=True, slots=True)
class Work:
    """One measurement at a level: its number of places, paths, sizes and repeats.

    Each of ``waves`` is a number of places that share no node and no storage: they can be measured
    at once.
    """

    measurement: Measurement
    waves: tuple[int, ...]
    paths: int
    sizes: int
    repeats: int

    @property
    def runs(self) -> int:
        return sum(self.waves) * self.paths

    @property
    def case_s(self) -> float:
        """The seconds that a case adds; rails that are measured together share them."""
        shared = self.paths if self.measurement.together else 1
        return self.repeats * self.measurement.typical_s / max(shared, 1)

    def takes_s(self, workers: int = 1) -> float:
        """Return the seconds with ``workers`` measurements at once; waves do not overlap."""
        turns = sum(ceil(wave / workers) for wave in self.waves)
        measurement = self.measurement
        # The smallest step is no place; other ladders are compared with the same one.
        turns += bool(turns) and measurement.ladder and not scaling.is_variant(measurement)
        return turns * self.paths * self.case_s


def work(platform: Platform, level: Level) -> tuple[Work, ...]:
    """Return the work of the level, lowest rung first; places are counted, not listed."""
    made = [m for m in platform.measurements.values() if m.made_at(level.name)]
    ordered = sorted(made, key=lambda m: m.rung)
    return tuple(_work(platform, level, measurement) for measurement in ordered)


def _work(platform: Platform, level: Level, measurement: Measurement) -> Work:
    extent = measurement.extents[level.name]
    paths = plan.paths(platform, measurement, level.name)
    waves = tuple(_waves(measurement, level))
    return Work(measurement, waves, len(paths), len(extent.sizes), extent.repeats)


def _waves(measurement: Measurement, level: Level) -> Iterator[int]:
    if measurement.scope in (Scope.PATH, Scope.PAIR):
        return (len(pairs) for pairs in plan.rounds_of(measurement, level))
    shared = shared_paths(measurement)
    places = plan.places(measurement, level)
    return _apart((*plan.nodes_of(place), *shared) for place in places)


def _apart(places: Iterable[Sequence[str]]) -> Iterator[int]:
    """Yield the lengths of successive runs of places that share no node, and no storage."""
    busy: set[str] = set()
    count = 0
    for used in places:
        if not busy.isdisjoint(used):
            yield count
            busy, count = set(), 0
        busy.update(used)
        count += 1
    if count:
        yield count


def takes_s(works: Iterable[Work], workers: int = 1) -> float:
    """Return the seconds for all of it, without the survey of the nodes."""
    return sum(each.takes_s(workers) for each in works)


def widest(works: Iterable[Work]) -> int:
    """Return the most measurements that can run at once; more workers would only wait."""
    return max((wave for each in works for wave in each.waves), default=1)


def worker_counts(works: Sequence[Work], asked: int | None = None) -> list[int]:
    """Return 1, the number that was asked for, and the most that can be busy."""
    return sorted({1, *([asked] if asked else []), widest(works)})


def by_rung(works: Iterable[Work]) -> dict[Rung, list[Work]]:
    """Return the work of each rung that has runs, lowest first."""
    found: dict[Rung, list[Work]] = {}
    for each in works:
        if each.runs:
            found.setdefault(each.measurement.rung, []).append(each)
    return found


MEANT_S = dict(zip(LEVELS, (30 * 60.0, 8 * 3600.0), strict=False))
"""The intended duration of a run of the level; a sign-off has none."""


def fitting_workers(works: Sequence[Work], most_s: float) -> int | None:
    """Return the fewest workers, a power of two or all that can be busy, that end in time.

    ``None`` if the time is too short for any number.
    """
    most = widest(works)
    counts = [*(2**power for power in range(1, most.bit_length()) if 2**power < most), most]
    return next((count for count in counts if takes_s(works, count) <= most_s), None)


@dataclass(frozen=True, slots=True)
class Alternative:
    """A level with fewer rounds: its duration one after the other and with the most workers."""

    rounds: int
    estimate_s: float
    workers: int
    with_workers_s: float


_FEWER_ROUNDS = (1, 2, 4, 8, 16)


def alternatives(platform: Platform, cluster: Cluster, level: Level) -> tuple[Alternative, ...]:
    """Return the level with fewer rounds, fewest first."""
    counts = [count for count in _FEWER_ROUNDS if count < len(level.rounds)]
    found = []
    for count in counts:
        works = work(platform, plan.level(platform, cluster, level.name, count))
        workers = widest(works)
        found.append(Alternative(count, takes_s(works), workers, takes_s(works, workers)))
    return tuple(found)


# The most measurements that a run adds to decide between suspects: two new partners for each of two
# suspects, in four causes, or each of the eight GPUs of two nodes.
FOLLOW_UPS = 24


def follow_up_s(platform: Platform, level: Level) -> float:
    """Return the most seconds of the measurements that are added at the end of a run.

    They are made only if the measurements of the level leave suspects that these can distinguish. A
    cluster of fewer than three nodes has no other partner.
    """
    if len(level.nodes) < 3:  # noqa: PLR2004
        return 0.0
    between = (m for m in platform.measurements.values() if m.scope in (Scope.PATH, Scope.PAIR))
    made = (m for m in between if m.made_at(level.name))
    longest_s = max((m.typical_s * m.extents[level.name].repeats for m in made), default=0.0)
    return FOLLOW_UPS * longest_s


@dataclass(frozen=True, slots=True)
class Halving:
    """The most runs that are added if a step of the scaling ladder fails, and their time."""

    most: int
    estimate_s: float


def halving(platform: Platform, level: Level) -> Halving | None:
    """Return the runs that are added to find what slows a step; ``None`` if the level has no steps.

    Each run is compared with the smallest step, which is made once more. A step of a variant is
    made again by itself.
    """
    made = [m for m in platform.measurements.values() if m.ladder and m.made_at(level.name)]
    if not made or not level.ladder.steps:
        return None
    most = scaling.most_runs(len(level.nodes), len(level.leaves)) + sum(
        map(scaling.is_variant, made)
    )
    longest_s = max(m.typical_s * m.extents[level.name].repeats for m in made)
    return Halving(most, (most + 1) * longest_s)


@dataclass(frozen=True, slots=True)
class Share:
    """The number of the declared nodes, pairs or rails that are measured."""

    tested: int
    declared: int

    def __str__(self) -> str:
        return f"{self.tested:,} of {self.declared:,}"


def coverage(platform: Platform, level: Level) -> Mapping[str, Share]:
    """Return the shares of nodes, pairs and rails; with leaves also of leaves and their pairs."""
    met = {_ends(pair) for turn in level.rounds for pair in turn}
    count = len(level.nodes)
    alone = any(m.scope == Scope.NODE for m in platform.measurements.values())
    tested = set(level.measured) if alone else {node for pair in met for node in pair}
    shares = {
        "nodes": Share(len(tested), count),
        "pairs": Share(len(met), count * (count - 1) // 2),
        "rails": Share(len(rails(platform, level)), len(platform.fabric_nics)),
    }
    return {**shares, **(of_leaves(level.leaves, met) if level.leaves else {})}


def _ends(pair: Pair) -> tuple[str, str]:
    """The two nodes of a pair, whichever of them sends."""
    one, other = pair.source, pair.target
    return (one, other) if one < other else (other, one)


def rails(platform: Platform, level: Level) -> set[str]:
    """Return the NICs that are measured individually."""
    paths = (
        path for m in platform.measurements.values() for path in plan.paths(platform, m, level.name)
    )
    return {path.nic for path in paths if path and level.rounds}


def of_leaves(leaves: Leaves, met: Iterable[Collection[str]]) -> dict[str, Share]:
    """Return the shares of leaves, and of pairs within and between them, that ``met`` covers."""
    of = {node: name for name, nodes in leaves.items() for node in nodes}
    sides = [[of.get(node) for node in pair] for pair in met]
    known = [side for side in sides if None not in side]
    within = sum(len(set(side)) == 1 for side in known)
    sizes = [len(nodes) for nodes in leaves.values()]
    pairs, inside = _pairs(sum(sizes)), sum(map(_pairs, sizes))
    return {
        "leaves": Share(len({leaf for side in sides for leaf in side if leaf}), len(leaves)),
        "pairs_within_leaves": Share(within, inside),
        "pairs_between_leaves": Share(len(known) - within, pairs - inside),
    }


def _pairs(count: int) -> int:
    return count * (count - 1) // 2
