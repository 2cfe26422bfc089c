"""Causes that the nodes' error counters show: what grew during the run, at its GPU or NIC.

A packet that is lost counts at both ends of its way, and a link with bit errors loses packets: such
counters are no causes of their own beside what explains them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from railgauge.config.thresholds.counter_groups import (
    CONGESTION,
    GROUPS,
    PORT,
    RETRANSMITS,
)
from railgauge.core.errors import CountersUnread
from railgauge.core.model import Judgement
from railgauge.diagnosis.model import CauseRule, Context, Finding, Where, missed
from railgauge.diagnosis.reach import devices_of
from railgauge.judging.growth import SUBJECT
from railgauge.judging.record import ItemRecord

_AMOUNT = re.compile(r" by (\d{1,20})")

DevicePlace = tuple[str, str]
"""A node and one of its devices."""


@dataclass(slots=True)
class _Grown:
    """What grew at one place: the item of its node, and the judgements by cause."""

    record: ItemRecord
    causes: dict[str, list[Judgement]] = field(default_factory=dict)

    @property
    def amount(self) -> int:
        """By how much the counters of retransmissions grew."""
        counts = (_AMOUNT.findall(one.measured) for one in self.causes.get(RETRANSMITS, ()))
        return sum(int(count) for listed in counts for count in listed)


def grown(context: Context) -> Iterator[Finding]:
    """One finding for each cause and device, without what another one of them explains."""
    found = _by_place(context)
    lossy = {place: one for place, one in found.items() if _only_loses(one)}
    left = dict(sorted(lossy.items(), key=lambda item: item[1].amount, reverse=True))
    for place, one in found.items():
        for cause, judgements in one.causes.items():
            if cause != RETRANSMITS:
                partners = _taken(context, place, left) if cause in _LOSE_PACKETS else []
                evidence = (one.record, *(partner.record for _, partner in partners))
                yield Finding(cause, Where(*place), _says(judgements), evidence)
    yield from _losses(context, left)


def _by_place(context: Context) -> dict[DevicePlace, _Grown]:
    found: dict[DevicePlace, _Grown] = {}
    for record in context.about(SUBJECT):
        for judged in missed(record):
            if judged.metric in GROUPS and judged.points_at:
                one = found.setdefault(judged.points_at[0], _Grown(record))
                one.causes.setdefault(GROUPS[judged.metric].cause, []).append(judged)
    return found


_LOSE_PACKETS = frozenset({PORT, CONGESTION})


def _only_loses(one: _Grown) -> bool:
    """Whether nothing else at the place explains its retransmissions: bit errors, congestion."""
    return RETRANSMITS in one.causes and not _LOSE_PACKETS & set(one.causes)


def _losses(context: Context, left: dict[DevicePlace, _Grown]) -> Iterator[Finding]:
    """One finding for each NIC that lost packets, with the items of its partners as evidence.

    The NIC with the most is the one; partners count a part of its losses each. What two nodes that
    met no others lost is a matter of the path between them.
    """
    while left:
        place = next(iter(left))
        one = left.pop(place)
        partners = _taken(context, place, left)
        evidence = (one.record, *(partner.record for _, partner in partners))
        says = _says(one.causes[RETRANSMITS])
        peer = partners[0][0][0] if _met_only(context, place, [at for at, _ in partners]) else ""
        yield Finding(RETRANSMITS, Where(*place, peer=peer), says, evidence)


def _taken(
    context: Context, place: DevicePlace, left: dict[DevicePlace, _Grown]
) -> list[tuple[DevicePlace, _Grown]]:
    """Take away the other places whose losses this one explains, and return them."""
    return [(partner, left.pop(partner)) for partner in _partners(context, place, list(left))]


def _partners(
    context: Context, place: DevicePlace, others: Iterable[DevicePlace]
) -> list[DevicePlace]:
    """Those of the other places that were measured with this one over their NICs."""
    return [other for other in others if other[0] in _met(context, place, other[1])]


def _met(context: Context, place: DevicePlace, device: str) -> set[str]:
    """The nodes that were measured with the NIC over a NIC ``device`` of theirs."""
    node, nic = place
    met: set[str] = set()
    for record in context.results.records.values():
        if node in record.nodes and _uses(record.part_at(node), nic):
            met |= {one for one in record.nodes if _uses(record.part_at(one), device)}
    same_rail = nic == device
    return met - {node} if same_rail else {one for one in met - {node} if _crosses(context, place)}


def _crosses(context: Context, place: DevicePlace) -> bool:
    """Whether the NIC was measured with another NIC than that of its own rail."""
    node, nic = place
    return any(
        ":" in record.pairing and nic in devices_of(record.part_at(node))
        for record in context.results.records.values()
        if node in record.nodes
    )


def _uses(part: str, nic: str) -> bool:
    named = {device for device in devices_of(part) if not device.startswith("gpu")}
    return not named or nic in named


def _met_only(context: Context, place: DevicePlace, partners: Sequence[DevicePlace]) -> bool:
    return len(partners) == 1 and _met(context, place, place[1]) == {partners[0][0]}


def _says(judgements: Sequence[Judgement]) -> str:
    return "; ".join(judged.reason for judged in judgements)


def unread(context: Context) -> Iterator[Finding]:
    """One finding for each node whose counters, or some of them, show nothing."""
    for record in context.about(SUBJECT):
        if record.error_kind == CountersUnread.kind:
            says = record.reason.removeprefix(f"{record.nodes[0]}: ")
            yield Finding("counters-unread", Where(record.nodes[0]), says, (record,))


RULES: tuple[CauseRule, ...] = (grown,)
UNREAD: tuple[CauseRule, ...] = (unread,)
