"""The table of ``railgauge check`` as text: nodes with the same answer share a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from railgauge.core.naming import folded, shortened
from railgauge.describing.readiness import proposal
from railgauge.describing.readiness.model import CellState, CheckCell, HostfileLine
from railgauge.describing.readiness.table import CHECKS, Cells

_STATES = {
    CellState.OK: "ok",
    CellState.NOTE: "note",
    CellState.UNKNOWN: "?",
    CellState.MEND: "MEND",
}
# How many different answers of a check in one state have rows of their own.
_MOST = {CellState.OK: 4, CellState.NOTE: 4, CellState.UNKNOWN: 12, CellState.MEND: 12}

SharedCell = tuple[CheckCell, Sequence[str]]
"""A cell and the nodes that have it."""


def rows(found: Cells) -> Iterator[str]:
    for check in CHECKS:
        name = check.name
        for cell, nodes in _groups(found, name):
            where = shortened(folded(nodes))
            yield f"{name:<6} {_STATES[cell.state]:<5} {where}: {_one_line(cell.found)}"
            if cell.remedy:
                yield f"{'':<13}do: {_one_line(cell.remedy)}"
            for line in cell.lines:
                yield f"{'':<13}write: {_written(line)}"
            name = ""
    yield _summary(found)


def _groups(found: Cells, check: str) -> Iterator[SharedCell]:
    """Yield the different cells of a check, the good ones first."""
    alike = _alike(found, check)
    for state in CellState:
        groups = [group for group in alike if group[0].state is state]
        yield from groups[: _MOST[state]]
        if rest := groups[_MOST[state] :]:
            nodes = [node for _, some in rest for node in some]
            yield CheckCell(state, f"{len(rest)} other answers, which --json shows"), nodes


def _alike(found: Cells, check: str) -> list[SharedCell]:
    nodes: dict[str, tuple[CheckCell, list[str]]] = {}
    for node, row in found.items():
        if check in row:
            nodes.setdefault(repr(row[check]), (row[check], []))[1].append(node)
    return list(nodes.values())


def _one_line(words: str) -> str:
    return " ".join(words.split())


def _written(line: HostfileLine) -> str:
    *keys, last = line.keys
    value = proposal.block({last: line.value}, [last])
    return f"{': '.join((*keys, _one_line(value)))}"


def _summary(found: Cells) -> str:
    states = [cell.state for row in found.values() for cell in row.values()]
    mend, unknown = states.count(CellState.MEND), states.count(CellState.UNKNOWN)
    if not mend and not unknown:
        return f"ready: {len(found)} nodes, {len(states)} cells"
    return f"not ready: of {len(states)} cells {mend} to mend, {unknown} not known"
