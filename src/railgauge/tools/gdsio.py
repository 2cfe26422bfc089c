"""``gdsio``, NVIDIA's benchmark of GPUDirect Storage, on the storage that a hostfile declares.

``XferType: GPUD`` is what it was asked for, not what happened: in cuFile's compatibility mode the
data go through host memory, and it prints the same. So cuFile is started with that mode off, in
which it refuses a file that has no direct path, and its log or ``gdscheck -p`` must show that the
mode is off. Some writes are excepted from that; cuFile's log tells of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from railgauge.config.thresholds.storage import mounts_of
from railgauge.core.model import Command, Parsed
from railgauge.core.problems import ProblemKind
from railgauge.tools import Setting, on_storage
from railgauge.tools.collector import OutputCollector
from railgauge.tools.metric import HIGHER, LOWER, Metric
from railgauge.tools.options import on_its_node, program, read_options, starting
from railgauge.tools.output_checks import OutputCheck, SideOutput, ToolRequest, equal, long_enough
from railgauge.tools.text import clean

METRICS = (
    Metric("bandwidth_read", ("GiB/s",), HIGHER),
    Metric("bandwidth_write", ("GiB/s",), HIGHER),
    Metric("latency_read", ("us",), LOWER, may_be_zero=True),
    Metric("latency_write", ("us",), LOWER, may_be_zero=True),
)
# The words are the folders, the free space that each needs, the program, and the phases: a name,
# a folder and the options of gdsio, one a line. cuFile writes its log into the file that the
# variable names, and that of gdscheck into the folder in which it is started.
_SCRIPT = (
    on_storage.FUNCTIONS
    + """\
folders=$1 needs=$2 program=$3; shift 3
clean() { end_started; rm -rf -- $folders; } 2>/dev/null
prepare
export CUFILE_ALLOW_COMPAT_MODE=false CUFILE_FORCE_COMPAT_MODE=false CUFILE_LOGGING_LEVEL=INFO
cd -- "${folders%%"$IFS"*}" || fail "the folder is gone"
case $program in */*) beside=${program%/*}/ ;; *) beside= ;; esac
for check in "${beside}gdscheck" "${beside}gdscheck.py"; do
  ! command -v "$check" >/dev/null || { start "$check" -p; break; }
done
for words; do
  name=${words%%"$IFS"*} words=${words#*"$IFS"} log=${words%%"$IFS"*}/log
  mkdir -p -- "$log"
  export "CUFILE_LOGFILE_PATH=$log/$name.log"
  echo "railgauge storage phase $name"
  start "$program" -D $words
  set +f; grep -h -e compat -e 'IO mode' -- "$log/$name"* 2>/dev/null; set -f
  [ "$code" -eq 0 ] || exit "$code"
done
"""
)
_THREADS, _IO_KIB, _KIB = 8, 1024, 1024
_WAYS = {"write": "1", "read": "0"}
_FILL = "fill"
_DIRECT = "GPUD"
# It stops when its time is over, and counts from the first transfer.
_SHORTEST = 0.8

_NUMBER = r"[0-9]{1,12}(?:\.[0-9]{1,9})?"
_ROW = re.compile(
    rf"IoType: ([A-Z]{{1,20}}) XferType: (\w{{1,30}}) Threads: ([0-9]{{1,6}}) "
    rf"(?:IoDepth: [0-9]{{1,6}} )?DataSetSize: ([0-9]{{1,18}})/([0-9]{{1,18}})\(KiB\) "
    rf"IOSize: ([0-9-]{{1,40}})\(KiB\) Throughput: ({_NUMBER}) GiB/sec, "
    rf"Avg_Latency: ({_NUMBER}) usecs ops: ([0-9]{{1,15}}) total_time ({_NUMBER}) secs"
)
_BEGUN = re.compile(r"\bIoType: [^\n]{0,200}")
_COMPLAINT = re.compile(
    r"^[^\n]{0,80}(?:register error|driver open (?:error|failed)|io failed|Error:)[^\n]{1,200}",
    re.MULTILINE | re.IGNORECASE,
)
_MODE = re.compile(r"properties\.(?:use|force)_compat_mode : (true|false|0|1)\b")
# How cuFile's log calls a transfer through host memory.
_FALLBACK = re.compile(
    r"[^\n]{0,200}(?:with compat mode enabled|enabling compat mode|continuing in compat mode"
    r"|compat mode to true|IO mode: POSIX)[^\n]{0,200}"
)
_AGREEMENT = 0.01


@dataclass(frozen=True, slots=True)
class _Phase:
    """One run of gdsio in a folder; ``asked`` is what is asked of its mount, as plain data."""

    name: str
    way: str
    asked: Mapping[str, Any]
    is_timed: bool = True

    @property
    def each_mib(self) -> int:
        """What each thread's file holds."""
        return max(1, int(self.asked["size_mib"]) // _THREADS)

    def word(self, folder: str) -> str:
        timed = ("-T", str(self.asked["seconds"])) if self.is_timed else ()
        options = (
            *(folder, "-d", str(self.asked["gpu"]), "-w", str(_THREADS)),
            *("-s", f"{self.each_mib}M", "-i", f"{_IO_KIB}K", "-x", "0", "-I", _WAYS[self.way]),
            *timed,
        )
        return "\n".join((self.name, *options))


def commands(setting: Setting, port: int) -> tuple[Command, ...]:  # noqa: ARG001 - no server
    """Return one run on the case's node, which measures every mount one after the other.

    Option ``mounts``: what is asked of the mounts that the hostfile declares, by their names.
    Raises ``BadInput``, also if the platform declares no such GPU of NVIDIA.
    """
    options = read_options(setting, frozenset({"mounts"}), ("gdsio",))
    mounts, gpus = on_storage.reached_mounts(setting), setting.platform.gpus
    if not mounts:
        options.refuse("no mounts to measure", "declare them in the hostfile, under storage:")
    if gpus is None or gpus.vendor != "nvidia":
        options.refuse("GPUDirect Storage needs GPUs of NVIDIA", "remove gds_… from storage:")
    for name, one in mounts.items():
        if not one["gpu"] < gpus.count:
            what = f"{name} names GPU {one['gpu']} of {gpus.count}"
            options.refuse(what, f"gds_gpu: 0 to {gpus.count - 1}")
    folders = on_storage.own_folders(setting, mounts)
    phases = (one.word(folders[name]) for name in mounts for one in _phases(name, mounts[name]))
    gdsio = program(setting, "gdsio")
    words = ("\n".join(folders.values()), on_storage.needs_kib(mounts), gdsio)
    order = {**setting.environment, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    argv = ("sh", "-c", _SCRIPT, "gdsio", *words, *phases)
    return starting((gdsio,), on_its_node(setting, argv, order))


def _phases(name: str, asked: Mapping[str, Any]) -> Iterator[_Phase]:
    """Yield the phases of a mount: a read needs whole files, which a timed write may not leave."""
    yield _Phase(f"{name}-{_FILL}", "write", asked, is_timed=False)
    for way in (way for way in _WAYS if way in asked["ways"]):
        yield _Phase(f"{name}-{way}", way, asked)


# --- what it prints ---


def parse(text: str) -> Parsed:
    """Read the rows of one run. Never raises and takes time linear in the text.

    ``bandwidth_read``, ``bandwidth_write`` (``GiB/s``), ``latency_read`` and ``latency_write``
    (mean, ``us``), with the phase as placement, or without phases the type of transfer (``GPUD``,
    ``CPUONLY``, …). A bandwidth must follow from data and time. That cuFile moved data through host
    memory is ``tool-failed``. ``summary.phases`` has what each row shows, and ``compat_mode`` as
    cuFile used it: ``true``, ``false``, or ``None`` if that is not shown.
    """
    text = clean(text)
    collector = OutputCollector()
    phases: dict[str, object] = {}
    if refused := on_storage.refused(text):
        collector.error(ProblemKind.TOOL_FAILED, refused)
    elif collector.check_started(text, "gdsio"):
        printed = list(on_storage.phases(text)) or [("", text)]
        before = text.partition(on_storage.PHASE_BEGINS)[0] if printed[0][0] else ""
        for name, part in printed:
            _complain(part, collector)
            _read(name, part, before, collector, phases)
        if collector.is_empty:
            collector.nothing(text, "no result of gdsio in this text")
    return collector.parsed("gdsio", None, {"phases": phases})


def _complain(text: str, collector: OutputCollector) -> None:
    if fallback := _FALLBACK.search(text):
        message = f"cuFile moved data through host memory: {fallback[0].strip()}"
        collector.error(ProblemKind.TOOL_FAILED, message)
    if complaint := _COMPLAINT.search(text):
        collector.error(ProblemKind.TOOL_FAILED, complaint[0].strip())


def _read(
    name: str, text: str, before: str, collector: OutputCollector, phases: dict[str, object]
) -> None:
    rows = list(_ROW.finditer(text))
    if len(rows) != len(_BEGUN.findall(text)):
        collector.error(ProblemKind.TRUNCATED, "a row of gdsio is not whole")
    if name and (len(rows) > 1 or name in phases):
        collector.several_runs()
    for row in rows:
        place = name or row[2]
        _add(row, place, collector)
        phases[place] = {
            **dict(zip(_SHOWN, row.groups(), strict=True)),
            "compat_mode": _mode(text) or _mode(before),
        }


_SHOWN = (
    *("way", "transfer", "threads", "moved_kib", "data_kib", "io_kib"),
    *("throughput", "latency", "ops", "seconds"),
)


def _mode(text: str) -> str | None:
    """Return whether cuFile may or must use its compatibility mode; ``None`` if not shown."""
    found = set(_MODE.findall(text))
    if not found:
        return None
    return "true" if found & {"true", "1"} else "false"


def _add(row: re.Match[str], place: str, collector: OutputCollector) -> None:
    way = row[1].lower().removeprefix("rand")
    if way not in _WAYS:
        collector.error(ProblemKind.UNPARSABLE, f"IoType {row[1]} is neither READ nor WRITE")
        return
    rate, moved_kib, seconds = float(row[7]), float(row[4]), float(row[10])
    expected = moved_kib / _KIB**2 / seconds if seconds else 0.0
    if abs(expected - rate) > _AGREEMENT * max(rate, expected) + 1e-6:
        what = f"{moved_kib:g} KiB in {seconds:g} s are not {rate:g} GiB/s"
        collector.error(ProblemKind.INCONSISTENT, what)
    if row[6].isdecimal() and int(row[9]) * int(row[6]) != int(row[4]):
        what = f"{row[9]} operations of {row[6]} KiB are not {row[4]} KiB"
        collector.error(ProblemKind.INCONSISTENT, what)
    collector.add(f"bandwidth_{way}", "GiB/s", rate, place)
    collector.add(f"latency_{way}", "us", float(row[8]), place, may_be_zero=True)


# --- what the output must confirm ---


def output_checks(asked: ToolRequest, sides: tuple[SideOutput, ...]) -> tuple[OutputCheck, ...]:
    """Compare the phases, what each did, and the time of the command with that of its phases."""
    mounts = mounts_of(asked.measurement)
    phases = [one for name, each in mounts.items() for one in _phases(name, each)]
    printed = sides[0].parsed.summary.get("phases")
    found: Mapping[str, Any] = printed if isinstance(printed, dict) else {}
    wanted_s = sum(_SHORTEST * one.asked["seconds"] for one in phases if one.is_timed)
    return (
        equal("phases", ", ".join(one.name for one in phases), ", ".join(found) or None),
        *(check for one in phases for check in _of_phase(one, found.get(one.name) or {})),
        *(equal(f"GPU of {name}", one["gpu"], None) for name, one in mounts.items()),
        *long_enough(sides[0], wanted_s, "for all its phases"),
    )


def _of_phase(phase: _Phase, found: Mapping[str, Any]) -> Iterator[OutputCheck]:
    wanted = {
        "way": phase.way,
        "transfer": _DIRECT,
        "threads": _THREADS,
        "data_kib": _THREADS * phase.each_mib * _KIB,
        "io_kib": _IO_KIB,
    }
    for item, value in wanted.items():
        yield equal(f"{item} of {phase.name}", value, found.get(item))
    # Without it nothing tells a direct transfer from one through host memory.
    mode = found.get("compat_mode") or "nothing"
    yield OutputCheck(
        f"compatibility mode of {phase.name}",
        "false",
        mode,
        mode == "false",
        remedy="install gdscheck beside gdsio, or set allow_compat_mode: false in cufile.json",
    )
    if phase.is_timed:
        seconds = float(found.get("seconds") or 0)
        least = _SHORTEST * phase.asked["seconds"]
        shown = f"{seconds:g}" if found else None
        enough = not found or seconds >= least
        yield OutputCheck(f"seconds of {phase.name}", f"{least:g} or more", shown, enough)
