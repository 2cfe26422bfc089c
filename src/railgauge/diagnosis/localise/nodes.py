"""Find the nodes, or the connections of two nodes, that explain the slow pairs of a cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from railgauge.diagnosis.localise.pairwise import OpenGroup, diagnose_pairs


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

    ``among`` are nodes, parts of a node (``mx01 gpu3``), or ``mx01:mx02`` for the path between
    two; ``would_decide`` is the missing measurement in words, and ``measure`` its pairs of nodes
    (empty where no node was found good to measure with). With ``one_way`` a suspect may be one
    direction of a node (``mx01 sending``), and the pairs of ``measure`` begin with the sender.
    """

    among: tuple[str, ...]
    would_decide: str
    measure: tuple[tuple[str, str], ...] = ()
    one_way: bool = False


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
    seen = gather(results)
    found = diagnose_pairs({pair: True in said for pair, said in seen.items()})
    return Blamed(
        nodes=found.slow,
        pairs=unordered(found.pairs),
        undecided=tuple(undecided(group) for group in found.open),
    )


def gather(results: Iterable[PairResult]) -> dict[tuple[str, str], set[bool]]:
    """The values of each direction of each pair; both values if results contradict each other."""
    seen: dict[tuple[str, str], set[bool]] = defaultdict(set)
    for result in results:
        seen[result.nodes].add(result.slow)
    return seen


def unordered(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Each pair once, its nodes sorted."""
    return tuple(sorted({(min(pair), max(pair)) for pair in pairs}))


def undecided(group: OpenGroup[str]) -> Undecided:
    """An open group of nodes, in words.

    The paths are not listed if no node is cleared and several pairs are slow: all are suspect.
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
