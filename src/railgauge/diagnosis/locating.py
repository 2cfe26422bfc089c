"""Locate the faults behind slow paths: by slow and fast, and by how fast. Pure.

Slow and fast decide most faults. Where they leave suspects, or blame a path between two nodes, the
measured values are asked as well: they tell two faults of different severity apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import pairwise
from statistics import median

from railgauge.diagnosis.localise import (
    Blamed,
    Located,
    Part,
    PathResult,
    Undecided,
    blame_paths,
    ways,
)
from railgauge.diagnosis.localise.directions import WAYS
from railgauge.diagnosis.localise.parts import ONE_NIC
from railgauge.diagnosis.model import missed
from railgauge.diagnosis.over_paths import Measurements, by_value, path_result
from railgauge.diagnosis.shares import Shares
from railgauge.judging.record import ItemRecord


def located(
    slow: Sequence[ItemRecord],
    fine: Sequence[ItemRecord],
    fast: Sequence[ItemRecord],
    flows: Measurements,
) -> Located:
    """The faulty parts. ``fine`` items clear their parts; ``fast`` ones reached their limits."""
    wrong = {record.id for record in slow}
    found = blame_paths([path_result(r, flows, slow=r.id in wrong) for r in (*fine, *slow)])

    def valued(fast: Sequence[ItemRecord]) -> Located | None:
        return by_value((*fast, *slow), lambda r: path_result(r, flows, slow=bool(missed(r))))

    if (best := valued(fast)) is not None:
        return clearer(found, best)
    at_times = _mostly_slow(slow, fast)
    best = valued([r for r in fast if frozenset(r.nodes) not in at_times]) if at_times else None
    return best if best and _count(best) < _count(found) else found


def _count(found: Located) -> int:
    return len(found.parts) + len(found.undecided)


def _mostly_slow(slow: Sequence[ItemRecord], fast: Sequence[ItemRecord]) -> set[frozenset[str]]:
    """The pairs that are slow in most items, over several NICs, each by a share of its own.

    What is slow between them may come and go, so that a fast item of the pair clears nothing. Pairs
    that lose the same share may have one node that does.
    """
    shares, fine = Shares(fast), Counter(frozenset(record.nodes) for record in fast)
    found: dict[frozenset[str], float] = {}
    for pair in {frozenset(record.nodes) for record in slow}:
        mine = [record for record in slow if frozenset(record.nodes) == pair]
        levels = shares.levels(mine, pair) or shares.levels(mine, ())
        alike = bool(levels) and max(levels) - min(levels) <= _LIKE
        if alike and len({r.pairing for r in mine}) > 1 and len(mine) > fine[pair]:
            found[pair] = median(levels)
    ordered = sorted(found.values())
    apart = all(more - less > _LIKE for less, more in pairwise(ordered))
    return set(found) if len(found) > 1 and apart else set()


_LIKE = 0.02  # of a healthy value; noise, and what healthy parts differ by, is less


def blamed_by_value(
    slow: Sequence[ItemRecord], fine: Sequence[ItemRecord], found: Blamed
) -> Blamed | None:
    """The slow nodes and paths by the values of whole pairs, if they tell more than ``found``."""
    parts = [*(Part("node", n) for n in found.nodes), *(_path(*ends) for ends in found.pairs)]
    by_slow = Located(tuple(parts), found.undecided)
    best = clearer(by_slow, by_value((*fine, *slow), _whole, _of_pair))
    if best is by_slow:
        return None
    pairs = sorted((part.node, part.peer) for part in best.parts if part.peer)
    nodes = sorted(part.node for part in best.parts if not part.peer)
    return Blamed(tuple(nodes), tuple(pairs), best.undecided)


def _path(one: str, other: str) -> Part:
    return Part("pair", one, "", other)


def _pair(record: ItemRecord) -> tuple[str, str]:
    return record.nodes[0], record.nodes[1]


def _of_pair(record: ItemRecord) -> str:
    """A name that no other pair shares: in a collective, the losses of two parts add up."""
    return f"{record.subject} {record.nodes}"


def _whole(record: ItemRecord) -> PathResult:
    """An item over all NICs of two nodes, as one over a single path."""
    return PathResult(_pair(record), bool(missed(record)), None, "")


def clearer(found: Located, valued: Located | None) -> Located:
    """What slow and fast show, or what the values show if they tell more."""
    if valued and (_is_clearer(valued, found) or _doubts(valued, found)):
        return valued
    return found


def _is_clearer(valued: Located, found: Located) -> bool:
    """Whether the values leave fewer suspects, show several faults, or suspect another node."""
    if not found.undecided:
        return False
    several = len(valued.undecided) + len(valued.parts) > len(found.undecided) + len(found.parts)
    fewer = _suspects(valued) < _suspects(found)
    single = len(found.undecided) == 1 and not found.parts
    return several or fewer or (single and bool(_nodes(valued) - _nodes(found)))


def _suspects(found: Located) -> int:
    return sum(len(open_.among) for open_ in found.undecided)


def _nodes(found: Located) -> set[str]:
    """The nodes that are suspects, or of which a part is one."""
    names = (name for open_ in found.undecided for name in open_.among)
    return {name.partition(" ")[0] for name in names if ":" not in name}


def _doubts(valued: Located, found: Located) -> bool:
    """Whether the values explain by a path what seemed to decide one of its ends, or reversely.

    Or whether a part that seemed slow in one direction is behind in the other one too, or one that
    seemed slow in both is not slow by the same in both; or a path carries less over one NIC; or
    whether they clear fewer suspects.
    """
    if valued.undecided and found.parts and set(found.parts) == set(valued.parts):
        return True
    if _clears_fewer(valued, found):
        return True
    names = {name for open_ in valued.undecided for name in open_.among}
    names |= {str(part) for part in valued.parts if not part.way}
    if any(part.way and str(part) in names for part in found.parts):
        return True
    one_way = {str(part) for part in valued.parts if part.way}
    if any(not part.way and str(part) in one_way for part in found.parts):
        return True
    # Of a node with one NIC a few values decide; of one with several, its NICs agree.
    whole = [str(p) for p in found.parts if not p.way and (p.kind == "nic" or p.note == ONE_NIC)]
    if any(_one_way_only(part, open_.among) for part in whole for open_ in valued.undecided):
        return True
    paths, others = ({(p.node, p.peer) for p in of.parts if p.peer} for of in (valued, found))
    ends = {node for path in paths for node in path}
    return bool(others - paths) or any(
        part.node in ends and str(part) in open_.among and _names_others(open_, part)
        for part in found.parts
        for open_ in valued.undecided
    )


def _clears_fewer(valued: Located, found: Located) -> bool:
    """Whether the values leave the same several groups of suspects, with more of them.

    A sum of both directions that reached its limit clears a direction that the values do not.
    """
    groups = [[set(open_.among) for open_ in of.undecided] for of in (valued, found)]
    more, fewer = groups
    if found.parts or valued.parts or not 1 < len(fewer) == len(more):
        return False
    return more != fewer and all(any(few <= many for many in more) for few in fewer)


def _one_way_only(part: str, suspects: Collection[str]) -> bool:
    """Whether a direction of the part is a suspect, and the part as a whole is none."""
    return part not in suspects and any(f"{part} {way}" in suspects for way in WAYS)


def _names_others(open_: Undecided, part: Part) -> bool:
    """Whether a part of another node, or a single direction of this one, is a suspect as well.

    Of two slow paths of one node the values show one, and leave the node and the other one.
    """
    paths = [name for name in open_.among if ":" in name]
    names = [name for name in open_.among if ":" not in name]
    one_way = any(f"{part} {way}" in names for way in WAYS)
    another = part.kind == "node" and any(" " not in path for path in paths)
    return one_way or another or any(name.partition(" ")[0] != part.node for name in names)


def lies_on(part: Part, record: ItemRecord, flows: Measurements) -> bool:
    """Whether the item's path includes the part, and moved its payload in the part's direction."""
    result = path_result(record, flows, slow=True)
    if part.kind == "pair":
        ends = {part.node, part.peer}
        rail = "" if result.peer else result.nic
        return ends == set(record.nodes) and part.device in ("", rail, _ends(part, record))
    here = part.node in record.nodes and part.covers(result.path_at(part.node))
    return here and (not part.way or part.way in ways(result.nodes, part.node, result.flow))


def _ends(part: Part, record: ItemRecord) -> str:
    """The item's path as the part names one: from its node to its peer."""
    ends = dict.fromkeys(record.part_at(node) for node in (part.node, part.peer))
    return ":".join(ends)
