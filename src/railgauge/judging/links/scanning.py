"""Which judgement a program's scan is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from railgauge.config.thresholds.model import FabricLimits
from railgauge.core.errors import MetricMissing, NoEvidence
from railgauge.core.model import Fabric, Judgement
from railgauge.judging.links.cabling import judge_cabling, judge_manager
from railgauge.judging.links.counters import judge_errors, judge_growth
from railgauge.judging.links.links import judge_links
from railgauge.judging.links.model import Scan, SwitchUnderTest
from railgauge.subnet import topology

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
    """Judgements, and what could not be judged. ``subject`` is the program and the switch.

    Raises ``NoEvidence`` if nothing can be judged at all.
    """
    tool, switch = subject
    under_test = SwitchUnderTest(topology(declared.topology), switch, limits)
    if since is not None:
        return judge_growth(since, scan, under_test)
    if tool not in _CHECKS:
        raise MetricMissing(f"nothing is known of a subnet that {tool[:40]} scanned")
    return _CHECKS[tool](scan, under_test), []
