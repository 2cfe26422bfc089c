"""What a measurement would say of given faults: the ground truth that localisation must recover."""

from collections.abc import Iterable

from railgauge.core.model import Pair
from railgauge.diagnosis.localise import PairResult, PathResult

Cable = frozenset


def named(count: int) -> list[str]:
    return [f"n{number:03}" for number in range(count)]


def pairs_of(turns: Iterable[Iterable[Pair]]) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pairs in turns for pair in pairs]


def measured(pairs, nodes=(), cables=()):
    """A pair is slow if one of its nodes or its cable is faulty."""
    slow = set(nodes)
    return [PairResult((a, b), a in slow or b in slow or Cable((a, b)) in cables) for a, b in pairs]


def across(pairs, paths, parts=(), cables=()):
    """Results of pairs from one NIC to another; ``paths`` are (source's path, target's path).

    ``cables`` are (nodes, source's NIC, target's NIC).
    """
    return [
        PathResult(
            (a, b),
            lame(parts, a, *own) or lame(parts, b, *other) or (Cable((a, b)), own, other) in cables,
            *own,
            other,
        )
        for a, b in pairs
        for own, other in paths
    ]


def lame(parts, node, gpu, nic):
    on_it = {"", nic, *(() if gpu is None else (f"gpu{gpu}", f"gpu{gpu}-{nic}"))}
    return any((node, part) in parts for part in on_it)


def on_paths(pairs, paths, parts=(), cables=()):
    """``parts`` are (node, "" or NIC or "gpu3" or "gpu3-mlx5_0"), ``cables`` (nodes, NIC)."""
    return [
        PathResult(
            (a, b),
            lame(parts, a, gpu, nic) or lame(parts, b, gpu, nic) or (Cable((a, b)), nic) in cables,
            gpu,
            nic,
        )
        for a, b in pairs
        for gpu, nic in paths
    ]
