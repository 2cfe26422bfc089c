"""From rows to samples, each bandwidth in the unit that its message rate shows.

perftest computes message rate and bandwidth from the same number of messages, so that
``bandwidth = size x rate`` holds in exactly one unit. A side without ``--report_gbits`` prints its
own heading above the other side's values; the equation detects this, because the units differ by a
factor of 119. Example: 65536 B at 0.1860 Mpps is 97.5 Gb/s, or 11625 MiB/s.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector
from railgauge.tools.perftest.tables import Heading, Row, Table

# Units per (byte x million messages per second). MB/sec, the name before 2020, is MiB/s too.
_PER_BYTE_MPPS = {"MiB/s": 1e6 / 2**20, "Gb/s": 8 / 1000}
MEANING = {"MB/s": "MiB/s", "MiB/s": "MiB/s", "Gb/s": "Gb/s"}
_RATE_HALF_STEP = 0.5e-6
# Allowed beyond rounding, for values copied by hand; far below the factor between the units.
_SLACK = 0.01


@dataclass(frozen=True, slots=True)
class Figures:
    """One row's average; ``decimals`` is the number of decimals of the bandwidth."""

    size_bytes: int
    bandwidth: float
    decimals: int
    rate_mpps: float


def agrees(figures: Figures, unit: str) -> bool:
    """Return whether size x rate is this bandwidth in ``unit``, within rounding."""
    factor = _PER_BYTE_MPPS[MEANING[unit]] * figures.size_bytes
    expected = factor * figures.rate_mpps
    rounding = factor * _RATE_HALF_STEP + 0.5 * 10.0**-figures.decimals
    return abs(figures.bandwidth - expected) <= rounding + _SLACK * expected


def fitting_unit(rows: Iterable[Figures]) -> str | None:
    """Return the only unit in which all rows agree; ``None`` if there is none or several."""
    rows = tuple(rows)
    units = [unit for unit in _PER_BYTE_MPPS if all(agrees(row, unit) for row in rows)]
    return units[0] if rows and len(units) == 1 else None


# --- rows to samples ---

# Long runs do not measure the peak, and equal latencies have a deviation of 0.
_MAY_BE_ZERO = frozenset({"bw_peak", "lat_stdev"})


def add(metric: str, unit: str, value: float, size_bytes: int, collector: OutputCollector) -> None:
    """Add a sample, or an error if the value is invalid."""
    collector.size_bytes = size_bytes
    if wrong := _wrong(metric, value):
        collector.refuse(wrong, f"{metric} is {value} at {size_bytes} B", metric)
        return
    if metric == "bw_peak" and value == 0:
        message = "the peak is printed as 0.00: this run did not measure it"
        collector.warn(ProblemKind.PEAK_NOT_MEASURED, message)
    means = MEANING.get(unit, unit)
    collector.keep(metric, unit, value, unit_means="" if means == unit else means)


def _wrong(metric: str, value: float) -> ProblemKind | None:
    if not math.isfinite(value) or value < 0:
        return ProblemKind.NOT_A_NUMBER
    return ProblemKind.ZERO_VALUE if value == 0 and metric not in _MAY_BE_ZERO else None


def collect(tables: Sequence[Table], collector: OutputCollector) -> None:
    """Add the samples of all tables; each bandwidth has the unit that its message rate shows."""
    for table in tables:
        heading = table.heading
        _complain_of_units(heading, collector)
        labels = heading.label("bw_average"), heading.label("msg_rate")
        figures = [_figures(row, *labels) for row in table.rows]
        unit = _bandwidth_unit(heading, [one for one in figures if one], collector)
        for row, one in zip(table.rows, figures, strict=True):
            _collect_row(row, one, (heading, unit), collector)


def _complain_of_units(heading: Heading, collector: OutputCollector) -> None:
    for column in heading.columns:
        if column.metric is not None and column.unit is None and column.printed_unit:
            message = f"{column.label} has the unknown unit {column.printed_unit!r}"
            collector.error(ProblemKind.UNIT_UNKNOWN, message)


def _bandwidth_unit(
    heading: Heading, figures: Sequence[Figures], collector: OutputCollector
) -> str | None:
    """Return the heading's unit, unless all rows show that the values have the other one.

    JSON has no unit: then it is the one that the rows show.
    """
    column = next((one for one in heading.columns if one.is_bandwidth), None)
    if column is None or (column.unit is None and column.printed_unit):
        return None
    stated = column.unit
    if stated and all(agrees(figure, stated) for figure in figures):
        return stated
    actual = fitting_unit(figures)
    if actual and stated:
        collector.warn(
            ProblemKind.UNIT_MISMATCH,
            f"the heading says {stated}, but message rate times size shows {actual} in every row",
        )
    elif not actual and not stated:
        message = "the JSON gives no unit, and the message rate does not show which one it is"
        collector.error(ProblemKind.UNIT_UNKNOWN, message)
    return actual or stated


def _figures(row: Row, average: str | None, rate: str | None) -> Figures | None:
    bandwidth = row.figures.get(average or "", 0.0)
    rate_mpps = row.figures.get(rate or "", math.nan)
    if not (math.isfinite(bandwidth) and math.isfinite(rate_mpps) and bandwidth > 0):
        return None
    return Figures(row.size_bytes, bandwidth, row.decimals, rate_mpps)


def _collect_row(
    row: Row,
    figures: Figures | None,
    of_table: tuple[Heading, str | None],
    collector: OutputCollector,
) -> None:
    heading, bandwidth_unit = of_table
    credible = _is_in_unit(figures, bandwidth_unit, collector)
    for column in heading.columns:
        unit = bandwidth_unit if column.is_bandwidth else column.unit
        if column.metric is None or unit is None or (column.is_bandwidth and not credible):
            continue
        if column.label in row.figures:
            add(column.metric, unit, row.figures[column.label], row.size_bytes, collector)


def _is_in_unit(figures: Figures | None, unit: str | None, collector: OutputCollector) -> bool:
    """Return whether the row's bandwidth becomes a sample in ``unit``; add an error if it is wrong.

    A value that fits the other unit gives no sample: in the wrong unit it would miss or pass its
    limit by a factor of 119. A value that fits no unit becomes a sample as printed, so that a miss
    is not hidden, together with an error, so that it cannot pass.
    """
    if unit is None or figures is None or agrees(figures, unit):
        return True
    elsewhere = fitting_unit([figures])
    collector.error(
        ProblemKind.UNIT_MISMATCH if elsewhere else ProblemKind.INCONSISTENT,
        f"{figures.bandwidth} {unit} at {figures.size_bytes} B does not follow from"
        f" {figures.rate_mpps} Mpps",
    )
    return elsewhere is None
