"""Arithmetic that every row must satisfy, whoever printed it.

``algbw`` is size over time and ``busbw`` is ``algbw`` times a factor that follows from the
collective and its ranks (nccl-tests, doc/PERFORMANCE.md). A column read as another, a digit lost
by a launcher or a figure edited by hand does not survive both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from railgauge.config.thresholds.physics import bus_factor
from railgauge.core.errors import UnitUnknown
from railgauge.core.model import Problem
from railgauge.core.units import convert, format_size
from railgauge.tools.ccl_tests.figures import Figure
from railgauge.tools.ccl_tests.rows import Row, Side

_EDGE = 1e-4
_GIB_PER_GB = 1e9 / 2**30


def follows_binary(rows: Iterable[Row]) -> bool:
    """Whether every ``algbw`` may be GiB/s, whatever it is called."""
    return all(_follows(row.size_bytes, side, _GIB_PER_GB) for row in rows for side in row.sides)


def check_rates(rows: Iterable[Row], *, binary: bool) -> Iterator[Problem]:
    """``algbw`` that is not size over time."""
    scale = _GIB_PER_GB if binary else 1.0
    for row in rows:
        for side in row.sides:
            if not _follows(row.size_bytes, side, scale):
                yield _inconsistent(row, side, "the algorithm bandwidth is not size over time")


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
    rows: Sequence[Row], collective: str | None, ranks: int | None
) -> Iterator[Problem]:
    """``busbw`` that does not follow from ``algbw``; for unknown ranks, rows that disagree."""
    reference = _reference(rows)
    if reference is None:
        return
    expected = bus_factor(collective, ranks) if collective and ranks else None
    fits = _rule(collective, ranks)
    if expected is None and not fits(*reference):
        low, high = reference
        message = f"bus over algorithm bandwidth is {(low + high) / 2:.4g}, which no collective has"
        yield Problem("inconsistent", "error", message)
        return
    low, high = (expected, expected) if expected is not None else reference
    for row, side, ratio in _ratios(rows):
        if not (low * (1 - _EDGE) <= ratio[1] and ratio[0] <= high * (1 + _EDGE)):
            yield _inconsistent(row, side, f"bus over algorithm bandwidth is not {low:.4g}")


def is_alone(rows: Sequence[Row]) -> bool:
    """Whether bus bandwidth is nothing where algorithm bandwidth is something: one rank only."""
    pairs = [
        (side.algbw.value, side.busbw.value)
        for row in rows
        for side in row.sides
        if side.algbw and side.busbw
    ]
    return any(algbw >= 1 for algbw, _ in pairs) and all(busbw == 0 for _, busbw in pairs)


def _reference(rows: Sequence[Row]) -> tuple[float, float] | None:
    """The ratio that is known most exactly."""
    ratios = [ratio for _, _, ratio in _ratios(rows)]
    return min(ratios, key=lambda ratio: ratio[1] - ratio[0], default=None)


def _ratios(rows: Sequence[Row]) -> Iterator[tuple[Row, Side, tuple[float, float]]]:
    for row in rows:
        for side in row.sides:
            algbw, busbw = side.algbw, side.busbw
            if algbw and busbw and algbw.low > 0:
                yield row, side, (max(0.0, busbw.low) / algbw.high, busbw.high / algbw.low)


def _rule(collective: str | None, ranks: int | None) -> Callable[[float, float], bool]:
    """Whether any collective of two ranks or more, of those still possible, has such a factor."""
    collectives = (collective,) if collective else ("all_reduce", "all_gather", "broadcast")
    counts = (ranks,) if ranks else (2, 10**9)
    known = [[bus_factor(name, count) for count in counts] for name in collectives]
    bounds = [(f[0], f[-1]) for f in known if f[0] is not None and f[-1] is not None]

    def fits(low: float, high: float) -> bool:
        return not bounds or any(
            first * (1 - _EDGE) <= high and low <= last * (1 + _EDGE) for first, last in bounds
        )

    return fits


def check_average(rows: Sequence[Row], average: Figure) -> str:
    """What is wrong with the printed average: the mean over all sizes and both sides."""
    figures = [side.busbw for row in rows for side in row.sides if side.busbw]
    if not figures:
        return ""
    mean = sum(figure.value for figure in figures) / len(figures)
    spread = sum(figure.half for figure in figures) / len(figures)
    # The tool prints six significant digits and leaves trailing zeros out.
    if abs(mean - average.value) <= spread * 1.02 + 1e-5 * abs(mean):
        return ""
    return f"the average is printed as {average.value:g}, the rows shown have {mean:.6g}"


def _inconsistent(row: Row, side: Side, what: str) -> Problem:
    figures = ", ".join(
        f"{name} {figure.value:g}"
        for name, figure in (("time", side.time), ("algbw", side.algbw), ("busbw", side.busbw))
        if figure
    )
    where = f"{format_size(row.size_bytes)} {(side.placement or '').replace('_', '-')}".strip()
    return Problem("inconsistent", "error", f"{where}: {what} ({figures})")
