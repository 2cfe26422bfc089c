"""One fault of a tool is one cause, on however many nodes it shows the same error. Pure.

Errors are the same if tool, kind and text are, apart from the names of nodes and from numbers. An
error with which each place of a measurement ended, and that no one node has in common, is not one
of a node: it is everywhere.

Example: eight nodes start ``mpirun`` with too few slots, alone and in pairs. The result is one
cause, ``tool-failing`` at ``mx[01-08], mpirun``: "everywhere: mpirun: not enough slots".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from railgauge.config.thresholds.model import Platform
from railgauge.core import errors
from railgauge.core.model import Outcome
from railgauge.core.naming import folded, listed
from railgauge.diagnosis.model import CERTAIN, LIKELY, TOOL, Finding, RunResults, Where
from railgauge.diagnosis.symptoms import Symptom, symptoms, tool_of
from railgauge.judging.correctness import has_right_results
from railgauge.judging.record import ItemRecord

# What the launcher failed to do is no fault of the tool that it launches.
OF_A_LAUNCH = frozenset({errors.LaunchFailed.kind, errors.RankDied.kind})
# Of these the text tells nothing: how output cannot be read depends on what is in it.
_WITHOUT_TEXT = {
    errors.Unparsable.kind: "unreadable",
    errors.MetricMissing.kind: "unreadable",
    errors.CommandTimedOut.kind: "hangs",
}
_NO_ANSWER = (Outcome.ERROR, Outcome.BLOCKED, Outcome.NOT_RUN)
_VARIES = re.compile(r"0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?")

Error = tuple[str, str, str]
"""The tools of one make, the kind, and the text without names of nodes and numbers."""

_Question = tuple[str, str, int | None]


def tool_in(record: ItemRecord, platform: Platform) -> str:
    """The launcher that failed, or the program that the item measures with."""
    measurement = platform.measurements.get(record.subject)
    if measurement and record.error_kind not in OF_A_LAUNCH:
        return measurement.command
    return tool_of(record) or record.error_where.partition(" on ")[0]  # without a known node


def text_of(record: ItemRecord) -> str:
    """What the error says, without node and tool."""
    return record.reason.removeprefix(f"{record.error_where}: ")


def error_of(record: ItemRecord, platform: Platform) -> Error:
    """What the error has in common with those of the same fault elsewhere."""
    tool, measurement = tool_in(record, platform), platform.measurements.get(record.subject)
    make = measurement.tool if measurement and tool == measurement.command else tool
    if kind := _WITHOUT_TEXT.get(record.error_kind):
        return make, kind, ""
    words = dict.fromkeys(record.nodes, "NODE")
    if measurement:
        words[measurement.command] = "TOOL"
    return make, record.error_kind, _VARIES.sub("#", _replaced(text_of(record), words))


def _replaced(text: str, words: dict[str, str]) -> str:
    names = "|".join(re.escape(name) for name in sorted(words, key=len, reverse=True) if name)
    if not names:
        return text
    return re.sub(rf"(?<![\w-])(?:{names})(?![\w-])", lambda found: words[found[0]], text)


def errors_of(finding: Finding, platform: Platform) -> frozenset[Error]:
    """The errors that show the finding; empty if anything else does."""
    if any(record.outcome is not Outcome.ERROR for record in finding.evidence):
        return frozenset()
    return frozenset(error_of(record, platform) for record in finding.evidence)


def error_text(records: Sequence[ItemRecord], platform: Platform) -> str:
    """The tools and the error of these items, without a node; the first that names its tool."""
    tools = dict.fromkeys(tool_in(record, platform) for record in records)
    first = next((record for record in records if record.error_where), records[0])
    return f"{listed(list(tools), _MOST_TOOLS)}: {text_of(first)}"


_MOST_TOOLS = 3


# --- the same error at each place of a measurement ---


def common_errors(results: RunResults, failing: Iterable[ItemRecord]) -> Iterator[Finding]:
    """One finding for each error with which all places ended that were asked the same question."""
    groups: dict[Error, list[ItemRecord]] = {}
    for record in failing:
        groups.setdefault(error_of(record, results.platform), []).append(record)
    answered = {
        _question(record)
        for record in (results.records.values() if groups else ())
        if record.outcome not in _NO_ANSWER or has_right_results(record)
    }
    for records in groups.values():
        of_all = [record for record in records if _question(record) not in answered]
        if of_all and not set.intersection(*(set(record.nodes) for record in of_all)):
            yield _everywhere(results, of_all, answered)


def _question(record: ItemRecord) -> _Question:
    """What is asked at each place; a fault of a tool may show over one NIC, or at one size only."""
    return record.subject, record.pairing, record.size_bytes


def _everywhere(
    results: RunResults, records: Sequence[ItemRecord], answered: Collection[_Question]
) -> Finding:
    nodes = {node for record in records for node in record.nodes}
    alone = {record.nodes[0] for record in records if len(record.nodes) == 1}
    in_order = [node.name for node in results.cluster.nodes if node.name in nodes]
    tools = {tool_in(record, results.platform) for record in records}
    make, _, _ = error_of(records[0], results.platform)
    where = Where(folded(in_order), tools.pop() if len(tools) == 1 else make)
    says = error_text(records, results.platform) + _only(records, answered)
    return Finding(TOOL, where, says, tuple(records), CERTAIN if alone == nodes else LIKELY)


def _only(records: Sequence[ItemRecord], answered: Collection[_Question]) -> str:
    """The parts over which the tool fails, if it does not over others."""
    subjects = {record.subject for record in records}
    parts = dict.fromkeys(record.pairing for record in records if record.pairing)
    is_part = parts and any(subject in subjects for subject, _, _ in answered)
    return f"; only over {listed(list(parts))}" if is_part else ""


# --- whether an error is everywhere ---


def asked_on(results: RunResults, finding: Finding) -> set[str]:
    """The nodes that answered what shows the finding, or that ended in an error of a tool.

    A node that was lost, or whose items are blocked, tells nothing of a tool.
    """
    subjects = {record.subject for record in finding.evidence}
    return {
        node
        for record in results.records.values()
        if record.subject in subjects and record.outcome not in (Outcome.BLOCKED, Outcome.NOT_RUN)
        if symptoms(record) != {Symptom.LOST}
        for node in record.nodes
    }
