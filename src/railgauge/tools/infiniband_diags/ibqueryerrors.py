"""``ibqueryerrors``: the error counters of every port of the subnet."""

from __future__ import annotations

import re
from functools import lru_cache

from railgauge.core.model import Command, Parsed
from railgauge.core.problems import ProblemKind
from railgauge.subnet.errorcounters import parse_ibqueryerrors
from railgauge.tools import Setting
from railgauge.tools.claims import claims_nothing as claims
from railgauge.tools.collector import OutputCollector
from railgauge.tools.infiniband_diags.asking import asks, complain_of_nothing, complain_of_start
from railgauge.tools.metric import HIGHER, Metric
from railgauge.tools.text import clean
from railgauge.tools.torn import complain

__all__ = ["METRICS", "claims", "commands", "parse"]

# The platform file limits the counters themselves under ``fabric``.
METRICS = tuple(
    Metric(name, ("count",), HIGHER, may_be_zero=True)
    for name in ("nodes_checked", "ports_checked")
)

_FOUND_ERRORS = 1
NO_MANAGER = ProblemKind.NO_SUBNET_MANAGER
_UNMANAGED = re.compile(r"No SM/SA found[^\n]{0,80}")
_UNREAD = re.compile(r"^[^\n]{0,80}query failed on[^\n]{0,160}", re.MULTILINE)


def commands(setting: Setting, port: int) -> tuple[Command, ...]:  # noqa: ARG001 - no server
    """Return the command, without the site's thresholds: all counters above 0 are printed."""
    threshold = ("--threshold-file", "/dev/null")
    return asks(setting, "ibqueryerrors", *threshold, answer=_FOUND_ERRORS)


@lru_cache(maxsize=4)
def parse(text: str) -> Parsed:
    """Return counters above 0 by port (placement ``node01 mlx5_0/1``), and what was scanned.

    ``nodes_checked`` and ``ports_checked`` count what was scanned. A scan without its closing
    summary is ``truncated``, and a port whose counters could not be read ``counters-unread``.
    Without a subnet manager the program finds no paths: ``no-subnet-manager``.
    """
    text = clean(text)
    collector = OutputCollector()
    complain_of_start(text, "ibqueryerrors", collector)
    scan = parse_ibqueryerrors(text)
    for port in scan.ports:
        for name, value in port.counters.items():
            collector.add(name, "count", value, f"{port.node}/{port.port}", may_be_zero=True)
    if scan.part and not _UNMANAGED.search(text):
        complain(scan.part, collector)
    if scan.nodes_checked is not None:
        collector.add("nodes_checked", "count", scan.nodes_checked)
        collector.add("ports_checked", "count", scan.ports_checked or 0)
    elif scan.ports:
        collector.error(ProblemKind.TRUNCATED, "the scan ends before its summary")
    collector.refuse_several(scan.summaries)
    if unmanaged := _UNMANAGED.search(text):
        collector.error(NO_MANAGER, unmanaged[0])
    if unread := _UNREAD.search(text):
        collector.error(ProblemKind.COUNTERS_UNREAD, unread[0])
    complain_of_nothing(text, collector)
    return collector.parsed("ibqueryerrors", None, {"ports_with_errors": scan.ports_with_errors})
