"""The plan of a run: the cases of a level, round by round, and the commands of a case."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from railgauge.config.thresholds import loose, uncovered
from railgauge.config.thresholds.cards import undeclarable
from railgauge.config.thresholds.model import SIGNOFF, Measurement, Platform
from railgauge.core.errors import BadInput
from railgauge.core.model import Case, Cluster, Command, Container, Pair, Pairing
from railgauge.core.programs import placed
from railgauge.core.terms import Flow, LaunchWay, Scope
from railgauge.launchers import LAUNCHED
from railgauge.planning import scaling
from railgauge.planning.direction import Rounds, turned
from railgauge.planning.pairing import (
    BOTH_WAYS,
    Leaves,
    choose,
    has_one_round,
    leaves,
    pair_count,
    rounds,
)
from railgauge.planning.variables import environment
from railgauge.planning.vendor import platform_stack
from railgauge.planning.victims import with_victims
from railgauge.tools import Setting, check_plannable, container_of, flow, root_reason, tool
from railgauge.tools.declared import misdeclared


@dataclass(frozen=True, slots=True)
class SubnetScan:
    """``nodes`` holds the node that scans the subnet; it is empty if the hostfile names none.

    ``waived`` is then the reason that the hostfile gives. ``is_missing``: the level requires a scan
    and the hostfile gives neither a node nor a reason.
    """

    nodes: tuple[str, ...] = ()
    waived: str = ""
    is_missing: bool = False


@dataclass(frozen=True, slots=True)
class ScalingGroups:
    """The groups of the scaling ladder, and those with a pair of victims.

    ``steps`` are compared with ``smallest``. In ``victims`` two nodes are measured while the others
    load the fabric.
    """

    steps: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    smallest: tuple[str, ...] = ()
    victims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Level:
    """The extent of a level: its name, the rounds of node pairs, and the groups of nodes.

    ``leaves`` are the groups over which the rounds are balanced; empty if none are declared.
    ``directions`` is the scheme that decided which node of a pair sends (see ``pairing.rounds``);
    ``turned`` are pairs whose one-way tests are made in the other direction as well. ``sample``
    holds the nodes that are measured by themselves and in pairs; empty if these are all
    (``planning.sample``). ``part`` is the name of this part of the level ``whole``; empty for a
    whole level. ``nodes`` are then those whose facts it needs, ``alone`` those that it measures by
    themselves.
    """

    name: str
    rounds: Rounds
    nodes: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]]
    leaves: Leaves = field(default_factory=dict)
    scan: SubnetScan = field(default_factory=SubnetScan)
    ladder: ScalingGroups = field(default_factory=ScalingGroups)
    directions: int = BOTH_WAYS
    turned: tuple[Pair, ...] = ()
    sample: tuple[str, ...] = ()
    part: str = ""
    alone: tuple[str, ...] = ()
    whole: Level | None = None

    @property
    def measured(self) -> tuple[str, ...]:
        """The nodes that are measured by themselves; those of a whole level are in pairs too."""
        return self.alone if self.part else self.sample or self.nodes

    @property
    def collectives(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The names and nodes of all groups and steps, and of those with victims."""
        ladder = self.ladder
        return (*self.groups.items(), *ladder.steps.items(), *ladder.victims.items())

    @property
    def pairs(self) -> tuple[Pair, ...]:
        return tuple(pair for turn in self.rounds for pair in turn)

    @property
    def every_round(self) -> Rounds:
        """The rounds, and one more for each pair that is turned."""
        return (*self.rounds, *((pair,) for pair in self.turned))


@dataclass(frozen=True, slots=True, order=True)
class Group:
    """A named set of nodes that one collective runs over."""

    name: str
    nodes: tuple[str, ...]

    def __repr__(self) -> str:
        """Return the name alone: reports show it, and histories use it as key."""
        return self.name

    __str__ = __repr__


Place = Pair | Group | str

ALL = "all"

MOST_PAIRS = 1_000_000
"""All pairs of 1,414 nodes: their plan takes seconds, and their run weeks."""


def complaints(platform: Platform) -> Iterator[str]:
    """Yield a message for each limit that is wrong, missing, without effect or too loose."""
    yield from misdeclared(platform)
    yield from uncovered(platform)
    yield from undeclarable(platform)
    yield from loose.complaints(platform)


def level(
    platform: Platform,
    cluster: Cluster,
    name: str,
    count: int | None = None,
    directions: int = BOTH_WAYS,
    *,
    sample: tuple[str, ...] = (),
) -> Level:
    """Return the level ``name`` for this cluster; ``count`` is ``--rounds``.

    ``directions`` is the scheme that decides which node of a pair sends (see ``pairing.rounds``).
    With ``sample`` only these nodes are measured by themselves and in pairs, and of the groups only
    that of all nodes.

    Groups are those of the hostfile with more than two nodes, and the group of all nodes. Two nodes
    are measured as a pair instead. Raises ``BadInput`` if a measurement of the platform file cannot
    be planned by its tool.
    """
    check_plannable(platform)
    nodes = tuple(node.name for node in cluster.nodes)
    met, within = sample or nodes, _within(cluster.groups, sample)
    pairs = platform.pair_levels[name]
    _refuse_endless(name, pair_count(len(met), pairs, count), len(met))
    turns = rounds(met, pairs, count, within, directions)
    is_turned = directions == BOTH_WAYS and not has_one_round(pairs, count)
    under = leaves(nodes, cluster.groups)
    return Level(
        name,
        turns,
        nodes,
        groups(cluster, sampled=bool(sample)),
        under,
        SubnetScan(
            (cluster.fabric.node,) if cluster.fabric else (),
            cluster.no_fabric,
            is_missing=name == SIGNOFF and _lacks_scan(platform, cluster),
        ),
        ScalingGroups(
            scaling.steps(nodes, under),
            scaling.smallest(nodes, under),
            with_victims(nodes, under),
        ),
        directions=directions,
        turned=turned((pair for turn in turns for pair in turn), met) if is_turned else (),
        sample=sample,
    )


def groups(cluster: Cluster, *, sampled: bool = False) -> dict[str, tuple[str, ...]]:
    """Return the groups of more than two nodes, and that of all; of a sampled level only that."""
    nodes = tuple(node.name for node in cluster.nodes)
    named = {ALL: nodes} if sampled else {**cluster.groups, ALL: nodes}
    return {g: m for g, m in named.items() if len(m) > 2 and (g == ALL or len(m) < len(nodes))}  # noqa: PLR2004


def _refuse_endless(name: str, pairs: int, nodes: int) -> None:
    if pairs > MOST_PAIRS:
        raise BadInput(
            f"level {name} has {pairs:,} pairs of {nodes:,} nodes, and at most {MOST_PAIRS:,} are "
            "planned",
            remedy="give each node fewer partners with --rounds K, or ask for another --level",
        )


def _within(groups: Leaves, sample: tuple[str, ...]) -> Leaves:
    """Return the groups that have nodes of the sample, with these nodes alone."""
    if not sample:
        return groups
    met = set(sample)
    inside = {name: tuple(n for n in nodes if n in met) for name, nodes in groups.items()}
    return {name: nodes for name, nodes in inside.items() if nodes}


def _lacks_scan(platform: Platform, cluster: Cluster) -> bool:
    """Whether an InfiniBand subnet has neither a declared scan nor a reason for having none."""
    has_subnet = any(nic.link_layer == "InfiniBand" for nic in platform.fabric_nics)
    return has_subnet and cluster.fabric is None and not cluster.no_fabric


def places(measurement: Measurement, wanted: Level) -> tuple[Place, ...]:
    """Return the places where the level makes this measurement, in the order of the rounds."""
    return tuple(each_place(measurement, wanted))


def has_place(measurement: Measurement, wanted: Level) -> bool:
    return any(True for _ in each_place(measurement, wanted))


def each_place(measurement: Measurement, wanted: Level) -> Iterator[Place]:
    """Yield what ``places`` returns: millions, if all pairs of a large cluster are made."""
    if not measurement.made_at(wanted.name):
        return iter(())
    if measurement.scope == Scope.NODE:
        return iter(wanted.measured)
    if measurement.scope == Scope.FABRIC:
        return iter(wanted.scan.nodes)
    if measurement.scope == Scope.GROUP:
        return (Group(name, nodes) for name, nodes in _groups_of(measurement, wanted).items())
    return (pair for pairs in rounds_of(measurement, wanted) for pair in pairs)


def _groups_of(measurement: Measurement, wanted: Level) -> Mapping[str, tuple[str, ...]]:
    if measurement.ladder:
        return wanted.ladder.steps
    return wanted.ladder.victims if measurement.victims else wanted.groups


def rounds_of(measurement: Measurement, wanted: Level) -> Rounds:
    """Return the rounds of pairs between which the level makes this measurement."""
    return wanted.every_round if is_one_way(measurement) else wanted.rounds


def is_one_way(measurement: Measurement) -> bool:
    return measurement.scope == Scope.PATH and flow(measurement) in _ONE_WAY


# The flows of tests whose payload goes from one node of a pair to the other.
_ONE_WAY = (Flow.FORWARD, Flow.BACKWARD)


def case_at(
    measurement: Measurement, level_name: str, place: Place, pairing: Pairing | None = None
) -> Case:
    """Return the case of ``measurement`` at a place, with all message sizes of the level."""
    return case_on(measurement, level_name, nodes_of(place), pairing)


def case_on(
    measurement: Measurement, level_name: str, nodes: tuple[str, ...], pairing: Pairing | None
) -> Case:
    """Return the same for the nodes of a place."""
    extent = measurement.extents[level_name]
    return Case(measurement.name, nodes, pairing, extent.sizes, extent.repeats)


def gate_nodes(platform: Platform, subject: str, nodes: tuple[str, ...]) -> tuple[str, ...]:
    """The nodes whose gates an item passes and may close; none for a scan of the subnet."""
    measured = platform.measurements.get(subject)
    return () if measured and measured.scope == Scope.FABRIC else nodes


def place_on(measurement: Measurement, nodes: tuple[str, ...]) -> Place:
    """Return the place that these nodes are; the name of a group is left out."""
    if measurement.scope == Scope.GROUP:
        return Group("", nodes)
    return Pair(*nodes) if len(nodes) > 1 else nodes[0]


def nodes_of(place: Place) -> tuple[str, ...]:
    if isinstance(place, Pair):
        return (place.source, place.target)
    return place.nodes if isinstance(place, Group) else (place,)


def paths(
    platform: Platform, measurement: Measurement, level_name: str
) -> tuple[Pairing | None, ...]:
    """Return the pairings of the level; ``(None,)`` if the tool chooses the path itself."""
    if not measurement.made_at(level_name):
        return ()
    if measurement.scope != Scope.PATH:
        return (None,)
    extent = measurement.extents[level_name]
    if measurement.together:
        return choose(platform, measurement.memory, "one_per_nic")
    across = platform.cross_rail(measurement.memory) if extent.cross_rail else ()
    return (*choose(platform, measurement.memory, extent.pairings), *across)


def measured_with(case: Case, platform: Platform, level_name: str) -> tuple[Case, ...]:
    """Return the cases that are measured at the same time as ``case``, which is one of them."""
    measurement = platform.measurements[case.measurement]
    if not measurement.together or not measurement.made_at(level_name):
        return (case,)
    over = dict.fromkeys((*paths(platform, measurement, level_name), case.pairing))
    return tuple(replace(case, pairing=pairing) for pairing in over)


def turns(wanted: Level, over: Sequence[Pairing | None]) -> Callable[[Place, Pairing | None], int]:
    """Return the function from a place and a pairing of ``over`` to the turn of its measurement.

    In a turn each round of pairs uses the pairing after that of the round before. So no node has
    all measurements of one partner, or of one NIC, at the end: a node that slows down during the
    run cannot be mistaken for a faulty path or NIC. Other places have one turn.
    """
    every = enumerate(wanted.every_round)
    round_of = {pair: number for number, pairs in every for pair in pairs}
    place_of = {pairing: number for number, pairing in enumerate(over)}

    def turn(place: Place, pairing: Pairing | None) -> int:
        if not isinstance(place, Pair):
            return 0
        return (place_of[pairing] - round_of[place]) % len(over)

    return turn


def cases(platform: Platform, wanted: Level) -> Iterator[tuple[int, Case]]:
    """Yield (round, case) for every case in the order of the run; the round is 0 for no pair."""
    every = enumerate(wanted.every_round, 1)
    round_of = {pair: number for number, pairs in every for pair in pairs}
    for measurement in sorted(platform.measurements.values(), key=lambda m: m.rung):
        over = paths(platform, measurement, wanted.name)
        turn = turns(wanted, over)
        at = [(place, pairing) for place in places(measurement, wanted) for pairing in over]
        for place, pairing in sorted(at, key=lambda one: turn(*one)):
            number = round_of[place] if isinstance(place, Pair) else 0
            yield number, case_at(measurement, wanted.name, place, pairing)


def commands(case: Case, platform: Platform, cluster: Cluster, port: int) -> tuple[Command, ...]:
    """Return the commands of one run of ``case``, servers first; ``port`` is a TCP port."""
    measurement = platform.measurements[case.measurement]
    setting = Setting(
        case=case,
        measurement=measurement,
        cluster=cluster,
        stack=platform_stack(platform),
        platform=platform,
        environment=environment(case, measurement, platform, cluster),
    )
    found = tool(measurement.tool).commands(setting, port)
    as_root = bool(root_reason(measurement.tool))
    container = _container(case, platform, cluster)
    return tuple(  # placed is that of a launcher: mpirun
        replace(placed(command, cluster.tools), as_root=as_root, container=container)
        for command in found
    )


def _container(case: Case, platform: Platform, cluster: Cluster) -> Container | None:
    """Return the container of a case, with the devices that it needs. Raises ``BadInput``.

    A launcher inside a container reaches the other nodes only through the suite: by ssh it would
    start its daemons outside of their containers.
    """
    tool_name = platform.measurements[case.measurement].tool
    container = container_of(cluster, tool_name)
    if container is None:
        return None
    apart = len(case.nodes) > 1 and cluster.launch != LaunchWay.THROUGH_SUITE
    if apart and tool_name in LAUNCHED:
        raise BadInput(
            f"{case.measurement}: {container.engine} would hold the launcher, and not the ranks of "
            "the other nodes",
            where=cluster.source,
            remedy="use launch: through-suite (transport ssh or exec, launcher openmpi or mpich), "
            "or give runtime by tool, without this one, and install it on the nodes",
        )
    rdma = any(one.tool == "perftest" for one in platform.measurements.values())
    return replace(container, gpu_vendor=platform.gpus.vendor if platform.gpus else "", rdma=rdma)
