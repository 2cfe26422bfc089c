"""A metric: a number that a tool prints, its units, and whether higher or lower is better.

Each tool module declares its metrics in ``METRICS``. The direction comes only from there, never
from a metric's name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Better = Literal["higher", "lower"]
HIGHER: Better = "higher"
LOWER: Better = "lower"

# One value for each row that the tool prints, or one for all sizes of a sweep.
ROW, SWEEP = "row", "sweep"


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a tool. ``units`` are the units in which it is printed, the usual one first.

    ``may_be_zero``: 0 is a valid value; otherwise 0 means that no data was moved. ``per`` is
    ``row`` (a sample for each message size, link, GPU or run) or ``sweep`` (an average over all
    sizes of a run, printed once and kept in the summary under this name).
    """

    name: str
    units: tuple[str, ...]
    better: Better
    may_be_zero: bool = False
    per: str = ROW

    @property
    def lower_is_better(self) -> bool:
        return self.better == LOWER


# Computed by the suite from two runs: the metric of one divided by the same metric of the other.
SCALING = Metric("scaling", ("1",), HIGHER)


def several(names: tuple[str, ...], unit: str, better: Better = HIGHER) -> tuple[Metric, ...]:
    """Return metrics that differ only in their name."""
    return tuple(Metric(name, (unit,), better) for name in names)
