"""Merge findings that have one root cause and one remedy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from railgauge.core import naming
from railgauge.diagnosis.catalogue import CATALOGUE
from railgauge.diagnosis.catalogue.effect import Harm
from railgauge.diagnosis.facts.common_errors import asked_on, error_text, errors_of
from railgauge.diagnosis.model import OPEN, Finding, RunResults
from railgauge.diagnosis.reach import nodes_of

_Key = tuple[object, ...]


def folded(results: RunResults, findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings with those of one cause and part merged, and those of one fault.

    A setting that is wrong on several nodes, and a tool that ends with the same error on them,
    becomes one finding with all of them.
    """

    def same_fault(finding: Finding) -> _Key:
        return _same_fault(results, finding)

    merged = _together(results, _together(results, findings, _same_part), same_fault)
    return [_everywhere(results, finding) for finding in merged]


def _same_part(finding: Finding) -> _Key:
    return (finding.cause, finding.where, finding.confidence)


def _same_fault(results: RunResults, finding: Finding) -> _Key:
    """The key that findings of one wrong setting share, or of one error of a tool.

    An undecided finding names suspects, not nodes with a fault, so it is not merged.
    """
    is_decided = finding.confidence != OPEN and not finding.where.peer
    errors = errors_of(finding, results.platform) if is_decided and _is_of_tools(finding) else ()
    folds = is_decided and CATALOGUE[finding.cause].folds
    where: object = finding.where.device if folds or errors else finding.where
    return (finding.cause, where, finding.confidence, () if folds else errors)


def _is_of_tools(finding: Finding) -> bool:
    """Whether the finding tells nothing of a part, each of which is repaired by itself."""
    return CATALOGUE[finding.cause].effect.harm is Harm.UNMEASURED


def _everywhere(results: RunResults, finding: Finding) -> Finding:
    """The finding, in words everywhere if each node shows it that ran what shows it."""
    by_tools = _is_of_tools(finding) and finding.confidence != OPEN and not finding.where.peer
    nodes = nodes_of(finding.where.node)
    if len(nodes) == 1 or not by_tools or not errors_of(finding, results.platform):
        return finding
    is_all = nodes >= asked_on(results, finding)
    return replace(finding, says=f"everywhere: {finding.says}") if is_all else finding


def _together(
    results: RunResults, findings: Iterable[Finding], key: Callable[[Finding], _Key]
) -> list[Finding]:
    groups: dict[_Key, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(key(finding), []).append(finding)
    return [_merged(results, group) for group in groups.values()]


def _merged(results: RunResults, group: Sequence[Finding]) -> Finding:
    first = group[0]
    if len(group) == 1:
        return first
    nodes = dict.fromkeys(finding.where.node for finding in group)
    node = naming.folded(nodes) if len(nodes) > 1 else first.where.node
    return replace(
        first,
        where=replace(first.where, node=node),
        says=_says(results, group),
        would_decide="; ".join(dict.fromkeys(c.would_decide for c in group if c.would_decide)),
        evidence=tuple(dict.fromkeys(record for finding in group for record in finding.evidence)),
    )


def _says(results: RunResults, group: Sequence[Finding]) -> str:
    """What all of them say; the error without its node if it is the same on several nodes."""
    says = list(dict.fromkeys(finding.says for finding in group))
    errors = {errors_of(finding, results.platform) for finding in group}
    is_one = len(errors) == 1 and any(errors)
    if len(says) > 1 and is_one and len({finding.where.node for finding in group}) > 1:
        return error_text(group[0].evidence, results.platform)
    rest = len(says) - _MOST
    return "; ".join([*says[:_MOST], *([f"and {rest} more"] if rest > 0 else [])])


_MOST = 3
