"""The found parts as causes: their English, made once from values and never read back. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timezone

from railgauge.core.naming import listed
from railgauge.core.question import Question
from railgauge.diagnosis.model import (
    LIKELY,
    OPEN,
    STRAGGLER,
    FaultTiming,
    Finding,
    Rival,
    Where,
    worst_of,
)
from railgauge.diagnosis.slow.constants import SUSPECT, When
from railgauge.diagnosis.slow.found_parts import FoundPart
from railgauge.diagnosis.slow.readings import LATER
from railgauge.judging.record import ItemRecord
from railgauge.tools.form import ClusterPart, KindOfPart

_CAUSES: dict[KindOfPart, str] = {
    KindOfPart.NODE: "slow-node",
    KindOfPart.NIC: "slow-nic",
    KindOfPart.SEND: "slow-direction",
    KindOfPart.RECEIVE: "slow-direction",
    KindOfPart.GPU: "slow-gpu",
    KindOfPart.PCIE: "slow-pcie-path",
    KindOfPart.PATH: "slow-path",
    KindOfPart.LINK: "slow-gpu-link",
}
_WAYS = {KindOfPart.SEND: "where it sends", KindOfPart.RECEIVE: "where it receives"}
_MOST = 8
_SURE, _UNLIKELY, _MOSTLY = 0.999, 0.001, 0.8


def findings(
    found_parts: Collection[FoundPart],
    records: Mapping[str, ItemRecord],
    questions: Sequence[Question] = (),
) -> Iterator[Finding]:
    """One cause for each finding."""
    return (_finding(one, records, questions) for one in found_parts)


def _finding(
    one: FoundPart, records: Mapping[str, ItemRecord], questions: Sequence[Question]
) -> Finding:
    items = tuple(records[item] for item in one.fails or one.slower if item in records)
    cause = _likeliest_kind(one) if one.fails else STRAGGLER
    rivals = tuple(Rival(_cause_of(part), where_is(part), p) for part, p in one.rivals.items())
    parts = [one.part] if one.is_decided else _suspects(one)
    return Finding(
        cause,
        _any_of(parts, are_all=_names_all(one)),
        in_words(one, items),
        items,
        LIKELY if one.is_decided else OPEN,
        "" if one.is_decided else would_decide(questions, parts),
        _timing(one),
        one.probability,
        rivals,
        one.again,
    )


def _likeliest_kind(one: FoundPart) -> str:
    """The cause whose suspects are likeliest together."""
    found = {_CAUSES[one.part.kind]: one.probability}
    for part, probability in one.rivals.items() if not one.is_decided else ():
        found[_cause_of(part)] = found.get(_cause_of(part), 0.0) + probability
    return max(found, key=found.__getitem__)


def _suspects(one: FoundPart) -> list[ClusterPart]:
    return [one.part, *(part for part in one.rivals if not part.is_known)]


def where_is(part: ClusterPart) -> Where:
    return Where(part.node, "" if part.is_known else part.device, part.peer)


def _named(part: ClusterPart) -> str:
    place = f"{part.node}:{part.peer}" if part.peer else part.node
    return place if part.is_known else f"{place} {part.device}".strip()


def _short(part: ClusterPart) -> str:
    return f"{_named(part)} {_WAYS.get(part.kind, '')}".strip()


def _any_of(parts: Sequence[ClusterPart], *, are_all: bool) -> Where:
    """The place of the suspects: without devices, unless these ``are_all`` that it may be."""
    if len(parts) == 1 and are_all:
        return where_is(parts[0])
    if len({part.nodes for part in parts}) == 1 and parts[0].peer:
        return Where(parts[0].node, peer=parts[0].peer)
    nodes = sorted({node for part in parts for node in part.nodes})
    devices = list(dict.fromkeys(part.device for part in parts))
    return Where("|".join(nodes), "|".join(devices) if are_all and "" not in devices else "")


def in_words(one: FoundPart, items: Sequence[ItemRecord] = ()) -> str:
    """In words: the worst figure, how much is lost, how often, and how sure that is."""
    lost = f"{1 - one.share:.1%}"
    how = {
        When.ALWAYS: "",
        When.SINCE: f" since {_clock(one.since)}",
        When.AT_TIMES: " at times",
        When.VARYING: " at most, by different amounts",
    }[one.when]
    way = _WAYS.get(one.part.kind, "")
    behind = f"{_named(one.part)} is {lost} behind its peers {way}".rstrip() + how
    text = f"{worst_of(items)}; {behind}" if one.fails and items else behind
    text += f" in {one.slow} of {one.of} measurements; probability {_chance(one.probability)}"
    if one.next and one.next[1] >= _UNLIKELY:
        other, probability = one.next
        text += f", that of {_cause_of(other)} ({_short(other)}) {_chance(probability)}"
    if not one.is_decided:
        text += f"; the evidence fits {listed(list(map(_short, _suspects(one))), _MOST)}"
        text += f", or an effect of {_short(one.effect_of)}" if one.effect_of else ""
        text += "" if _names_all(one) else f", or a part that is less likely than {SUSPECT:.0%}"
    return text


def _names_all(one: FoundPart) -> bool:
    """Whether few suspects are left beside those that are likely enough to be named."""
    return one.is_decided or one.probability + sum(one.rivals.values()) > _MOSTLY


def _clock(since: float) -> str:
    if since == LATER:
        return "the planned measurements ended"
    return f"{datetime.fromtimestamp(since, timezone.utc):%H:%M:%S} UTC"


def _chance(probability: float) -> str:
    return f"above {_SURE:.1%}" if probability > _SURE else f"{probability:.1%}"


def _cause_of(part: ClusterPart) -> str:
    """The name of the cause; that of a known one stands before its devices."""
    return part.nic.partition(" ")[0] if part.is_known else _CAUSES[part.kind]


def _timing(one: FoundPart) -> FaultTiming | None:
    if one.when is When.ALWAYS:
        return None
    since = ""
    if one.when is When.SINCE and one.since < LATER:
        since = datetime.fromtimestamp(one.since, timezone.utc).isoformat()
    return FaultTiming(one.slow, one.of, since)


def would_decide(questions: Sequence[Question], parts: Sequence[ClusterPart]) -> str:
    """The most telling measurement of the suspects' nodes."""
    nodes = {node for part in parts for node in part.nodes}
    keys = (q.case.key for q in questions if q.case and nodes.intersection(q.case.nodes))
    if key := next(keys, ""):
        return f"measure {key}"
    return "no measurement of this plan can tell them apart"
