"""The checks of one output: arithmetic, sweep, shape of the table and closing lines.

``algbw`` is size over time, and ``busbw`` is ``algbw`` times a factor of the collective and its
number of ranks (nccl-tests, doc/PERFORMANCE.md). The two equations detect a column that is mistaken
for another, a digit that a launcher lost, and a value that was edited by hand. Example: an
all_reduce over 8 ranks has the factor 2 x 7 / 8 = 1.75, so algbw 100 GB/s gives busbw 175 GB/s.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from railgauge.config.thresholds.physics import bus_factor
from railgauge.core.errors import UnitUnknown
from railgauge.core.problems import ProblemKind
from railgauge.core.units import convert, format_size
from railgauge.tools.ccl_tests.facts import Facts
from railgauge.tools.ccl_tests.rows import CclRow, Figure, Side
from railgauge.tools.ccl_tests.tables import CclReading, CclTable
from railgauge.tools.collector import OutputCollector

UNFINISHED = "no closing lines: the run did not finish"


def check_tables(
    reading: CclReading, facts: Facts, text: str, collector: OutputCollector, *, is_explained: bool
) -> bool:
    """Report what is wrong with printed output; return whether its bandwidths are GiB/s."""
    if not reading.tables:
        if not collector.problems and not is_explained:
            _explain_nothing(facts, text, collector)
        return False
    _check_shape(reading, facts, collector)
    is_binary = False
    for table in reading.tables:
        is_binary = table.heading.has_binary_units and follows_binary(table.rows)
        several = len(reading.tables) > 1
        known = not several and not reading.is_elided
        check_rows(table.rows, facts, collector, is_binary=is_binary, is_run_known=known)
        if not several:
            excerpt = not facts.argument_lines and facts.out_of_bounds is None
            elided = reading.is_elided
            check_whole(table.rows, facts, collector, is_elided=elided, is_excerpt=excerpt)
    return is_binary


def check_rows(
    rows: list[CclRow],
    facts: Facts,
    collector: OutputCollector,
    *,
    is_binary: bool = False,
    is_run_known: bool = True,
) -> None:
    """Check the number of ranks, the rates and the busbw factors.

    Without ``is_run_known`` the facts may belong to another table, or be incomplete.
    """
    _check_dtypes(rows, collector)
    ranks = facts.nranks if is_run_known else None
    if (ranks is not None and ranks < 2) or (ranks is None and is_alone(rows)):  # noqa: PLR2004
        message = "a single rank moves no data between GPUs: its bandwidth is not a measurement"
        collector.error(ProblemKind.TOO_FEW_RANKS, message)
    else:
        collective = facts.named_collective if is_run_known else None
        check_factor(rows, collective, ranks, collector)
    check_rates(rows, collector, is_binary=is_binary)


def check_whole(
    rows: list[CclRow],
    facts: Facts,
    collector: OutputCollector,
    *,
    is_elided: bool = False,
    is_excerpt: bool = False,
) -> None:
    """Check that all rows are there and that the closing lines agree with them.

    ``is_excerpt``: the argument line and the closing lines were cut off, so rows may be missing.
    """
    check_sweep(rows, facts, collector, is_elided=is_elided)
    _check_results(facts, collector)
    if facts.average is not None and (wrong := check_average(rows, facts.average)):
        report = collector.warn if is_elided or is_excerpt else collector.error
        report(ProblemKind.AVERAGE_MISMATCH, wrong)
        if not facts.average_is_whole:
            facts.average = None


def _check_results(facts: Facts, collector: OutputCollector) -> None:
    if facts.bounds_failed or facts.out_of_bounds:
        collector.error(
            ProblemKind.OUT_OF_BOUNDS, f"{facts.out_of_bounds} values are out of bounds"
        )
    if facts.bitwise_mismatches:
        collector.error(
            ProblemKind.BITWISE_MISMATCH, f"{facts.bitwise_mismatches} bits differ between runs"
        )
    if facts.average_failed:
        message = "the tool reports an average below NCCL_TESTS_MIN_BW"
        collector.error(ProblemKind.BELOW_TOOL_LIMIT, message)
    if facts.unread_average:
        message = f"not an average in GB/s: {facts.unread_average}"
        collector.error(ProblemKind.UNPARSABLE, message)
    if facts.repeated_ranks:
        message = f"{facts.repeated_ranks} ranks are listed more than once"
        collector.error(ProblemKind.SEVERAL_TABLES, message)
    if facts.ranks and not facts.lists_all_ranks:
        message = f"{len(facts.ranks)} of {max(facts.ranks) + 1} ranks are listed"
        collector.warn(ProblemKind.RANKS_ELIDED, message)


def _check_shape(reading: CclReading, facts: Facts, collector: OutputCollector) -> None:
    tables = reading.tables
    if len(tables) > 1 or facts.argument_lines > 1 or facts.bounds_lines > 1:
        _refuse_several(facts, collector)
    for table in tables:
        _check_table(table, collector, is_elided=reading.is_elided)
    is_closed = any(table.is_closed for table in tables)
    if not is_closed and facts.argument_lines and any(table.rows for table in tables):
        collector.error(ProblemKind.TRUNCATED, UNFINISHED)
    elif not is_closed:
        message = "no closing lines: the text may be cut off"
        collector.warn(ProblemKind.NO_CLOSING_LINE, message)


def _refuse_several(facts: Facts, collector: OutputCollector) -> None:
    """Report several runs; a program that does not know of MPI runs once in each process."""
    if facts.repeated_ranks and facts.ranks.keys() == {0}:
        message = f"{facts.repeated_ranks + 1} runs of rank 0 alone: each process ran by itself"
        collector.error(ProblemKind.BUILT_WITHOUT_MPI, message)
        return
    collector.several_runs()


def _check_table(table: CclTable, collector: OutputCollector, *, is_elided: bool) -> None:
    if not table.rows and not is_elided:
        collector.error(ProblemKind.TRUNCATED, "a heading without rows: nothing was measured")
    if not table.has_heading:
        message = "rows without a heading: read as the columns that every version prints"
        collector.warn(ProblemKind.NO_HEADING, message)


def _check_dtypes(rows: list[CclRow], collector: OutputCollector) -> None:
    dtypes = dict.fromkeys((row.dtype, row.redop) for row in rows)
    if len(dtypes) > 1:
        named = ", ".join(" ".join(filter(None, pair)) for pair in dtypes)
        collector.warn(ProblemKind.SEVERAL_DTYPES, f"one table mixes rows of {named}")


def _explain_nothing(facts: Facts, text: str, collector: OutputCollector) -> None:
    """Report why an output has no table: cut off, only closing lines, or another text."""
    if facts.average is not None or facts.out_of_bounds is not None:
        message = "closing lines without a table: its rows are missing"
        collector.error(ProblemKind.TRUNCATED, message)
    elif facts.argument_lines or facts.ranks or facts.collective:
        collector.error(ProblemKind.TRUNCATED, "the output ends before the heading of the table")
    else:
        collector.nothing(text, "no table of a collective test in this text")


# --- rates and factors of rows ---

_EDGE = 1e-4
_GIB_PER_GB = 1e9 / 2**30


def follows_binary(rows: Iterable[CclRow]) -> bool:
    """Return whether every ``algbw`` fits size over time in GiB/s, whatever unit is printed."""
    return all(_follows(row.size_bytes, side, _GIB_PER_GB) for row in rows for side in row.sides)


def check_rates(rows: Iterable[CclRow], collector: OutputCollector, *, is_binary: bool) -> None:
    """Report each ``algbw`` that is not size over time."""
    scale = _GIB_PER_GB if is_binary else 1.0
    for row in rows:
        for side in row.sides:
            if not _follows(row.size_bytes, side, scale):
                message = "algbw is not size over time"
                collector.error(ProblemKind.INCONSISTENT, _about(row, side, message))


def _follows(size_bytes: int, side: Side, scale: float = 1.0) -> bool:
    time, algbw = side.time, side.algbw
    if not size_bytes or time is None or algbw is None or side.is_cpu_time:
        return True
    time, algbw = _in(time, "us"), _in(algbw, "GB/s")
    if time is None or algbw is None or time.high <= 0:
        return True
    slowest = size_bytes / time.high * 1e-3 * scale
    fastest = size_bytes / time.low * 1e-3 * scale if time.low > 0 else float("inf")
    return slowest * (1 - _EDGE) <= algbw.high and algbw.low <= fastest * (1 + _EDGE)


def _in(figure: Figure, unit: str) -> Figure | None:
    try:
        return figure.times(convert(1.0, figure.unit, unit), unit)
    except UnitUnknown:
        return None


def check_factor(
    rows: Sequence[CclRow], collective: str | None, ranks: int | None, collector: OutputCollector
) -> None:
    """Report ``busbw`` that is not ``algbw`` x factor; for unknown ranks, rows that disagree."""
    reference = _reference(rows)
    if reference is None:
        return
    expected = bus_factor(collective, ranks) if collective and ranks else None
    fits = _rule(collective, ranks)
    if expected is None and not fits(*reference):
        low, high = reference
        message = f"busbw / algbw is {(low + high) / 2:.4g}, a factor that no collective has"
        collector.error(ProblemKind.INCONSISTENT, message)
        return
    low, high = (expected, expected) if expected is not None else reference
    for row, side, ratio in _ratios(rows):
        if not (low * (1 - _EDGE) <= ratio[1] and ratio[0] <= high * (1 + _EDGE)):
            message = f"busbw / algbw is not {low:.4g}"
            collector.error(ProblemKind.INCONSISTENT, _about(row, side, message))


def is_alone(rows: Sequence[CclRow]) -> bool:
    """Return whether there is only one rank: every busbw is 0, though some algbw is not."""
    pairs = [
        (side.algbw.value, side.busbw.value)
        for row in rows
        for side in row.sides
        if side.algbw and side.busbw
    ]
    return any(algbw >= 1 for algbw, _ in pairs) and all(busbw == 0 for _, busbw in pairs)


def _reference(rows: Sequence[CclRow]) -> tuple[float, float] | None:
    """Return the bounds of the ratio that has the least rounding error."""
    ratios = [ratio for _, _, ratio in _ratios(rows)]
    return min(ratios, key=lambda ratio: ratio[1] - ratio[0], default=None)


def _ratios(rows: Sequence[CclRow]) -> Iterator[tuple[CclRow, Side, tuple[float, float]]]:
    for row in rows:
        for side in row.sides:
            algbw, busbw = side.algbw, side.busbw
            if algbw and busbw and algbw.low > 0:
                yield row, side, (max(0.0, busbw.low) / algbw.high, busbw.high / algbw.low)


def _rule(collective: str | None, ranks: int | None) -> Callable[[float, float], bool]:
    """Return a test of whether any possible collective of 2 or more ranks has a factor."""
    collectives = (collective,) if collective else ("all_reduce", "all_gather", "broadcast")
    counts = (ranks,) if ranks else (2, 10**9)
    known = [[bus_factor(name, count) for count in counts] for name in collectives]
    bounds = [(f[0], f[-1]) for f in known if f[0] is not None and f[-1] is not None]

    def fits(low: float, high: float) -> bool:
        return not bounds or any(
            first * (1 - _EDGE) <= high and low <= last * (1 + _EDGE) for first, last in bounds
        )

    return fits


def check_average(rows: Sequence[CclRow], average: Figure) -> str:
    """Return what is wrong with the printed average over all sizes and both sides, or nothing."""
    figures = [side.busbw for row in rows for side in row.sides if side.busbw]
    if not figures:
        return ""
    mean = sum(figure.value for figure in figures) / len(figures)
    spread = sum(figure.half for figure in figures) / len(figures)
    # The tool prints six significant digits and leaves trailing zeros out.
    if abs(mean - average.value) <= spread * 1.02 + 1e-5 * abs(mean):
        return ""
    return f"the average is printed as {average.value:g}, but the rows give {mean:.6g}"


def _about(row: CclRow, side: Side, what: str) -> str:
    figures = ", ".join(
        f"{name} {figure.value:g}"
        for name, figure in (("time", side.time), ("algbw", side.algbw), ("busbw", side.busbw))
        if figure
    )
    where = f"{format_size(row.size_bytes)} {(side.placement or '').replace('_', '-')}".strip()
    return f"{where}: {what} ({figures})"


# --- the sweep that the argument line announces ---

_MOST_STEPS = 100_000
_ALIGNED_BYTES = 16


def check_sweep(
    rows: list[CclRow], facts: Facts, collector: OutputCollector, *, is_elided: bool
) -> None:
    """Report skipped sizes and missing rows. Cycles and data types multiply the rows."""
    if facts.reduced_to is not None:
        message = f"not enough GPU memory: no size above {facts.reduced_to} B was measured"
        collector.error(ProblemKind.SIZE_SKIPPED, message)
    report = collector.warn if is_elided else collector.error
    if is_elided:
        collector.warn(ProblemKind.ROWS_ELIDED, "rows are replaced by dots")
    expected = len(announced(facts))
    if rows and expected and len(rows) % expected:
        message = f"{len(rows)} rows where the arguments announce {expected} (or a multiple)"
        report(ProblemKind.SWEEP_GAP, message)
    elif rows and not expected and (gap := _gap(rows)):
        report(ProblemKind.SWEEP_GAP, f"the sweep has no row for size {gap}")


def announced(facts: Facts) -> tuple[int, ...]:
    """Return the sizes in bytes that the argument line announces; none without that line."""
    first, last = facts.numbers.get("minimum_bytes"), facts.numbers.get("maximum_bytes")
    step = facts.numbers.get("step", 0)
    if not first or last is None or step < 1:
        return ()
    last = min(last, facts.reduced_to or last)
    if not facts.is_step_factor:
        return tuple(range(first, last + 1, step)[:_MOST_STEPS])
    sizes: list[int] = []
    while first <= last and step > 1 and len(sizes) < _MOST_STEPS:
        sizes.append(first)
        first *= step
    return tuple(sizes)


def asked_for(size_bytes: int, sizes: Sequence[int], ranks: int | None) -> int:
    """Return the size of the sweep to which a row belongs: the row may print a smaller one.

    If every rank holds one part of the message, the tests round the part down to 16 bytes: for
    16 GiB over 24 ranks they print 17179869120. A size that fits none of ``sizes`` is returned
    unchanged.
    """
    at = bisect_left(sizes, size_bytes)
    if not ranks or not size_bytes or size_bytes % ranks or at == len(sizes):
        return size_bytes
    return sizes[at] if sizes[at] - size_bytes < _ALIGNED_BYTES * ranks else size_bytes


def _gap(rows: list[CclRow]) -> int | None:
    """Return a missing size, assuming the smallest factor between neighbours; else ``None``."""
    sizes = sorted({row.size_bytes for row in rows if row.size_bytes > 0})
    pairs = list(pairwise(sizes))
    factors = {large // small for small, large in pairs if large % small == 0}
    if len(factors) < 2 or any(large % small for small, large in pairs):  # noqa: PLR2004
        return None
    step = min(factors)
    return next((small * step for small, large in pairs if large // small != step), None)
