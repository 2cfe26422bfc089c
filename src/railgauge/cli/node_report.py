"""The report of a node that checks itself, and its formats for callers. Fast to import.

Slurm and node-problem-detector take an exit code and one line. They get what ``railgauge triage``
drains a node for; a wrong setting does not take jobs from a node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from railgauge.core.terms import Verdict

_UNKNOWN = 2  # node-problem-detector's exit code for a problem that cannot be determined


@dataclass(frozen=True, slots=True)
class NodeReport:
    """One check: ``headline`` is its verdict in a line, ``reason`` that of draining the node.

    ``reason`` is empty if nothing drains it. ``data`` is what ``--json`` prints.
    """

    verdict: Verdict
    headline: str
    reason: str
    details: Sequence[str]
    data: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def from_json(data: Any) -> NodeReport | None:
    """Return the report that ``to_json`` gave; ``None`` for anything else."""
    try:
        return NodeReport(**{**data, "verdict": Verdict(data["verdict"])})
    except (KeyError, TypeError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class NodeAnswerText:
    """What a caller gets: lines on stdout and on stderr, and an exit code."""

    code: int
    out: Sequence[str] = ()
    err: Sequence[str] = ()


def _text(report: NodeReport) -> NodeAnswerText:
    return NodeAnswerText(report.verdict.exit_code, (report.headline, *report.details))


def _slurm(report: NodeReport) -> NodeAnswerText:
    """Return nothing to print for a good node; a reason, or what is not known, for others."""
    if report.reason:
        return NodeAnswerText(Verdict.REJECTED.exit_code, (report.reason,))
    if report.verdict is Verdict.INCOMPLETE:
        return NodeAnswerText(report.verdict.exit_code, (report.headline,))
    return NodeAnswerText(0, (), () if report.verdict is Verdict.ACCEPTED else (report.headline,))


def _npd(report: NodeReport) -> NodeAnswerText:
    if report.reason:
        return NodeAnswerText(1, (report.reason,))
    is_unknown = report.verdict is Verdict.INCOMPLETE
    return NodeAnswerText(_UNKNOWN if is_unknown else 0, (report.headline,))


FORMATS: Mapping[str, Callable[[NodeReport], NodeAnswerText]] = {
    "text": _text,
    "slurm": _slurm,
    "npd": _npd,
}
