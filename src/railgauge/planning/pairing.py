"""Choose the node pairs in rounds, and the GPU/NIC pairings.

Within a round no node is used twice, so the pairs of a round may run at the same time: four nodes
``a b c d`` meet in the rounds ``a:d c:b``, ``b:a d:c`` and ``a:c b:d``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest

from railgauge.config.thresholds.model import PairLevel, Platform
from railgauge.core.model import Pair, Pairing
from railgauge.planning.direction import Rounds, directed

Leaves = Mapping[str, tuple[str, ...]]
_Seats = list[str | None]
_Two = tuple[str | None, str | None]

_MANY = 2  # with one leaf all pairs are within it, and there is nothing to balance

# The schemes that choose the direction of a pair. A run keeps the number of its scheme, because the
# direction is part of its measurements; runs without a number have the first scheme.
ALTERNATING, DIRECTED, BOTH_WAYS = SCHEMES = 1, 2, 3


def rounds(
    nodes: Sequence[str],
    level: PairLevel,
    count: int | None = None,
    groups: Mapping[str, tuple[str, ...]] | None = None,
    directions: int = BOTH_WAYS,
) -> Rounds:
    """Return the rounds of pairs of a level; with ``count`` each node gets that many partners.

    A tournament that does not have all rounds is balanced over the leaves that ``groups`` declare.
    For a single node the result is empty. ``directions`` decides which node of a pair sends:
    ``DIRECTED`` and ``BOTH_WAYS`` are described in ``planning.direction``; with ``ALTERNATING``,
    which earlier versions used, it changes with the round, and some nodes never send or receive.
    """
    found = _partners(nodes, level, count, groups or {})
    return found if directions == ALTERNATING else directed(found)


def pair_count(nodes: int, level: PairLevel, count: int | None = None) -> int:
    """Return the most pairs that ``rounds`` makes of so many nodes, without making them."""
    every = nodes * (nodes - 1) // 2
    if count is None and level.scheme == "ring":
        return min(every, nodes)
    partners = count or (level.rounds if level.scheme == "tournament" else None)
    return every if partners is None else min(every, (partners + nodes % 2) * (nodes // 2))


def has_one_round(level: PairLevel, count: int | None = None) -> bool:
    """Whether the level, with ``--rounds`` if given, asks for one partner of each node."""
    return (count or (level.rounds if level.scheme == "tournament" else None)) == 1


def number_of_pairs(nodes: int, level: PairLevel, count: int | None = None) -> int:
    """Return the number of pairs of a level's rounds without listing them."""
    if count is None and level.scheme == "ring":
        return nodes if nodes > _MANY else nodes - 1
    odd = nodes % 2
    full = max(nodes + odd - 1, 0)
    wanted = count or (level.rounds if level.scheme == "tournament" else None)
    return (full if wanted is None else min(wanted + odd, full)) * (nodes // 2)


def _partners(
    nodes: Sequence[str],
    level: PairLevel,
    count: int | None,
    groups: Mapping[str, tuple[str, ...]],
) -> Rounds:
    if count is None and level.scheme == "ring":
        return ring(nodes)
    if count is None and level.scheme != "tournament":
        return tournament(nodes)
    declared = leaves(nodes, groups)
    return tournament(nodes, count or level.rounds, tuple(declared.values()))


def leaves(nodes: Sequence[str], groups: Mapping[str, tuple[str, ...]]) -> Leaves:
    """Return the groups that are leaves: two or more, disjoint, members in the order of ``nodes``.

    A group that contains another group completely is not a leaf but something larger, such as a
    pod. If two of the remaining groups share a node, the result is empty.
    """
    place = {name: number for number, name in enumerate(nodes)}
    members = {name: sorted(set(group), key=place.__getitem__) for name, group in groups.items()}
    found = set(_smallest(members))
    smallest = {name: tuple(members[name]) for name in groups if name in found}
    together = [node for group in smallest.values() for node in group]
    disjoint = len(together) == len(set(together))
    return smallest if disjoint and len(smallest) >= _MANY else {}


def _smallest(members: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the groups that contain no other group; of two equal groups only the first."""
    of: dict[str, list[str]] = {}
    for name in sorted(members, key=lambda name: len(members[name])):
        held = Counter(inner for node in members[name] for inner in of.get(node, ()))
        if all(count < len(members[inner]) for inner, count in held.items()):
            yield name
            for node in members[name]:
                of.setdefault(node, []).append(name)


def tournament(
    nodes: Sequence[str], count: int | None = None, leaves: Collection[Sequence[str]] = ()
) -> Rounds:
    """Return a round-robin tournament by the circle method.

    Each node meets at least ``count`` partners; ``None``, or more than ``n - 1``, means all pairs.
    ``n`` nodes need ``n - 1`` rounds to meet all others. An odd ``n`` needs ``n`` rounds: a
    different node has a bye in each round, so ``count`` partners take ``count + 1`` rounds.

    With ``leaves`` the seats and the rounds are chosen so that the first round pairs nodes of
    different leaves, the second pairs nodes of the same leaf, and so on alternately. The first two
    rounds follow this exactly, with two exceptions: the last node of a leaf with an odd number of
    nodes, and a leaf with more than half of all nodes. From the fourth round on, nodes at the edge
    of a leaf are paired with nodes of a neighbouring leaf.
    """
    odd = len(nodes) % 2
    full = max(len(nodes) + odd - 1, 0)
    wanted = full if count is None else min(count + odd, full)
    if leaves and wanted < full:
        seats, turns = _seated(nodes, leaves), _turns(full)[:wanted]
    else:
        seats, turns = [*nodes, *([None] * odd)], list(range(wanted))
    result = (_turn(seats, turn, number) for number, turn in enumerate(turns))
    return tuple(pairs for pairs in result if pairs)


def _turn(seats: _Seats, turn: int, number: int) -> tuple[Pair, ...]:
    """Return the pairs of a turn of the circle method: all seats but seat 0 move ``turn`` places.

    ``number`` is the number of the round, from 0.
    """
    moved = [seats[0], *_rotated(seats[1:], turn)]
    half = len(moved) // 2
    facing = zip(moved[:half], reversed(moved[half:]), strict=True)
    return tuple(_pair(a, b, number) for a, b in facing if a and b)


def _rotated(seats: Sequence[str | None], turn: int) -> _Seats:
    cut = turn % len(seats)
    return [*seats[cut:], *seats[:cut]]


# Balancing between leaves. Number the places of the polygon around its centre in turn 1: 0 is
# opposite the fixed seat, then come 1 and -1, 2 and -2, ... In turn 1 these couples (x, -x) face
# each other, so both nodes of a couple are taken from one leaf. In the turn half a place further
# x faces 1 - x, so each couple meets the next one, and all couples form one circle. If neighbours
# on the circle are from different leaves, each node has one partner in its own leaf and one in
# another. If the couples of two leaves alternate along the circle, couples at an even distance s
# are of the same leaf and couples at an odd distance are not.


def _turns(full: int) -> list[int]:
    """Return all turns, alternating between and within leaves, small distances first."""
    shifts = sorted(range(-(full // 2), full // 2 + 1), key=lambda s: (abs(s), -s))
    odd, even = ([s for s in shifts if s % 2 == rest] for rest in (1, 0))
    alternating = [s for two in zip_longest(odd, even) for s in two if s is not None]
    half = (full + 1) // 2  # of a place, modulo an odd number of places
    return [(1 + s * half) % full for s in alternating]


def _seated(nodes: Sequence[str], leaves: Collection[Sequence[str]]) -> _Seats:
    """Seat couples of a leaf face to face in turn 1, next to couples of other leaves."""
    twos = _alternating(_by_size(nodes, leaves))
    first, rest = twos[0], twos[1:]
    return [*first, *(a for a, _ in rest), *(b for _, b in reversed(rest))]


def _by_size(nodes: Sequence[str], leaves: Collection[Sequence[str]]) -> list[_Two]:
    """Return the nodes in couples, leaf by leaf, the largest leaf first.

    Nodes in no leaf count as one more leaf, and so do the odd nodes that leaves have left over.
    Only the largest leaf can have more than half of the nodes.
    """
    inside = {node for leaf in leaves for node in leaf}
    units = [list[str | None](leaf) for leaf in leaves]
    units.append([node for node in nodes if node not in inside])
    odd = [unit.pop() for unit in units if len(unit) % 2]
    units.append([*odd, *([None] * (len(odd) % 2))])
    units.sort(key=len, reverse=True)
    return [two for unit in units for two in zip(unit[::2], unit[1::2], strict=True)]


def _alternating(twos: list[_Two]) -> list[_Two]:
    """Interleave the two halves of the list: entries far apart are of different leaves."""
    half = (len(twos) + 1) // 2
    both = zip_longest(twos[:half], twos[half:])
    return [two for pair in both for two in pair if two is not None]


def _pair(a: str, b: str, number: int) -> Pair:
    """Return a pair whose direction alternates with the round."""
    return Pair(b, a) if number % 2 else Pair(a, b)


def ring(nodes: Sequence[str]) -> Rounds:
    """Return pairs of each node with the next, and of the last with the first.

    Every node sends once. An even number of nodes gives two rounds, an odd number three.
    """
    count = len(nodes)
    if count < 3:  # noqa: PLR2004 - two nodes have one pair, not a ring
        return tournament(nodes)
    pairs = [Pair(nodes[i], nodes[(i + 1) % count]) for i in range(count)]
    closing = [tuple(pairs[-1:])] if count % 2 else []
    body = pairs[:-1] if closing else pairs
    return (tuple(body[0::2]), tuple(body[1::2]), *closing)


def choose(platform: Platform, memory: str, choice: str) -> tuple[Pairing, ...]:
    """Return the GPU/NIC pairings of ``memory`` that a level's ``choice`` selects, in file order.

    ``choice`` is ``all``, ``near`` or ``one_per_nic``.
    """
    pairings = platform.pairings(memory)
    if choice == "near":
        return tuple(pairing for pairing in pairings if pairing.distance != "far")
    if choice == "one_per_nic":
        return tuple(_nearest(platform, pairings, nic.name) for nic in platform.fabric_nics)
    return pairings


CLOSENESS = ("PIX", "PXB", "PHB", "NODE", "SYS")


def _nearest(platform: Platform, pairings: Sequence[Pairing], nic: str) -> Pairing:
    return min(
        (pairing for pairing in pairings if pairing.nic == nic),
        key=lambda pairing: (
            0 if pairing.gpu is None else CLOSENESS.index(platform.affinity[pairing.gpu][nic])
        ),
    )
