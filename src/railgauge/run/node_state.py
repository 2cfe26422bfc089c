"""The folder in which a node's check keeps what its next check needs.

For each node it holds a lock, the last result, a reading of the error counters, and how far the
kernel's log was read. Times count from the boot of the kernel: setting the clock changes nothing,
and a reboot makes all of it void.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from railgauge.core.errors import BadInput
from railgauge.core.node_names import file_name
from railgauge.core.plain_files import Unreadable, read_text

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_MOST_BYTES = 16 * 2**20
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class NodeState:
    """What is kept of one node: ``folder`` is private to the user, ``stem`` begins each file."""

    folder: Path
    stem: str

    @property
    def lock(self) -> Path:
        return self.folder / f"{self.stem}.lock"

    @property
    def counters(self) -> Path:
        return self.folder / f"{self.stem}.counters.json"

    @property
    def log_mark(self) -> Path:
        return self.folder / f"{self.stem}.log.json"

    @property
    def _result(self) -> Path:
        return self.folder / f"{self.stem}.result.json"

    def result(self, inputs: str) -> tuple[float, Any]:
        """Return the age in seconds of the last result of the same inputs, and the result.

        The age is infinite if there is none of this boot.
        """
        found = read_json(self._result)
        is_same = found.get("inputs") == inputs and found.get("boot_id") == _boot_id()
        at_s = found.get("at_s")
        if not is_same or not isinstance(at_s, float):
            return float("inf"), None
        age_s = _up_s() - at_s
        return (age_s if age_s >= 0 else float("inf")), found.get("result")

    def keep(self, inputs: str, result: Mapping[str, Any]) -> None:
        from railgauge.run.store import write_whole  # noqa: PLC0415 - a kept result needs none

        kept = {"inputs": inputs, "boot_id": _boot_id(), "at_s": _up_s(), "result": result}
        write_whole(self._result, json.dumps(kept))


def state_of(node: str, folder: Path) -> NodeState:
    """Return the state of a node, in a folder that is made if there is none.

    Raises ``BadInput`` unless it is a folder that this user alone can write.
    """
    remedy = "name another folder: --state DIR"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError as error:
        what = f"cannot be made: {error.strerror}"
        raise BadInput(what, where=str(folder), remedy=remedy) from None
    if found.st_uid != os.geteuid() or found.st_mode & _OTHERS_WRITE:
        raise BadInput("others can write into it", where=str(folder), remedy=remedy)
    return NodeState(folder, file_name(node))


def own_folder() -> Path:
    """Return the folder of this user, if possible on a RAM disk, which a reboot empties."""
    if os.geteuid() == 0:
        return Path("/run/railgauge")
    base = os.environ.get("XDG_RUNTIME_DIR", "") or os.fspath(Path.home() / ".cache")
    return Path(base) / "railgauge"


def read_json(path: Path) -> dict[str, Any]:
    """Return what a file of the state holds; nothing if it is missing or damaged."""
    try:
        found = json.loads(read_text(path, _MOST_BYTES))
    except (Unreadable, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _boot_id() -> str:
    return _BOOT_ID.read_text(encoding="ascii").strip()


def _up_s() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)
