"""Compare a scan of the subnet with the declared cables and the limits. Pure.

One switch is judged at a time; each declared cable belongs to one switch (``Topology.owners``).
Every port that misses a limit gets a failed judgement of its own, so that each bad cable is named.
If none does, one passed judgement covers all ports.
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
