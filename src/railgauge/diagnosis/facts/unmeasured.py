"""Causes of missing measurements: nodes that do not answer, tools that are missing or fail."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from railgauge.core.errors import (
    BecomeRefused,
    FactMissing,
    HostKeyRejected,
    NoEvidence,
    OtherMachine,
    SetupFailed,
)
from railgauge.core.model import Outcome
from railgauge.core.naming import among, listed
from railgauge.core.terms import Rung
from railgauge.diagnosis.facts.common_errors import OF_A_LAUNCH, common_errors, error_of
from railgauge.diagnosis.facts.failing_pairs import failed
from railgauge.diagnosis.facts.pattern import Pattern, between_nodes
from railgauge.diagnosis.model import (
    AGAIN,
    OPEN,
    TOOL,
    CauseRule,
    Context,
    Finding,
    Where,
    by_node,
    missed,
)
from railgauge.diagnosis.symptoms import Symptom, blames, symptoms
from railgauge.judging.correctness import CORRUPTION, has_right_results
from railgauge.judging.record import ItemRecord

_NO_NODE = {
    "node-unreachable", "authentication-failed", "host-key-rejected", "connection-lost",
    "setup-failed", "become-refused", "other-machine",
}  # fmt: skip
# Errors that have causes of their own: such a node has power and network.
_OWN_CAUSES = {HostKeyRejected.kind, SetupFailed.kind, BecomeRefused.kind, OtherMachine.kind}


def lost_nodes(context: Context) -> Iterator[Finding]:
    """Nodes that the survey did not reach, and nodes that stopped answering later."""
    for node, found in context.results.found.items():
        if isinstance(found, NoEvidence) and found.kind in _NO_NODE:
            records = tuple(r for r in context.open if node in r.nodes and _is_lost(node, r))
            yield Finding(_cause_of_loss(found.kind), Where(node), found.what, records)
    for (name, _), lost in _grouped(context, _NO_NODE).items():
        if not isinstance(context.results.found.get(name), NoEvidence):
            first = next((one for one in lost if one.error_kind in _OWN_CAUSES), lost[0])
            cause = _cause_of_loss(first.error_kind)
            says = f"stopped answering during the run: {first.reason}"
            if cause == OtherMachine.kind:
                says = first.reason
            elif any(reboot.node == name and reboot.during for reboot in context.results.reboots):
                says += "; it was rebooted"
            yield Finding(cause, Where(name), says, tuple(lost))


def _cause_of_loss(kind: str) -> str:
    return kind if kind in _OWN_CAUSES else "node-unreachable"


def _is_lost(node: str, record: ItemRecord) -> bool:
    """Whether the item ended in an error because nothing is known of this node."""
    seen = symptoms(record)
    is_unknown = record.rung == Rung.PREFLIGHT and record.outcome is Outcome.ERROR
    return (is_unknown or seen == {Symptom.LOST}) and blames(record) in ("", node)


def missing_tools(context: Context) -> Iterator[Finding]:
    """Programs that a measurement or the probe of a node did not find."""
    absent = _grouped(context, {"tool-missing"})
    for record in context.open:
        match = _NOT_FOUND.search(record.reason)
        if record.error_kind == FactMissing.kind and match and record.nodes:
            absent.setdefault((record.nodes[0], match["tool"]), []).append(record)
    for (node, tool), records in absent.items():
        yield Finding("tool-missing", Where(node, tool), f"{tool} was not found", tuple(records))


# The probe's error for a program that the node does not have.
_NOT_FOUND = re.compile(r": (?P<tool>[\w.+-]{1,80}): command not found\b")


_FAILING = {
    "tool", "tool-failed", "command-timed-out", "tool-hangs", "unparsable", "metric-missing",
    "implausible", "unit-unknown", "launch-failed", "rank-died", "other-than-asked",
    "conditions-unmet",
}  # fmt: skip


def same_errors(context: Context) -> Iterator[Finding]:
    """Failures of a tool that all nodes have in common."""
    failing = [record for record in context.open if record.error_kind in _FAILING]
    yield from common_errors(context.results, failing)


def failing_launches(context: Context) -> Iterator[Finding]:
    """Collectives that a launcher could not start on a node, or that lost a rank on it."""
    for (node, tool), records in _grouped(context, OF_A_LAUNCH).items():
        yield Finding(TOOL, Where(node, tool), records[0].reason, tuple(records))


def failing_tools(context: Context) -> Iterator[Finding]:
    """Failures of a tool that no other rule explains, by the nodes that they have in common."""
    failing: dict[str, list[ItemRecord]] = {}
    for record in context.open:
        if record.error_kind in _FAILING:
            failing.setdefault(_command(context, record), []).append(record)
    for command, records in failing.items():
        shared = [record for record in records if len(record.nodes) > 1]
        for node, mine in by_node(r for r in records if len(r.nodes) == 1).items():
            known = {error_of(record, context.results.platform) for record in mine}
            too = [
                record
                for record in shared
                if node in record.nodes and error_of(record, context.results.platform) in known
            ]
            shared = [record for record in shared if record not in too]
            yield Finding(TOOL, Where(node, command), mine[0].reason, (*mine, *too))
        for finding in between_nodes(context, shared, Pattern(TOOL, device=command, failed=failed)):
            yield _of_either(finding) if finding.where.peer else finding


def _of_either(finding: Finding) -> Finding:
    """A tool that fails with one partner alone: a path breaks no tool, so it fails at times."""
    decide = AGAIN.format(f"{finding.where.node} and {finding.where.peer}")
    return replace(finding, confidence=OPEN, would_decide=decide)


def _command(context: Context, record: ItemRecord) -> str:
    measurement = context.results.platform.measurements.get(record.subject)
    return measurement.command if measurement else record.subject


def corruption(context: Context) -> Iterator[Finding]:
    """Wrong results inside one node, or of GPUs that the tool names: of them, or of the node."""
    for record, judged in context.judged(CORRUPTION):
        for where in _wrong_places(context, record, judged.reason):
            yield Finding("data-corruption", where, judged.reason, (record,))


def _wrong_places(context: Context, record: ItemRecord, says: str) -> Iterator[Where]:
    """Yield the places that the tool names; the node, if it names none and ran on no other."""
    names = context.results.platform.devices
    named = [(host, alone or gpu) for alone, host, gpu in _WRONG_GPU.findall(says)]
    if len(record.nodes) == 1:
        (node,) = record.nodes
        yield from (Where(node, names.declared(node, gpu)) for _, gpu in named or [("", "")])
        return
    hosts = {facts.hostname: node for node in record.nodes if (facts := context.facts(node))}
    for host, gpu in named:
        if node := hosts.get(host, ""):
            yield Where(node, names.declared(node, gpu))


# As the parsers of gemm-bench and of train-bench say it.
_WRONG_GPU = re.compile(
    r"\b(?:(gpu\d{1,4}): \d+ wrong values|(\S{1,255}) (gpu\d{1,4}): other bits)"
)


def shared_corruption(context: Context) -> Iterator[Finding]:
    """Wrong results between nodes that are not known to compute wrong results alone."""
    wrong = [
        record
        for record, judged in context.judged(CORRUPTION)
        if len(record.nodes) == 1 or not any(_wrong_places(context, record, judged.reason))
    ]
    pattern = Pattern("data-corruption", says=_first_reason, shows=_is_right, clears=_was_read)
    for finding in between_nodes(context, wrong, pattern):
        both = _of_both(finding) if finding.where.peer else finding
        yield replace(both, would_decide=_EACH) if both.confidence == OPEN else both


def _of_both(finding: Finding) -> Finding:
    """Wrong results with one partner alone: a path corrupts none, so one of them does at times."""
    both = sorted((finding.where.node, finding.where.peer))
    where = replace(finding.where, node=among(both), peer="")
    says = f"{finding.says}; the evidence fits each of {listed(both)}"
    return replace(finding, where=where, says=says, confidence=OPEN)


_EACH = "run the same collective inside each of the nodes"


def _was_read(record: ItemRecord) -> bool:
    """Whether results were checked, also if the speed failed or was not judged: both clear."""
    return record.asserted or has_right_results(record)


def _is_right(record: ItemRecord) -> bool:
    return not any(judged.metric == CORRUPTION for judged in missed(record))


def _first_reason(records: Sequence[ItemRecord]) -> str:
    return records[0].reason


def _grouped(context: Context, kinds: Collection[str]) -> dict[tuple[str, str], list[ItemRecord]]:
    """Items that ended in an error of these kinds, by the node and tool that the error names."""
    found: dict[tuple[str, str], list[ItemRecord]] = {}
    for record in context.open:
        if record.error_kind in kinds:
            node, _, tool = record.error_where.partition(": ")
            if node in record.nodes:  # an error that names no node blames none
                found.setdefault((node, tool), []).append(record)
    return found


FIRST: tuple[CauseRule, ...] = (
    lost_nodes, missing_tools, corruption, shared_corruption,
)  # fmt: skip
LAST: tuple[CauseRule, ...] = (
    same_errors,
    failing_launches,
    failing_tools,
)
