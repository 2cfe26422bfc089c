"""Copy tests that SuperBench runs (only read): bandwidthTest, hipBusBandwidth, gpu_copy."""

from __future__ import annotations

import re

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector
from railgauge.tools.relations import Statistics
from railgauge.tools.text import clean, is_torn, whole_lines, with_end
from railgauge.tools.torn import complain

_TOOL = "superbench-copy"
_PROGRAMS = ("bandwidthTest", "hipBusBandwidth", "gpu_copy")
_FAILED = re.compile(
    r"^(?:Result = FAIL|[^\n]{0,80}(?:CUDA error|hipError|error:|failed|No devices))[^\n]{0,160}",
    re.IGNORECASE | re.MULTILINE,
)

_SHMOO = re.compile(
    r"bandwidthTest-(H2D|D2H|D2D)(?:-(\w{1,12}))?, Bandwidth = (\S{1,16}) (\S{1,8}), "
    r"Time = \S{1,20} s, Size = (\d{1,15}) bytes, NumDevsUsed = \d{1,4}"
)
_SHMOO_TITLE = "[CUDA Bandwidth Test]"
_SHMOO_START = "bandwidthTest-"
_SHMOO_END = "Result = "

_STATISTICS = ("median", "mean", "stddev", "min", "max")
_BUS_HEADING = ["test", "atts", "units", *_STATISTICS]
_BUS_TEST = re.compile(r"(H2D|D2H|D2D|Bidir)_(Bandwidth|Time)_?([A-Za-z]{0,16})")
_BUS_SIZE = re.compile(r"\+?0{0,3}(\d{1,9})(By|kB)")
_BUS_UNITS = {"GB/sec": "GB/s", "ms": "ms"}
_BUS_END = "Note: results marked with (*)"

_END = r"(cpu|gpu\d{1,3}|gpu_all)"
_COPY = re.compile(rf"{_END}_(to|and)_{_END}_((?:read_|write_)?by_\w{{1,40}}) (\S{{1,24}})")

_PART = re.compile(
    r"bandwidthTest-|-(?:H2D|D2H|D2D)|Bandwidth = |Size = |NumDevsUsed"
    r"|_(?:to|and)_(?:c?pu|gpu)|by_(?:sm|dma)|(?:sm|dma|numa\d) \d{1,6}\.\d"
    r"|^\s*\d{0,9}\.?\d{1,9}\s*$"
)
_RELATIONS = (Statistics("(?P<of>.{1,60})_(?P<as>median|mean|min|max)", 0.0001),)
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,12})?(?:e[+-]?\d{1,3})?")
# Below this size the programs round small bandwidths and times to 0.
_SMALL_BYTES = 65536


def parse(text: str) -> Parsed:
    """Read the output of one of the three programs; never raises.

    bandwidthTest (shmoo, ``--csv``): ``d2h_pinned_bw`` by size. hipBusBandwidth:
    ``h2d_pinned_bw_median``, ``_mean``, ``_stddev``, ``_min``, ``_max`` by size, where kB is 1024
    bytes, and ``h2d_pinned_time_median``, … in ms. gpu_copy: ``copy_by_sm_under_numa0``,
    ``copy_write_by_dma``, … with placements ``cpu>gpu0``, ``gpu0>gpu1``, ``all>gpu0``;
    ``bidirectional_by_sm``, … with the same placements is the sum of both directions. gpu_copy
    prints no unit; its values are decimal GB/s. A 0 below 64 KiB results from rounding: it gives
    the warning ``below-resolution`` and no sample.
    """
    text = with_end(clean(text), ends=("Result = PASS", "Result = FAIL"))
    collector = OutputCollector(relations=_RELATIONS)
    if collector.check_started(text, *_PROGRAMS) and (failed := _FAILED.search(text)):
        collector.error(ProblemKind.TOOL_FAILED, failed[0])
    programs = _collect(whole_lines(text), collector)
    if is_torn(text):
        collector.error(ProblemKind.TRUNCATED, "the last line is incomplete")
    collector.refuse_several()
    _collect_nothing(text, programs, collector)
    if len(programs) > 1:
        collector.error(
            ProblemKind.SEVERAL_TABLES, f"the output of several programs: {', '.join(programs)}"
        )
    return collector.parsed(_TOOL, None, {"program": next(iter(programs), None)})


def _collect(lines: list[str], collector: OutputCollector) -> dict[str, bool]:
    """Return the programs whose rows were found, and whether each one's last line was printed."""
    programs: dict[str, bool] = {}
    for line in lines:
        words = line[:400].split()
        if line.startswith(_SHMOO_START):
            programs["bandwidthTest"] = False
            _collect_shmoo(line, collector)
        elif line.startswith(_SHMOO_END) and "bandwidthTest" in programs:
            programs["bandwidthTest"] = True
        elif words == _BUS_HEADING:
            programs["hipBusBandwidth"] = False
        elif line.startswith(_BUS_END) and "hipBusBandwidth" in programs:
            programs["hipBusBandwidth"] = True
        elif words and "hipBusBandwidth" in programs and (test := _BUS_TEST.fullmatch(words[0])):
            _collect_statistics(test, words[1:], collector)
        elif copy := _COPY.fullmatch(line.strip()[:200]):
            programs["gpu_copy"] = True
            _collect_copy(copy, collector)
        elif _is_part(line[:400], programs):
            complain(line, collector)
    return programs


def _is_part(line: str, programs: dict[str, bool]) -> bool:
    """Return whether a line is the rest of a row that another text interrupts."""
    is_inside = programs.get("hipBusBandwidth") is False and line.strip() != ""
    is_of_bus = "hipBusBandwidth" in programs and bool(_BUS_TEST.search(line))
    return is_inside or is_of_bus or bool(_PART.search(line))


def _collect_shmoo(line: str, collector: OutputCollector) -> None:
    match = _SHMOO.fullmatch(line.rstrip()[:400])
    if match is None:
        collector.error(ProblemKind.UNPARSABLE, line[:160])
    elif match[4] != "GB/s":
        collector.error(ProblemKind.UNIT_UNKNOWN, line[:160])
    else:
        collector.size_bytes = int(match[5])
        metric = "_".join(filter(None, (match[1], match[2], "bw"))).lower()
        _add(metric, match[4], match[3], collector)


def _collect_statistics(test: re.Match[str], words: list[str], collector: OutputCollector) -> None:
    size = _BUS_SIZE.fullmatch(words[0]) if words else None
    unit = _BUS_UNITS.get(words[1]) if len(words) > 1 else None
    if size is None or unit is None or len(words) != len(_STATISTICS) + 2:
        collector.error(ProblemKind.UNPARSABLE, " ".join([test[0], *words])[:160])
        return
    collector.size_bytes = int(size[1]) * (1024 if size[2] == "kB" else 1)
    kind = "bw" if test[2] == "Bandwidth" else "time"
    name = "_".join(filter(None, (test[1], test[3], kind))).lower()
    if _is_below_resolution(words[2], collector.size_bytes):
        collector.warn(
            ProblemKind.BELOW_RESOLUTION, f"{name} of {collector.size_bytes} bytes is {words[2]}"
        )
        return
    for statistic, word in zip(_STATISTICS, words[2:], strict=True):
        _add(f"{name}_{statistic}", unit, word, collector)


def _collect_copy(match: re.Match[str], collector: OutputCollector) -> None:
    collector.size_bytes = None
    ends = (end.replace("gpu_all", "all") for end in (match[1], match[3]))
    way = "copy" if match[2] == "to" else "bidirectional"
    _add(f"{way}_{match[4]}", "GB/s", match[5], collector, ">".join(ends))


def _add(
    metric: str, unit: str, word: str, collector: OutputCollector, placement: str | None = None
) -> None:
    if not _NUMBER.fullmatch(word):
        collector.error(ProblemKind.NOT_A_NUMBER, f"{metric} is {word}")
        return
    if _is_below_resolution(word, collector.size_bytes) and not metric.endswith("_stddev"):
        collector.warn(
            ProblemKind.BELOW_RESOLUTION, f"{metric} of {collector.size_bytes} bytes is {word}"
        )
        return
    may_be_zero = metric.endswith("_stddev")
    collector.add(metric, unit, float(word), placement, may_be_zero=may_be_zero)


def _is_below_resolution(word: str, size_bytes: int | None) -> bool:
    is_small = size_bytes is not None and size_bytes < _SMALL_BYTES
    return is_small and bool(_NUMBER.fullmatch(word)) and float(word) == 0


def _collect_nothing(text: str, programs: dict[str, bool], collector: OutputCollector) -> None:
    if "bandwidthTest" in programs and _SHMOO_TITLE not in text:
        message = "bandwidthTest's title is missing: the first sizes may be too"
        collector.warn(ProblemKind.NO_OPENING_LINE, message)
    if "gpu_copy" in programs:
        message = "gpu_copy prints no first and no last line: rows may be missing"
        collector.warn(ProblemKind.NO_CLOSING_LINE, message)
    for name, has_ended in programs.items():
        if not has_ended:
            collector.error(ProblemKind.TRUNCATED, f"the last line of {name} was not printed")
    if collector.is_empty:
        collector.nothing(text, f"no output of {', '.join(_PROGRAMS)} in this text")
