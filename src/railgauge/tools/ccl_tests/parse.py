"""Everything that a collective test prints, to samples and typed problems."""

from __future__ import annotations

from railgauge.model import Parsed, Problem
from railgauge.tools.ccl_tests.facts import Facts
from railgauge.tools.ccl_tests.json_output import is_json, read_json
from railgauge.tools.ccl_tests.judging import check_rows, check_tables, check_whole
from railgauge.tools.ccl_tests.lines import plain, read_lines
from railgauge.tools.ccl_tests.problems import find_problems
from railgauge.tools.ccl_tests.rows import Row
from railgauge.tools.ccl_tests.samples import Collection
from railgauge.tools.ccl_tests.summary import summarise
from railgauge.tools.ccl_tests.sweeps import announced, asked_for
from railgauge.tools.ccl_tests.tables import Reading
from railgauge.tools.ccl_tests.transports import Log
from railgauge.tools.findings import one_a_kind


def parse(text: str) -> Parsed:
    """Read the output of one run, as a table or as the JSON file of ``-J``.

    Never raises and takes time linear in the text. Samples: ``time_us`` (``us``; ``cputime_us``
    with ``-C``), ``algbw`` and ``busbw`` (``GB/s``), ``wrong`` (``count``; absent where results
    were not checked), each with the placement ``out_of_place`` or ``in_place`` and the size
    that was asked for (see ``asked_for``); rows of one size are iterations of one distribution.
    Rows that were printed before an error are kept, and so is the error: with any error no value
    stands.

    ``summary`` holds what ``summarise`` says. An output from which rows were left out by hand
    (``...``) is read with warnings.
    """
    text = plain(text)
    return _parse_json(text) if is_json(text) else _parse_text(text)


def _parse_json(text: str) -> Parsed:
    rows, facts, problems = read_json(text)
    found = [*problems, *check_rows(rows, facts)]
    found += check_whole(rows, facts, is_elided=False, is_excerpt=False)
    return _parsed(rows, facts, Log(), found, is_binary=False)


def _parse_text(text: str) -> Parsed:
    reading, facts, log, said = Reading(), Facts(), Log(), []
    for line in read_lines(text):
        reading.take(line)
        facts.take(line)
        log.take(line)
        said.append(line.text)
        if "CCL WARN" in line.log:
            reading.complain("library-warning", " ".join(line.log[:200].split()), "warning")
    facts.logged_ranks = log.nranks
    complaints = find_problems("\n".join(said))
    structural, is_binary = check_tables(reading, facts, text, has_said_why=bool(complaints))
    problems = [*complaints, *reading.problems, *structural]
    return _parsed(reading.rows, facts, log, problems, is_binary=is_binary)


def _parsed(
    rows: list[Row], facts: Facts, log: Log, problems: list[Problem], *, is_binary: bool
) -> Parsed:
    collection, sizes = Collection(is_binary), announced(facts)
    for row in rows:
        collection.take(row, asked_for(row.size_bytes, sizes, facts.nranks))
    return Parsed(
        tool="ccl-tests",
        tool_version=facts.tool_version,
        samples=tuple(collection.samples),
        summary=summarise(rows, facts, log),
        problems=one_a_kind([*problems, *collection.problems]),
    )
