"""Faults that a node's kernel logged between its boot and the survey. Pure.

The survey prints the lines that may name one, and the end of its reading of the log (``probe.sh``).
For each kind and device the first line and the number of lines are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from railgauge.core.secret_forms import MASK
from railgauge.facts.kernel.events import event_of
from railgauge.facts.kernel.kinds import OF_A_RUN
from railgauge.facts.kernel.log import KernelRecord, record_of
from railgauge.facts.kernel.xids import Gravity
from railgauge.facts.model import LoggedFault

_MOST = 100
_MORE = "more"
LATER_FAULTS = "kernel_faults.#"
"""The name in ``NodeFacts.missing`` of a log with more lines than the survey read."""


def parse_faults(text: str) -> tuple[LoggedFault, ...]:
    """Return the faults in the output of the probe, by their first line.

    A masked line of the kernel may also have been one, with a secret among its words.
    """
    found: dict[tuple[str, str], LoggedFault] = {}
    for line in text.split("\n"):
        record = record_of(line)
        key = _kind_and_device(record) if record else None
        if key and (key in found or len(found) < _MOST):
            seen = found.get(key)
            found[key] = (
                LoggedFault(seen.line, seen.count + 1, line) if seen else LoggedFault(line, 1)
            )
    return tuple(found.values())


def has_more(text: str) -> bool:
    """Whether the log had more lines that may name a fault than the probe prints."""
    return _MORE in text.split("\n")


def _kind_and_device(record: KernelRecord) -> tuple[str, str] | None:
    """The fault that a line names; ``None`` for one that counts only during a run."""
    if record.is_kernels and MASK in record.text:
        return MASK, ""
    event = event_of(record, {})
    if event is None or event.gravity is not Gravity.FAULT or event.kind.name in OF_A_RUN:
        return None
    return event.name, event.device


def up_to(faults: Iterable[LoggedFault], mark: int) -> Iterator[LoggedFault]:
    """Yield the faults whose first line is not after record ``mark``."""
    for one in faults:
        record = record_of(one.line)
        if record and record.number <= mark:
            yield one
