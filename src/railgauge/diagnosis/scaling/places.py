"""Where the fault is that slows a step of the scaling ladder: leaves first, then their nodes. Pure.

``located`` names what the runs so far show, and the runs that would show more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from railgauge.core.terms import Term
from railgauge.diagnosis.scaling.bisect import (
    Bisected,
    FabricUnit,
    FabricUnits,
    FoundUnits,
    ScalingFault,
    SlowRuns,
    bisected,
    good_units,
    of_nodes,
    run_of,
)
from railgauge.planning.scaling import Nodes, by_leaf, interleaved


class ScalingPlace(Term):
    """What a fault of scaling is at; ``OPEN`` if the runs do not decide between its nodes."""

    NODE = "node"
    PATH = "path between two nodes"
    SWITCH = "leaf"
    UPLINKS = "uplinks of a leaf"
    LEAVES = "path between two leaves"
    ONLY_LEAVES = "between the only two leaves"
    ALL_UPLINKS = "uplinks of all leaves"
    WHOLE = "all nodes together"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class SlowPlace:
    """A place with its nodes, and the names of the leaves, or of the nodes, that it is about."""

    place: ScalingPlace
    nodes: Nodes
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Located:
    """The runs that are needed next, and the places; the latter are final if none is needed.

    ``is_slow`` is what the first run has shown: whether the step is slow once more.
    """

    asked: tuple[Nodes, ...]
    places: tuple[SlowPlace, ...]
    is_slow: bool | None


@dataclass(slots=True)
class _Places:
    results: SlowRuns
    asked: list[Nodes] = field(default_factory=list)
    found: list[SlowPlace] = field(default_factory=list)
    is_slow: bool | None = None

    def is_fine(self, first: Nodes) -> bool:
        """Whether the first run is not slow; ``False`` until it was made."""
        if self.lacks(first):
            return False
        self.is_slow = self.results[first]
        return not self.is_slow

    def take(self, now: Bisected) -> Iterable[FoundUnits]:
        """What a search has found; nothing while it needs runs."""
        self.asked += now.asked
        return () if now.asked else now.found

    def lacks(self, *runs: Nodes) -> bool:
        lacking = [run for run in runs if run not in self.results]
        self.asked += lacking
        return bool(lacking)

    def add(
        self, place: ScalingPlace, units: Iterable[FabricUnit], names: Iterable[FabricUnit] = ()
    ) -> None:
        every = tuple(units)
        nodes = tuple(node for unit in every for node in unit.nodes)
        self.found.append(SlowPlace(place, nodes, tuple(one.name for one in names or every)))


_BETWEEN = {
    ScalingFault.BOTH: ScalingPlace.LEAVES,
    ScalingFault.EACH: ScalingPlace.ALL_UPLINKS,
}
_TWO = 2
_OF_NODES = {ScalingFault.UNIT: ScalingPlace.NODE, ScalingFault.BOTH: ScalingPlace.PATH}


def located(missed: Nodes, leaves: Mapping[str, Nodes], results: SlowRuns) -> Located:
    """Locate what slows the step over these nodes, which missed its limit.

    ``results`` are those of other steps and of the runs that were asked for before: that the step
    is slow must show once more.
    """
    inside = by_leaf(missed, leaves)
    places = _Places(results)
    if inside:
        _among_leaves(tuple(FabricUnit(*one) for one in inside.items()), places)
    else:
        _among_nodes(missed, places, ScalingPlace.WHOLE)
    asked, found = dict.fromkeys(places.asked), dict.fromkeys(places.found)
    return Located(tuple(asked), tuple(found), places.is_slow)


def _among_leaves(leaves: FabricUnits, places: _Places) -> None:
    whole = {leaf.name: leaf for leaf in leaves}
    units = _of_one_size(leaves)
    if places.is_fine(run_of(units)):
        places.add(ScalingPlace.OPEN, leaves)
    if not places.is_slow:
        return
    if len(leaves) == _TWO:
        _only_two(units, whole, places)
    else:
        _in_units(units, whole, places)
    if not places.asked and any(leaf not in units for leaf in leaves):
        _beside_the_found(leaves, places)


def _of_one_size(leaves: FabricUnits) -> FabricUnits:
    """As many nodes of each leaf: they load each other's uplinks alike in every run.

    A leaf with half as many nodes as another one, or fewer, is left out: all would be cut to it.
    """
    most = max(len(leaf.nodes) for leaf in leaves)
    large = [leaf for leaf in leaves if 2 * len(leaf.nodes) > most]
    chosen = large if len(large) > 1 else leaves
    fewest = min(len(leaf.nodes) for leaf in chosen)
    return tuple(replace(leaf, nodes=leaf.nodes[:fewest]) for leaf in chosen)


def _only_two(units: FabricUnits, whole: Mapping[str, FabricUnit], places: _Places) -> None:
    """Two leaves without a third: what each sends the other one receives.

    A leaf that is slow by itself is looked into. If none is, only what is between them is left, and
    no run tells whose uplinks it is. Uplinks are slow with all halves of the leaves or with none.
    """
    alone = [unit.nodes for unit in units]
    if len(alone[0]) == 1:
        places.add(ScalingPlace.OPEN, whole.values())
        return
    if places.lacks(*alone):
        return
    slow = [unit for unit in units if places.results[unit.nodes] is not False]
    for unit in slow:
        _in_leaf(unit, whole[unit.name], units, places)
    if slow:
        return
    runs = [interleaved(both) for both in product(*(_halves(nodes)[:2] for nodes in alone))]
    if places.lacks(*runs):
        return
    seen = {places.results[run] for run in runs}
    is_decided = len(seen) == 1 and None not in seen
    places.add(ScalingPlace.ONLY_LEAVES if is_decided else ScalingPlace.OPEN, whole.values())


def _beside_the_found(leaves: FabricUnits, places: _Places) -> None:
    """What was left out of larger leaves must be fine where nothing was found."""
    found = {node for one in places.found for node in one.nodes}
    rest = tuple(leaf for leaf in leaves if found.isdisjoint(leaf.nodes))
    if len(rest) < 2 or places.lacks(run_of(rest)):  # noqa: PLR2004 - one leaf loads no uplinks
        return
    if places.results[run_of(rest)] is not False:
        places.add(ScalingPlace.OPEN, rest)


def _in_units(units: FabricUnits, whole: Mapping[str, FabricUnit], places: _Places) -> None:
    for one in places.take(bisected(units, places.results)):
        if one.fault is ScalingFault.UNIT:
            _in_leaf(one.units[0], whole[one.units[0].name], units, places)
        elif one.fault is ScalingFault.WHOLE and one.units == units:
            places.add(ScalingPlace.WHOLE, whole.values())
        else:
            about = units if one.fault is ScalingFault.EACH else one.units
            named = (whole[unit.name] for unit in about)
            places.add(_BETWEEN.get(one.fault, ScalingPlace.OPEN), named, one.units)


def _in_leaf(leaf: FabricUnit, named: FabricUnit, units: FabricUnits, places: _Places) -> None:
    """A leaf is slow with others: is it by itself, or one of its nodes, or what leads out of it?"""
    if len(leaf.nodes) > 1 and places.lacks(leaf.nodes):
        return
    if len(leaf.nodes) > 1 and places.results[leaf.nodes] is not False:
        _among_nodes(leaf.nodes, places, ScalingPlace.SWITCH, named)
        return
    partners = good_units([unit for unit in units if unit is not leaf], places.results)
    halves = _halves(leaf.nodes) if len(leaf.nodes) > 1 and partners else ()
    runs = [interleaved([half, partners[0].nodes[: len(half)]]) for half in halves]
    # Partners whose flows share no link by chance would do where their nodes send to other ones.
    turned = [interleaved([partners[0].nodes[::-1], partners[1].nodes])] if partners else []
    if places.lacks(*runs, *turned):
        return
    seen = [places.results[run] for run in runs]
    # Uplinks are slow with each half or with neither; a node is slow in its half alone.
    is_decided = None not in seen and (all(seen) or not any(seen[:2]))
    is_decided = is_decided and all(places.results[run] is False for run in turned)
    places.add(ScalingPlace.UPLINKS if is_decided else ScalingPlace.OPEN, (named,))


def _among_nodes(
    nodes: Nodes, places: _Places, whole: ScalingPlace, leaf: FabricUnit | None = None
) -> None:
    """``whole`` is what is slow if only all of the nodes together are; they may be a leaf's."""
    every = leaf or FabricUnit("", nodes)
    if places.lacks(nodes):
        return
    if leaf is None:
        places.is_slow = places.results[nodes]
    if not places.results[nodes] or len(nodes) <= _TWO:  # two of a leaf: its pair
        places.add(ScalingPlace.OPEN, (every,))
        return
    for one in places.take(bisected(of_nodes(nodes), places.results)):
        if one.fault in _OF_NODES:
            places.add(_OF_NODES[one.fault], one.units)
        elif one.fault is ScalingFault.WHOLE and len(one.units) == len(nodes):
            places.add(whole, (every,))
        else:
            places.add(ScalingPlace.OPEN, one.units)


def _halves(nodes: Nodes) -> tuple[Nodes, ...]:
    """Two halves of one size; of an odd number also all nodes but the one that both have."""
    half = (len(nodes) + 1) // 2
    middle = nodes[len(nodes) - half : half]
    rest = tuple(node for node in nodes if node not in middle)
    return (nodes[:half], nodes[-half:], *([rest] if middle and len(rest) >= half else []))
