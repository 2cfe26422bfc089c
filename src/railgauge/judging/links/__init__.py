"""Compare a scan of the subnet with the declared cables and the limits. Pure.

One switch is judged at a time; each declared cable belongs to one switch (``Topology.owners``).
Every port that misses a limit gets a failed judgement of its own, so that each bad cable is named.
If none does, one passed judgement covers all ports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from railgauge.config.thresholds.model import FabricLimits
from railgauge.core.errors import MetricMissing, NoEvidence
from railgauge.core.model import Fabric, Judgement
from railgauge.judging.links.cabling import CABLING, MANAGER, judge_cabling, judge_manager
from railgauge.judging.links.counters import (
    BIT_ERRORS,
    ERRORS,
    GROWTH,
    judge_errors,
    judge_growth,
)
from railgauge.judging.links.links import LINK_RATE, LINK_STATE, judge_links
from railgauge.judging.links.model import Scan, SwitchUnderTest
from railgauge.subnet import topology

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

_CHECKS: Mapping[str, Callable[[Scan, SwitchUnderTest], list[Judgement]]] = {
    "sminfo": judge_manager,
    "ibnetdiscover": judge_cabling,
    "iblinkinfo": judge_links,
    "ibqueryerrors": judge_errors,
}


def judge_scan(
    subject: tuple[str, str],
    declared: Fabric,
    limits: FabricLimits,
    scan: Scan,
    since: Scan | None = None,
) -> tuple[list[Judgement], list[NoEvidence]]:
    """Return judgements, and an error for each port that has none.

    ``subject`` is the program and the switch. Raises ``NoEvidence`` if nothing can be judged.
    """
    tool, switch = subject
    under_test = SwitchUnderTest(topology(declared.topology), switch, limits)
    if since is not None:
        return judge_growth(since, scan, under_test)
    if tool not in _CHECKS:
        raise MetricMissing(f"no check of the subnet reads the output of {tool[:40]}")
    return _CHECKS[tool](scan, under_test), []
