"""How a vendor's tool samples the GPUs of a node in a loop, and the parser of what it prints.

The tool prints one line of CSV for each GPU and moment. The node puts its uptime in front of each
line, because not every tool prints a time, and a node's date may be wrong::

    8211.42,telemetry,5f0a3c9e-0b1d-4e61-9d53-64b1a2a0c7de
    8211.87,index, clocks.current.sm [MHz], temperature.gpu
    8211.87,0, 1980, 61

The node writes the first line itself: when the sampler was started, and the id of the node's boot,
so that the samples of two nodes cannot be confused.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from railgauge.core import digits
from railgauge.core.errors import TelemetryUnread

GPU, CLOCK, HEAT, MEMORY_HEAT, POWER, CAP, LOAD = (
    "gpu", "clock", "temperature", "memory temperature", "power", "power cap", "utilisation",
)  # fmt: skip
REASONS = "throttle reasons"
UNITS = {CLOCK: "MHz", HEAT: "C", MEMORY_HEAT: "C", POWER: "W", CAP: "W", LOAD: "%"}

_NUMBER = re.compile(r"(\d{1,7}(?:\.\d{1,6})?)(?: ?(MHz|C|°C|W|%))?")
_LINE = re.compile(r"(\d{1,10}\.\d{2}),(.*)")
_START = re.compile(r"telemetry,([0-9a-f-]{36})")
_LONGEST_SHOWN = 120
_MS_PER_S = 1000

# The first argument is the host's root; the others are the tool.
_BEGIN = r"""LC_ALL=C; export LC_ALL; R=${1%/}; shift
PYTHONUNBUFFERED=1; export PYTHONUNBUFFERED
command -v "$1" >/dev/null || { printf '%s: command not found\n' "$1" >&2; exit 127; }
read -r boot <"$R/proc/sys/kernel/random/boot_id"
read -r up rest </proc/uptime
printf '%s,telemetry,%s\n' "$up" "$boot"
"""
_STAMPED = r"""while IFS= read -r line; do
  read -r up rest </proc/uptime
  printf '%s,%s\n' "$up" "$line"
done
"""
# A pipe makes some tools keep their lines back until they have many, so that the samples would be
# lost when the tool is ended.
_LOOP = rf"""{_BEGIN}if command -v stdbuf >/dev/null; then set -- stdbuf -oL "$@"; fi
"$@" 2>&1 | {_STAMPED}"""
_AGAIN = rf"""{_BEGIN}printf '%s,%s\n' "$up" 'each line is the block of a GPU'
while "$@" 2>&1 | awk "$joined"; do sleep "$every"; done | {_STAMPED}"""

SampleCells = Mapping[str, str]
"""The cells of one line of a tool by the names in its heading."""


@dataclass(frozen=True, slots=True, eq=False)
class Sampler:
    """How one vendor's tool samples all GPUs of a node.

    ``program`` is the tool, ``arguments`` gives its arguments for an interval in ms. ``columns``
    are what is read, each with the names that it has in the headings of the tool's releases.
    ``reasons`` gives the names of the reasons for which a row says that the GPU is throttled,
    ``None`` if it does not say; ``known_reasons`` are those that a platform file may name, and
    ``reason_columns`` where they are read. ``is_read`` is false for a row to be skipped.

    A tool that prints blocks of lines once is run repeatedly: ``joined`` is the awk program that
    makes one line of each block on the node, and ends with an error if there is none. ``cells``
    gives the cells of such a line by name, ``None`` for a line that is no block. ``needs`` is the
    release of the tool that knows these arguments, if an older one is in use.
    """

    program: str
    arguments: Callable[[int], Sequence[str]]
    columns: Mapping[str, Sequence[str]]
    reason_columns: Sequence[str] = ()
    known_reasons: Sequence[str] = ()
    reasons: Callable[[SampleCells], frozenset[str] | None] = lambda _: None
    is_read: Callable[[SampleCells], bool] = lambda _: True
    joined: str = ""
    cells: Callable[[str], SampleCells | None] | None = None
    needs: str = ""

    @property
    def shows(self) -> frozenset[str]:
        """What the tool can show of a GPU."""
        return frozenset({*self.columns, *([REASONS] if self.known_reasons else [])})


@dataclass(frozen=True, slots=True)
class GpuSample:
    """One GPU at one moment, ``at_s`` seconds of the node's uptime.

    ``values`` are those of ``UNITS`` that the tool showed. ``reasons`` is ``None`` if the tool did
    not show whether the GPU was throttled.
    """

    at_s: float
    gpu: int
    values: Mapping[str, float]
    reasons: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Samples:
    """What a sampler printed: ``began_s`` is the node's uptime when it was started."""

    boot_id: str
    began_s: float
    samples: tuple[GpuSample, ...]


def sampling_argv(rootfs: str, program: str, sampler: Sampler, interval_ms: int) -> tuple[str, ...]:
    """Return the command that runs the tool and puts the node's uptime before each line."""
    settings = f"every={interval_ms / _MS_PER_S:g}; joined={shlex.quote(sampler.joined)}\n"
    script = f"{settings}{_AGAIN}" if sampler.joined else _LOOP
    return ("sh", "-c", script, "railgauge", rootfs, program, *sampler.arguments(interval_ms))


def first_that_shows(needs: Set[str], samplers: Sequence[Sampler]) -> Sampler | None:
    """The first sampler that shows all that is needed; samplers are listed from cheap to costly."""
    return next((one for one in samplers if needs <= one.shows), None)


def seconds(interval_ms: int) -> str:
    """Return an interval in whole seconds, for a tool that takes no fractions: at least 1."""
    return str(max(1, math.ceil(interval_ms / _MS_PER_S)))


def parse_samples(text: str, sampler: Sampler) -> Samples:
    """Return the samples in the output of a sampler.

    The last line is left out unless it ends with a line end: the sampler is ended while it prints.
    Raises ``TelemetryUnread`` for any other line that is no sample, and if there is none.
    """
    lines = [_stamped(line) for line in digits.of_ascii(text).split("\n")[:-1]]
    if not lines:
        raise TelemetryUnread(f"{sampler.program} printed nothing")
    began_s, first = lines[0]
    if not (start := _START.fullmatch(first)):
        raise TelemetryUnread(f"the samples do not say of which node they are: {_shown(first)}")
    for (before_s, _), (at_s, line) in pairwise(lines):
        if at_s < before_s:
            what = f"the time goes back from {before_s:.2f} s to {at_s:.2f} s"
            raise TelemetryUnread(f"{what} at {_shown(line)}")
    found = tuple(_samples(lines[1:], sampler))
    if not found:
        other = f", but {_shown(lines[-1][1])}" if lines[1:] else ""
        raise TelemetryUnread(f"{sampler.program} printed no sample{other}")
    return Samples(start[1], began_s, found)


def last_of_each(text: str, sampler: Sampler, count: int) -> int:
    """Return the character at which the last samples of ``count`` GPUs begin; 0 if one has none."""
    heading = _cells(text.partition("\n")[2].partition("\n")[0].partition(",")[2])
    seen: set[int] = set()
    end = text.rfind("\n") + 1
    while end:
        start = text.rfind("\n", 0, end - 1) + 1
        gpu = _gpu_of(text[start : end - 1].rstrip("\r").partition(",")[2], heading, sampler)
        if gpu is not None:
            seen.add(gpu)
        if len(seen) >= count:
            return start
        end = start
    return 0


def _gpu_of(line: str, heading: _Heading, sampler: Sampler) -> int | None:
    """The GPU of a row; ``None`` for any other line, and for a row that cannot be read."""
    try:
        found = _of_block(sampler, line) if sampler.cells else _of_line(sampler, heading, line)
    except TelemetryUnread:
        return None
    return found.gpu if isinstance(found, _Row) else None


def _stamped(line: str) -> tuple[float, str]:
    match = _LINE.fullmatch(line.rstrip("\r"))
    if not match:
        raise TelemetryUnread(f"a line has no time before it: {_shown(line)}")
    return float(match[1]), match[2]


class _Row(NamedTuple):
    """The values that a line has for one GPU."""

    gpu: int
    values: Mapping[str, float]
    reasons: frozenset[str] | None


_Heading = tuple[str, ...]


def _samples(lines: Sequence[tuple[float, str]], sampler: Sampler) -> Iterator[GpuSample]:
    """The samples. Of joined blocks the first line is skipped: it only announces them."""
    heading: _Heading = ()
    for at_s, line in lines[1:] if sampler.cells else lines:
        found = _of_block(sampler, line) if sampler.cells else _of_line(sampler, heading, line)
        if isinstance(found, _Row):
            yield GpuSample(at_s, found.gpu, found.values, found.reasons)
        elif found is not None:
            heading = found


# The repeats of a short measurement begin with the same sample, and an idle GPU prints the same
# line for long, so that a line is read once.
@lru_cache(maxsize=1 << 12)
def _of_line(sampler: Sampler, heading: _Heading, line: str) -> _Row | _Heading | None:
    """The row of a line of CSV, its cells if it is a heading, ``None`` if it is to be skipped."""
    cells = _cells(line)
    if not line.strip() or _is_units(cells):
        return None
    if _is_heading(cells, sampler):
        _columns(cells, sampler)
        return cells
    if not heading or len(cells) != len(heading):
        raise TelemetryUnread(f"{sampler.program} printed {_shown(line)}, which is no sample")
    row = dict(zip(heading, cells, strict=True))
    return _row(row, _columns(heading, sampler), sampler, line) if sampler.is_read(row) else None


@lru_cache(maxsize=1 << 12)
def _of_block(sampler: Sampler, line: str) -> _Row:
    """The row of a block that the node has joined."""
    if not (row := sampler.cells(line) if sampler.cells else None):
        raise TelemetryUnread(f"{sampler.program} printed {_shown(line)}, which is no sample")
    shown = {
        what: next((name for name in names if name in row), "")
        for what, names in sampler.columns.items()
    }
    return _row(row, {what: name for what, name in shown.items() if name}, sampler, line)


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.split(","))


@lru_cache(maxsize=64)
def _columns(heading: _Heading, sampler: Sampler) -> Mapping[str, str]:
    """The column of each value. Raises ``TelemetryUnread`` for one that is missing."""
    found = {
        what: next((name for name in names if name in heading), "")
        for what, names in sampler.columns.items()
    }
    for what, name in found.items():
        if not name:
            raise TelemetryUnread(f"{sampler.program} shows no {what} ({sampler.columns[what][0]})")
    if sampler.reason_columns and not set(sampler.reason_columns) & set(heading):
        raise TelemetryUnread(f"{sampler.program} shows no {REASONS} ({sampler.reason_columns[0]})")
    return found


def _is_heading(cells: Sequence[str], sampler: Sampler) -> bool:
    return any(name in cells for name in sampler.columns[GPU])


_OF_UNITS = frozenset({"idx", "C", "W", "%", "GB", "MHz", ""})


def _is_units(cells: Sequence[str]) -> bool:
    """Whether a line has the units of the heading above it, as mx-smi prints them."""
    return len(cells) > 1 and _OF_UNITS.issuperset(cells)


def _row(row: SampleCells, shown: Mapping[str, str], sampler: Sampler, line: str) -> _Row:
    values: dict[str, float] = {}
    for what, column in shown.items():
        if what != GPU and (value := _value(what, row[column], line)) is not None:
            values[what] = value
    number = row[shown[GPU]]
    if not _GPU_NUMBER.fullmatch(number):
        raise TelemetryUnread(f"{_shown(line)} names no GPU")
    return _Row(int(number), values, sampler.reasons(row))


_GPU_NUMBER = re.compile(r"\d{1,3}")
_NO_VALUE = re.compile(r"\[?(?:N/A|Not Supported|Unknown Error|GPU is lost|-)\]?", re.IGNORECASE)


def _value(what: str, text: str, line: str) -> float | None:
    """The number; ``None`` for a text that means "no value", which is not zero."""
    try:
        return _number(UNITS[what], text)
    except ValueError:
        what_is_wrong = f"{text[:40]!r} is no {what} in {UNITS[what]}"
        raise TelemetryUnread(f"{what_is_wrong}: {_shown(line)}") from None


@lru_cache(maxsize=1 << 14)
def _number(unit: str, text: str) -> float | None:
    """The same number stands in many samples, so that it is read once. Raises ``ValueError``."""
    if _NO_VALUE.fullmatch(text):
        return None
    match = _NUMBER.fullmatch(text)
    if not match or match[2] not in (None, unit, f"°{unit}"):
        raise ValueError(text)
    return float(match[1])


def _shown(line: str) -> str:
    return repr(line[:_LONGEST_SHOWN])
