"""Whether a bandwidth is in the unit that its heading claims.

perftest prints the message rate beside every bandwidth, and both come from the same count of
messages, so ``bandwidth = size x rate`` in exactly one unit. A side that was not given
``--report_gbits`` prints its own heading over the other side's figures; the arithmetic shows it,
for the units differ by a factor of 119.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

# Units per (byte x million messages per second). MB/sec, the name before 2020, means MiB as well.
_PER_BYTE_MPPS = {"MiB/s": 1e6 / 2**20, "Gb/s": 8 / 1000}
MEANING = {"MB/s": "MiB/s", "MiB/s": "MiB/s", "Gb/s": "Gb/s"}
_RATE_HALF_STEP = 0.5e-6
# Beyond rounding: figures that were copied by hand. Far below the factor between the units.
_SLACK = 0.01


@dataclass(frozen=True, slots=True)
class Figures:
    """One row's average: ``decimals`` is how finely the bandwidth was printed."""

    size_bytes: int
    bandwidth: float
    decimals: int
    rate_mpps: float


def agrees(figures: Figures, unit: str) -> bool:
    """Whether size and rate give this bandwidth in ``unit``, within what rounding allows."""
    factor = _PER_BYTE_MPPS[MEANING[unit]] * figures.size_bytes
    expected = factor * figures.rate_mpps
    rounding = factor * _RATE_HALF_STEP + 0.5 * 10.0**-figures.decimals
    return abs(figures.bandwidth - expected) <= rounding + _SLACK * expected


def fitting_unit(rows: Iterable[Figures]) -> str | None:
    """The one unit in which every row agrees; ``None`` if there is none, or more than one."""
    rows = tuple(rows)
    units = [unit for unit in _PER_BYTE_MPPS if all(agrees(row, unit) for row in rows)]
    return units[0] if rows and len(units) == 1 else None
