"""The one piece of reasoning: what a set of slow and fast pairs says about those who make them up.

A pair is slow if one of its two members is slow, or what lies between them. Hence:

1. A fast pair clears both members. (Certain.)
2. A slow pair of two cleared members is itself at fault. (Certain.)
3. A member that is slow in all its pairs, ``PROOF`` of them with cleared partners, is slow.
   This is the one assumption: a member that is fine does not have two faulty connections, to two
   cleared partners, and no fast pair at all. One fault is likelier than two.
4. The rest stays open.

With ``s`` slow members, no faulty connection and at least ``s + 1`` partners each, nothing stays
open: among ``s + 1`` partners of a good member one is good, so that pair is fast and clears it;
a slow member has at most ``s - 1`` slow partners, so two at least are good, thus cleared, and
prove it slow. With ``s`` partners that fails: if they are just the ``s`` slow ones, a good member
gives the very results that a slow one in its place would give, and no reasoning can tell.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

Name = TypeVar("Name", str, int)

PROOF = 2
"""Cleared partners that a member must be slow with; with one, it may be what lies between."""


@dataclass(frozen=True, slots=True)
class OpenGroup(Generic[Name]):
    """Members that hang together by slow pairs, none proven; ``between`` are those slow pairs.

    ``missing`` are the pairs with cleared members that would decide; none if none is cleared.
    """

    members: tuple[Name, ...]
    between: tuple[tuple[Name, Name], ...]
    missing: tuple[tuple[Name, Name], ...]


@dataclass(frozen=True, slots=True)
class PairDiagnosis(Generic[Name]):
    """All members in three heaps, sorted, and the ``pairs`` that are slow for themselves."""

    cleared: tuple[Name, ...]
    slow: tuple[Name, ...]
    pairs: tuple[tuple[Name, Name], ...]
    open: tuple[OpenGroup[Name], ...]


def diagnose_pairs(
    results: Mapping[tuple[Name, Name], bool], known_slow: Collection[Name] = ()
) -> PairDiagnosis[Name]:
    """Sort all members of ``results`` (pair: whether slow), in time linear in their number.

    ``known_slow`` are slow by other evidence; they explain the slow pairs that they are in.
    """
    met = _partners(results)
    cleared = {name for pair, slow in results.items() if not slow for name in pair}
    proven = {name for name in met if name not in cleared and len(met[name] & cleared) >= PROOF}
    blamed = (proven | set(known_slow)) - cleared
    loose = [
        pair
        for pair, slow in results.items()
        if slow and blamed.isdisjoint(pair) and not cleared.issuperset(pair)
    ]
    return PairDiagnosis(
        cleared=tuple(sorted(cleared)),
        slow=tuple(sorted(blamed)),
        pairs=tuple(sorted(p for p, slow in results.items() if slow and cleared.issuperset(p))),
        open=tuple(_groups(met, cleared, met.keys() - cleared - blamed, loose)),
    )


def _partners(results: Mapping[tuple[Name, Name], bool]) -> dict[Name, set[Name]]:
    met: dict[Name, set[Name]] = defaultdict(set)
    for one, other in results:
        met[one].add(other)
        met[other].add(one)
    return met


def _groups(
    met: Mapping[Name, set[Name]],
    cleared: set[Name],
    unproven: set[Name],
    loose: list[tuple[Name, Name]],
) -> Iterator[OpenGroup[Name]]:
    """The open members, those who met each other together; all in one if nobody is cleared."""
    ordered = sorted(cleared)
    groups = list(_connected(met, unproven)) if cleared else [unproven] if unproven else []
    group_of = {name: number for number, group in enumerate(groups) for name in group}
    between: list[list[tuple[Name, Name]]] = [[] for _ in groups]
    for one, other in loose:
        between[group_of[one if one in group_of else other]].append((one, other))
    for group, pairs in zip(groups, between, strict=True):
        members = tuple(sorted(group))
        missing = [pair for name in members for pair in _missing(name, met[name], cleared, ordered)]
        yield OpenGroup(members, tuple(sorted(pairs)), tuple(missing))


def _connected(met: Mapping[Name, set[Name]], among: set[Name]) -> Iterator[set[Name]]:
    seen: set[Name] = set()
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
    name: Name, met: set[Name], cleared: set[Name], ordered: list[Name]
) -> list[tuple[Name, Name]]:
    """Pairs with cleared members not met yet, as many as a proof still lacks."""
    lacking = PROOF - len(met & cleared)
    fresh = (other for other in ordered if other not in met)
    return [(name, other) for other in islice(fresh, lacking)]
