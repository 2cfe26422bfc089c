"""Which part of a cluster slows its large collectives, by halves: values in, next runs out. Pure.

The cluster is a sequence of *units* of one size, its leaves or the nodes of one, in an order that
no run changes. A run is a collective over some nodes; its result is ``True`` for slow, ``False``
for fine, ``None`` if it gave neither. Whatever slows some units slows each run that has all of
them. Nothing else is assumed, such as how slow something is, or how many slow parts there are.
Flows that a hash puts onto one uplink are slow only where the same nodes send to each other.

A part is named only by runs on both sides: a unit if it is slow with two different partners that
are fine with each other, two neighbours if each is fine with others, the whole if all its halves,
and the halves shifted by half of one, are fine. What remains when the found units are left out must
be fine too, or the search goes on in it. Whatever the runs contradict is *undecided*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import ceil

from railgauge.core.terms import Term
from railgauge.planning.scaling import SINGLES, Nodes, interleaved

_PAIR, _THREE = 2, 3

SlowRuns = Mapping[Nodes, bool | None]


class ScalingFault(Term):
    """What a search has left: one unit, two of them together, each of them, or only all of them."""

    UNIT = "unit"
    BOTH = "both"
    EACH = "each"
    WHOLE = "whole"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class FabricUnit:
    """A leaf with its nodes, or one node."""

    name: str
    nodes: Nodes


FabricUnits = tuple[FabricUnit, ...]


@dataclass(frozen=True, slots=True)
class FoundUnits:
    """What is slow, with the units that it is about; for ``EACH`` those that were measured."""

    fault: ScalingFault
    units: FabricUnits


@dataclass(slots=True)
class _Search:
    """One search. ``asked`` are the runs that it lacks; while there are any, nothing is final."""

    every: FabricUnits
    results: SlowRuns
    asked: dict[Nodes, None] = field(default_factory=dict)
    found: list[FoundUnits] = field(default_factory=list)

    # --- runs ---

    def know(self, *runs: Nodes) -> bool:
        """Whether all of these were made; those that were not are asked for."""
        lacking = [run for run in runs if run not in self.results]
        self.asked.update(dict.fromkeys(lacking))
        return not lacking

    def is_slow(self, nodes: Nodes) -> bool | None:
        return self.results[nodes]

    def leave_open(self, units: FabricUnits) -> None:
        self.found.append(FoundUnits(ScalingFault.UNDECIDED, units))

    # --- sets of units ---

    def inside(self, units: FabricUnits) -> None:
        """Look in units that are slow together."""
        if len(units) == _PAIR:
            self.of_two(units)
        elif len(units) == _THREE:
            self.of_three(units)
        else:
            self.of_many(units)

    def of_many(self, units: FabricUnits) -> None:
        middle = len(units) // 2
        halves = units[:middle], units[middle:]
        if not self.know(*map(run_of, halves)):
            return
        slow = [half for half in halves if self.is_slow(run_of(half))]
        if any(self.is_slow(run_of(half)) is None for half in halves):
            self.leave_open(units)
            return
        for half in slow:
            self.inside(half)
        if not slow:
            self.over_the_seams(units, halves)

    def over_the_seams(self, units: FabricUnits, halves: Sequence[FabricUnits]) -> None:
        """Only neighbours of different halves are left, and the whole."""
        one, other = halves
        seams = [(one[-1], other[0]), (other[-1], one[0])]
        runs = [run_of(seam) for seam in seams]
        if not self.know(*runs):
            return
        if any(self.is_slow(run) is None for run in runs):
            self.leave_open(units)
            return
        slow = [seam for seam, run in zip(seams, runs, strict=True) if self.is_slow(run)]
        for seam in slow:
            self.found.append(FoundUnits(ScalingFault.BOTH, seam))
        if not slow:
            self.found.append(FoundUnits(ScalingFault.WHOLE, units))

    def of_three(self, units: FabricUnits) -> None:
        pairs = list(combinations(units, 2))
        if not self.know(*map(run_of, pairs)):
            return
        results = [self.is_slow(run_of(pair)) for pair in pairs]
        slow = [pair for pair, result in zip(pairs, results, strict=True) if result]
        if None in results:
            self.leave_open(units)
        elif not slow:
            self.found.append(FoundUnits(ScalingFault.WHOLE, units))
        elif len(slow) == 1:
            self.found.append(FoundUnits(ScalingFault.BOTH, slow[0]))
        elif len(slow) == _PAIR:
            (both,) = {*slow[0]} & {*slow[1]}
            self.found.append(FoundUnits(ScalingFault.UNIT, (both,)))
        else:
            self.with_partners(units)

    def of_two(self, units: FabricUnits) -> None:
        self.with_partners(units)

    # --- single units ---

    def with_partners(self, units: FabricUnits) -> None:
        """Measure each unit with two others that are fine with each other."""
        partners = self.good(units)
        if not partners:
            self.by_themselves(units)
            return
        runs = {unit: [run_of((unit, one)) for one in partners] for unit in units}
        if not self.know(*(run for each in runs.values() for run in each)):
            return
        results = {unit: [self.is_slow(run) for run in each] for unit, each in runs.items()}
        if any(None in each or len({*each}) > 1 for each in results.values()):
            self.leave_open(units)
            return
        slow = [unit for unit in units if all(results[unit])]
        for unit in slow:
            self.found.append(FoundUnits(ScalingFault.UNIT, (unit,)))
        if not slow:
            is_pair = len(units) == _PAIR
            fault = ScalingFault.BOTH if is_pair else ScalingFault.UNDECIDED
            self.found.append(FoundUnits(fault, units))

    def good(self, suspects: FabricUnits) -> FabricUnits:
        return good_units([unit for unit in self.every if unit not in suspects], self.results)

    def by_themselves(self, units: FabricUnits) -> None:
        """Measure single units against a few nodes of each other one, which load those little.

        The few nodes of all units must be fine together. If they are not, one of each may be: flows
        that a hash puts onto one uplink share it, however few there are.
        """
        if len(self.every) < _THREE or min(len(unit.nodes) for unit in self.every) < _PAIR:
            self.leave_open(units)
            return
        count = few_in_each(self.every)
        if not self.know(few_of_each(self.every, count)):
            return
        if self.is_slow(few_of_each(self.every, count)) is not False and count > 1:
            count = 1
            if not self.know(few_of_each(self.every, count)):
                return
        if self.is_slow(few_of_each(self.every, count)) is not False:
            self.leave_open(units)
            return
        self.one_by_one(units, count)

    def one_by_one(self, units: FabricUnits, count: int) -> None:
        """Measure units against so many nodes of each other one; name all of them, or some.

        Some are named only if each is as slow, or as fine, where its nodes send to other ones.
        """
        drawn = evenly(self.every, SINGLES)
        slow = self.slow_of(drawn, count)
        if slow is None:
            return
        is_varied = 0 < len(slow) < len(drawn)
        again = self.slow_of(drawn, count, turned=True) if is_varied else slow
        if again is None:
            return
        if again != slow or not slow or (is_varied and count < few_in_each(self.every)):
            self.leave_open(units)
        elif is_varied:
            self.found += [FoundUnits(ScalingFault.UNIT, (unit,)) for unit in slow]
        else:
            self.found.append(FoundUnits(ScalingFault.EACH, slow))

    def slow_of(
        self, units: FabricUnits, count: int, *, turned: bool = False
    ) -> FabricUnits | None:
        """Those that are slow; none if a run gave nothing, ``None`` while runs are lacking."""
        runs = [against_few(unit, self.every, count, turned=turned) for unit in units]
        if not self.know(*runs):
            return None
        results = [self.is_slow(run) for run in runs]
        pairs = zip(units, results, strict=True)
        return () if None in results else tuple(unit for unit, is_slow in pairs if is_slow)

    # --- the whole ---

    def through(self, units: FabricUnits) -> None:
        """Search units that are slow together, then what is left of them without the found."""
        self.inside(units)
        found = {u for one in self.found if one.fault is ScalingFault.UNIT for u in one.units}
        rest = tuple(unit for unit in units if unit not in found)
        is_open = any(one.fault is ScalingFault.UNDECIDED for one in self.found)
        if self.asked or is_open or len(rest) in (0, 1, len(units)) or not self.know(run_of(rest)):
            return
        if self.is_slow(run_of(rest)) is None:
            self.leave_open(rest)
        elif self.is_slow(run_of(rest)):
            before = len({*self.found})
            self.through(rest)
            if not self.asked and len({*self.found}) == before:
                self.leave_open(rest)


@dataclass(frozen=True, slots=True)
class Bisected:
    """The runs that are needed next, or what was found; the latter is final if none is needed."""

    asked: tuple[Nodes, ...]
    found: tuple[FoundUnits, ...]


def bisected(units: FabricUnits, results: SlowRuns) -> Bisected:
    """Search units whose run, ``run_of(units)``, is slow."""
    search = _Search(units, results)
    if len(units) < _PAIR:
        return Bisected((), (FoundUnits(ScalingFault.UNDECIDED, units),))
    search.through(units)
    return Bisected(tuple(search.asked), tuple(dict.fromkeys(search.found)))


def good_units(units: Sequence[FabricUnit], results: SlowRuns) -> FabricUnits:
    """Return two units that are fine with each other in one run; none if there are none."""
    for run, is_slow in results.items():
        if is_slow is False:
            there = {*run}
            fine = [unit for unit in units if there.issuperset(unit.nodes)]
            if len(fine) > 1:
                return (fine[0], fine[1])
    return ()


# --- the nodes of runs, in the order of their ranks ---


def run_of(units: FabricUnits) -> Nodes:
    """All nodes of some units, neighbours in different units."""
    return interleaved([unit.nodes for unit in units])


def few_in_each(units: FabricUnits) -> int:
    """So few nodes of each unit that those of all but one are as many as that one has."""
    return ceil(max(len(unit.nodes) for unit in units) / (len(units) - 1))


def few_of_each(units: FabricUnits, count: int) -> Nodes:
    return interleaved([unit.nodes[:count] for unit in units])


def against_few(unit: FabricUnit, units: FabricUnits, count: int, *, turned: bool = False) -> Nodes:
    """All nodes of a unit, and between them so many of each other one.

    ``turned``: the same nodes, each of which sends to others.
    """
    others = interleaved([one.nodes[:count] for one in units if one is not unit])
    own = unit.nodes[::-1] if turned else unit.nodes
    return interleaved([own, others[: len(own)]])


def evenly(units: FabricUnits, most: int) -> FabricUnits:
    count = min(most, len(units))
    return tuple(units[number * len(units) // count] for number in range(count))


def of_nodes(nodes: Sequence[str]) -> FabricUnits:
    return tuple(FabricUnit(node, (node,)) for node in nodes)
