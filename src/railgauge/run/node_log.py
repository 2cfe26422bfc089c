"""Where the part of the log begins that a node's check judges: boot, last check or a time."""

from __future__ import annotations

import json
import time
from datetime import datetime
from pathlib import Path

from railgauge.core.errors import BadInput
from railgauge.facts import NodeAnswer, NodeFacts
from railgauge.judging.kernel_log import LogSince
from railgauge.run.node_state import NodeState, read_json
from railgauge.run.store import write_whole

_BOOT, _CHECK = "boot", "check"
# No time server sets the clock of the log: in ten days it may be off by a minute.
_DRIFT = 1e-4
_MOST_BYTES = 200


def since(asked: str, state: NodeState, answer: NodeAnswer, rootfs: str) -> LogSince:
    """Return the part of the log that a check judges, and keep how far this one has read it.

    ``asked`` is ``boot``, ``check`` or a time, in the zone of this machine if it names none. After
    a reboot all of the log counts.
    """
    before = _since_check(state, answer)
    if asked == _BOOT:
        return LogSince()
    if asked == _CHECK:
        return before
    return _since_time(datetime.fromisoformat(asked).astimezone(), rootfs)


def _since_check(state: NodeState, answer: NodeAnswer) -> LogSince:
    if not isinstance(answer, NodeFacts) or answer.boot_id is None or answer.kernel_log is None:
        return LogSince()
    before = read_json(state.log_mark)
    now = {"boot_id": answer.boot_id, "record": int(answer.kernel_log)}
    write_whole(state.log_mark, json.dumps(now))
    number = before.get("record")
    if before.get("boot_id") != answer.boot_id or not isinstance(number, int):
        return LogSince()
    return LogSince("since the check before", number)


def _since_time(at: datetime, rootfs: str) -> LogSince:
    """Return the part of the log since a time, and somewhat before, because its clock drifts."""
    ago_s = time.time() - at.timestamp()
    if ago_s < 0:
        raise BadInput(f"{at.isoformat()} is in the future", where="--log-since")
    up_s = _up_s(Path(rootfs) / "proc" / "uptime")
    at_us = 1e6 * (up_s - ago_s - _DRIFT * up_s)
    return LogSince(f"since {at:%Y-%m-%d %H:%M:%S%z}", at_us=at_us) if at_us > 0 else LogSince()


def _up_s(path: Path) -> float:
    """Return the seconds since boot. Raises ``BadInput`` if the node does not show them."""
    try:
        with path.open(encoding="ascii") as file:
            return float(file.read(_MOST_BYTES).split()[0])
    except (OSError, ValueError, IndexError):
        what = "does not show how long the node has been up"
        raise BadInput(what, where=str(path), remedy="--log-since boot") from None
