"""Reading of a node's kernel log, and the part of it that a run covers. Pure.

``/dev/kmsg`` gives one record for each read, with a number that grows by one from record to record
(Documentation/ABI/testing/dev-kmsg). The survey notes the number of the last record, and at its end
the run reads all records from that one on. Gaps are therefore detected: overwritten records, and a
log that restarted.

A record is ``PRIORITY,NUMBER,MICROSECONDS,FLAGS;TEXT``, for example
``6,362,632053479,-;br0: port 1(eth1) entered disabled state``. The kernel writes bytes that cannot
be printed as ``\\x0a``, so that no text can look like a second record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from railgauge.core.errors import KernelLogUnread
from railgauge.core.model import Transcript
from railgauge.facts.boot import parse_boot_id

# The kernel ends a read without waiting with this error when there is no further record.
_AT_THE_END = "Resource temporarily unavailable"
_DENIED = ("Operation not permitted", "Permission denied")
_RECORD = re.compile(r"(\d{1,10}),(\d{1,18}),(\d{1,16}),[^;]{0,200};(.*)")
_MARK = re.compile(r"\d{1,10},(\d{1,18}),\d{1,16},")
_MOST_SHOWN = 200
_FACILITY = 8  # a priority is 8 x facility + level; the kernel's own facility is 0

_RIGHT = (
    "reading the kernel's log needs root or CAP_SYSLOG where kernel.dmesg_restrict is 1: log in as"
    " root, or add become: sudo -n to the hostfile; a container needs the host's /dev/kmsg too"
)
_LARGER = (
    "enlarge the kernel's log (log_buf_len=16M on its command line), or stop what fills it: see the"
    " lines in the transcript"
)

# The first argument is the host's root, the second the number of the first record. dd is run twice:
# a record that is overwritten while it reads ends it too early. awk prints each record once, and
# the messages of dd.
_SCRIPT = r"""LC_ALL=C; export LC_ALL; R=${1%/}
printf 'boot_id %s\n' "$(cat "$R/proc/sys/kernel/random/boot_id" 2>&1)"
for pass in 1 2; do dd if="$R/dev/kmsg" iflag=nonblock bs=8192 2>&1; done |
  awk -F'[,;]' -v first="$2" '
    /^[0-9]+,[0-9]+,[0-9]+,/ { if ($2 + 0 >= first + 0 && !seen[$2]++) print; next }
    !/^[0-9 ]/'
printf 'uptime %s\n' "$(cat "$R/proc/uptime" 2>&1)"
"""


@dataclass(frozen=True, slots=True)
class KernelRecord:
    """One record: ``level`` is 0 (emergency) to 7 (debug), ``at_us`` the time since boot.

    ``is_kernels`` is false for a line that a program wrote into the log.
    """

    number: int
    level: int
    is_kernels: bool
    at_us: int
    text: str


@dataclass(frozen=True, slots=True)
class KernelReading:
    """One reading of the log: all records from a number on, in order.

    ``up_s`` are the seconds since boot at the end of the reading; ``complaint`` is the error that
    ended it before the end of the log, empty without one.
    """

    boot_id: str | None
    up_s: float | None
    records: tuple[KernelRecord, ...]
    complaint: str = ""


def reading_argv(rootfs: str, first: int) -> tuple[str, ...]:
    """Return the command that prints all records from number ``first`` on."""
    return ("sh", "-c", _SCRIPT, "railgauge", rootfs, str(first))


def parse_mark(text: str) -> str | None:
    """Return the number of the last record in the output of the probe, as text.

    ``None`` if the probe did not reach the end of the log: its output is then the reason.
    """
    *lines, last = text.strip("\n").split("\n")
    mark, ended = _MARK.match(last), lines[-1] if lines else ""
    is_whole = ended.startswith("dd: ") and ended.endswith(_AT_THE_END)
    return mark[1] if mark and is_whole else None


def parse_reading(output: str) -> KernelReading:
    """Read the output of ``reading_argv``'s command; any text gives a reading."""
    lines = output.rstrip("\n").split("\n")
    records = {record.number: record for line in lines if (record := record_of(line))}
    return KernelReading(
        boot_id=parse_boot_id(lines[0].removeprefix("boot_id ")),
        up_s=_seconds(lines[-1].removeprefix("uptime ")),
        records=tuple(records[number] for number in sorted(records)),
        complaint=_complaint(lines),
    )


def record_of(line: str) -> KernelRecord | None:
    """Read one record as ``/dev/kmsg`` gives it; ``None`` for any other line."""
    match = _RECORD.fullmatch(line)
    if match is None:
        return None
    priority = int(match[1])
    return KernelRecord(
        number=int(match[2]),
        level=priority % _FACILITY,
        is_kernels=priority < _FACILITY,
        at_us=int(match[3]),
        text=match[4],
    )


def _seconds(text: str) -> float | None:
    match = re.match(r"(\d{1,10}(?:\.\d{1,9})?)(?:\s|$)", text)
    return float(match[1]) if match else None


_OWN = ("boot_id ", "uptime ")


def _complaint(lines: Sequence[str]) -> str:
    """The error that ended dd, unless it marks the end of the log."""
    rest = [one for one in lines if one and not one[0].isdigit() and not one.startswith(_OWN)]
    if not rest:
        return "the log was not read to its end"
    return "" if _AT_THE_END in rest[-1] else rest[-1][:_MOST_SHOWN]


def window(reading: KernelReading, boot_id: str | None, mark: int) -> tuple[KernelRecord, ...]:
    """Return the records after number ``mark``, which was the last one under ``boot_id``.

    Raises ``KernelLogUnread`` unless the reading has all of them.
    """
    if complaint := reading.complaint:
        what = f"the kernel's log could not be read: {complaint}"
        raise KernelLogUnread(what, remedy=remedy(complaint))
    if boot_id is None or reading.boot_id is None:
        raise KernelLogUnread("the boot id is not known, so that a reboot would not be noticed")
    if reading.boot_id != boot_id:
        raise KernelLogUnread(
            "the node was rebooted during the run: its kernel's log before the reboot is lost",
            remedy="read the log of the boot before on the node (journalctl -k -b -1)",
        )
    numbers = [record.number for record in reading.records]
    if not numbers or numbers[-1] < mark:
        raise KernelLogUnread(
            f"the kernel's log has no record {mark}, which it had at the start of the run"
        )
    if lost := numbers[-1] - mark - sum(number > mark for number in numbers):
        what = f"{lost} of {numbers[-1] - mark} records of the kernel's log are lost: overwritten"
        raise KernelLogUnread(f"{what} before the end of the run", remedy=_LARGER)
    return tuple(record for record in reading.records if record.number > mark)


def remedy(complaint: str) -> str:
    """Return the remedy for a complaint of dd: the missing right, if one is."""
    denied = any(word in complaint for word in _DENIED)
    return _RIGHT if denied else "read /dev/kmsg on the node by hand, as this login"


def moments(
    records: Sequence[KernelRecord], reading: KernelReading, transcript: Transcript
) -> Iterator[datetime | None]:
    """Yield the time of each record by the controller's clock; ``None`` if unknown.

    The reading printed the node's uptime last. Records count by the uptime, so the node's date is
    not needed and may be wrong.
    """
    span = transcript.span
    end = span[1] if span else None
    for record in records:
        if end is None or reading.up_s is None:
            yield None
        else:
            yield end - timedelta(seconds=reading.up_s - record.at_us / 1e6)
