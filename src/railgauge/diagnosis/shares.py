"""Compare values with those of peers: the share of a healthy value that a part still reaches. Pure.

A value is divided by the median of the values that passed in the same measurement at the same size
under the same limit, first of the same pairing or link. So figures of different measurements become
comparable: a node whose writes reach 0.6 of what other nodes reach is slow by that factor.

Example: ``mx02`` is slow by 0.6 in all its pairs. With ``mx03`` it reaches 141 Gb/s where it should
reach 0.6 of 392, so the path between the two is slow as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from railgauge.core.model import Judgement
from railgauge.core.units import format_value
from railgauge.diagnosis.model import GOOD, missed
from railgauge.judging.record import ItemRecord
from railgauge.tools.metric import LOWER

_BEHIND = 0.985  # of the peers' value; healthy like parts differ by up to 1.04 % in document 002

What = tuple[str, str, "int | None", float]
"""Subject, metric, message size and limit: values that agree in these can be compared."""

_Peer = tuple[tuple[str, ...], float]
"""The nodes of an item that passed, and its value."""


def bound(judged: Judgement) -> float | None:
    """The limit that a value must not miss: a ceiling where lower is better, else the floor."""
    return judged.ceiling if judged.better == LOWER else judged.floor


def what(record: ItemRecord, judged: Judgement) -> What | None:
    """What the judgement measured; ``None`` if it is on no value, or on one without a limit."""
    limit = bound(judged)
    if judged.worst is None or not limit or judged.worst <= 0:
        return None
    return record.subject, judged.metric, judged.size_bytes or record.size_bytes, limit


class _Ordered:
    """Values of peers in rising order, and where those of each node are in it."""

    def __init__(self, peers: Iterable[_Peer]) -> None:
        in_order = sorted(peers, key=lambda peer: peer[1])
        self._values = [value for _, value in in_order]
        self._places: dict[str, list[int]] = {}
        for place, (nodes, _) in enumerate(in_order):
            for node in nodes:
                self._places.setdefault(node, []).append(place)

    def median(self, without: Collection[str]) -> float | None:
        """The median of the values of other nodes; ``None`` if there are none."""
        out = sorted({place for node in without for place in self._places.get(node, ())})
        left = len(self._values) - len(out)
        if not left:
            return None
        low, high = (self._values[_place((left - few) // 2, out)] for few in (1, 0))
        return low if left % 2 else (low + high) / 2


def _place(number: int, out: Sequence[int]) -> int:
    """The place of what has this number if the places ``out``, which rise, are left out."""
    for place in out:
        if place > number:
            break
        number += 1
    return number


class Shares:
    """What the items that passed tell about healthy values."""

    def __init__(self, records: Iterable[ItemRecord]) -> None:
        self._good: dict[What, dict[str, list[_Peer]]] = {}
        self._in_order: dict[tuple[What, str | None], _Ordered] = {}
        for record in records:
            for judged in record.judgements if record.outcome in GOOD else ():
                if (about := what(record, judged)) and judged.worst is not None:
                    alike = self._good.setdefault(about, {}).setdefault(record.pairing, [])
                    alike.append((record.nodes, judged.worst))

    def of(
        self, record: ItemRecord, judged: Judgement, without: Collection[str] = ()
    ) -> float | None:
        """The share of the peers' value that was reached; ``None`` without a peer.

        Peers are the items that passed, other than those of the nodes ``without``.
        """
        about = what(record, judged)
        if about is None or judged.worst is None:
            return None
        usual = self._ordered(about, record.pairing).median(without)
        if usual is None:
            usual = self._ordered(about, None).median(without)
        if usual is None:
            return None
        return usual / judged.worst if judged.better == LOWER else judged.worst / usual

    def _ordered(self, about: What, pairing: str | None) -> _Ordered:
        """The peers of a pairing; ``None`` for those of all pairings."""
        key = about, pairing
        if key not in self._in_order:
            good = self._good.get(about, {})
            chosen = good.values() if pairing is None else [good.get(pairing, [])]
            self._in_order[key] = _Ordered(peer for peers in chosen for peer in peers)
        return self._in_order[key]

    def is_behind(self, record: ItemRecord, without: Collection[str]) -> bool:
        """Whether an item that passed is clearly below its peers."""
        levels = self.levels([record], without)
        return bool(levels) and max(levels) < _BEHIND

    def levels(self, records: Iterable[ItemRecord], without: Collection[str]) -> list[float]:
        """The shares of all values of these items."""
        found = (self.of(r, j, without) for r in records for j in r.judgements)
        return [share for share in found if share is not None]


@dataclass(frozen=True, slots=True)
class Slower:
    """A slow value, and the value that the slow parts on its way leave, in the same unit."""

    record: ItemRecord
    judged: Judgement
    expected: float

    def against(self, parts: str) -> str:
        """In words: the value, and what ``parts`` leave of a healthy one."""
        unit = self.judged.unit
        got, due = format_value(self.judged.worst or 0.0, unit), format_value(self.expected, unit)
        return f"{got} where {due} is expected of {parts}, slow as a whole"


def slower_than_their_part(
    shares: Shares, parts: Sequence[Sequence[ItemRecord]], without: Collection[str]
) -> dict[str, Slower]:
    """The slow items, by id, that are slower than the slow parts that they lie on explain.

    ``parts`` holds the slow items of each part, and those that show its slowness within their
    limits; ``without`` are the nodes of the parts. The best share that a part reaches in a
    measurement is its level: another fault only takes from it. An
    item is slower than its parts if it misses its limit multiplied by their levels, so that the
    limit allows the same noise as on a healthy node. An item without a peer is left out.
    """
    levels = [
        (_levels(shares, records, without), {record.id for record in records}) for records in parts
    ]
    found: dict[str, Slower] = {}
    for record in (record for records in parts for record in records):
        on = [best for best, those in levels if record.id in those]
        for judged in missed(record):
            slower = _slower(shares, record, judged, on, without)
            if slower and _gap(slower) > _gap(found.get(record.id)):
                found[record.id] = slower
    return found


def behind_the_best(
    shares: Shares, records: Sequence[ItemRecord], without: Collection[str]
) -> list[ItemRecord]:
    """Those of a slow part's items that reach clearly less than its best item of the same kind."""
    best = _levels(shares, records, without)
    return [
        record
        for record in records
        if any(share < _BEHIND * best[about] for about, share in _shares(shares, [record], without))
    ]


def _gap(slower: Slower | None) -> float:
    """By how much less is reached than expected, as a factor; 0 for nothing."""
    if slower is None or not slower.judged.worst:
        return 0.0
    ratio = slower.expected / slower.judged.worst
    return 1 / ratio if slower.judged.better == LOWER else ratio


def _levels(
    shares: Shares, records: Iterable[ItemRecord], without: Collection[str]
) -> dict[What, float]:
    best: dict[What, float] = {}
    for about, share in _shares(shares, records, without):
        best[about] = max(share, best.get(about, share))
    return best


def _shares(
    shares: Shares, records: Iterable[ItemRecord], without: Collection[str]
) -> Iterator[tuple[What, float]]:
    for record in records:
        for judged in record.judgements:
            about, share = what(record, judged), shares.of(record, judged, without)
            if about is not None and share is not None:
                yield about, share


def _slower(
    shares: Shares,
    record: ItemRecord,
    judged: Judgement,
    levels: Sequence[dict[What, float]],
    without: Collection[str],
) -> Slower | None:
    about, limit, share = what(record, judged), bound(judged), shares.of(record, judged, without)
    if about is None or limit is None or share is None or judged.worst is None:
        return None
    level = prod(best[about] for best in levels)
    if judged.better == LOWER:
        healthy = judged.worst * share
        return Slower(record, judged, healthy / level) if judged.worst > limit / level else None
    healthy = judged.worst / share
    return Slower(record, judged, healthy * level) if judged.worst < limit * level else None
