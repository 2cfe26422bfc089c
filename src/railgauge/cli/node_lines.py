"""The report of ``railgauge node``: one line, the details below it, and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from railgauge.cli.node_report import NodeReport
from railgauge.core.naming import listed
from railgauge.core.terms import Verdict
from railgauge.diagnosis import UNDIAGNOSED, Cause
from railgauge.judging.stamp import Evidence
from railgauge.report.drain_reason import drain_reason
from railgauge.verdict.one_node import NodeResults

_SEEN_IN = "node check"
_MOST_CAUSES, _MOST_REASONS, _MOST_NAMES = 3, 10, 40


@dataclass(frozen=True, slots=True)
class CheckedNode:
    """The results of a node, its name and platform, and the kind of evidence."""

    node: str
    platform: str
    evidence: Evidence
    results: NodeResults
    took_s: float


def report(checked: CheckedNode) -> NodeReport:
    seen_in = (
        _SEEN_IN if checked.evidence != Evidence.SIMULATED else f"{checked.evidence} {_SEEN_IN}"
    )
    reason = drain_reason(map(_name, causes), seen_in) if (causes := _draining(checked)) else ""
    verdict, details = checked.results.verdict, tuple(_details(checked))
    return NodeReport(verdict, _headline(checked), reason, details, _data(checked))


def _draining(checked: CheckedNode) -> Sequence[Cause]:
    """The causes for which the node should get no jobs, as ``railgauge triage`` decides."""
    return [cause for cause in checked.results.causes if cause.drains]


def _headline(checked: CheckedNode) -> str:
    results = checked.results
    named = listed([*map(_name, _named(results) or results.causes)], _MOST_CAUSES)
    what = {
        Verdict.ACCEPTED: f"{len(results.records)} items as {checked.platform} expects",
        Verdict.REJECTED: named,
        Verdict.INCOMPLETE: _incomplete(results),
    }[results.verdict]
    stamp = " (simulated)" if checked.evidence == Evidence.SIMULATED else ""
    return f"{checked.node}: {results.verdict}{stamp}: {what}"


def _details(checked: CheckedNode) -> Iterator[str]:
    """Yield why, what to do, and what could not be judged."""
    results = checked.results
    for cause in _named(results):
        yield f"  {_name(cause)}: {cause.says}"
        yield f"    do: {cause.remedy}"
    reasons = _reasons(results).most_common()
    for why, count in reasons[:_MOST_REASONS]:
        yield f"  not known: {_items(count)}: {why}"
    if rest := reasons[_MOST_REASONS:]:
        yield f"  not known: {len(rest)} more reasons, which --json shows"
    if results.not_alone:
        names = listed(results.not_alone, _MOST_NAMES)
        yield f"  not judged without the other nodes: {names}"
    yield from (f"  not judged yet: {what}" for what in results.not_yet)


def _name(cause: Cause) -> str:
    return f"{cause.cause} {cause.where.device}".strip()


def _named(results: NodeResults) -> Sequence[Cause]:
    """The causes other than *undiagnosed*."""
    return [cause for cause in results.causes if cause.cause != UNDIAGNOSED]


def _incomplete(results: NodeResults) -> str:
    if not results.records:
        return "nothing was judged"
    known = {_name(one): len(one.evidence) + len(one.explains) for one in _named(results)}
    whys = (Counter(known) + _reasons(results)).most_common()
    why = listed([name for name, _ in whys], 1, "; ")
    return f"{_items(len(results.undecided))} of {len(results.records)} not known: {why}"


def _items(count: int) -> str:
    return "1 item" if count == 1 else f"{count} items"


def _reasons(results: NodeResults) -> Counter[str]:
    """The reasons of undecided items that no cause explains, counted; facts share a reason."""
    explained = {item for cause in _named(results) for item in (*cause.evidence, *cause.explains)}
    open_ones = (one for one in results.undecided if one.id not in explained)
    return Counter(one.reason.rpartition(_OF_A_FACT)[2] for one in open_ones)


_OF_A_FACT = " is not known: "
"""What stands in a reason between the fact of one part and why it was not read."""


def _data(checked: CheckedNode) -> dict[str, Any]:
    results = checked.results
    return {
        "node": checked.node,
        "platform": checked.platform,
        "evidence": checked.evidence,
        "verdict": results.verdict,
        "drain": bool(_draining(checked)),
        "items": len(results.records),
        "causes": [cause.to_json() for cause in results.causes],
        "unknown": [{"item": one.id, "why": one.reason} for one in results.undecided],
        "not_judged_alone": list(results.not_alone),
        "not_judged_yet": list(results.not_yet),
        "took_s": round(checked.took_s, 1),
    }
