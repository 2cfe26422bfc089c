"""A metric: a number that a tool prints, in which units, and which way is better.

Each tool module declares its own in ``METRICS``. Whether high or low is good follows from there
alone, never from how a metric is called.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Better = Literal["higher", "lower"]
HIGHER: Better = "higher"
LOWER: Better = "lower"

# One value for each row that the tool prints, or one for all sizes of its sweep together.
ROW, SWEEP = "row", "sweep"


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a tool. ``units`` are those in which the tool prints it, the usual one first.

    ``may_be_zero``: 0 is a value, and no sign that nothing was moved. ``per`` is ``row`` (a sample
    for each message size, link, GPU or run), or ``sweep``: an average over all sizes of a run,
    printed once and kept in the summary under this name.
    """

    name: str
    units: tuple[str, ...]
    better: Better
    may_be_zero: bool = False
    per: str = ROW

    @property
    def lower_is_better(self) -> bool:
        return self.better == LOWER


# What the suite itself makes of two runs: a value of the one over the same value of the other.
SCALING = Metric("scaling", ("1",), HIGHER)


def several(names: tuple[str, ...], unit: str, better: Better = HIGHER) -> tuple[Metric, ...]:
    """Metrics that differ by their name alone."""
    return tuple(Metric(name, (unit,), better) for name in names)
