"""Which nodes, or which connection of two nodes, explain the slow pairs of a cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from railgauge.diagnosis.localise.pairwise import OpenGroup, diagnose_pairs


@dataclass(frozen=True, slots=True)
class PairResult:
    """One tested pair. Each order of the two is a direction, and so a result of its own."""

    nodes: tuple[str, str]
    slow: bool

    def __post_init__(self) -> None:
        """Refuse a node with itself: that is no pair."""
        if self.nodes[0] == self.nodes[1]:
            raise ValueError(f"{self.nodes[0]} is no pair with itself")


@dataclass(frozen=True, slots=True)
class Undecided:
    """Evidence that does not decide.

    ``among`` are nodes, parts of a node (``mx01 gpu3``), or ``mx01:mx02`` for the path between
    two; ``would_decide`` is the measurement that is missing, in words, and ``measure`` the pairs
    of nodes it takes (empty where no node was found good to measure with).
    """

    among: tuple[str, ...]
    would_decide: str
    measure: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Blamed:
    """``nodes`` are slow in all their pairs, proven so; ``pairs`` (sorted) only together.

    A pair of which the same direction was slow and fast is taken as slow.
    """

    nodes: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    undecided: tuple[Undecided, ...]


def blame(results: Iterable[PairResult]) -> Blamed:
    """Explain pair results by slow nodes and faulty pairs; see ``diagnose_pairs``.

    One call takes results that are comparable: of one measurement over one path. It is assumed
    that faults are there all the time and in both directions of a node; that a node which is fine
    does not have two faulty connections and no fast one.
    """
    seen = gather(results)
    found = diagnose_pairs({pair: True in said for pair, said in seen.items()})
    return Blamed(
        nodes=found.slow,
        pairs=unordered(found.pairs),
        undecided=tuple(undecided(group) for group in found.open),
    )


def gather(results: Iterable[PairResult]) -> dict[tuple[str, str], set[bool]]:
    """All that was said of each direction of each pair; two values contradict each other."""
    seen: dict[tuple[str, str], set[bool]] = defaultdict(set)
    for result in results:
        seen[result.nodes].add(result.slow)
    return seen


def unordered(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Each pair once, its nodes sorted."""
    return tuple(sorted({(min(pair), max(pair)) for pair in pairs}))


def undecided(group: OpenGroup[str]) -> Undecided:
    """An open group of nodes in words.

    With nobody cleared and many pairs slow, the paths are not listed: it is everything.
    """
    paths = unordered(group.between)
    everything = not group.missing and len(paths) > 1
    between = () if everything else tuple(f"{a}:{b}" for a, b in paths)
    return Undecided((*group.members, *between), _would_decide(group), group.missing)


def _would_decide(group: OpenGroup[str]) -> str:
    if not group.missing:
        few = len(group.members) <= 2  # noqa: PLR2004 - more are better called "each of them"
        names = listed(group.members) if few else "each of them"
        return f"measure {names} with nodes that are known to be good"
    good: dict[str, list[str]] = defaultdict(list)
    for name, other in group.missing:
        good[name].append(other)
    alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, others in good.items():
        alike[tuple(others)].append(name)
    return "; ".join(
        f"measure {listed(names)} with {listed(others)} (found good)"
        for others, names in alike.items()
    )


def listed(names: Collection[str]) -> str:
    """``a, b and c``."""
    *first, end = names
    return f"{', '.join(first)} and {end}" if first else end
