"""Sorts the causes of a run by node: what to do there, and what is not known. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from railgauge.core.errors import BadInput
from railgauge.core.node_names import MOST_NODES
from railgauge.core.nodeset import all_expanded
from railgauge.core.run_files import VERDICT
from railgauge.diagnosis import OPEN, SUITE_ERROR, UNDIAGNOSED
from railgauge.diagnosis.catalogue.kind import AMONG_NODES, CauseSeverity, CauseTriage
from railgauge.diagnosis.left_open.unknown import Unknown
from railgauge.diagnosis.left_open.unplanned import OUTSIDE, not_asked
from railgauge.report.causes import printable
from railgauge.report.triage.reading import (
    RecordedCause,
    RecordedRun,
    TriagedRun,
    checked_name,
)

# The limit protects against made-up verdicts.
_MOST_ROWS = 100_000
# What nothing explains: its nodes are those of the items, and no suspects.
_LEFTOVER = (UNDIAGNOSED, SUITE_ERROR)
_LONGEST_PLACE = 200
_PORT = "port "
"""What the device of a switch begins with."""


@dataclass(frozen=True, slots=True)
class TriageRow:
    """One cause at one node, or at a ``place`` that is not one node.

    ``node`` is the name of the node, and empty for another place: a path between two nodes, a
    switch, the cluster. ``is_suspect``: the evidence fits this and other parts.
    """

    node: str
    place: str
    part: str
    cause: str
    triage: CauseTriage
    says: str
    remedy: str
    is_suspect: bool = False

    @property
    def drains(self) -> bool:
        return bool(self.node) and not self.is_suspect and self.triage.drains

    @property
    def tells(self) -> bool:
        """Whether the row explains what is not known of its node; a wrong setting does not."""
        return self.drains or (
            not self.is_suspect and self.triage.severity is CauseSeverity.UNKNOWN
        )


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """What is not known of a node, and why; ``node`` is empty for the subnet.

    Nodes with a cause that drains them, or that kept them from being measured, have none.
    """

    node: str
    what: str
    why: str


@dataclass(frozen=True, slots=True)
class TriageSheet:
    """The rows of a run, worst first.

    ``left_out`` is the number of causes with several suspects that are not listed. ``without`` are
    the nodes for which there is neither a cause nor an open question; ``None`` if the nodes of the
    cluster are not known. ``has_more``: the level does not measure all of the nodes.
    """

    run: RecordedRun
    rows: tuple[TriageRow, ...]
    elsewhere: tuple[TriageRow, ...]
    open: tuple[OpenQuestion, ...]
    left_out: int
    without: tuple[str, ...] | None
    nodes: int | None
    has_more: bool
    keeps_open: bool

    @property
    def drained(self) -> dict[str, list[TriageRow]]:
        """The nodes that should get no new jobs, each with the rows that say so."""
        found: dict[str, list[TriageRow]] = {}
        for row in self.rows:
            if row.drains:
                found.setdefault(row.node, []).append(row)
        return found


def sheet(run: TriagedRun, *, suspects: bool) -> TriageSheet:
    """Return what to do about the causes of a run. ``suspects``: also about those not decided.

    Raises ``BadInput`` for a name that no hostfile can give to a node.
    """
    listed = [cause for cause in run.causes if suspects or not _is_open(cause)]
    rows = list(_rows(listed, run.nodes))
    rows.sort(key=lambda row: row.triage.severity.rank)
    of_node = tuple(row for row in rows if row.node)
    questions = tuple(_questions(run, frozenset(row.node for row in of_node if row.tells)))
    named = {question.node for question in questions}.union(*map(_all_names, run.causes))
    return TriageSheet(
        run=run.run,
        rows=of_node,
        elsewhere=tuple(row for row in rows if not row.node),
        open=questions,
        left_out=len(run.causes) - len(listed),
        without=None
        if run.nodes is None
        else tuple(name for name in run.nodes if name not in named),
        nodes=None if run.nodes is None else len(run.nodes),
        has_more=any(_is_of_level(one, run.run.level) for one in run.unknown or ()),
        keeps_open=run.unknown is not None,
    )


def _is_open(cause: RecordedCause) -> bool:
    """Whether the cause has several suspects; what nothing explains is never left out."""
    return cause.confidence == OPEN and cause.cause not in _LEFTOVER


def _rows(causes: Iterable[RecordedCause], nodes: Sequence[str] | None) -> Iterator[TriageRow]:
    known = None if nodes is None else frozenset(nodes)
    made = 0
    for cause in causes:
        names = _nodes_of(cause)
        made = _bounded(made + (len(names) or 1))
        if names and (known is None or known.issuperset(names)):
            yield from (_row(cause, name) for name in names)
        else:
            yield _row(cause, "")


def _bounded(rows: int) -> int:
    if rows > _MOST_ROWS:
        raise BadInput(f"has more than {_MOST_ROWS} entries for nodes", where=VERDICT)
    return rows


def _nodes_of(cause: RecordedCause) -> tuple[str, ...]:
    """Each node that has the cause, or is suspected of it; none if it is not at single nodes."""
    where = cause.where
    if not where.node or where.peer or where.device.startswith(_PORT):
        return ()
    names = _names(where.node)
    blames_none = "|" in where.node or cause.cause in AMONG_NODES.union(_LEFTOVER)
    return () if len(names) > 1 and blames_none and not _is_open(cause) else names


def _all_names(cause: RecordedCause) -> set[str]:
    """The nodes that a cause names in any way: these are not free of causes."""
    where = cause.where
    is_other = where.peer or where.device.startswith(_PORT)
    return {*(where.node.split("|") if is_other else _names(where.node)), where.peer}


def _row(cause: RecordedCause, node: str) -> TriageRow:
    return TriageRow(
        node=node,
        place=node or _place(cause),
        part=_short(cause.where.device),
        cause=_short(cause.cause),
        triage=cause.triage,
        says=printable(cause.says),
        remedy=printable(cause.remedy),
        is_suspect=_is_open(cause),
    )


def _place(cause: RecordedCause) -> str:
    """The place in words. It is not expanded: it may be the name of a switch, or made up."""
    ends = [cause.where.node.replace("|", " or "), cause.where.peer]
    return _short(" and ".join(filter(None, ends))) or "the cluster"


def _short(text: str) -> str:
    return printable(text[:_LONGEST_PLACE])


@lru_cache(maxsize=1024)
def _names(text: str) -> tuple[str, ...]:
    """The nodes in ``a``, ``a|b`` or ``mx[01-04]``. Raises ``BadInput`` for any other text."""
    try:
        found = all_expanded(text.split("|"), MOST_NODES)
    except BadInput as error:
        raise BadInput(printable(error.what), where=VERDICT) from None
    return tuple(dict.fromkeys(checked_name(name, VERDICT) for name in found))


def _questions(run: TriagedRun, explained: frozenset[str]) -> Iterator[OpenQuestion]:
    made = 0
    for one in run.unknown or ():
        if _is_of_level(one, run.run.level):
            continue
        what, why = printable(", ".join(one.what)), printable(one.why)
        nodes = _names(one.nodes) if one.nodes else ("",)
        made = _bounded(made + len(nodes))
        yield from (OpenQuestion(node, what, why) for node in nodes if node not in explained)


def _is_of_level(one: Unknown, level: str) -> bool:
    """Whether the level does not ask for it, although it measures the node."""
    return one.why == not_asked(level) and one.what != (OUTSIDE,)
