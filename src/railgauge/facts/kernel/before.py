"""Faults that a node's kernel logged between its boot and the survey. Pure.

The survey prints the lines that may name one, with what ends its reading of the log (``probe.sh``).
Of each kind and device the first line is kept, and their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from railgauge.facts.kernel.events import KernelEvent, event_of
from railgauge.facts.kernel.kinds import OF_A_RUN
from railgauge.facts.kernel.log import record_of
from railgauge.facts.kernel.xids import Gravity
from railgauge.facts.model import LoggedFault

_MOST = 100


def parse_faults(text: str) -> tuple[LoggedFault, ...]:
    """Return the faults in the output of the probe, by their first line."""
    found: dict[tuple[str, str], LoggedFault] = {}
    for line in text.split("\n"):
        if (event := _fault(line)) and len(found) < _MOST:
            key = (event.name, event.device)
            seen = found.get(key)
            found[key] = LoggedFault(seen.line, seen.count + 1) if seen else LoggedFault(line, 1)
    return tuple(found.values())


def _fault(line: str) -> KernelEvent | None:
    """The fault that a line names; links come and go before a run, and programs run out of memory.

    Such lines, and those that may be of the boot itself, count during a run alone.
    """
    record = record_of(line)
    event = event_of(record, {}) if record else None
    is_fault = event is not None and event.gravity is Gravity.FAULT
    return event if event and is_fault and event.kind.name not in OF_A_RUN else None


def up_to(faults: Iterable[LoggedFault], mark: int) -> Iterator[LoggedFault]:
    """Yield the faults whose first line is not after record ``mark``."""
    for one in faults:
        record = record_of(one.line)
        if record and record.number <= mark:
            yield one
