"""Compare values with those of peers: the share of a healthy value that a part still reaches. Pure.

A value is divided by the median of the values that passed in the same measurement at the same size
under the same limit, first of the same pairing or link. So figures of different measurements become
comparable: a node whose writes reach 0.6 of what other nodes reach is slow by that factor.

Example: ``mx02`` is slow by 0.6 in all its pairs. With ``mx03`` it reaches 141 Gb/s where it should
reach 0.6 of 392, so the path between the two is slow as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from railgauge.core.model import Judgement
from railgauge.diagnosis.model import GOOD
from railgauge.judging.record import ItemRecord
from railgauge.tools.metric import LOWER

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
