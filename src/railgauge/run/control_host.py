"""Records the load of this machine beside each repeat of a measurement.

Nodes that are namespaces or virtual machines of the control host are slow while it is busy. Its
load is therefore stored as evidence.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from railgauge.core.model import Transcript
from railgauge.core.terms import Role

NODE = "control host"
ARGV = ("cat", "/proc/stat", "/proc/meminfo", "/proc/pressure/cpu")
_WANTED = ("cpu ", "procs_running ", "MemTotal:", "MemAvailable:", "some ")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

MadeRun = tuple[Transcript, ...]


def watched(make: Callable[[], MadeRun]) -> MadeRun:
    """Make a repeat, and add a transcript with the load of this machine before and after it."""
    began, start_s, before = datetime.now(timezone.utc), time.monotonic(), _reading()
    run = make()
    output = f"{_head()}before\n{before}after\n{_reading()}"
    lasted_s = time.monotonic() - start_s
    load = Transcript(
        NODE, ARGV, 0, output, "", lasted_s, began.isoformat(), role=Role.CONTROL_HOST
    )
    return (*run, load)


def boot_id() -> str:
    """The boot id of this machine: a node that has it too runs on it."""
    return _text(_BOOT_ID).strip()


def _head() -> str:
    return f"cpus {len(os.sched_getaffinity(0))}\nboot_id {boot_id()}\n"


def _reading() -> str:
    lines = (line for path in ARGV[1:] for line in _text(Path(path)).splitlines())
    return "".join(f"{line}\n" for line in lines if line.startswith(_WANTED))


def _text(path: Path) -> str:
    """The content of a file of the kernel; empty where it has none."""
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
