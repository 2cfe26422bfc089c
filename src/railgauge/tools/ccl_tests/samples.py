"""Rows to samples: one distribution a metric, size and placement, in printed order."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from railgauge.model import Problem, Sample
from railgauge.tools.ccl_tests.figures import Figure
from railgauge.tools.ccl_tests.rows import Row, Side
from railgauge.units import KNOWN_UNITS, format_size


@dataclass(slots=True)
class Collection:
    """``is_binary`` says that the bandwidths are GiB/s, whatever they are called."""

    is_binary: bool = False
    samples: list[Sample] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    _seen: Counter[tuple[str, int, str | None]] = field(default_factory=Counter)

    def take(self, row: Row, size_bytes: int) -> None:
        """``size_bytes`` is what was asked for: the row may print a little less."""
        for side in row.sides:
            # With -C the first figure is the CPU's time to launch, not the collective's.
            self._take_figure(
                "cputime_us" if side.is_cpu_time else "time_us", side.time, size_bytes, side
            )
            self._take_figure("algbw", side.algbw, size_bytes, side)
            self._take_figure("busbw", side.busbw, size_bytes, side)
            if side.wrong is not None:
                self._take_figure("wrong", Figure(side.wrong, 0, "count"), size_bytes, side)
            self._check_results(row, side)

    def _take_figure(self, metric: str, figure: Figure | None, size_bytes: int, side: Side) -> None:
        if figure is None:
            return
        key = (metric, size_bytes, side.placement)
        iteration = self._seen[key]
        self._seen[key] += 1
        if wrong := _wrong(metric, figure, size_bytes):
            self._complain(*wrong)
            return
        means = "GiB/s" if self.is_binary and figure.unit == "GB/s" else ""
        self.samples.append(
            Sample(
                metric=metric,
                unit=figure.unit,
                value=figure.value,
                size_bytes=size_bytes,
                iteration=iteration,
                placement=side.placement,
                unit_means=means,
            )
        )

    def _check_results(self, row: Row, side: Side) -> None:
        where = f"at {format_size(row.size_bytes)}, {side.placement or 'result'}"
        if side.wrong:
            self._complain("data-corruption", f"{side.wrong:g} wrong values {where}")
        elif side.is_flagged:
            self._complain("data-corruption", f"an error above the tool's threshold {where}")
        if side.different_bits:
            message = f"{side.different_bits:g} bits differ between runs {where}"
            self._complain("bitwise-mismatch", message)

    def _complain(self, kind: str, message: str) -> None:
        self.problems.append(Problem(kind, "error", message))


def _wrong(metric: str, figure: Figure, size_bytes: int) -> tuple[str, str] | None:
    where = f"{metric} at {format_size(size_bytes)}"
    if figure.unit not in KNOWN_UNITS:
        return "unit-unknown", f"{where} is in {figure.unit!r}, a unit nobody knows"
    if not math.isfinite(figure.value) or figure.value < 0:
        return "not-a-number", f"{where} is {figure.value}"
    if metric == "time_us" and figure.value == 0 and size_bytes > 0:
        return "zero-value", f"{where} is 0"
    return None
