"""Tell from the order of the measurements whether a fault was there all the time. Pure.

A cause that the pattern of slow measurements gives is about a place. Time can make a pattern too:

- A node that slows down during the run is fine in its first measurements and slow in all later
  ones, with whichever partner and NIC. By place alone that is a path, or several.
- A fault that comes and goes is slow in some measurements of its part and fine in others that the
  fault would have shown in just as well.

Neither is assumed where a place explains the same: where all slow measurements are of one tool, one
size or one direction, and none of the others is slow.

Example: ``mx02`` is slow with ``mx01`` over ``mlx5_0`` and ``mlx5_1``, and with ``mx03`` over
``mlx5_1``, and fine in its other measurement. By place these are several faults. One node that
comes and goes explains all: 3 of 4 measurements are slow.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from railgauge.core.naming import listed
from railgauge.core.terms import Rung
from railgauge.diagnosis.history import BOTH, RECEIVES, SENDS, Event, History, nic_of
from railgauge.diagnosis.model import (
    AGAIN,
    CERTAIN,
    LIKELY,
    OPEN,
    CauseClaim,
    RunResults,
    Where,
)
from railgauge.diagnosis.onset import are_places, begun, begun_between, in_all, of_the_pair, onset
from railgauge.diagnosis.pattern import worst_of
from railgauge.diagnosis.reach import goes_through, nodes_of
from railgauge.diagnosis.seen import (
    SOME,
    Seen,
    clock,
    cost_alike,
    count,
    has_a_place,
    seen_of,
    told,
)
from railgauge.diagnosis.two_parts import two_parts

DIRECTION = "slow-direction"
SLOW = frozenset({"slow-node", "slow-nic", "slow-gpu", "slow-path", "slow-pcie-path", DIRECTION})
_PAIR = 2
_WAYS = 2
_HALF = 0.5


def timed(results: RunResults, claims: Sequence[CauseClaim]) -> list[CauseClaim]:
    """The claims of one rule, with those that the order of the measurements explains better.

    A fault that began during the run, or that comes and goes, replaces the places that it looked
    like.
    """
    about = [claim for claim in claims if _is_a_pattern(claim)]
    if not about:
        return list(claims)
    history = History(results)
    found: dict[int, list[CauseClaim]] = {}
    for together in _connected(about):
        settled = list(_settled(history, together, about))
        for claim in together:
            found[id(claim)] = []
        found[id(together[0])] = settled
    return [one for claim in claims for one in found.get(id(claim), [claim])]


def _is_a_pattern(claim: CauseClaim) -> bool:
    """Whether the claim rests on the pattern of slow pairs."""
    pairs = all(len(set(record.nodes)) == _PAIR for record in claim.evidence)
    return claim.cause in SLOW and claim.confidence != CERTAIN and pairs and bool(claim.evidence)


def _places(claim: CauseClaim) -> set[str]:
    return nodes_of(claim.where.node) | ({claim.where.peer} - {""})


def _connected(claims: Iterable[CauseClaim]) -> list[list[CauseClaim]]:
    """The claims in groups that share nodes."""
    groups: list[tuple[set[str], list[CauseClaim]]] = []
    for claim in claims:
        nodes, mine = _places(claim), [claim]
        for group in [group for group in groups if group[0] & nodes]:
            groups.remove(group)
            nodes, mine = group[0] | nodes, [*group[1], *mine]
        groups.append((nodes, mine))
    return [mine for _, mine in groups]


# --- which explanation fits ---


def _settled(
    history: History, claims: Sequence[CauseClaim], every: Sequence[CauseClaim]
) -> Iterator[CauseClaim]:
    """The claims about connected places, or those that time gives in their stead."""
    slow = {id(claim): _slow_of(history, claim) for claim in every}
    near = {id(claim): _own_part(history, claim, every, slow) for claim in claims}
    everything = [event for claim in claims for event in slow[id(claim)]]
    doubtful = [
        claim for claim in claims if _is_doubtful(history, claim, slow[id(claim)], near[id(claim)])
    ]
    others = {event.key for one in _others(claims, every) for event in slow[id(one)]}
    began = begun(history, claims, everything, others) if len(claims) > 1 or doubtful else None
    if began := began or begun_between(history, claims, everything):
        yield began
        return
    for some in _of_one_pair(claims):
        if began := begun_between(history, some, [e for claim in some for e in slow[id(claim)]]):
            yield began
            rest = [claim for claim in claims if claim not in some]
            for together in _connected(rest):
                yield from _settled(history, together, every)
            return
    common = in_all(everything)
    unsure = all(claim in doubtful or claim.confidence == OPEN for claim in claims)
    paths = [claim for claim in claims if claim.where.peer]
    are_few = 2 * len(paths) < len(claims) and all(claim in doubtful for claim in paths)
    # Of many paths, a few may be slow each time by chance.
    mostly = len(paths) == len(claims) and 2 * len(doubtful) > len(claims)
    whole = unsure or ((are_few or mostly) and _on_most_nics(history, common, everything))
    several = len(claims) > 1 and len(common) == 1
    if several and whole and _goes(history, common[0], claims, everything):
        yield _come_and_gone(history, common[0], claims, everything)
        return
    for claim in claims:
        if claim in doubtful:
            yield _unsure(history, claim, slow[id(claim)], near[id(claim)])
        else:
            yield _with_doubt(history, claim, slow[id(claim)])


def _others(claims: Sequence[CauseClaim], every: Iterable[CauseClaim]) -> list[CauseClaim]:
    """The decided claims about other places."""
    return [one for one in every if one not in claims and one.confidence != OPEN]


def _of_one_pair(claims: Sequence[CauseClaim]) -> Iterator[list[CauseClaim]]:
    """The claims about two nodes together, if there are others as well."""
    pairs = dict.fromkeys(frozenset(_places(claim)) for claim in claims if claim.where.peer)
    for pair in pairs:
        some = [claim for claim in claims if claim.where.peer and _places(claim) == pair]
        if len(some) < len(claims):
            yield some


def _on_most_nics(history: History, nodes: Sequence[str], slow: Sequence[Event]) -> bool:
    """Whether most NICs of one of the nodes are slow at times."""
    return any(_are_slow_at_times(history, node, slow) for node in nodes)


def _are_slow_at_times(history: History, node: str, slow: Sequence[Event]) -> bool:
    """Whether all NICs of the node were slow, or most, and most of these were fine as well."""
    own, lame = history.nics(node), history.nics(node, slow)
    fine = seen_of(history, node, slow, lambda _event: True).fine
    at_times = lame & history.nics(node, fine)
    most = 2 * len(lame) > len(own) and 2 * len(at_times) > len(lame)
    return len(own) > 1 and (own == lame or most)


def _goes(history: History, node: str, claims: Sequence[CauseClaim], slow: Sequence[Event]) -> bool:
    """Whether some measurements of the node are fine, and no place tells which.

    One fault that comes and goes costs about the same each time.
    """
    lost = [1 - event.share for event in slow if event.share is not None]
    if (lost and min(lost) < _HALF * max(lost)) or not cost_alike(slow):
        return False
    if _are_two(claims) and not _was_fine_again(history, node, slow):
        return False
    seen = seen_of(history, node, slow, lambda _event: True)
    placed = has_a_place(history, node, seen) or are_places(claims, seen.course)
    return bool(_over_device(history, node, slow).fine) and not placed


def _are_two(claims: Sequence[CauseClaim]) -> bool:
    """Whether two undecided slow directions are all there is.

    They explain as much. Suspects of a direction are measured again in the run.
    """
    ways = all(claim.cause == DIRECTION and claim.confidence == OPEN for claim in claims)
    return ways and len(claims) == _PAIR


def _was_fine_again(history: History, node: str, slow: Sequence[Event]) -> bool:
    """Whether the node reached its limit with one of its slow partners when measured again."""
    pairs = [set(event.nodes) for event in slow]
    return any(
        not result.missed and not result.error and set(result.asked.suspects) in pairs
        for result in history.again(node)
    )


def _over_device(history: History, node: str, slow: Sequence[Event]) -> Seen:
    """The events of the node over the NIC of the slow ones, or over any if these are of several."""
    device = _single(history.nics(node, slow))
    return seen_of(history, node, slow, lambda event: goes_through(device, event.part))


def _single(names: Collection[str]) -> str:
    return next(iter(names)) if len(names) == 1 else ""


def _slow_of(history: History, claim: CauseClaim) -> list[Event]:
    """The slow events of the claim's evidence, each once."""
    paths = {(record.nodes, record.pairing, record.subject) for record in claim.evidence}
    nodes = dict.fromkeys(node for record in claim.evidence for node in record.nodes)
    found = {
        (event.key, event.kind): event
        for node in nodes
        for event in history.of(node)
        if event.slow and (event.nodes, event.pairing, event.subject) in paths
    }
    return list(found.values())


def _own_part(
    history: History,
    claim: CauseClaim,
    claims: Iterable[CauseClaim],
    slow: Mapping[int, Sequence[Event]],
) -> Callable[[Event], bool]:
    """Whether an event is of the claim's part, and not slow because of another decided part.

    Of a slow direction that several show, only events that moved their payload that way are.
    """
    of_part, node = _of_part(claim), claim.where.node
    own = {event.key for event in slow[id(claim)]}
    decided = [other for other in claims if other is not claim and other.confidence != OPEN]
    others = {event.key for other in decided for event in slow[id(other)]} - own
    ways = {history.sends(event, node) for event in slow[id(claim)]} - {BOTH}
    is_known = claim.cause == DIRECTION and len(ways) == 1 and len(own) >= SOME
    other_way = {SENDS, RECEIVES} - ways if is_known else set()
    return lambda event: (
        of_part(event) and event.key not in others and history.sends(event, node) not in other_way
    )


def _of_part(claim: CauseClaim) -> Callable[[Event], bool]:
    """Whether an event is of the claim's part, measured as its evidence was.

    Collectives differ in what they use, so only the same one is compared.
    """
    ends = {claim.where.node, claim.where.peer} - {""}
    rungs = {record.rung for record in claim.evidence}
    subjects = {record.subject for record in claim.evidence}

    def holds(event: Event) -> bool:
        alike = event.rung < Rung.COLLECTIVE or event.subject in subjects
        part = event.pairing if claim.where.peer else event.part
        here = ends <= set(event.nodes) and goes_through(claim.where.device, part)
        return here and alike and event.rung in rungs

    return holds


def _is_doubtful(
    history: History, claim: CauseClaim, slow: Sequence[Event], near: Callable[[Event], bool]
) -> bool:
    """Whether other measurements of the same part are fine, or a single one tells of a path."""
    if claim.cause == DIRECTION and claim.confidence == OPEN:
        return len(slow) == 1 and bool(of_the_pair(history, slow).fine)
    if claim.confidence == OPEN or not slow:
        return False
    node = claim.where.node
    seen = seen_of(history, node, slow, near)
    if seen.fine:
        return not has_a_place(history, node, seen, of_path=bool(claim.where.peer))
    return bool(claim.where.peer and claim.where.device and len(seen.slow) == 1)


def _with_doubt(history: History, claim: CauseClaim, slow: Sequence[Event]) -> CauseClaim:
    """The claim; it says so if a node that slowed down at that moment explains it as well."""
    if claim.confidence == OPEN:
        return claim
    for node in in_all(slow):
        if seen := onset(history, node, slow, by_place=True):
            said = (
                f"{node} may also have slowed down at {clock(seen)}: "
                f"its measurements before were fine, {count(seen.fine)}"
            )
            return replace(claim, says=f"{claim.says}; {said}")
    return claim


def _come_and_gone(
    history: History, node: str, claims: Sequence[CauseClaim], slow: Sequence[Event]
) -> CauseClaim:
    """The claim for one node, or one of its NICs, that explains all of ``claims``."""
    records = tuple(dict.fromkeys(record for claim in claims for record in claim.evidence))
    device = _single(history.nics(node, slow))
    seen = _over_device(history, node, slow)
    is_only = history.nics(node) == {device}
    whole = Where(node) if is_only else Where(node, device)
    cause = "slow-nic" if whole.device else "slow-node"
    says = f"{worst_of(records)}; {told(seen)}"
    decide = AGAIN.format(str(whole))
    pairs = [(event.nodes, nic_of(event.part)) for event in seen.slow]
    # One of several NICs may be the only slow one by chance.
    if two := None if whole.device or is_only else two_parts(node, pairs):
        whole, says = Where(two.suspects), f"{says}; {two}"
    if one_way := _slow_way(history, node, seen):
        says += f"; only what it {one_way} is slow at times"
    confidence = OPEN if whole.device or two or one_way else LIKELY
    return CauseClaim(cause, whole, says, records, confidence, decide, seen.course)


def _slow_way(history: History, node: str, seen: Seen) -> str:
    """The direction of all slow events, if the node was fine in the other one; else empty."""
    slow, fine = ({history.sends(e, node) for e in events} for events in (seen.slow, seen.fine))
    way = next(iter(slow)) if len(slow) == 1 else BOTH
    return way if _OTHER.get(way) in fine else ""


_OTHER = {SENDS: RECEIVES, RECEIVES: SENDS}


def _unsure(
    history: History, claim: CauseClaim, slow: Sequence[Event], near: Callable[[Event], bool]
) -> CauseClaim:
    """The claim with its course; undecided unless several partners show the same node.

    What is slow in one direction alone, in a few measurements, may be fine in the other one.
    """
    if claim.confidence == OPEN:
        return _undecided(history, claim, slow)
    node = claim.where.node
    seen = seen_of(history, node, slow, near)
    if not seen.fine:  # one slow measurement of a path: its other measurements are over other NICs
        beside = seen_of(history, node, slow, lambda event: claim.where.peer in event.nodes)
        seen = Seen(seen.slow, beside.fine)
    partners = {name for event in seen.slow for name in event.nodes} - {node}
    slow_ways, fine_ways = (
        {history.sends(event, node) for event in events} - {BOTH}
        for events in (seen.slow, seen.fine)
    )
    both_ways = len(slow_ways) == _WAYS or not (slow_ways or fine_ways)
    sure = not claim.where.peer and len(partners) >= SOME and both_ways
    says = f"{claim.says}; {told(seen)}"
    if claim.where.peer:
        says += f"; {node} or {claim.where.peer} may be at fault as well as the path between them"
    decide = AGAIN.format(str(claim.where))
    confidence = claim.confidence if sure else OPEN
    return replace(claim, says=says, confidence=confidence, would_decide=decide, course=seen.course)


def _undecided(history: History, claim: CauseClaim, slow: Sequence[Event]) -> CauseClaim:
    """A pair that is slow in one direction; one slow measurement may also be a moment."""
    seen = of_the_pair(history, slow)
    decide = f"{claim.would_decide}; {AGAIN.format(listed(sorted(slow[0].nodes)))}"
    says = f"{claim.says}; {told(seen)}"
    return replace(claim, says=says, would_decide=decide, course=seen.course)
