"""``perfquery``: the counters of one port; its output is read, the tool is never run."""

from __future__ import annotations

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.subnet.errorcounters import (
    FULL,
    parse_perfquery,
    part_of_perfquery,
    ports_of_perfquery,
)
from railgauge.tools.collector import OutputCollector
from railgauge.tools.infiniband_diags.asking import complain_of_nothing, complain_of_start
from railgauge.tools.text import clean, is_torn
from railgauge.tools.torn import complain

_SELECTORS = ("PortSelect", "CounterSelect", "CounterSelect2")
# What the program prints last: of a port (older ones know no waits), and of the parts of -E.
_LAST = frozenset({"PortXmitWait", "PortRcvPkts", "PortLoopingErrors", "PortMultiCastRcvPkts"})


def parse(text: str) -> Parsed:
    """Return every counter as a sample; one at its maximum gives the warning ``counter-full``."""
    text = clean(text)
    collector = OutputCollector()
    complain_of_start(text, "perfquery", collector)
    counters = parse_perfquery(text)
    if counters and (is_torn(text) or not _LAST.intersection(counters)):
        collector.error(ProblemKind.TRUNCATED, "the output ends before the last counter")
    for name, value in counters.items():
        if name in _SELECTORS:
            continue
        collector.add(name, "count", value, may_be_zero=True)
        if value == FULL.get(name):
            collector.warn(
                ProblemKind.COUNTER_FULL, f"{name} is at its maximum, {value}, and no longer counts"
            )
    if counters and (part := part_of_perfquery(text)):
        complain(part, collector)
    headings = ports_of_perfquery(text)
    collector.refuse_several(1 + len(headings) - len(set(headings)))
    complain_of_nothing(text, collector)
    return collector.parsed("perfquery")
