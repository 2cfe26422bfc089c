"""The table of triage for a terminal: worst first, nodes with the same cause in one row. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from railgauge.core.naming import folded
from railgauge.diagnosis.catalogue.kind import CauseSeverity
from railgauge.judging.stamp import Evidence
from railgauge.report.causes import printable
from railgauge.report.triage.grouping import grouped, open_places
from railgauge.report.triage.reading import RecordedRun
from railgauge.report.triage.sheet import TriageRow, TriageSheet

_WIDTH = 100
_WIDEST_NODE = 28
_TITLES = ("NODE", "SEVERITY", "ACTION", "CAUSE", "PART")


def table(sheet: TriageSheet) -> Iterator[str]:
    """Yield the lines: the run, its nodes, other places, what is not known, what is left out."""
    yield title(sheet.run)
    yield ""
    yield from _rows(sheet.rows) if sheet.rows else ["no cause at a single node"]
    if sheet.elsewhere:
        yield from ("", "not one node:", *_rows(sheet.elsewhere))
    if sheet.open:
        yield from ("", "not known:")
        for place, texts in open_places(sheet.open).items():
            yield place
            yield from (line for text in texts for line in _paragraph(text))
    yield ""
    yield from _legend((*sheet.rows, *sheet.elsewhere))
    yield from remarks(sheet)


def title(run: RecordedRun) -> str:
    """One line: cluster, platform, level, verdict, the kind of evidence if it is not hardware."""
    evidence = "" if run.evidence == Evidence.HARDWARE else f" ({run.evidence.upper()} evidence)"
    of = f"{run.cluster} ({run.platform}), level {run.level}"
    return printable(f"{of}: {run.verdict.upper()}{evidence}, run {run.run_id}")


def _legend(rows: Iterable[TriageRow]) -> Iterator[str]:
    used = {row.triage.severity for row in rows}
    yield from (f"{one}: {one.meaning}" for one in CauseSeverity if one in used)


def remarks(sheet: TriageSheet) -> Iterator[str]:
    """Yield what the lists do not show: other suspects, other nodes, what was not measured."""
    if sheet.left_out:
        one = "1 cause is" if sheet.left_out == 1 else f"{sheet.left_out} causes are"
        yield f"{one} left out: several parts are suspects, see --suspects"
    if sheet.without:
        yield f"no cause at {folded(sheet.without)}"
    if sheet.without is None:
        yield "the nodes of the cluster are not in verdict.json: one without a cause is not listed"
    if not sheet.keeps_open:
        yield "the run did not keep what is not known of its nodes"
    elif sheet.has_more:
        level = printable(sheet.run.level)
        yield f"level {level} does not measure all of a node: see 'unknown' in the run's report"


def _rows(rows: Iterable[TriageRow]) -> Iterator[str]:
    lines = [(_cells(place, row), row.remedy) for place, row in grouped(rows)]
    widths = [max(len(cells[at]) for cells in (_TITLES, *(c for c, _ in lines))) for at in range(5)]
    widths[0] = min(widths[0], _WIDEST_NODE)
    yield _line(_TITLES, widths)
    for cells, remedy in lines:
        yield _line(cells, widths)
        yield from _paragraph(f"do: {remedy}")


def _cells(place: str, row: TriageRow) -> tuple[str, ...]:
    suspect = " (suspect)" if row.is_suspect else ""
    return place, row.triage.severity, row.triage.action, f"{row.cause}{suspect}", row.part


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()


def _paragraph(text: str) -> Iterator[str]:
    lines = textwrap.wrap(text, _WIDTH - 4, subsequent_indent="  ")
    yield from (f"    {line}" for line in lines)
