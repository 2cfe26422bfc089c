"""What a measurement would say of given faults: the ground truth that localisation must recover."""

from collections.abc import Iterable

from railgauge.core.model import Pair
from railgauge.diagnosis.facts.pairwise import PairResult

Cable = frozenset


def named(count: int) -> list[str]:
    return [f"n{number:03}" for number in range(count)]


def pairs_of(turns: Iterable[Iterable[Pair]]) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pairs in turns for pair in pairs]


def measured(pairs, nodes=(), cables=()):
    """A pair is slow if one of its nodes or its cable is faulty."""
    slow = set(nodes)
    return [PairResult((a, b), a in slow or b in slow or Cable((a, b)) in cables) for a, b in pairs]
