"""Add the result of a second measurement to a cause. It removes no evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from railgauge.core import naming
from railgauge.diagnosis import elimination, gpu_alone, gpu_or_path, paths_again
from railgauge.diagnosis.alike import CLEARLY
from railgauge.diagnosis.catalogue import CATALOGUE
from railgauge.diagnosis.localise.nodes import listed
from railgauge.diagnosis.model import LIKELY, OPEN, TOOL, Cause, Confirmation, Where
from railgauge.diagnosis.other_way import (
    INTERMITTENT,
    by_direction,
    is_half_known,
    is_slower,
    measured_nodes,
    named_as,
    with_its_back,
)
from railgauge.diagnosis.reach import nodes_of
from railgauge.diagnosis.remeasured import line, rate, repeats, suspects_of
from railgauge.judging.confirmation import Confirmed, Remeasurement
from railgauge.judging.record import ItemRecord

CONFIRMED = "confirmed"
NOT_REPRODUCED = "not reproduced"
UNSTEADY = "unsteady"
UNKNOWN = "not measured"

DIRECTION, PATH = "slow-direction", "slow-path"

_PAIR = 2
_TIMES = 3
_MOST_PATHS = 3
_CHANCE = 0.05


def with_confirmation(cause: Cause, results: Sequence[Confirmed], *, has_it: bool = False) -> Cause:
    """Return the cause with the result of measuring its suspects again, if they were.

    A suspect that is fast now is not cleared: its failure remains, and the cause becomes undecided.
    ``has_it``: the cause was found with such results, so that only parts of its device are left.
    """
    mine = [result for result in results if is_about(result.asked, cause)]
    if not mine:
        return cause
    for decided in (
        _broken,
        paths_again.decided,
        gpu_alone.decided,
        gpu_or_path.decided,
        elimination.decided,
    ):
        if (told := decided(cause, mine)) is not None:
            again = (*results, *gpu_or_path.carried(told, mine))
            is_narrower = told.confidence == OPEN and told.where != cause.where
            return with_confirmation(told, again, has_it=has_it) if is_narrower else told
    mine = gpu_alone.between_nodes(cause, mine)
    if not mine:
        return cause
    if has_it:
        is_whole = cause.confidence == LIKELY and cause.cause in ("slow-nic", "slow-node")
        return by_direction(cause, mine) if is_whole else with_its_back(cause, mine, results)
    comes_and_goes = cause.course is not None and not cause.course.since
    if comes_and_goes and (not _each_once(mine) or _at_one_end(mine)):
        return _found_again(cause, mine)
    return _turned(cause, _by_state(cause, mine), results)


def with_partner(
    cause: Cause, shown: Sequence[ItemRecord], results: Iterable[Confirmed] = ()
) -> Cause:
    """The cause; with the partner of all its items too if its suspect is not slow without it.

    What comes and goes may be at the partner, though it was fast in other measurements.
    """
    taken = [set(record.nodes) for record in shown]
    taken += [
        {*measured_nodes(one)} for one in results if one.missed and is_about(one.asked, cause)
    ]
    common = sorted(set.intersection(*taken)) if taken else []
    state = cause.confirmation.state if cause.confirmation else ""
    is_open = state == NOT_REPRODUCED or (bool(state) and cause.confidence == OPEN)
    slow = cause.cause.startswith("slow-") and not cause.where.peer
    if is_open and slow and common == [cause.where.node]:
        return _with_paths(cause, shown)
    if not is_open or not slow or len(common) != _PAIR:
        return cause
    says = f"{cause.says}; {listed(common)} took part in each slow measurement"
    return replace(cause, where=replace(cause.where, node=naming.among(common)), says=says)


def _with_paths(cause: Cause, shown: Sequence[ItemRecord]) -> Cause:
    """The cause; with the paths to its partners, which may be slow instead, among its suspects."""
    node = cause.where.node
    partners = sorted({name for record in shown for name in record.nodes} - {node})
    if _SUSPECTS in cause.says or len(partners) > _MOST_PATHS:
        return cause
    paths = [f"{node}:{partner}" for partner in partners]
    return replace(cause, says=f"{cause.says}{_SUSPECTS} each of {listed([node, *paths])}")


def _turned(before: Cause, cause: Cause, results: Iterable[Confirmed]) -> Cause:
    """The cause by its other direction, if that was measured after the node had been decided."""
    is_open = cause.confidence == OPEN and not is_half_known(cause)
    if cause.where == before.where or cause.where.peer or is_open:
        return cause
    back = [one for one in results if not one.asked.suspects and is_about(one.asked, cause)]
    own = [one for one in results if one.asked.suspects and is_about(one.asked, before)]
    if not back:
        return cause
    return by_direction(replace(cause, confidence=LIKELY, would_decide=""), [*own, *back])


def _by_state(cause: Cause, mine: Sequence[Confirmed]) -> Cause:
    """The cause, by whether its suspects are slow again; a decided path also by its two ends."""
    of_path = bool(cause.where.peer) and cause.confidence == LIKELY
    alone = [one for one in mine if of_path and len(one.asked.suspects) == 1]
    state = _state([one for one in mine if one not in alone])
    if ends := dict.fromkeys(one.asked.suspects[0] for one in alone if one.missed):
        says = f"{cause.says}; measured again with others, {listed(list(ends))} is slow as well"
        cause = replace(cause, says=says, confidence=OPEN, would_decide=INTERMITTENT)
        return replace(cause, confirmation=Confirmation(state, tuple(map(line, mine))))
    told = replace(cause, confirmation=Confirmation(state, tuple(map(line, mine))))
    if state in (NOT_REPRODUCED, UNSTEADY):
        decide = "; ".join(filter(None, (cause.would_decide, INTERMITTENT)))
        return replace(told, confidence=OPEN, would_decide=decide)
    if cause.confidence == LIKELY:
        return _likely(told, mine)
    return _undecided(told, mine) if state == CONFIRMED else told


def _likely(cause: Cause, mine: Sequence[Confirmed]) -> Cause:
    pair = _slow_pair(mine, cause.where.node)
    if pair and not cause.where.device:
        return _between(cause, *sorted(pair))
    return by_direction(cause, mine)


def _undecided(cause: Cause, mine: Sequence[Confirmed]) -> Cause:
    decided = _decided(replace(cause, course=None), mine)
    if not decided.where.peer or not _may_be_an_end(cause, mine):
        return decided
    both = naming.among(sorted((decided.where.node, decided.where.peer)))
    return replace(cause, where=replace(cause.where, node=both))


def _slow_pair(results: Sequence[Confirmed], node: str) -> tuple[str, ...]:
    """The pair that was slow again although the node was fine with a good one; empty if none."""
    slow, fast = suspects_of(results, missed=True), suspects_of(results, missed=False)
    pairs = [ends for ends in slow if len(ends) == _PAIR and node in ends]
    return pairs[0] if len(pairs) == 1 and (node,) in fast else ()


def _broken(cause: Cause, results: Sequence[Confirmed]) -> Cause | None:
    """The nodes on which a tool fails with good nodes too; ``None`` if the results do not tell.

    An error is what was looked for here, and not a lack of evidence.
    """
    each = {(node,) for node in nodes_of(cause.where.node)}
    if cause.cause != TOOL or cause.confidence != OPEN:
        return None
    bad = {result.asked.suspects for result in results if result.error} & each
    fine = {result.asked.suspects for result in results if not result.error} & each
    if not bad or bad & fine or bad | fine != each or (len(bad) > 1 and not fine):
        return None
    nodes = sorted(node for (node,) in bad)
    said = cause.says.partition(_SUSPECTS)[0]
    return replace(
        cause,
        where=replace(cause.where, node=naming.folded(nodes)),
        says=f"{said}; measured again with good nodes, it fails on {naming.listed(nodes)} alone",
        confidence=LIKELY,
        would_decide="",
        confirmation=Confirmation(CONFIRMED, tuple(map(line, results))),
    )


def _each_once(results: Iterable[Confirmed]) -> bool:
    """Whether the run followed up a direction, and did not look for a fault that comes and goes."""
    asked = (result.asked for result in results if result.asked.suspects)
    cases = [one.question.case for one in asked if one.cause == DIRECTION]
    return bool(cases) and all(case is not None and case.repeats == 1 for case in cases)


def _at_one_end(results: Sequence[Confirmed]) -> bool:
    """Whether one suspect alone was slow again with a good partner, and fast with another one."""
    ends = {one for one in suspects_of(results, missed=True) if len(one) == 1}
    return _state(results) == UNSTEADY and len(ends) == 1


def _found_again(cause: Cause, results: Sequence[Confirmed]) -> Cause:
    """A cause that comes and goes: where it was seen again, if that is a single place.

    Such a suspect may be slow in one measurement and fast in the next, so fast ones clear nobody.
    """
    slow = [result for result in results if result.missed and not result.error]
    measured = any(not result.error for result in results)
    state = CONFIRMED if slow else NOT_REPRODUCED if measured else UNKNOWN
    told = replace(cause, confirmation=Confirmation(state, tuple(map(line, results))))
    if state == NOT_REPRODUCED:
        decide = "; ".join(filter(None, (cause.would_decide, INTERMITTENT)))
        return replace(told, confidence=OPEN, would_decide=decide)
    ends = dict.fromkeys(r.asked.suspects for r in slow if len(r.asked.suspects) == 1)
    if cause.cause == DIRECTION and not any(result.asked.suspects for result in results):
        return by_direction(told, results)  # the other direction alone was measured
    if len(ends) == 1:
        ((node,),) = ends
        return _one_way(_at(told, node, results), results)
    if slow and not ends:
        if cause.where.peer:
            return replace(told, confidence=LIKELY, would_decide="")
        both = sorted(nodes_of(cause.where.node))
        return _between(told, *both) if len(both) == _PAIR else _back_alone(told, results)
    return told


def _back_alone(cause: Cause, results: Sequence[Confirmed]) -> Cause:
    """The cause as one of the other direction, if that was always slow again, and this one fine."""
    own = [r for r in results if cause.where.node in r.asked.suspects]
    back = [r for r in results if not r.asked.suspects]
    (slow, all_), (slow_back, all_back) = repeats(own), repeats(back)
    is_back = not slow and slow_back == all_back and min(all_, all_back) >= _TIMES
    return named_as(DIRECTION, cause) if is_back else cause


def _at(cause: Cause, node: str, results: Iterable[Confirmed]) -> Cause:
    """The cause at the one node that was slow again: one of its NICs if another one was fast."""
    slow, fast = set[str](), set[str]()
    for result in results:
        case = result.asked.question.case
        path = case and case.path_at(node) if result.asked.suspects == (node,) else None
        if path and not result.error:
            (slow if result.missed else fast).add(path.nic)
    known = slow == {cause.where.device} and node in nodes_of(cause.where.node)
    device = next(iter(slow)) if len(slow) == 1 and (known or fast - slow) else ""
    name = "slow-nic" if device else "slow-node"
    return replace(
        cause,
        cause=name,
        where=Where(node, device),
        confidence=LIKELY,
        would_decide="",
        remedy=CATALOGUE[name].remedy,
        basis=CATALOGUE[name].basis,
    )


def _one_way(cause: Cause, results: Sequence[Confirmed]) -> Cause:
    """The cause as one of a direction, if the other direction was always fine.

    Or less slow: another part may be slow both ways. It is undecided if that may be chance: the
    share of slow repeats says how likely chance is.
    """
    own = [r for r in results if cause.where.node in r.asked.suspects]
    back = [r for r in results if not r.asked.suspects and cause.where.node in measured_nodes(r)]
    (slow, all_), (slow_back, all_back) = repeats(own), repeats(back)
    if back and slow_back and is_slower(own, back):
        return named_as(DIRECTION, cause)
    if slow_back or not all_back or not all_:
        return cause
    chance = (1 - slow / all_) ** all_back
    return named_as(DIRECTION, cause) if chance <= _CHANCE else replace(cause, confidence=OPEN)


def is_about(asked: Remeasurement, cause: Cause) -> bool:
    """Whether a remeasurement is for this cause, in any order of its nodes.

    Anonymised names may have another order. What was measured of one of several suspects is for the
    cause that names it alone as well.
    """
    where = cause.where
    ends, asked_ends = _ends(where.node, where.peer), _ends(asked.node, asked.peer)
    alone = not asked.peer and ends < asked_ends and set(asked.suspects) == ends
    return (asked.cause, asked.device) == (cause.cause, where.device) and (
        ends == asked_ends or alone
    )


def _ends(node: str, peer: str) -> frozenset[str]:
    return frozenset(nodes_of(node) if node else ()) | ({peer} - {""})


def _state(results: Sequence[Confirmed]) -> str:
    slow, fast = suspects_of(results, missed=True), suspects_of(results, missed=False)
    if slow & fast:
        return UNSTEADY
    if slow:
        return CONFIRMED
    return NOT_REPRODUCED if fast else UNKNOWN


def _may_be_an_end(cause: Cause, results: Iterable[Confirmed]) -> bool:
    """Whether an end may come and go, so that one fast measurement of each end clears neither.

    The path of one NIC was slow once while that of another NIC was fine; or an end was measured
    that is no suspect, because the path had been fast as well.
    """
    if cause.where.device and cause.course is not None:
        return True
    single = {r.asked.suspects for r in results if len(r.asked.suspects) == 1}
    return bool(single - {(node,) for node in nodes_of(cause.where.node)})


def _decided(cause: Cause, results: Sequence[Confirmed]) -> Cause:
    """The cause, decided if exactly one of several suspects is slow with good partners.

    Two nodes that are fast with good partners, but slow together again, have a slow path.
    """
    slow, fast = suspects_of(results, missed=True), suspects_of(results, missed=False)
    each = {(node,) for node in nodes_of(cause.where.node)}
    # Several devices are suspects of each node: the rules tell which node, with these results.
    if "," in cause.where.device or not each <= slow | fast:
        return cause
    each |= {suspects for suspects in slow | fast if len(suspects) == 1}
    if len(slow & each) == 1 and not _is_slower_in_the_pair(results, slow & each):
        ((node,),) = slow & each
        where, says = replace(cause.where, node=node), _only(cause, node)
        decided = replace(cause, where=where, says=says, confidence=LIKELY, would_decide="")
        return by_direction(named_as(DIRECTION, decided) if _way(cause, node) else decided, results)
    pairs = [ends for ends in slow - each if {n for (n,) in each} <= set(ends)]
    is_path = cause.cause.startswith("slow-") and pairs and each <= fast
    is_path = is_path and _are_clearly_faster(results, pairs[0])
    return _between(cause, *sorted(pairs[0])) if is_path else cause


def _is_slower_in_the_pair(results: Iterable[Confirmed], alone: Iterable[tuple[str, ...]]) -> bool:
    """Whether the pair of suspects was clearly slower than the one of them with good nodes."""
    reached = [(r.asked.suspects, value) for r in results if (value := rate(r)) is not None]
    own = min((value for ends, value in reached if ends in alone), default=0.0)
    return any(value < CLEARLY * own for ends, value in reached if len(ends) == _PAIR)


def _are_clearly_faster(results: Iterable[Confirmed], pair: tuple[str, ...]) -> bool:
    """Whether both ends lost less than half of what the pair lost, by the best value seen here."""
    reached = [(r.asked.suspects, value) for r in results if (value := rate(r)) is not None]
    together = [value for ends, value in reached if ends == pair]
    apart = [value for ends, value in reached if len(ends) == 1]
    if not (together and apart):
        return True
    return min(apart) > (max(apart) + min(together)) / 2


# What follows in a cause's text are its suspects, of which one is left.
_SUSPECTS = "; the evidence fits"


def _only(cause: Cause, node: str) -> str:
    """The text of a cause whose other suspects are fine with good nodes."""
    way = _way(cause, node)
    said = cause.says.partition(_SUSPECTS)[0]
    how = f", {way}" if way else ""
    return f"{said}; measured again with good nodes, only {node} is slow{how}"


def _way(cause: Cause, node: str) -> str:
    """The direction in which the node is a suspect; empty if it is one in both."""
    suspects = cause.says.partition(_SUSPECTS)[2].partition(";")[0]
    end = r"(?=[,;]| and |$)"
    device = r"(?: (?!sending|receiving)[^\s,;]+)?"
    named = re.findall(
        rf"(?<![\w:.-]){re.escape(node)}(?!:){device}( sending| receiving)?{end}", suspects
    )
    ways = {way.strip() for way in named}
    return ways.pop() if len(ways) == 1 else ""


def _between(cause: Cause, node: str, peer: str) -> Cause:
    """The cause as a slow path between two nodes."""
    kind = CATALOGUE[PATH]
    return replace(
        cause,
        cause=PATH,
        where=replace(cause.where, node=node, peer=peer),
        says=f"{cause.says.partition(_SUSPECTS)[0]}; measured again, both are fine with others",
        confidence=LIKELY,
        would_decide="",
        remedy=kind.remedy,
        basis=kind.basis,
    )
