"""Who is measured with whom: node pairs in rounds, GPU/NIC pairings by choice.

Within a round no node is used twice, so the pairs of a round may run at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence

from railgauge.model import Pair, Pairing
from railgauge.thresholds.model import PairLevel, Platform

Rounds = tuple[tuple[Pair, ...], ...]


def rounds(nodes: Sequence[str], level: PairLevel, count: int | None = None) -> Rounds:
    """The rounds of pairs that a level asks for; ``count`` asks for that many partners each.

    One node alone has no pair: the result is empty.
    """
    if count is not None:
        return tournament(nodes, count)
    if level.scheme == "ring":
        return ring(nodes)
    return tournament(nodes, level.rounds if level.scheme == "tournament" else None)


def tournament(nodes: Sequence[str], count: int | None = None) -> Rounds:
    """A round-robin tournament by the circle method; each node meets ``count`` partners at least.

    ``n`` nodes need ``n - 1`` rounds to meet all others, ``n`` when odd: then one node of each
    round has a bye, another one every time, so that ``count`` partners each take a round more.
    ``count`` above ``n - 1`` is all pairs.
    """
    odd = len(nodes) % 2
    seats: list[str | None] = [*nodes, *([None] * odd)]
    full = max(len(seats) - 1, 0)
    result = []
    for turn in range(full if count is None else min(count + odd, full)):
        # Seat 0 stays, the others move on one place: the polygon of the circle method.
        moved = [seats[0], *_rotated(seats[1:], turn)]
        half = len(moved) // 2
        facing = zip(moved[:half], reversed(moved[half:]), strict=True)
        result.append(tuple(_pair(a, b, turn) for a, b in facing if a and b))
    return tuple(pairs for pairs in result if pairs)


def _rotated(seats: Sequence[str | None], turn: int) -> list[str | None]:
    cut = turn % len(seats)
    return [*seats[cut:], *seats[:cut]]


def _pair(a: str, b: str, turn: int) -> Pair:
    """Who sends changes from round to round, so that a node is tried in both directions."""
    return Pair(b, a) if turn % 2 else Pair(a, b)


def ring(nodes: Sequence[str]) -> Rounds:
    """Each node with the next one, the last with the first; every node sends once.

    Two rounds for an even number of nodes, three for an odd one.
    """
    count = len(nodes)
    if count < 3:  # noqa: PLR2004 - two nodes have one pair, not a ring
        return tournament(nodes)
    pairs = [Pair(nodes[i], nodes[(i + 1) % count]) for i in range(count)]
    closing = [tuple(pairs[-1:])] if count % 2 else []
    body = pairs[:-1] if closing else pairs
    return (tuple(body[0::2]), tuple(body[1::2]), *closing)


def choose(platform: Platform, memory: str, choice: str) -> tuple[Pairing, ...]:
    """The GPU/NIC pairings of ``memory`` that a level's ``choice`` takes, in declared order."""
    pairings = platform.pairings(memory)
    if choice == "near":
        return tuple(pairing for pairing in pairings if pairing.distance != "far")
    if choice == "one_per_nic":
        return tuple(_nearest(platform, pairings, nic.name) for nic in platform.fabric_nics)
    return pairings


_CLOSENESS = ("PIX", "PXB", "PHB", "NODE", "SYS")


def _nearest(platform: Platform, pairings: Sequence[Pairing], nic: str) -> Pairing:
    return min(
        (pairing for pairing in pairings if pairing.nic == nic),
        key=lambda pairing: (
            0 if pairing.gpu is None else _CLOSENESS.index(platform.affinity[pairing.gpu][nic])
        ),
    )
