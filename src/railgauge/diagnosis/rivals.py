"""Compare a decided slow part with every other part that holds the same slow repeats. Pure.

The rules decide by patterns. Whether another part explains the same is a matter of chance: a part
that is slow all the time is never fine, one that is slow since a moment is fine before it only, and
one that comes and goes is slow in any share of its repeats. A part that is nearly as likely as the
decided one leaves the cause undecided; one of the same node that is far likelier takes its place.

Example: ``mx02`` was slow in all three repeats over ``mlx5_0``, and fine in both over ``mlx5_1``.
That ``mlx5_0`` is slow has a likelihood of 0.84, that ``mx02`` comes and goes one of 0.002.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from railgauge.core.naming import listed
from railgauge.diagnosis.again import is_added
from railgauge.diagnosis.alike import CLEARLY
from railgauge.diagnosis.catalogue import CATALOGUE
from railgauge.diagnosis.course import DIRECTION
from railgauge.diagnosis.model import AGAIN, CERTAIN, OPEN, Cause, RunResults, Where
from railgauge.diagnosis.paths_seen import PathRepeat, repeats_of_paths
from railgauge.diagnosis.reach import devices_of

_KINDS = ("slow-node", "slow-nic", DIRECTION, "slow-path")
_ALWAYS, _SINCE, _AT_TIMES = 0.8, 0.1, 0.1
_A_PATH = 0.15  # how much rarer a path is than a node or a NIC
_ANOTHER = 0.05  # one more fault, for slow repeats that the part does not hold
_SURE, _FAR_BETTER = 0.82, 0.95
_HALF, _LIKE = 0.5, 2.5
_FEW, _NOISE = 0.25, 0.02
_UNEVEN = 1.3
_MOST, _TIMES = 2, 3


@dataclass(frozen=True, slots=True)
class SlowPart:
    """A node, some of its devices, one direction (``way``) of either, or a path to ``peer``."""

    node: str
    devices: frozenset[str] = frozenset()
    way: str = ""
    peer: str = ""

    def holds(self, one: PathRepeat) -> bool:
        """Whether the repeat used the part."""
        at = one.at(self.node)
        if at < 0 or (self.peer and self.peer not in one.nodes):
            return False
        over = one.devices is None or self.devices <= one.devices[at]
        return over and self.way in ("", *one.ways[at])

    def would_show(self, one: PathRepeat) -> bool:
        """Whether its slowness would make the repeat slow; sums and collectives may hide it."""
        hides = one.devices is None or (self.way and len(one.ways[one.at(self.node)]) > 1)
        return self.holds(one) and not hides

    def contains(self, other: SlowPart) -> bool:
        """Whether all that uses the other part uses this one."""
        ends = {self.node, self.peer} - {""} <= {other.node, other.peer}
        return ends and self.devices <= other.devices and self.way in ("", other.way)

    @property
    def prior(self) -> float:
        return _A_PATH if self.peer else 1.0

    @property
    def device(self) -> str:
        return "-".join(sorted(self.devices))

    @property
    def cause(self) -> str:
        """The name of its cause; empty for a GPU, of which other rules know more."""
        if self.peer or "gpu" in self.device:
            return "slow-path" if self.peer else ""
        return DIRECTION if self.way else "slow-nic" if self.devices else "slow-node"

    def __str__(self) -> str:
        name = f"{self.node}:{self.peer}" if self.peer else self.node
        return " ".join(filter(None, (name, self.device, self.way)))


def with_rivals(results: RunResults, causes: Sequence[Cause]) -> list[Cause]:
    """The causes, after each decided slow part was compared with its rivals."""
    compared = [cause for cause in causes if is_compared(cause)]
    repeats = repeats_near(results, compared)
    parts = {id(cause): part_of(cause, repeats) for cause in compared}
    open_ = [part_of(one, repeats) for one in causes if _is_suspected(one)] if parts else []
    slow = (list(parts.values()), open_)
    return [
        _compared(one, parts[id(one)], slow, repeats) if id(one) in parts else one for one in causes
    ]


def repeats_near(results: RunResults, causes: Iterable[Cause]) -> list[PathRepeat]:
    """The repeats of the nodes of these causes, and of the nodes that were slow with them."""
    nodes = {name for cause in causes for name in (cause.where.node, cause.where.peer)} - {""}
    if not nodes:
        return []
    met = repeats_of_paths(results, nodes)
    return repeats_of_paths(results, nodes.union(*(one.nodes for one in met if one.slow)))


def is_compared(cause: Cause) -> bool:
    """Whether it is a decided slow node, NIC, direction or path."""
    return cause.confidence not in (OPEN, CERTAIN) and _names_a_part(cause)


def _names_a_part(cause: Cause) -> bool:
    place = cause.where
    return (
        cause.cause in _KINDS
        and not place.device.startswith("gpu")
        and "," not in place.device
        and place.node != ""
        and not set("[|,") & set(place.node)
    )


def _is_suspected(cause: Cause) -> bool:
    """Whether it is one undecided node or NIC: what is undecided is only how it is slow."""
    return cause.confidence == OPEN and not cause.where.peer and _names_a_part(cause)


def _compared(
    cause: Cause,
    own: SlowPart,
    parts: tuple[Sequence[SlowPart], Sequence[SlowPart]],
    repeats: Sequence[PathRepeat],
) -> Cause:
    """The cause beside the slow ``parts``: the decided ones, and undecided ones of other nodes."""
    decided, open_ = parts
    near = {name for one in repeats if one.slow and own.holds(one) for name in one.nodes}
    repeats = [one for one in repeats if near.intersection(one.nodes)]
    others = (one for one in decided if {one.node, one.peer} & near)
    known = [one for one in others if one != own and not own.contains(one)]
    suspected = [one for one in open_ if one.node != own.node and one.node in near]
    for other in (*known, *suspected):
        repeats = _beyond(other, own, repeats)
    if whole := next((one for one in known if one.contains(own)), None):
        slow = [one for one in repeats if one.slow and own.holds(one)]
        if any(own.would_show(one) and _is_fine(one, slow) for one in repeats):
            return _undecided(cause, own, [str(whole)])
    if cause.course is not None and not cause.course.since and _is_uneven(own, repeats):
        return _undecided(cause, own, _slow_paths(own, repeats))
    chances = _chances(own, cause.evidence, repeats)
    total = sum(chances.values())
    if not total or chances[own] >= _SURE * total:
        return _undecided(cause, own, []) if total and _is_at_odds(cause, own, repeats) else cause
    best, *_ = ordered = sorted(chances, key=lambda part: -chances[part])
    if chances[best] >= _FAR_BETTER * total and best.node == own.node and best.cause:
        if _is_named(cause, best):
            return cause
        shown = [one for one in repeats if one.item in cause.evidence]
        is_held = all(one.devices is not None and best.holds(one) for one in shown)
        if is_held and not _is_more(own, best, repeats):
            return _named(cause, best)
    return _undecided(cause, own, [str(part) for part in ordered if part != own][:_MOST])


def _is_at_odds(cause: Cause, own: SlowPart, repeats: Iterable[PathRepeat]) -> bool:
    """Whether one direction was always fine when measured again, which no cause that stays is."""
    shown = [one for one in repeats if own.would_show(one)]
    slow = [one for one in shown if one.slow]
    again = [one for one in shown if is_added(one.item)]
    by_way: dict[str, list[bool]] = {}
    for one in again if slow and cause.course is None and not own.way else ():
        for way in one.ways[one.at(own.node)]:
            by_way.setdefault(way, []).append(_is_fine(one, slow))
    return any(len(fine) >= _TIMES and all(fine) for fine in by_way.values())


def _is_more(own: SlowPart, part: SlowPart, repeats: Iterable[PathRepeat]) -> bool:
    """Whether ``own`` was nearly as slow where ``part`` is not used, and met a low limit."""
    taken = [one for one in repeats if own.holds(one)]
    least = min((_lost(one) for one in taken if one.slow and part.holds(one)), default=1.0)
    known = (one for one in taken if one.share is not None and not part.holds(one))
    return any(not one.slow and _lost(one) > _HALF * least for one in known)


def _is_uneven(own: SlowPart, repeats: Iterable[PathRepeat]) -> bool:
    """Whether the slow repeats lost clearly different shares: one part costs each the same."""
    slow = [r for r in repeats if r.slow and own.would_show(r)]
    lost = [_lost(r) for r in slow if r.share is not None and len(r.ways[0]) == 1]
    return bool(lost) and max(lost) > max(_UNEVEN * min(lost), min(lost) + _NOISE)


def _slow_paths(own: SlowPart, repeats: Iterable[PathRepeat]) -> list[str]:
    """The paths from its node to each partner that it was slow with."""
    slow = (r for r in repeats if r.slow and own.holds(r))
    partners = dict.fromkeys(name for r in slow for name in sorted(r.nodes) if name != own.node)
    return [str(SlowPart(own.node, peer=name)) for name in partners]


def _undecided(cause: Cause, own: SlowPart, near: Sequence[str]) -> Cause:
    says = f"{cause.says}; the evidence fits each of {listed([str(own), *near])}"
    return replace(cause, says=says, confidence=OPEN, would_decide=AGAIN.format(str(cause.where)))


def part_of(cause: Cause, repeats: Sequence[PathRepeat]) -> SlowPart:
    """The part that the cause names, in one direction if that alone was slow.

    A direction of a node is that of most of its slow repeats, as a sum may hold the other one.
    """
    place, ids = cause.where, set(cause.evidence)
    part = SlowPart(place.node, frozenset(devices_of(place.device)), peer=place.peer)
    if not place.peer and cause.cause != DIRECTION:
        return part
    slow = [r for r in repeats if r.slow and part.holds(r)]
    ways = Counter(r.ways[r.at(place.node)] for r in slow)
    if place.peer:
        (way,) = ways if len(ways) == 1 else ((),)
        return replace(part, way=way[0]) if len(way) == 1 else part
    shown = Counter(r.ways[r.at(place.node)] for r in slow if r.item in ids)
    single = [way for way, _ in (*shown.most_common(), *ways.most_common()) if len(way) == 1]
    return replace(part, way=single[0][0]) if single else part


def _chances(
    own: SlowPart, shown: Collection[str], free: Sequence[PathRepeat]
) -> dict[SlowPart, float]:
    """How likely each part is that holds all slow repeats of ``own``; empty without any.

    So is a path of all of the cause's items, whose ids are ``shown``, or a part of all but a few
    of two nodes, if it is far likelier, and another fault made the other repeats slow.
    """
    own_slow = [r for r in free if r.slow and own.holds(r)]
    alike = _alike([r for r in free if r.slow], own_slow, shown)
    fine = [r for r in free if _is_fine(r, own_slow)]
    held = [r for r in alike if own.holds(r)]
    paths = [p for p in _parts([r for r in held if r.item in shown], own) if p.peer]
    less = [p for some in _without_a_pair(held, shown) for p in _parts(some, own)]
    seen: dict[tuple[frozenset[int], frozenset[int]], SlowPart] = {}
    for part in (*_parts(held, own), *paths, *less):
        those = frozenset(i for i, r in enumerate(fine) if part.would_show(r))
        seen.setdefault((those, _held(part, held)), part)
    every = [r for r in alike if any(part.holds(r) for part in seen.values())]
    found: dict[SlowPart, float] = {}
    for (those, _), part in seen.items():
        slow = [r for r in every if part.holds(r)]
        another = _ANOTHER if len(slow) < len(every) else 1.0
        rest = _of_another([r for r in held if not part.holds(r)], own, fine)
        chance = part.prior * another * rest * _likelihood(slow, [fine[i] for i in those])
        if rest == 1.0 or chance * (1 - _FAR_BETTER) > found[own]:
            found[part] = chance
    return found


def _without_a_pair(
    repeats: Sequence[PathRepeat], shown: Collection[str]
) -> Iterator[list[PathRepeat]]:
    """The repeats without those of two nodes of the plan that are less than half of the items."""
    pairs = Counter(frozenset(r.nodes) for r in repeats if r.item in shown)
    for pair, items in pairs.items():
        if 2 * items < pairs.total():
            yield [r for r in repeats if frozenset(r.nodes) != pair]


def _of_another(slow: Sequence[PathRepeat], own: SlowPart, fine: Sequence[PathRepeat]) -> float:
    """How likely it is that one other part made these repeats slow; 1 without any."""
    each = (
        part.prior * _likelihood(slow, [r for r in fine if part.would_show(r)])
        for part in _parts(slow, own)
    )
    return max(each, default=1.0)


def _held(part: SlowPart, repeats: Sequence[PathRepeat]) -> frozenset[int]:
    return frozenset(i for i, r in enumerate(repeats) if part.holds(r))


def _beyond(other: SlowPart, own: SlowPart, repeats: Iterable[PathRepeat]) -> list[PathRepeat]:
    """The repeats with what they lost more than another slow part costs.

    How much that is, its repeats show that are none of ``own``. Those that lost no more show that
    ``own`` was fine only if it costs more: of two ends, the slower one decides.
    """
    taken = list(repeats)
    best: dict[str, float] = {}
    for one in taken:
        if one.slow and one.share and other.holds(one) and not own.holds(one):
            best[one.subject] = max(one.share, best.get(one.subject, 0.0))
    shares = [r.share for r in taken if r.slow and r.share and own.holds(r)]
    reached = min(shares, default=1.0)
    found = []
    for one in taken:
        if not (one.slow and other.holds(one)):
            found.append(one)
        elif (level := best.get(one.subject)) is not None and one.share is not None:
            is_slow = one.share < CLEARLY * level
            if is_slow or other.contains(own) or reached < CLEARLY * level:
                found.append(replace(one, share=one.share / level, slow=is_slow))
    return found


def _alike(
    slow: Iterable[PathRepeat], own: Sequence[PathRepeat], shown: Collection[str]
) -> list[PathRepeat]:
    """Those that lost about as much as the slow ones of the items ``shown``, or of all ``own``."""
    lost = [_lost(one) for one in own if one.share is not None and one.item in shown]
    usual = median(lost or map(_lost, own)) if own else 0.0
    return [r for r in slow if r.share is None or usual <= _LIKE * _lost(r) <= _LIKE**2 * usual]


def _lost(one: PathRepeat) -> float:
    return 1 - (one.share if one.share is not None else 0.0)


def _is_fine(one: PathRepeat, slow: Sequence[PathRepeat]) -> bool:
    """Whether the repeat lost clearly less than these; one that lost somewhat tells nothing.

    Nor does any where a slow one lost no more than noise.
    """
    lost = min(map(_lost, slow), default=2 * _NOISE)
    if lost < _NOISE / 2:
        return False
    most = min(_HALF * lost, max(_NOISE, _FEW * lost))
    return not one.slow and (one.share is None or _lost(one) < most)


def _parts(slow: Sequence[PathRepeat], own: SlowPart) -> Iterator[SlowPart]:
    """All parts that hold these slow repeats, first ``own``; none without any."""
    if not slow:
        return
    yield own
    nodes = sorted(set.intersection(*(set(one.nodes) for one in slow)))
    for node in nodes:
        over = [one.devices[one.at(node)] for one in slow if one.devices is not None]
        common = frozenset.intersection(*over) if over else frozenset()
        ways = {one.ways[one.at(node)] for one in slow if one.devices is not None}
        way = next(iter(ways)) if len(ways) == 1 else ()
        for devices in dict.fromkeys((frozenset(), *map(_only, sorted(common)), common)):
            yield SlowPart(node, devices)
            if len(way) == 1:
                yield SlowPart(node, devices, way[0])
    if len(nodes) > 1:
        yield SlowPart(nodes[0], frozenset(), "", nodes[1])


def _only(device: str) -> frozenset[str]:
    return frozenset({device})


def _likelihood(slow: Sequence[PathRepeat], fine: Sequence[PathRepeat]) -> float:
    """The probability of these slow and fine repeats of one part, if it is a slow one."""
    of = len(slow) + len(fine)
    if not fine:
        return _ALWAYS + _SINCE / (of + 1) + _AT_TIMES / (of + 1)
    is_after = max(one.order for one in fine) < min(one.order for one in slow)
    since = _SINCE / (of + 1) if is_after else 0.0
    return since + _AT_TIMES / ((of + 1) * math.comb(of, len(slow)))


def _is_named(cause: Cause, part: SlowPart) -> bool:
    return (cause.cause, cause.where.device) == (part.cause, part.device)


def _named(cause: Cause, part: SlowPart) -> Cause:
    """The cause with the rival in its place."""
    kind = CATALOGUE[part.cause]
    says = f"{cause.says}; {part} explains the same, and what was fine, far better"
    where = Where(part.node, part.device, part.peer)
    return replace(
        cause, cause=part.cause, where=where, says=says, remedy=kind.remedy, basis=kind.basis
    )
