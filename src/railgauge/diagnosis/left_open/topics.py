"""The topics of what is unknown of a node, the worst first, and their words. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from railgauge.core import naming
from railgauge.core.terms import Scope

_MOST_NAMES = 3


class Topic(Enum):
    """A kind of knowledge of a node, in the order in which reports list what is missing."""

    RIGHT_INSIDE = 1
    RIGHT_BETWEEN = 2
    RIGHT_IN_GROUPS = 3
    LINKS = 4
    NICS = 5
    PAIRINGS = 6
    COPIES = 7
    SPEED_INSIDE = 8
    SPEED_BETWEEN = 9
    SPEED_IN_GROUPS = 10
    TRAINING = 11
    SERVING = 12
    STORAGE = 13
    OTHER = 14
    FACTS = 15

    @property
    def is_of_results(self) -> bool:
        """Whether it asks for right results, at any speed."""
        return self in _RIGHT


_INSIDE, _BETWEEN, _IN_GROUPS = "inside the node", "with other nodes", "in groups of nodes"
_RIGHT = {
    Topic.RIGHT_INSIDE: _INSIDE,
    Topic.RIGHT_BETWEEN: _BETWEEN,
    Topic.RIGHT_IN_GROUPS: _IN_GROUPS,
}
_SPEED = {
    Topic.SPEED_INSIDE: _INSIDE,
    Topic.SPEED_BETWEEN: _BETWEEN,
    Topic.SPEED_IN_GROUPS: _IN_GROUPS,
}
COLLECTIVES = {
    Scope.NODE: (Topic.RIGHT_INSIDE, Topic.SPEED_INSIDE),
    Scope.PAIR: (Topic.RIGHT_BETWEEN, Topic.SPEED_BETWEEN),
    Scope.GROUP: (Topic.RIGHT_IN_GROUPS, Topic.SPEED_IN_GROUPS),
}
# Topics without parts of a node: their parts are the measurements.
_APPLICATIONS = (Topic.TRAINING, Topic.SERVING, Topic.STORAGE)
OWN = frozenset({*_RIGHT, *_SPEED, *_APPLICATIONS, Topic.OTHER})


def described(unknown: Iterable[tuple[Topic, str]]) -> Iterator[str]:
    """Yield what is unknown in words, from the topics and their parts."""
    parts: dict[Topic, list[str]] = {}
    for topic, part in unknown:
        parts.setdefault(topic, []).append(part)
    yield from _collectives(parts)
    for topic in Topic:
        if topic in parts and topic not in (*_RIGHT, *_SPEED):
            yield _worded(topic, parts[topic])


def _collectives(parts: dict[Topic, list[str]]) -> Iterator[str]:
    right, speed = ([of[topic] for topic in of if topic in parts] for of in (_RIGHT, _SPEED))
    if right and right == speed:
        yield f"right results and speed of collectives{_extent(right)}"
        return
    if right:
        yield f"right results of its collectives{_extent(right)}"
    if speed:
        yield f"speed of collectives{_extent(speed)}"


def _extent(places: list[str]) -> str:
    """Where: nothing for everywhere, as for a node of which nothing is known."""
    return "" if {_INSIDE, _BETWEEN} <= set(places) else f" {' and '.join(places)}"


_WORDS = {
    Topic.LINKS: ("{} GPU link", "{} GPU links"),
    Topic.NICS: ("host memory paths over {} NIC", "host memory paths over {} NICs"),
    Topic.PAIRINGS: ("GPU memory RDMA over {} pairing", "GPU memory RDMA over {} pairings"),
    Topic.COPIES: ("the bandwidth of {} GPU alone", "the bandwidth of {} GPUs alone"),
    Topic.TRAINING: ("training", "training"),
    Topic.SERVING: ("model serving", "model serving"),
    Topic.STORAGE: ("storage", "storage"),
}


def _worded(topic: Topic, parts: list[str]) -> str:
    if topic is Topic.OTHER:
        return naming.listed(parts, _MOST_NAMES)
    if topic is Topic.FACTS:
        names = list(dict.fromkeys(part.partition(" ")[0] for part in parts))
        return f"facts: {naming.listed(names, _MOST_NAMES)}"
    one, many = _WORDS[topic]
    return (one if len(parts) == 1 else many).format(len(parts))
