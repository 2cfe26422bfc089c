"""All checks of one output, in the order in which their answers are worth reading."""

from __future__ import annotations

from collections.abc import Iterator

from railgauge.core.model import Problem
from railgauge.tools.ccl_tests.checks import (
    check_average,
    check_factor,
    check_rates,
    follows_binary,
    is_alone,
)
from railgauge.tools.ccl_tests.facts import Facts
from railgauge.tools.ccl_tests.rows import Row
from railgauge.tools.ccl_tests.sweeps import check_sweep
from railgauge.tools.ccl_tests.tables import Reading, Table


def check_tables(
    reading: Reading, facts: Facts, text: str, *, has_said_why: bool
) -> tuple[list[Problem], bool]:
    """What is wrong with a printed output, and whether its bandwidths are GiB/s."""
    if not reading.tables:
        if reading.problems or has_said_why:
            return [], False
        return [_nothing(facts, text)], False
    problems = list(_check_shape(reading, facts))
    binary = False
    for table in reading.tables:
        binary = table.heading.has_binary_units and follows_binary(table.rows)
        several = len(reading.tables) > 1
        known = not several and not reading.is_elided
        problems += check_rows(table.rows, facts, binary=binary, is_run_known=known)
        if not several:
            excerpt = not facts.argument_lines and facts.out_of_bounds is None
            elided = reading.is_elided
            problems += check_whole(table.rows, facts, is_elided=elided, is_excerpt=excerpt)
    return problems, binary


def check_rows(
    rows: list[Row],
    facts: Facts,
    *,
    binary: bool = False,
    is_run_known: bool = True,
) -> list[Problem]:
    """Ranks, rates and factors.

    Without ``is_run_known`` the facts may be another table's, or not all shown.
    """
    problems = list(_check_dtypes(rows))
    ranks = facts.nranks if is_run_known else None
    if (ranks is not None and ranks < 2) or (ranks is None and is_alone(rows)):  # noqa: PLR2004
        message = "a single rank moves nothing between GPUs: its bandwidth is no measurement"
        problems.append(_error("too-few-ranks", message))
    else:
        collective = facts.named_collective if is_run_known else None
        problems += check_factor(rows, collective, ranks)
    problems += check_rates(rows, binary=binary)
    return problems


def check_whole(
    rows: list[Row], facts: Facts, *, is_elided: bool, is_excerpt: bool
) -> list[Problem]:
    """Whether all rows are there, and whether the closing lines agree with them.

    ``is_excerpt``: argument line and closing lines were cut away by hand, so rows may be too.
    """
    problems = list(check_sweep(rows, facts, is_elided=is_elided))
    problems += _check_results(facts)
    if facts.average is not None and (wrong := check_average(rows, facts.average)):
        severity = "warning" if is_elided or is_excerpt else "error"
        problems.append(Problem("average-mismatch", severity, wrong))
        if not facts.average_is_whole:
            facts.average = None
    return problems


def _check_results(facts: Facts) -> Iterator[Problem]:
    if facts.bounds_failed or facts.out_of_bounds:
        yield _error("out-of-bounds", f"{facts.out_of_bounds} values are out of bounds")
    if facts.bitwise_mismatches:
        yield _error("bitwise-mismatch", f"{facts.bitwise_mismatches} bits differ between runs")
    if facts.average_failed:
        message = "the tool itself found its average below NCCL_TESTS_MIN_BW"
        yield _error("below-tool-limit", message)
    if facts.repeated_ranks:
        message = f"{facts.repeated_ranks} ranks are listed more than once"
        yield _error("several-tables", message)
    if facts.ranks and not facts.lists_all_ranks:
        message = f"{len(facts.ranks)} of {max(facts.ranks) + 1} ranks are listed"
        yield Problem("ranks-elided", "warning", message)


def _check_shape(reading: Reading, facts: Facts) -> Iterator[Problem]:
    tables = reading.tables
    if len(tables) > 1 or facts.argument_lines > 1 or facts.bounds_lines > 1:
        yield _error("several-tables", "several runs in one output: each is to be read by itself")
    for table in tables:
        yield from _check_table(table, is_elided=reading.is_elided)
    is_closed = any(table.is_closed for table in tables)
    if not is_closed and facts.argument_lines and any(table.rows for table in tables):
        yield _error("truncated", "no closing lines: the run did not come to its end")
    elif not is_closed:
        message = "no closing lines: the output may go on where this text ends"
        yield Problem("no-closing-line", "warning", message)


def _check_table(table: Table, *, is_elided: bool) -> Iterator[Problem]:
    if not table.rows and not is_elided:
        yield _error("truncated", "a heading without any row: nothing was measured")
    if not table.has_heading:
        message = "rows without their heading, read by the columns that every version prints"
        yield Problem("no-heading", "warning", message)


def _check_dtypes(rows: list[Row]) -> Iterator[Problem]:
    dtypes = dict.fromkeys((row.dtype, row.redop) for row in rows)
    if len(dtypes) > 1:
        named = ", ".join(" ".join(filter(None, pair)) for pair in dtypes)
        yield Problem("several-dtypes", "warning", f"one table of {named}: their rows are mixed")


def _nothing(facts: Facts, text: str) -> Problem:
    """What kind of nothing an output without a table is."""
    if not text.strip():
        return _error("no-output", "nothing was printed")
    if facts.average is not None or facts.out_of_bounds is not None:
        return _error("truncated", "closing lines without a table: its rows are missing")
    if facts.argument_lines or facts.ranks or facts.collective:
        return _error("truncated", "the output ends before the heading of the table")
    return _error("no-table", "no table of a collective test in this text")


def _error(kind: str, message: str) -> Problem:
    return Problem(kind, "error", message)
