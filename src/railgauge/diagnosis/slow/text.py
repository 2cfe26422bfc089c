"""The findings as causes: their English, made once from values and never read back. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timezone

from railgauge.core.naming import listed
from railgauge.core.question import Question
from railgauge.diagnosis.model import LIKELY, OPEN, CauseClaim, Course, Rival, Where
from railgauge.diagnosis.slow.constants import When
from railgauge.diagnosis.slow.findings import FoundPart
from railgauge.diagnosis.slow.readings import LATER
from railgauge.judging.record import ItemRecord
from railgauge.tools.form import ClusterPart, KindOfPart

STRAGGLER = "straggler"
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
_WAYS = {KindOfPart.SEND: " where it sends", KindOfPart.RECEIVE: " where it receives"}
_MOST = 8


def claims(
    findings: Collection[FoundPart],
    records: Mapping[str, ItemRecord],
    questions: Sequence[Question] = (),
) -> Iterator[CauseClaim]:
    """One cause for each finding."""
    return (_claim(one, records, questions) for one in findings)


def _claim(
    one: FoundPart, records: Mapping[str, ItemRecord], questions: Sequence[Question]
) -> CauseClaim:
    items = tuple(records[item] for item in one.fails or one.slower if item in records)
    cause = _CAUSES[one.part.kind] if one.fails else STRAGGLER
    rivals = tuple(Rival(_cause_of(part), where_is(part), p) for part, p in one.rivals.items())
    known = {"course": _course(one), "probability": one.probability, "rivals": rivals}
    if one.is_decided:
        return CauseClaim(cause, where_is(one.part), _says(one), items, LIKELY, **known)
    parts = [one.part, *(part for part in one.rivals if part.kind is not KindOfPart.KNOWN)]
    says = f"{_says(one)}; the evidence fits {listed([_short(part) for part in parts], _MOST)}"
    return CauseClaim(cause, _any_of(parts), says, items, OPEN, _decides(questions, parts), **known)


def where_is(part: ClusterPart) -> Where:
    return Where(part.node, part.device, part.peer)


def _short(part: ClusterPart) -> str:
    return f"{part.node}:{part.peer}" if part.peer else f"{part.node} {part.device}".strip()


def _any_of(parts: Sequence[ClusterPart]) -> Where:
    if len(parts) == 1:
        return where_is(parts[0])
    nodes = dict.fromkeys(node for part in parts for node in part.nodes)
    devices = list(dict.fromkeys(part.device for part in parts))
    return Where("|".join(nodes), "" if "" in devices else "|".join(devices))


def _says(one: FoundPart) -> str:
    said = {
        When.ALWAYS: "",
        When.SINCE: " since a moment of the run",
        When.AT_TIMES: " at times",
        When.VARYING: " at most, by different amounts",
    }
    text = (
        f"{100 * (1 - one.share):.1f} % slower than its peers{_WAYS.get(one.part.kind, '')}"
        f"{said[one.when]}: {one.slow} of {one.of} measurements of it show it; "
        f"probability {one.probability:.3f}"
    )
    if one.next:
        other, probability = one.next
        text += f"; next likeliest: {_cause_of(other)} {_short(other)}, {probability:.1%}"
    return text


def _cause_of(part: ClusterPart) -> str:
    """The name of the cause; that of a known one stands before its devices."""
    return part.nic.partition(" ")[0] if part.kind is KindOfPart.KNOWN else _CAUSES[part.kind]


def _course(one: FoundPart) -> Course | None:
    if one.when is When.ALWAYS:
        return None
    since = ""
    if one.when is When.SINCE and one.since < LATER:
        since = datetime.fromtimestamp(one.since, timezone.utc).isoformat()
    return Course(one.slow, one.of, since)


def _decides(questions: Sequence[Question], parts: Sequence[ClusterPart]) -> str:
    """The most telling measurement of the suspects' nodes."""
    nodes = {node for part in parts for node in part.nodes}
    keys = (q.case.key for q in questions if q.case and nodes.intersection(q.case.nodes))
    if key := next(keys, ""):
        return f"measure {key}"
    return "no measurement of this plan can tell them apart"
