"""Commands that take nodes from a scheduler, for a person to read and run. Nothing is run. Pure.

Example: ``scontrol update nodename=mx02 state=drain reason='railgauge: link-down mlx5_3, run …'``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from railgauge.judging.stamp import Evidence
from railgauge.report.drain_reason import drain_reason
from railgauge.report.triage.grouping import grouped, open_places
from railgauge.report.triage.printed import remarks, title
from railgauge.report.triage.sheet import TriageRow, TriageSheet
from railgauge.transport.shell import typed_line

_LONGEST_COMMENT = 300
# scontrol takes this name for all nodes of the cluster, whatever its case.
_EVERY_NODE = "all"

CONDITION = "AcceleratorRejected"
"""The type of the condition; not that of examples/node-problem-detector.json, which sets its own
anew."""
_WORD = re.compile("[A-Za-z0-9]+")
_LONGEST_REASON = 60

_Drain = Callable[[str, Sequence[TriageRow], str], Iterator[str]]


def slurm(sheet: TriageSheet) -> Iterator[str]:
    """Yield a line of ``scontrol`` for each node that should get no new jobs, among comments."""
    return _script(sheet, _scontrol)


def kubernetes(sheet: TriageSheet) -> Iterator[str]:
    """Yield a line of ``kubectl cordon`` for each such node, with the reason as a comment."""
    return _script(sheet, _kubectl)


def npd(sheet: TriageSheet) -> Iterator[str]:
    """Yield a line for each node that sets its condition, as node-problem-detector has them.

    The status is ``True`` for a node that should get no new jobs, ``Unknown`` for a suspect and for
    a node of which something is not known, and ``False`` for the other nodes of the run.
    """
    yield from _script(sheet, _faulty)
    drained, run_id = sheet.drained, sheet.run.run_id
    unsure = {row.node: f"{row.cause} {row.part} suspected" for row in sheet.rows if row.is_suspect}
    unsure |= {one.node: f"not known: {one.what}" for one in sheet.open if one.node}
    for node, why in unsure.items():
        if node not in drained:
            yield _condition(node, "Unknown", "NotKnown", _reason([why], run_id))
    good = (*(row.node for row in sheet.rows), *(sheet.without or ()))
    for node in dict.fromkeys(good):
        if node not in drained and node not in unsure:
            yield _condition(node, "False", "NoFault", _reason(["no fault"], run_id))


def _script(sheet: TriageSheet, drain: _Drain) -> Iterator[str]:
    drained = sheet.drained
    yield _comment(title(sheet.run))
    yield _comment("Nothing was run. Names are those of the hostfile. Read each line, then run it.")
    yield from map(_comment, _warnings(sheet, drained))
    for node, rows in drained.items():
        yield from drain(node, rows, sheet.run.run_id)
    for place, row in grouped(row for row in sheet.rows if not row.drains):
        yield _comment(f"not drained: {_row_text(place, row)}")
    for place, row in grouped(sheet.elsewhere):
        yield _comment(f"not one node: {_row_text(place, row)}")
    for place, texts in open_places(sheet.open).items():
        yield from (_comment(f"not known of {place}: {text}") for text in texts)
    yield from map(_comment, remarks(sheet))


def _warnings(sheet: TriageSheet, drained: Mapping[str, object]) -> Iterator[str]:
    if sheet.run.evidence == Evidence.SIMULATED:
        yield "The nodes are simulated: there is nothing to drain."
    if not drained:
        yield "No node has a cause for which it should be drained."
    if sheet.nodes and len(drained) > 1 and 2 * len(drained) >= sheet.nodes:
        yield (
            f"These are {len(drained)} of {sheet.nodes} nodes: look for a reason that they share"
            " (login, network, driver, limits) first."
        )


def _scontrol(node: str, rows: Sequence[TriageRow], run_id: str) -> Iterator[str]:
    if node.lower() == _EVERY_NODE:
        yield _comment(f"{node} is not drained: scontrol takes this name for every node")
        return
    assigned = {"nodename": node, "state": "drain", "reason": reason(rows, run_id)}
    yield typed_line(("scontrol", "update"), assigned)


def _kubectl(node: str, rows: Sequence[TriageRow], run_id: str) -> Iterator[str]:
    yield _comment(f"{node}: {reason(rows, run_id)}")
    yield typed_line(("kubectl", "cordon", node))


def _faulty(node: str, rows: Sequence[TriageRow], run_id: str) -> Iterator[str]:
    worst = "".join(word.capitalize() for word in _WORD.findall(rows[0].cause)) or "Fault"
    yield _condition(node, "True", worst[:_LONGEST_REASON], reason(rows, run_id))


def _condition(node: str, status: str, why: str, message: str) -> str:
    condition = {"type": CONDITION, "status": status, "reason": why, "message": message}
    patch = json.dumps({"status": {"conditions": [condition]}}, separators=(",", ":"))
    words = ("kubectl", "patch", "node", node, "--subresource=status", "--type=strategic")
    return typed_line((*words, f"--patch={patch}"))


def reason(rows: Sequence[TriageRow], run_id: str) -> str:
    """Return the causes of one node, worst first, in one short line of plain characters."""
    return _reason((f"{row.cause} {row.part}" for row in rows), run_id)


def _reason(what: Iterable[str], run_id: str) -> str:
    return drain_reason(what, f"run {run_id}")


def _row_text(place: str, row: TriageRow) -> str:
    suspect = "suspect, " if row.is_suspect else ""
    part = f" {row.part}" if row.part else ""
    triage = f"{row.triage.severity}, {row.triage.action}"
    return f"{place}: {suspect}{triage}: {row.cause}{part}"


def _comment(text: str) -> str:
    """One line that no shell runs; the texts of a sheet have no line ends."""
    kept = text if len(text) <= _LONGEST_COMMENT else f"{text[:_LONGEST_COMMENT]}..."
    return f"# {kept}"
