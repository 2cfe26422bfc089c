"""Choose which node of each pair sends. Pure.

Most tests move their payload one way, from the first node of a pair to the second. Each node sends
in one of its first two tests and receives in the other, likewise in its third and fourth, and so
on; the last of an odd number of tests may go either way. This holds for any number of nodes and
rounds, with byes, with leaves, and for a ring. Hence each node that has two tests sends and
receives. With an even number of nodes it does so in the rounds 1 and 2, in 3 and 4, …, and within
any three rounds in a row; with an odd number, where a node has one bye, within any four.

Why it is always possible: connect two tests if they are the first and the second, or the third and
the fourth, … of one node. A test has two nodes, so it is connected with at most two others, and
the tests form chains and closed chains. Along a chain the payload goes on from node to node: the
receiver of a test is the sender of the next one. A closed chain ends where it began, so its last
test agrees with its first.

More is not possible: if each node sent and received within *every* two rounds in a row, the same
half of the nodes would send in all odd rounds and the other half in all even ones. Then no two
nodes of a half could ever meet, but the three rounds of four nodes pair all of them.

Two nodes make one pair, in which one of them only sends and the other only receives. Where a level
gives each node two tests, tests that move their payload one way are made in the other direction as
well (``turned``). So they are for a node that is tested with one partner (``planning.part``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from railgauge.core.model import Pair

Rounds = tuple[tuple[Pair, ...], ...]
# The two ends of test number t are 2 t (its source) and 2 t + 1 (its target).
_End = int
_OPEN: _End = -1


def directed(rounds: Rounds) -> Rounds:
    """Return the same pairs in the same rounds, each with its sender first.

    The first pair of a chain keeps its direction.
    """
    pairs = [pair for turn in rounds for pair in turn]
    is_turned = iter(_turned(_connected(pairs)))
    return tuple(tuple(_turned_over(p) if next(is_turned) else p for p in turn) for turn in rounds)


def turned(pairs: Iterable[Pair], nodes: Collection[str]) -> tuple[Pair, ...]:
    """Return a pair in its other direction for each node that only sends, or only receives.

    It is the first pair of the node; that of two such nodes is returned once.
    """
    first: dict[str, Pair] = {}
    senders, receivers = set[str](), set[str]()
    for pair in pairs:
        senders.add(pair.source)
        receivers.add(pair.target)
        first.setdefault(pair.source, pair)
        first.setdefault(pair.target, pair)
    one_way = senders ^ receivers
    lacking = [first[node] for node in nodes if node in one_way]
    return tuple(dict.fromkeys(map(_turned_over, lacking)))


def _turned_over(pair: Pair) -> Pair:
    return Pair(pair.target, pair.source)


def _connected(pairs: Sequence[Pair]) -> list[_End]:
    """For each end the one that it is connected with: of its node's first two tests, next two, …"""
    waiting: dict[str, _End] = {}
    found = [_OPEN] * (2 * len(pairs))
    for test, pair in enumerate(pairs):
        for node, end in ((pair.source, 2 * test), (pair.target, 2 * test + 1)):
            before = waiting.pop(node, _OPEN)
            if before == _OPEN:
                waiting[node] = end
            else:
                found[before], found[end] = end, before
    return found


def _turned(connected: Sequence[_End]) -> list[bool]:
    """Whether the payload of each test flows from its target to its source."""
    sender: list[_End] = [_OPEN] * (len(connected) // 2)
    for test, known in enumerate(sender):
        if known == _OPEN:
            sender[test] = 2 * test
            for end in _chain(connected, 2 * test + 1):
                sender[end // 2] = end
            for end in _chain(connected, 2 * test):
                sender[end // 2] = end ^ 1
    return [bool(end % 2) for end in sender]


def _chain(connected: Sequence[_End], start: _End) -> Iterator[_End]:
    """Yield the near end of each test that follows the end ``start``, until the chain ends."""
    end = connected[start]
    while end not in (_OPEN, start ^ 1):
        yield end
        end = connected[end ^ 1]
