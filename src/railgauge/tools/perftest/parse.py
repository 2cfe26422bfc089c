"""Everything that perftest prints, to samples and typed problems."""

from __future__ import annotations

import re

from railgauge.core.model import Parsed, Problem
from railgauge.tools.findings import one_a_kind
from railgauge.tools.perftest.json_output import is_json, read_json
from railgauge.tools.perftest.problems import find_problems
from railgauge.tools.perftest.samples import Collection, collect
from railgauge.tools.perftest.summary import read_summary, read_version
from railgauge.tools.perftest.tables import Reading, read_tables

_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_STARTED = ("local address:", "Dual-port", "remote address:")


def parse(text: str) -> Parsed:
    """Read the output of one side or of both, as a table or as ``--out_json``.

    Never raises and takes time linear in the text. Samples: ``bw_peak``, ``bw_average`` (``MB/s``
    with ``unit_means="MiB/s"``, ``MiB/s`` or ``Gb/s``), ``msg_rate`` (``Mpps``), ``lat_*``
    (``us``), ``tps`` (``1/s``). Bidirectional figures are the sum of both directions. Rows that
    were printed before an error are kept, and so is the error: with any error no value stands.

    A row counts only if it is whole to its last decimal. A bandwidth counts only if size times
    message rate gives it: where every row of a table agrees on another unit than the heading's
    (the other side alone was given ``--report_gbits``), that unit is reported with the warning
    ``unit-mismatch``; where rows disagree it is an error, and they give no bandwidth.

    ``summary`` holds the header (see ``read_summary``), ``tables`` (those with rows), ``rows`` (how
    many sizes) and ``iterations`` by size.
    """
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _parse_json(text) if is_json(text) else _parse_tables(text)


def _parse_json(text: str) -> Parsed:
    collection, summary, iterations = read_json(text)
    return _parsed(text, collection, summary, iterations, find_problems(text))


def _parse_tables(text: str) -> Parsed:
    reading = read_tables(text)
    collection = collect(reading.tables)
    rows = [row for table in reading.tables for row in table.rows]
    iterations = {row.size_bytes: row.iterations for row in rows}
    said = find_problems(text)
    structural = _structural(text, reading, has_said_why=any(p.severity == "error" for p in said))
    whole = sum(1 for table in reading.tables if table.rows)
    summary = read_summary(text) | ({"tables": whole} if whole else {})
    return _parsed(text, collection, summary, iterations, [*said, *structural])


def _structural(text: str, reading: Reading, has_said_why: bool) -> list[Problem]:
    """What is wrong with the tables; a text without any says first what kind of nothing it is."""
    if reading.tables or reading.problems or has_said_why:
        return reading.problems
    if not text.strip():
        return [Problem("no-output", "error", "nothing was printed")]
    if any(sign in text for sign in _STARTED):
        return [Problem("truncated", "error", "the output ends before the heading of the table")]
    return [Problem("no-table", "error", "no table of perftest in this text")]


def _parsed(
    text: str,
    collection: Collection,
    summary: dict[str, object],
    iterations: dict[int, int],
    problems: list[Problem],
) -> Parsed:
    measured = {"rows": len(iterations), "iterations": iterations} if iterations else {"rows": 0}
    return Parsed(
        tool="perftest",
        tool_version=read_version(text),
        samples=tuple(collection.samples),
        summary={**summary, **measured},
        problems=one_a_kind([*problems, *collection.problems]),
    )
