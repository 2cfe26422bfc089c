"""Find the fewest faulty parts that explain how fast, not only whether, each pair was. Pure.

A result over a path is as fast as the slowest part on it. So each part carries at least the best
share of a healthy value that was reached through it, and it can only be the cause of results that
are no faster. Of all sets of parts that explain every slow result, the one with the fewest parts is
the likeliest. A part is decided if each set that is about as likely contains it.

Example: the path between ``n1`` and ``n2`` reaches 83 % over each NIC, and ``mlx5_4`` of ``n1``
reaches 93 %. Over ``mlx5_4`` all pairs of ``n1`` and ``n2`` are slow, which says little. But ``n1``
reaches 93 % with others, so that it does not explain the 83 %.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from statistics import median
from types import MappingProxyType

from railgauge.core.terms import Flow
from railgauge.diagnosis.localise.directions import RECEIVING, SENDING, WAYS
from railgauge.diagnosis.localise.nodes import Undecided
from railgauge.diagnosis.localise.parts import Part, PathResult, gpu_name, path_name
from railgauge.diagnosis.localise.paths import Located

_LIKE = 0.012
"""Healthy like parts differ by up to 1.04 % in document 002; in a run that shows it, by less."""
_LEAST_LIKE, _SPREADS, _FEW = 0.004, 4.0, 4
_HALF = 0.5
_MARGIN = 0.75
"""Sets of parts whose costs differ by less are about as likely: none needs one fault more."""
_MOST_FAULTS = 4
_MOST_STEPS = 20_000
_COST = {"node": 1.0, "nic": 1.0, "gpu": 1.0, "path": 1.1, "pair": 1.1}
_ONE_WAY, _ONE_RAIL = 0.15, 0.2


@dataclass(frozen=True, slots=True)
class PathRate:
    """A result over a path with the share of a healthy value that it reached, and its test."""

    result: PathResult
    share: float
    subject: str


def likeliest(measured: Sequence[PathRate]) -> Located | None:
    """The likeliest explanation of the slow results; ``None`` if no few parts explain them all."""
    slow = [one for one in measured if one.result.slow]
    candidates = _candidates(slow, measured, _likes(measured))
    covers = _covers(candidates)
    if not covers:
        return None
    certain = frozenset.intersection(*covers)
    parts = tuple(sorted(certain, key=repr))
    return Located(parts, tuple(_open(candidates, covers, certain)))


# --- which parts can explain which results ---


def _likes(measured: Sequence[PathRate]) -> dict[str, float]:
    """By how much shares of each test may differ over one part: by what healthy ones show."""
    healthy: dict[str, list[float]] = defaultdict(list)
    for one in measured:
        if not one.result.slow:
            healthy[one.subject].append(one.share)
    return {
        subject: min(_LIKE, max(_LEAST_LIKE, _SPREADS * _spread(shares)))
        for subject, shares in healthy.items()
        if len(shares) >= _FEW
    }


def _spread(shares: Sequence[float]) -> float:
    """The median distance from the median, which a slow part within its limit does not change."""
    usual = median(shares)
    return median(abs(share - usual) for share in shares)


def _candidates(
    slow: Sequence[PathRate], measured: Sequence[PathRate], likes: Mapping[str, float]
) -> list[frozenset[Part]]:
    """For each slow result, the parts on its path that were never clearly faster."""
    single = len({path[1] for one in measured for path in _paths(one.result)}) == 1
    through: dict[Part, list[tuple[PathRate, float]]] = defaultdict(list)
    alone = _one_way(measured)
    ends = _one_way_ends(_one_way(one for one in measured if not one.result.slow))
    for one in measured:
        for part in _parts(one.result, single_nic=single):
            through[part].append((one, _share(part, one, alone)))
    return [
        frozenset(
            part
            for part in _parts(one.result, single_nic=single)
            if not _is_cleared(one, _share(part, one, alone, ends), through[part], likes)
        )
        for one in slow
    ]


def _is_cleared(
    slow: PathRate,
    slow_share: float,
    others: Iterable[tuple[PathRate, float]],
    likes: Mapping[str, float],
) -> bool:
    """Whether another result proves that the part carries more than it does in the slow one."""
    like = slow_share + likes.get(slow.subject, _LIKE)
    unlike = 1 - _HALF * (1 - slow_share)
    return any(share > (like if o.subject == slow.subject else unlike) for o, share in others)


_Way = tuple[str, str, tuple[int | None, str], tuple[int | None, str]]
"""Sender and receiver, and the path of each."""


def _one_way(measured: Iterable[PathRate]) -> dict[_Way, float]:
    """The best share that each path reached in one direction alone."""
    best: dict[_Way, float] = {}
    for one in measured:
        if one.result.flow in (Flow.FORWARD, Flow.BACKWARD):
            way = _way(one.result, sender=one.result.nodes[one.result.flow is Flow.BACKWARD])
            best[way] = max(one.share, best.get(way, 0.0))
    return best


_End = tuple[str, str, tuple[int | None, str]]
"""A node, a direction, and the path of the node."""


def _one_way_ends(alone: Mapping[_Way, float]) -> dict[_End, float]:
    """The best share that each end reached in one direction, with any of these partners."""
    best: dict[_End, float] = {}
    for (sender, receiver, path, its_path), share in alone.items():
        for end in ((sender, SENDING, path), (receiver, RECEIVING, its_path)):
            best[end] = max(share, best.get(end, 0.0))
    return best


def _way(result: PathResult, sender: str) -> _Way:
    receiver = result.nodes[result.nodes[0] == sender]
    return sender, receiver, result.path_at(sender), result.path_at(receiver)


def _share(
    part: Part,
    measured: PathRate,
    alone: Mapping[_Way, float],
    ends: Mapping[_End, float] = MappingProxyType({}),
) -> float:
    """What the part carries at least.

    In a sum, the other direction has the value that it reached alone, or else a healthy one; with
    ``ends``, no more than what each of its ends reached with others, within its limits.
    """
    if measured.result.flow is not Flow.BOTH or not part.way:
        return measured.share
    one, other = measured.result.nodes
    sender = part.node if part.way == RECEIVING else other if part.node == one else one
    back = _way(measured.result, sender)
    theirs = zip(back[:2], WAYS, back[2:], strict=True)
    known = min(ends.get(end, 1.0) for end in theirs)
    return 2 * measured.share - min(1.0, alone.get(back, known))


def _paths(result: PathResult) -> Iterator[tuple[int | None, str]]:
    yield from (result.path_at(node) for node in result.nodes)


def _parts(result: PathResult, *, single_nic: bool) -> Iterator[Part]:
    """All parts that a payload goes through. With one NIC, it and its node are the same."""
    one, other = sorted(result.nodes)
    yield Part("pair", one, "", other)
    if not single_nic and result.peer is None:
        yield Part("pair", one, result.nic, other)
    for node in result.nodes:
        gpu, nic = result.path_at(node)
        yield Part("node", node)
        ways = _ways(result, node)
        yield from (Part("node", node, way=way) for way in ways)
        if not single_nic:
            yield Part("nic", node, nic)
            yield from (Part("nic", node, nic, way=way) for way in ways)
        if gpu is not None:
            yield Part("gpu", node, gpu_name(gpu))
            yield Part("path", node, path_name((gpu, nic)))


def _ways(result: PathResult, node: str) -> tuple[str, ...]:
    if result.flow is Flow.BOTH:
        return (SENDING, RECEIVING)
    if result.flow is Flow.UNTOLD:
        return ()
    is_sender = (node == result.nodes[0]) is (result.flow is Flow.FORWARD)
    return (SENDING,) if is_sender else (RECEIVING,)


def _cost(part: Part) -> float:
    one_rail = part.kind == "pair" and part.device
    return _COST[part.kind] + _ONE_WAY * bool(part.way) + _ONE_RAIL * bool(one_rail)


# --- the fewest parts ---

_Cover = frozenset[Part]


def _covers(candidates: Sequence[frozenset[Part]]) -> list[_Cover]:
    """All likely sets of parts of which each slow result has a candidate; empty if unknown."""
    unique = sorted(set(candidates), key=lambda some: sorted(map(repr, some)))
    wanted = [some for some in unique if not any(other < some for other in unique)]
    found: dict[_Cover, float] = {}
    steps = 0
    stack: list[_Cover] = [frozenset()]
    seen: set[_Cover] = set(stack)
    while stack:
        steps += 1
        if steps > _MOST_STEPS:
            return []
        taken = stack.pop()
        left = [some for some in wanted if not some & taken]
        if not left:
            found[taken] = _total(taken)
            continue
        if len(taken) == _MOST_FAULTS:
            continue
        for part in min(left, key=len):
            grown = taken | {part}
            if grown not in seen:
                seen.add(grown)
                stack.append(grown)
    least = min(found.values(), default=0.0)
    likely = [cover for cover, cost in found.items() if cost < least + _MARGIN]
    return [cover for cover in likely if not any(other < cover for other in likely)]


def _total(cover: _Cover) -> float:
    """The cost of all parts. A part that is slow in both directions is one part, not two."""
    twice = sum(replace(part, way=RECEIVING) in cover for part in cover if part.way == SENDING)
    return fsum(map(_cost, cover)) + _MARGIN * twice


def _open(
    candidates: Iterable[frozenset[Part]], covers: Sequence[_Cover], certain: _Cover
) -> Iterator[Undecided]:
    """The suspects of the results that no decided part explains, in groups that share suspects."""
    likely = frozenset().union(*covers) - certain
    groups: list[set[Part]] = []
    for some in {some & likely for some in candidates if not some & certain}:
        joined = set(some)
        for group in [group for group in groups if group & joined]:
            groups.remove(group)
            joined |= group
        groups.append(joined)
    for group in sorted(groups, key=lambda parts: min(map(str, parts))):
        yield _undecided(group)


def _undecided(group: Iterable[Part]) -> Undecided:
    suspects = sorted(group, key=lambda part: (part.kind == "pair", str(part), repr(part)))
    nodes = sorted({part.node for part in suspects if not part.peer})
    named = " and ".join(nodes) or "both nodes"
    return Undecided(
        tuple(" ".join(filter(None, (str(part), part.way))) for part in suspects),
        f"measure {named} with nodes that are known to be good",
        one_way=all(part.way or part.peer for part in suspects),
    )
