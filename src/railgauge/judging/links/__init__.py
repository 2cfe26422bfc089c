"""What a scan of the subnet says, against the cables that are declared and the limits. Pure.

One switch at a time: each declared cable belongs to one switch (``Topology.owners``). What
misses is one judgement for each port, so that every bad cable is named; what holds is one for all.
"""

from __future__ import annotations

from railgauge.judging.links.cabling import CABLING, MANAGER
from railgauge.judging.links.counters import (
    BIT_ERRORS,
    ERRORS,
    GROWTH,
)
from railgauge.judging.links.links import LINK_RATE, LINK_STATE
from railgauge.judging.links.model import Scan
from railgauge.judging.links.scanning import judge_scan

__all__ = [
    "BIT_ERRORS",
    "CABLING",
    "ERRORS",
    "GROWTH",
    "LINK_RATE",
    "LINK_STATE",
    "MANAGER",
    "Scan",
    "judge_scan",
]
