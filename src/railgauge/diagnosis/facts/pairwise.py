"""Infer slow members and faulty connections from a set of slow and fast pairs.

A pair is slow if one of its two members, or the connection between them, is slow. Hence:

1. A fast pair clears both members. (Certain.)
2. A slow pair of two cleared members is itself at fault. (Certain.)
3. A member that is slow in all its pairs, ``PROOF`` of them with cleared partners, is slow.
   This is the only assumption: a good member does not have faulty connections to two cleared
   partners and no fast pair. One fault is likelier than two.
4. The rest stays open.

Example: the pairs a-b and b-c are fast, d-a and d-b are slow. Rule 1 clears a, b and c; rule 3
proves d slow.

With ``s`` slow members, no faulty connection and at least ``s + 1`` partners each, nothing stays
open. One of the ``s + 1`` partners of a good member is good, so that pair is fast and clears it.
A slow member has at most ``s - 1`` slow partners, so at least two are good, are cleared, and prove
it slow. With only ``s`` partners this fails: if they are exactly the ``s`` slow ones, a good member
gives the same results as a slow one would.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

PROOF = 2
"""Cleared partners that a slow member must have; with one, the connection may be at fault."""


@dataclass(frozen=True, slots=True)
class OpenGroup:
    """Members connected by pairs, none of them cleared or proven slow.

    ``between`` are their unexplained slow pairs. ``missing`` are the pairs with cleared members
    that would decide; empty if no member is cleared.
    """

    members: tuple[str, ...]
    between: tuple[tuple[str, str], ...]
    missing: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PairDiagnosis:
    """All members as cleared, slow or open, sorted, and the faulty ``pairs`` of cleared members."""

    cleared: tuple[str, ...]
    slow: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    open: tuple[OpenGroup, ...]


def diagnose_pairs(results: Mapping[tuple[str, str], bool]) -> PairDiagnosis:
    """Classify all members of ``results`` (pair -> whether slow), in linear time."""
    met = _partners(results)
    cleared = {name for pair, slow in results.items() if not slow for name in pair}
    proven = {name for name in met if name not in cleared and len(met[name] & cleared) >= PROOF}
    loose = [
        pair
        for pair, slow in results.items()
        if slow and proven.isdisjoint(pair) and not cleared.issuperset(pair)
    ]
    return PairDiagnosis(
        cleared=tuple(sorted(cleared)),
        slow=tuple(sorted(proven)),
        pairs=tuple(sorted(p for p, slow in results.items() if slow and cleared.issuperset(p))),
        open=tuple(_groups(met, cleared, met.keys() - cleared - proven, loose)),
    )


def _partners(results: Mapping[tuple[str, str], bool]) -> dict[str, set[str]]:
    met: dict[str, set[str]] = defaultdict(set)
    for one, other in results:
        met[one].add(other)
        met[other].add(one)
    return met


def _groups(
    met: Mapping[str, set[str]],
    cleared: set[str],
    unproven: set[str],
    loose: list[tuple[str, str]],
) -> Iterator[OpenGroup]:
    """The open members in groups connected by pairs; one group if no member is cleared."""
    ordered = sorted(cleared)
    groups = list(_connected(met, unproven)) if cleared else [unproven] if unproven else []
    group_of = {name: number for number, group in enumerate(groups) for name in group}
    between: list[list[tuple[str, str]]] = [[] for _ in groups]
    for one, other in loose:
        between[group_of[one if one in group_of else other]].append((one, other))
    for group, pairs in zip(groups, between, strict=True):
        members = tuple(sorted(group))
        missing = [pair for name in members for pair in _missing(name, met[name], cleared, ordered)]
        yield OpenGroup(members, tuple(sorted(pairs)), tuple(missing))


def _connected(met: Mapping[str, set[str]], among: set[str]) -> Iterator[set[str]]:
    seen: set[str] = set()
    for start in sorted(among):
        if start in seen:
            continue
        group, edge = {start}, [start]
        while edge:
            fresh = [name for name in met[edge.pop()] if name in among and name not in group]
            group.update(fresh)
            edge += fresh
        seen |= group
        yield group


def _missing(
    name: str, met: set[str], cleared: set[str], ordered: list[str]
) -> list[tuple[str, str]]:
    """Pairs with cleared members that were not measured, as many as a proof still needs."""
    lacking = PROOF - len(met & cleared)
    fresh = (other for other in ordered if other not in met)
    return [(name, other) for other in islice(fresh, lacking)]


@dataclass(frozen=True, slots=True)
class PairResult:
    """One tested pair. Each order of its nodes is a direction with a result of its own."""

    nodes: tuple[str, str]
    slow: bool

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for a pair of a node with itself."""
        if self.nodes[0] == self.nodes[1]:
            raise ValueError(f"{self.nodes[0]} is paired with itself")


@dataclass(frozen=True, slots=True)
class Undecided:
    """Suspects that the evidence does not decide between.

    ``among`` are nodes, or ``mx01:mx02`` for the path between two; ``would_decide`` is the missing
    measurement in words.
    """

    among: tuple[str, ...]
    would_decide: str


@dataclass(frozen=True, slots=True)
class Blamed:
    """The blame for slow pairs.

    ``nodes`` are proven slow in all their pairs; ``pairs`` (sorted) are slow only with each other.
    A pair with both slow and fast results in one direction counts as slow.
    """

    nodes: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    undecided: tuple[Undecided, ...]


def blame(results: Iterable[PairResult]) -> Blamed:
    """Explain pair results by slow nodes and faulty pairs; see ``diagnose_pairs``.

    The results must be comparable: of one measurement over one path. Assumptions: a fault is
    permanent and affects both directions of a node; a healthy node with two faulty connections also
    has a fast one.
    """
    seen = _gather(results)
    found = diagnose_pairs({pair: True in outcomes for pair, outcomes in seen.items()})
    return Blamed(
        nodes=found.slow,
        pairs=_unordered(found.pairs),
        undecided=tuple(_undecided(group) for group in found.open),
    )


def _gather(results: Iterable[PairResult]) -> dict[tuple[str, str], set[bool]]:
    """The values of each direction of each pair; both values if results contradict each other."""
    seen: dict[tuple[str, str], set[bool]] = defaultdict(set)
    for result in results:
        seen[result.nodes].add(result.slow)
    return seen


def _unordered(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Each pair once, its nodes sorted."""
    return tuple(sorted({(min(pair), max(pair)) for pair in pairs}))


def _undecided(group: OpenGroup) -> Undecided:
    """An open group of nodes, in words.

    The paths are not listed if no node is cleared and several pairs are slow: all are suspect.
    """
    paths = _unordered(group.between)
    everything = not group.missing and len(paths) > 1
    between = () if everything else tuple(f"{a}:{b}" for a, b in paths)
    return Undecided((*group.members, *between), _would_decide(group))


def _would_decide(group: OpenGroup) -> str:
    if not group.missing:
        few = len(group.members) <= 2  # noqa: PLR2004 - more are better called "each of them"
        names = _listed(group.members) if few else "each of them"
        return f"measure {names} with nodes that are known to be good"
    good: dict[str, list[str]] = defaultdict(list)
    for name, other in group.missing:
        good[name].append(other)
    alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, others in good.items():
        alike[tuple(others)].append(name)
    return "; ".join(
        f"measure {_listed(names)} with {_listed(others)} (found good)"
        for others, names in alike.items()
    )


def _listed(names: Collection[str]) -> str:
    """``a, b and c``."""
    *first, end = names
    return f"{', '.join(first)} and {end}" if first else end
