"""The findings as causes: their English, made once from values and never read back. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timezone

from railgauge.core.model import Outcome
from railgauge.core.naming import listed
from railgauge.core.question import Question
from railgauge.diagnosis.model import LIKELY, OPEN, CauseClaim, Course, Where
from railgauge.diagnosis.slow.constants import When
from railgauge.diagnosis.slow.findings import FoundPart
from railgauge.diagnosis.slow.readings import LATER
from railgauge.judging.record import ItemRecord
from railgauge.tools.form import ClusterPart, KindOfPart

STRAGGLER, UNDIAGNOSED = "straggler", "undiagnosed"
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
    """One cause for each finding, and one for the failed items that none of them explains."""
    explained: set[str] = set()
    for one in findings:
        explained.update(one.fails)
        yield _claim(one, records, questions)
    left = [
        record
        for record in records.values()
        if record.outcome is Outcome.FAILED and record.id not in explained
    ]
    if left:
        nodes = dict.fromkeys(node for record in left for node in record.nodes)
        says = f"{len(left)} items: {left[0].reason}"
        where = Where("|".join(nodes))
        yield CauseClaim(UNDIAGNOSED, where, says, tuple(left), OPEN, "repeat the measurements")


def _claim(
    one: FoundPart, records: Mapping[str, ItemRecord], questions: Sequence[Question]
) -> CauseClaim:
    items = tuple(records[item] for item in one.fails or one.slower if item in records)
    cause = _CAUSES[one.part.kind] if one.fails else STRAGGLER
    if one.is_decided:
        where = where_is(one.part)
        return CauseClaim(cause, where, _says(one), items, LIKELY, course=_course(one))
    parts = [one.part, *one.rivals]
    says = f"{_says(one)}; the evidence fits {listed([_short(part) for part in parts], _MOST)}"
    decides = would_decide(questions, parts)
    return CauseClaim(cause, _any_of(parts), says, items, OPEN, decides, _course(one))


def in_words(one: FoundPart) -> str:
    """A finding by itself, with its part and its suspects."""
    text = f"{_short(one.part)} is {_says(one)}"
    parts = [_short(part) for part in (one.part, *one.rivals)]
    return text if one.is_decided else f"{text}; the evidence fits {listed(parts, _MOST)}"


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
        text += f"; next likeliest: {_CAUSES[other.kind]} {_short(other)}, {probability:.1%}"
    return text


def _course(one: FoundPart) -> Course | None:
    if one.when is When.ALWAYS:
        return None
    since = ""
    if one.when is When.SINCE and one.since < LATER:
        since = datetime.fromtimestamp(one.since, timezone.utc).isoformat()
    return Course(one.slow, one.of, since)


def would_decide(questions: Sequence[Question], parts: Sequence[ClusterPart]) -> str:
    """The most telling measurement of the suspects' nodes."""
    nodes = {node for part in parts for node in part.nodes}
    keys = (q.case.key for q in questions if q.case and nodes.intersection(q.case.nodes))
    if key := next(keys, ""):
        return f"measure {key}"
    return "no measurement of this plan can tell them apart"
