"""``iblinkinfo``, with and without ``-l``: state, width and speed of every port of the subnet."""

from __future__ import annotations

from functools import lru_cache

from railgauge.core.model import Command, Parsed
from railgauge.core.problems import ProblemKind
from railgauge.subnet.linkinfo import LinkTable, link_table
from railgauge.tools import Setting
from railgauge.tools.claims import claims_nothing as claims
from railgauge.tools.collector import OutputCollector
from railgauge.tools.infiniband_diags.asking import asks, complain_of_nothing, complain_of_start
from railgauge.tools.metric import HIGHER, LOWER, Metric
from railgauge.tools.text import clean, is_torn

__all__ = ["METRICS", "claims", "commands", "parse"]

METRICS = (
    Metric("ports_up", ("count",), HIGHER, may_be_zero=True),
    Metric("ports_down", ("count",), LOWER, may_be_zero=True),
    Metric("ports_degraded", ("count",), LOWER, may_be_zero=True),
)


def commands(setting: Setting, port: int) -> tuple[Command, ...]:  # noqa: ARG001 - no server
    return asks(setting, "iblinkinfo", "-l")


@lru_cache(maxsize=4)
def parse(text: str) -> Parsed:
    """Return ``ports_up``, ``ports_down`` and ``ports_degraded``; ``summary`` holds every port.

    A port that is up and narrower or slower than both ends can be (``Could be``) is degraded.
    A port that is listed twice is ``several-tables``. The program prints no closing line: if a port
    at the other end of a cable has no line, lines are missing, the warning ``no-closing-line``.
    """
    text = clean(text)
    collector = OutputCollector()
    complain_of_start(text, "iblinkinfo", collector)
    table = link_table(text)
    ports = table.ports
    if ports:
        down = sum(port.state == "Down" for port in ports)
        collector.add("ports_up", "count", len(ports) - down, may_be_zero=True)
        collector.add("ports_down", "count", down, may_be_zero=True)
        slow = [port for port in ports if port.could_be and port.state != "Down"]
        collector.add("ports_degraded", "count", len(slow), may_be_zero=True)
        for port in slow:
            what = f"{port.node}/{port.port} could be {port.could_be}"
            collector.warn(ProblemKind.TOOL_WARNING, what)
        _complain(text, table, collector)
    complain_of_nothing(text, collector)
    return collector.parsed("iblinkinfo", None, {"ports": ports} if ports else {})


def _complain(text: str, table: LinkTable, collector: OutputCollector) -> None:
    if is_torn(text) and not text.rstrip().endswith(")"):
        collector.error(ProblemKind.TRUNCATED, "the last line is incomplete")
    elif table.unreadable:
        message = f"{table.unreadable} lines of ports cannot be read"
        collector.error(ProblemKind.UNPARSABLE, message)
    if table.repeated:
        message = f"{table.repeated} ports are listed twice; give the output of one run"
        collector.error(ProblemKind.SEVERAL_TABLES, message)
    if table.unlisted:
        message = f"{table.unlisted} ports at the other ends of cables have no line"
        collector.warn(ProblemKind.NO_CLOSING_LINE, message)
