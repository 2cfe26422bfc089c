"""Rows to samples: numbers with units, and typed problems in place of what is not a number."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from railgauge.core.model import Problem, Sample
from railgauge.tools.perftest.bandwidth import MEANING, Figures, agrees, fitting_unit
from railgauge.tools.perftest.tables import Row, Table

# A peak is not measured in long runs, and equal latencies do not deviate.
_MAY_BE_ZERO = frozenset({"bw_peak", "lat_stdev"})


@dataclass(slots=True)
class Collection:
    """Samples in printed order; rows of one metric and size are counted as iterations."""

    samples: list[Sample] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    _seen: Counter[tuple[str, int]] = field(default_factory=Counter)

    def add(self, metric: str, unit: str, value: float, size_bytes: int) -> None:
        """Take a value, or say why it is none."""
        wrong = _wrong(metric, value)
        iteration = self._seen[metric, size_bytes]
        self._seen[metric, size_bytes] += 1
        if wrong:
            self.complain(wrong, f"{metric} is {value} at {size_bytes} B")
            return
        if metric == "bw_peak" and value == 0:
            message = "the peak is printed as 0.00: it was not measured in this run"
            self.complain("peak-not-measured", message, "warning")
        means = MEANING.get(unit, unit)
        self.samples.append(
            Sample(
                metric=metric,
                unit=unit,
                value=value,
                size_bytes=size_bytes,
                iteration=iteration,
                unit_means="" if means == unit else means,
            )
        )

    def complain(self, kind: str, message: str, severity: str = "error") -> None:
        self.problems.append(Problem(kind, severity, message))


def _wrong(metric: str, value: float) -> str:
    if not math.isfinite(value) or value < 0:
        return "not-a-number"
    return "zero-value" if value == 0 and metric not in _MAY_BE_ZERO else ""


def collect(tables: list[Table]) -> Collection:
    """The samples of all tables, with each bandwidth in a unit that its message rate confirms."""
    collection = Collection()
    for table in tables:
        _complain_of_units(table, collection)
        unit = _bandwidth_unit(table, collection)
        for row in table.rows:
            _collect_row(row, unit, collection)
    return collection


def _complain_of_units(table: Table, collection: Collection) -> None:
    for column in table.heading.columns:
        if column.metric is not None and column.unit is None:
            message = f"{column.label} is in {column.printed_unit!r}, a unit nobody knows"
            collection.complain("unit-unknown", message)


def _bandwidth_unit(table: Table, collection: Collection) -> str | None:
    """The heading's unit, unless every row shows that the figures are in the other one."""
    stated = table.heading.bandwidth_unit
    figures = [figure for figure in map(_figures, table.rows) if figure]
    if stated is None or all(agrees(figure, stated) for figure in figures):
        return stated
    actual = fitting_unit(figures)
    if actual is None:
        return stated
    collection.complain(
        "unit-mismatch",
        f"the heading says {stated}, but message rate times size shows {actual} in every row",
        "warning",
    )
    return actual


def _figures(row: Row) -> Figures | None:
    average, rate = row.token("bw_average"), row.token("msg_rate")
    if average is None or rate is None:
        return None
    bandwidth, rate_mpps = float(average), float(rate)
    if not (math.isfinite(bandwidth) and math.isfinite(rate_mpps) and bandwidth > 0):
        return None
    decimals = len(average.partition(".")[2])
    return Figures(row.size_bytes, bandwidth, decimals, rate_mpps)


def _collect_row(row: Row, bandwidth_unit: str | None, collection: Collection) -> None:
    credible = _is_in_unit(row, bandwidth_unit, collection)
    for column, token in zip(row.heading.columns, row.tokens, strict=True):
        unit = bandwidth_unit if column.is_bandwidth else column.unit
        if column.metric is None or unit is None or (column.is_bandwidth and not credible):
            continue
        collection.add(column.metric, unit, float(token), row.size_bytes)


def _is_in_unit(row: Row, unit: str | None, collection: Collection) -> bool:
    """Whether the row's bandwidth may be given in ``unit``.

    A figure that its message rate puts into the other unit is not given at all: in the wrong unit
    it would fail or pass by a factor of 119. A figure that fits no unit is given as it stands, so
    that a miss is not hidden, but beside an error, so that it cannot pass.
    """
    figures = _figures(row)
    if unit is None or figures is None or agrees(figures, unit):
        return True
    elsewhere = fitting_unit([figures])
    collection.complain(
        "unit-mismatch" if elsewhere else "inconsistent",
        f"{figures.bandwidth} {unit} at {row.size_bytes} B does not follow from"
        f" {figures.rate_mpps} Mpps",
    )
    return elsewhere is None
