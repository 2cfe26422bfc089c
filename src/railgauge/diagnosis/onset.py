"""Faults that began during the run: fine before one moment, and slow after it. Pure.

Example: ``mx02`` and ``mx03`` are fine together over their first 21 pairings, and slow over the
last 3, while both are fine with others. By place these are three faulty pairings. One path that is
slow since a moment explains all three.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from railgauge.core.naming import among, listed
from railgauge.diagnosis.history import Event, History
from railgauge.diagnosis.model import LIKELY, OPEN, CauseClaim, Course, Where
from railgauge.diagnosis.pattern import worst_of
from railgauge.diagnosis.seen import SOME, Seen, clock, cost_alike, count, has_a_place, iso, seen_of

_PAIR = 2
_MANY = 4
_BITS = 6


def begun(
    history: History,
    claims: Sequence[CauseClaim],
    slow: Sequence[Event],
    others: Collection[str] = (),
) -> CauseClaim | None:
    """The claim for a node that is slow since a moment, if that explains all slow events.

    ``others`` are the keys of events that another slow part explains as well.
    """
    own = [event for event in slow if event.key not in others] or slow
    onsets = {
        node: seen for node in in_all(slow) if (seen := onset(history, node, own, others=others))
    }
    if not onsets:
        return None
    records = tuple(dict.fromkeys(record for claim in claims for record in claim.evidence))
    node, seen = next(iter(onsets.items()))
    course = replace(seen.course, since=iso(seen.slow[0].start))
    says = f"{worst_of(records)}; slow since {clock(seen)}; fine before: {count(seen.fine)}"
    if len(onsets) == 1:
        return CauseClaim("slow-node", Where(node), says, records, LIKELY, course=course)
    both = sorted(onsets)
    says += f"; the evidence fits each of {listed(both)}, and the path between them"
    decide = f"measure {' and '.join(both)} with other nodes"
    return CauseClaim("slow-node", Where(among(both)), says, records, OPEN, decide, course)


def begun_between(
    history: History, claims: Sequence[CauseClaim], slow: Sequence[Event]
) -> CauseClaim | None:
    """The claim for two nodes that are slow together since a moment, over several places.

    It is the path between them if each of them was fine with another node after that moment.
    """
    nodes = in_all(slow)
    if len(claims) == 1 or len(nodes) != _PAIR:
        return None
    seen = of_the_pair(history, slow)
    first = _first_slow(seen)
    # A path does not know the tool, and sums show what either direction lacks.
    is_placed = not all(event.both for event in seen.slow) and has_a_place(history, nodes[0], seen)
    if first is None or are_places(claims, seen.course) or is_placed:
        return None
    records = tuple(dict.fromkeys(record for claim in claims for record in claim.evidence))
    course = replace(seen.course, since=iso(first))
    says = f"{worst_of(records)}; slow since {clock(seen)}; fine before: {count(seen.fine)}"
    left = [node for node in nodes if not _is_fine_since(history, node, nodes, first)]
    if not left:
        says += "; both nodes reach their limits with others since then"
        path = Where(nodes[0], "", nodes[1])
        return CauseClaim("slow-path", path, says, records, LIKELY, course=course)
    says += f"; the evidence fits each of {listed(left)}, and the path between {listed(nodes)}"
    decide = f"measure {' and '.join(left)} with other nodes"
    return CauseClaim("slow-node", Where(among(nodes)), says, records, OPEN, decide, course)


def _is_fine_since(history: History, node: str, pair: Sequence[str], first: datetime) -> bool:
    """Whether the node reached a limit with a node outside the pair, from that moment on."""
    return any(
        event.start and event.start >= first and not event.slow and not set(event.nodes) <= {*pair}
        for event in history.of(node)
    )


def _first_slow(seen: Seen) -> datetime | None:
    """The start of the first slow event, if all before it are fine, and all after it as slow."""
    starts = [event.start for event in (*seen.slow, *seen.fine)]
    if len(seen.slow) < SOME or not seen.fine or None in starts or not cost_alike(seen.slow):
        return None
    first = min(event.start for event in seen.slow if event.start)
    return None if any(event.start and event.start >= first for event in seen.fine) else first


def onset(
    history: History,
    node: str,
    slow: Sequence[Event],
    *,
    by_place: bool = False,
    others: Collection[str] = (),
) -> Seen | None:
    """The node's events, without ``others``, if all before the first slow one are fine and all
    after it slow.

    ``None`` if a tool, a size or a direction tells the two apart as well, unless ``by_place``.
    """
    seen = seen_of(history, node, slow, lambda event: event.key not in others)
    if _first_slow(seen) is None or (by_place and len(seen.fine) < SOME):
        return None
    if by_place:
        return seen
    may_be_chance = math.comb(seen.course.of, seen.course.slow) < _ORDERS
    is_placed = has_a_place(history, node, seen) or _are_of_one_nic(history, node, seen)
    return None if may_be_chance or is_placed else seen


_ORDERS = 6  # in one of them, all fine measurements are before all slow ones


def _are_of_one_nic(history: History, node: str, seen: Seen) -> bool:
    """Whether all slow events, and no fine one, are over one NIC."""
    slow, fine = history.nics(node, seen.slow), history.nics(node, seen.fine)
    return len(slow) == 1 and slow.isdisjoint(fine)


def are_places(claims: Sequence[CauseClaim], course: Course) -> bool:
    """Whether the places explain so many measurements that this is no coincidence.

    A fault that comes and goes makes any selection of the measurements slow with equal probability.
    That a selection is just what so few places make slow is then unlikely. A cluster has up to
    ``2 ** _BITS`` places for each of them.
    """
    selections = math.comb(course.of, course.slow)
    return course.slow >= _MANY * len(claims) or selections >= 2 ** (_BITS * len(claims))


def in_all(events: Iterable[Event]) -> list[str]:
    """The nodes that take part in all these events."""
    sets = [set(event.nodes) for event in events]
    return sorted(set.intersection(*sets)) if sets else []


def of_the_pair(history: History, slow: Sequence[Event]) -> Seen:
    """All events of the pair of nodes that was slow, over any NIC."""
    one, other = slow[0].nodes
    return seen_of(history, one, slow, lambda event: other in event.nodes)
