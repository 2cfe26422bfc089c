"""Who is measured with whom: node pairs in rounds, GPU/NIC pairings by choice.

Within a round no node is used twice, so the pairs of a round may run at the same time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest

from railgauge.config.thresholds.model import PairLevel, Platform
from railgauge.core.model import Pair, Pairing

Rounds = tuple[tuple[Pair, ...], ...]
Leaves = Mapping[str, tuple[str, ...]]
_Seats = list[str | None]
_Two = tuple[str | None, str | None]

_MANY = 2  # of one leaf all pairs are of the same, and nothing is to be balanced


def rounds(
    nodes: Sequence[str],
    level: PairLevel,
    count: int | None = None,
    groups: Mapping[str, tuple[str, ...]] | None = None,
) -> Rounds:
    """The rounds of pairs that a level asks for; ``count`` asks for that many partners each.

    A tournament of some rounds is balanced between the leaves that ``groups`` declare. One node
    alone has no pair: the result is empty.
    """
    if count is None and level.scheme == "ring":
        return ring(nodes)
    if count is None and level.scheme != "tournament":
        return tournament(nodes)
    declared = leaves(nodes, groups or {})
    return tournament(nodes, count or level.rounds, tuple(declared.values()))


def leaves(nodes: Sequence[str], groups: Mapping[str, tuple[str, ...]]) -> Leaves:
    """The groups that are leaves: two or more, disjoint, members in the order of ``nodes``.

    A group that holds another group whole is something larger, such as a pod. If two of the
    others share a node, the groups say nothing about leaves: there are none.
    """
    place = {name: number for number, name in enumerate(nodes)}
    members = {name: sorted(set(group), key=place.__getitem__) for name, group in groups.items()}
    found = set(_smallest(members))
    smallest = {name: tuple(members[name]) for name in groups if name in found}
    together = [node for group in smallest.values() for node in group]
    disjoint = len(together) == len(set(together))
    return smallest if disjoint and len(smallest) >= _MANY else {}


def _smallest(members: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The groups that hold no other one whole; of two that are alike the first."""
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
    """A round-robin tournament by the circle method; each node meets ``count`` partners at least.

    ``n`` nodes need ``n - 1`` rounds to meet all others, ``n`` when odd: then one node of each
    round has a bye, another one every time, so that ``count`` partners each take a round more.
    ``count`` above ``n - 1`` is all pairs.

    With ``leaves`` some of the rounds are chosen, and who sits where: the first round is between
    leaves, the second within them, and so on in turn. That is exact in the first two but where it
    cannot be: one node of a leaf with an odd number of nodes, and a leaf that holds more than half
    of them. From the fourth on, pairs at the edges of a leaf are with a neighbour's.
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
    """The polygon of the circle method: seat 0 stays, the others have moved on ``turn`` places."""
    moved = [seats[0], *_rotated(seats[1:], turn)]
    half = len(moved) // 2
    facing = zip(moved[:half], reversed(moved[half:]), strict=True)
    return tuple(_pair(a, b, number) for a, b in facing if a and b)


def _rotated(seats: Sequence[str | None], turn: int) -> _Seats:
    cut = turn % len(seats)
    return [*seats[cut:], *seats[:cut]]


# Among leaves. Number the places of the polygon round the centre of its turn 1: 0 opposite the
# fixed seat, then 1 and -1, 2 and -2, ... In turn 1 these twos face each other: they are of one
# leaf. In the turn that is half a place further x faces 1 - x: each two meets the next one, all
# of them in one circle. If neighbours in it are of different leaves, everybody has one partner in
# the own leaf and one elsewhere. An even distance s between twos is of one leaf, an odd one is not,
# if two leaves alternate along the circle for as long as they last.


def _turns(full: int) -> list[int]:
    """All turns, those between leaves and those within them in turn, near distances first."""
    shifts = sorted(range(-(full // 2), full // 2 + 1), key=lambda s: (abs(s), -s))
    odd, even = ([s for s in shifts if s % 2 == rest] for rest in (1, 0))
    alternating = [s for two in zip_longest(odd, even) for s in two if s is not None]
    half = (full + 1) // 2  # of a place, modulo an odd number of places
    return [(1 + s * half) % full for s in alternating]


def _seated(nodes: Sequence[str], leaves: Collection[Sequence[str]]) -> _Seats:
    """Twos of a leaf facing each other in turn 1; neighbours along the circle of other leaves."""
    twos = _alternating(_by_size(nodes, leaves))
    first, rest = twos[0], twos[1:]
    return [*first, *(a for a, _ in rest), *(b for _, b in reversed(rest))]


def _by_size(nodes: Sequence[str], leaves: Collection[Sequence[str]]) -> list[_Two]:
    """The nodes two by two, leaf by leaf; the nodes in no leaf are one more, what is left another.

    The largest leaf is first: the only one that may hold more than half of them.
    """
    inside = {node for leaf in leaves for node in leaf}
    units = [list[str | None](leaf) for leaf in leaves]
    units.append([node for node in nodes if node not in inside])
    odd = [unit.pop() for unit in units if len(unit) % 2]
    units.append([*odd, *([None] * (len(odd) % 2))])
    units.sort(key=len, reverse=True)
    return [two for unit in units for two in zip(unit[::2], unit[1::2], strict=True)]


def _alternating(twos: list[_Two]) -> list[_Two]:
    """The first half and the second half in turn: far from each other, so of different leaves."""
    half = (len(twos) + 1) // 2
    both = zip_longest(twos[:half], twos[half:])
    return [two for pair in both for two in pair if two is not None]


def _pair(a: str, b: str, number: int) -> Pair:
    """Who sends changes from round to round, so that a node is tried in both directions."""
    return Pair(b, a) if number % 2 else Pair(a, b)


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
