"""Find the causes of a run's failures from its judgements, facts and counters. Pure.

``whole`` reads facts, counters, logs and errors first, from the lowest rung up, and takes away what
each cause explains, so that one root cause is one entry. What is slow without such a cause is found
by the model of slow parts (``slow``), which compares all figures of the run at once.

Example: the port of ``mlx5_3`` on ``mx02`` is down, and every pair of ``mx02`` over that NIC ends
in an error. The result is one cause, ``link-down`` at ``mx02, mlx5_3``, which explains the pairs.
"""

from railgauge.diagnosis.catalogue import CATALOGUE, Kind
from railgauge.diagnosis.model import (
    CERTAIN,
    OPEN,
    STRAGGLER,
    SUITE_ERROR,
    UNDIAGNOSED,
    Cause,
    RunResults,
)
from railgauge.diagnosis.notes import notes
from railgauge.diagnosis.reach import nodes_of
from railgauge.diagnosis.whole import diagnosed

__all__ = [
    "CATALOGUE",
    "CERTAIN",
    "OPEN",
    "STRAGGLER",
    "SUITE_ERROR",
    "UNDIAGNOSED",
    "Cause",
    "Kind",
    "RunResults",
    "diagnose",
    "diagnosed",
    "nodes_of",
    "notes",
]


def diagnose(results: RunResults) -> tuple[Cause, ...]:
    """Return the root causes of a run, in the order of their harm (see ``ordering``)."""
    return diagnosed(results).causes
