"""The kernel's log as dmesg, journalctl -k, syslog or /dev/kmsg print it; only read.

A run reads the log by itself (``facts/kernel``). Here the same kinds of lines are found in a saved
log of any time, without the names of the node's devices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.facts.kernel.events import KernelEvent, event_of
from railgauge.facts.kernel.log import KernelRecord
from railgauge.facts.kernel.xids import Gravity
from railgauge.tools.collector import OutputCollector
from railgauge.tools.text import clean

_TOOL = "dmesg"
_INFO, _LEVELS = 6, 8
_MOST_EVENTS = 200
_LONGEST_TEXT = 1000
# The beginning of a line: that of a record of /dev/kmsg, of dmesg with any of its options (--raw,
# --decode, --ctime, --time-format), or the name of the kernel in syslog and the journal.
_LINE = re.compile(
    r"(?:(?P<kmsg>\d{1,6}),\d{1,18},\d{1,18},[^;\n]{0,80};"
    r"|(?:<(?P<raw>\d{1,3})>)?(?:\w{2,8} {0,6}:\w{2,6} {0,6}: )?"
    r"(?:\[ {0,12}\d{1,12}\.\d{1,9}\]|\[\w{3} \w{3} {1,2}\d{1,2} [\d:]{8} \d{4}\]"
    r"|\d{4}-\d{2}-\d{2}T[\d:]{8},\d{1,9}[+-][\d:]{4,6}) ?(?:\[ {0,8}[TC]\d{1,9}\] ?)?"
    r"|[^\n]{0,120}? kernel: (?:\[ {0,12}\d{1,12}\.\d{1,9}\] ?)?)(?P<text>[^\n]*)"
)


def parse(text: str) -> Parsed:
    """Read a log; never raises.

    Counts: ``lines``, ``faults`` and ``notes``. ``summary.events`` has each line of a known kind
    with its kind, device, meaning and remedy, the first 200 of them. A line of another log that
    quotes an Xid is a note. A text that has only such lines gives the warning ``no-heading``; a
    text without either gives the error ``no-table``.
    """
    collector = OutputCollector()
    records = list(_records(clean(text, is_log=True)))
    if not records:
        collector.nothing(text, "no line is one of a kernel's log")
        return collector.parsed(_TOOL)
    of_log = [record for record in records if record.at_us != _QUOTED]
    if not of_log:
        message = "no line is one of a kernel's log: another log quotes it"
        collector.warn(ProblemKind.NO_HEADING, message)
    found = [event for record in records if (event := event_of(record, {}))]
    faults = sum(event.gravity is Gravity.FAULT for event in found)
    counts = {"lines": len(of_log), "faults": faults, "notes": len(found) - faults}
    for metric, value in counts.items():
        collector.add(metric, "count", float(value), may_be_zero=True)
    summary = {"events": [_shown(event) for event in found[:_MOST_EVENTS]]}
    return collector.parsed(_TOOL, None, summary)


# What only the kernel writes first; a program's log that holds it quotes the kernel.
_QUOTE = re.compile(r"(?:NVRM: Xid|nvidia-nvswitch\d{1,3}: SXid) \(")
_QUOTED = -1


def _records(text: str) -> Iterator[KernelRecord]:
    for number, line in enumerate(text.split("\n"), 1):
        if match := _LINE.match(line):
            given = match["kmsg"] or match["raw"]
            priority = int(given) if given else _INFO
            message = match["text"][:_LONGEST_TEXT]
            is_kernels = priority < _LEVELS
            yield KernelRecord(number, priority % _LEVELS, is_kernels, 0, message)
        elif quote := _QUOTE.search(line[: 4 * _LONGEST_TEXT]):
            message = line[quote.start() :][:_LONGEST_TEXT]
            yield KernelRecord(number, _INFO, is_kernels=False, at_us=_QUOTED, text=message)


def _shown(event: KernelEvent) -> dict[str, Any]:
    return {
        "line": event.record.number,
        "kind": event.name,
        "gravity": str(event.gravity),
        "cause": event.kind.cause,
        "device": event.device,
        "means": event.means,
        "remedy": event.action,
        "text": event.record.text,
    }
