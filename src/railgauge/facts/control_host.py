"""The load of the control host during one repeat of a measurement, read from ``/proc``. Pure.

The text has two readings, before and after the repeat::

    cpus 2
    boot_id 5b4a7c8e-...
    before
    cpu  274049 127 43172 29811 441 0 472 223 0 0
    procs_running 12
    MemTotal:       24678008 kB
    MemAvailable:   18484736 kB
    some avg10=79.28 avg60=85.68 avg300=91.30 total=1397945572
    after
    ...

See ``proc_stat``, proc_meminfo(5) and psi in the kernel's documentation (accounting/psi). The load
of the measurement itself does not count: it does not run before its start or after its end, so
tasks that wait for a CPU at both moments belong to others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from railgauge.facts import proc_stat
from railgauge.facts.boot import parse_boot_id

# Beside this reading process, as many tasks want a CPU as there are CPUs.
_WAITING = 0.5
_STEAL = 0.05
_MEMORY_LEFT = 0.03
_PARTS = re.compile(r"\A(?P<head>.*?)^before\n(?P<before>.*?)^after\n(?P<after>.*)\Z", re.S | re.M)


@dataclass(frozen=True, slots=True)
class HostLoad:
    """The load of other programs on the control host during a repeat.

    ``others`` is the smaller number of other tasks that could run, before and after. ``waiting`` is
    the share of the time in which a task waited for a CPU, ``None`` where the kernel does not
    report it. ``steal`` is the share of the CPU time that the hypervisor gave to others,
    ``memory_left`` the smaller share of the memory that was available.
    """

    boot_id: str
    cpus: int
    others: int
    waiting: float | None
    steal: float
    memory_left: float

    @property
    def is_busy(self) -> bool:
        """Whether others used so much that it may have slowed a measurement on this host."""
        return self.is_full or self.steal >= _STEAL or self.memory_left < _MEMORY_LEFT

    @property
    def is_full(self) -> bool:
        waits = self.waiting is None or self.waiting >= _WAITING
        return self.others >= self.cpus and waits

    def __str__(self) -> str:
        parts = []
        if self.is_full:
            parts.append(f"{self.others} other tasks on {self.cpus} CPUs")
        if self.steal >= _STEAL:
            parts.append(f"{self.steal:.0%} of the CPU time given to other guests")
        if self.memory_left < _MEMORY_LEFT:
            parts.append(f"{self.memory_left:.1%} of the memory available")
        return ", ".join(parts) or "not busy"


@dataclass(frozen=True, slots=True)
class _Reading:
    memory_left: float
    waited_us: int | None


def parse(text: str, lasted_s: float) -> HostLoad | None:
    """Return the load of a repeat that took so many seconds; ``None`` for an unusable text.

    A counter that decreased, or fewer than one CPU, makes a text unusable: an unusable text excuses
    no slow measurement.
    """
    parts = _PARTS.match(text)
    boot = re.search(r"^boot_id (\S+)$", parts["head"], re.M) if parts else None
    boot_id = parse_boot_id(boot[1]) if boot else None
    cpus = _number(parts["head"], "cpus") if parts else None
    if not parts or not boot_id or not cpus or lasted_s <= 0:
        return None
    time = proc_stat.between(parts["before"], parts["after"])
    before, after = _reading(parts["before"]), _reading(parts["after"])
    if time is None or before is None or after is None:
        return None
    waited = _waited(before, after, lasted_s)
    if waited is not None and waited < 0:
        return None
    return HostLoad(
        boot_id=boot_id,
        cpus=cpus,
        others=max(0, min(time.running) - 1),
        waiting=waited,
        steal=time.stolen / max(1, time.total),
        memory_left=min(before.memory_left, after.memory_left),
    )


def _reading(text: str) -> _Reading | None:
    total, left = (_number(text, name) for name in ("MemTotal:", "MemAvailable:"))
    if left is None or not total:
        return None
    waited = re.search(r"^some .*\btotal=([0-9]{1,20})$", text, re.M)
    return _Reading(left / total, int(waited[1]) if waited else None)


def _number(text: str, name: str) -> int | None:
    found = re.search(rf"^{name}\s+([0-9]{{1,20}})\b", text, re.M)
    return int(found[1]) if found else None


def _waited(before: _Reading, after: _Reading, lasted_s: float) -> float | None:
    if before.waited_us is None or after.waited_us is None:
        return None
    return (after.waited_us - before.waited_us) / 1e6 / lasted_s
