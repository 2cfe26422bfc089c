"""``dcgmi nvlink`` (only read): ``-s``, the state of every link, and ``-e``, the errors of a GPU.

Format: DCGM's sources, dcgmi/Nvlink.cpp, and outputs quoted in public repositories.
"""

from __future__ import annotations

import re

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector
from railgauge.tools.dcgmi_tree import Box, read_boxes
from railgauge.tools.text import clean

_TOOL = "dcgmi-nvlink"
_LONGEST_LINE = 400
_STATUS, _ERRORS = "NvLink Link Status", "NVLINK Error Counts"
_ENTITY = re.compile(r"\s{1,20}(gpuId|physicalId) (\d{1,4}):")
_STATES = re.compile(r"\s{1,20}([UDX_](?: [UDX_]){0,143})")
_NAMES = {"gpuId": "gpu", "physicalId": "switch"}
_COUNTED = {"links_up": "U", "links_down": "D", "links_disabled": "X"}
_KEY = "Key: Up=U, Down=D, Disabled=X, Not Supported=_"
_GPU = re.compile(r"GPU (\d{1,4})")
_LINK = re.compile(r"Link (\d{1,4})")
_COUNT = re.compile(r"\d{1,18}")
_COMPLAINT = re.compile(r"^(?:Error|Warning): [^\n]{1,200}", re.MULTILINE)


def parse(text: str) -> Parsed:
    """Read one output. Never raises and takes time linear in the text.

    ``links_up``, ``links_down`` and ``links_disabled`` of each GPU and NVSwitch, with the placement
    ``gpu0`` or ``switch8``; with ``-e`` every counter of each link (``crc_flit_error``), with the
    placement ``gpu0/link3``.
    """
    text = clean(text)
    collector = OutputCollector()
    if collector.check_started(text, "dcgmi"):
        for message in _COMPLAINT.findall(text):
            collector.error(ProblemKind.TOOL_FAILED, message)
        boxes = [box for box in read_boxes(text) if box.headers[:1] == [_ERRORS]]
        for box in boxes:
            _take_errors(box, collector)
        if _STATUS in text:
            _take_states(text, collector)
        collector.refuse_several(text.count(_STATUS))
        if len(boxes) > 0 and _STATUS in text:
            collector.error(ProblemKind.SEVERAL_TABLES, "states and errors; give one output")
    if collector.is_empty:
        collector.nothing(text, "no output of dcgmi nvlink -s or -e in this text")
    return collector.parsed(_TOOL)


def _take_states(text: str, collector: OutputCollector) -> None:
    name = ""
    for line in (line[:_LONGEST_LINE] for line in text.partition(_STATUS)[2].split("\n")):
        if entity := _ENTITY.fullmatch(line):
            if name:
                collector.error(ProblemKind.TRUNCATED, f"{name} has no line of states")
            name = f"{_NAMES[entity[1]]}{entity[2]}"
        elif name and (states := _STATES.fullmatch(line)):
            for metric, letter in _COUNTED.items():
                number = states[1].split().count(letter)
                collector.add(metric, "count", number, name, may_be_zero=True)
            name = ""
        elif name and line.strip():
            collector.error(ProblemKind.UNPARSABLE, f"the states of {name}: {line.strip()[:80]}")
            name = ""
    if name or _KEY not in text:
        collector.error(ProblemKind.TRUNCATED, "the output ends before its key")


def _take_errors(box: Box, collector: OutputCollector) -> None:
    gpu = next(filter(None, map(_GPU.fullmatch, box.headers)), None)
    if not gpu or box.strange:
        what = "no line names the GPU" if not gpu else f"no row of a counter: {box.strange[0]}"
        collector.error(ProblemKind.UNPARSABLE, what)
        return
    for path, value in box.rows:
        link = _LINK.fullmatch(path[0])
        if link and len(path) > 1 and _COUNT.fullmatch(value):
            name = "_".join(path[-1].lower().split())
            place = f"gpu{gpu[1]}/link{link[1]}"
            collector.add(name, "count", float(value), place, may_be_zero=True)
        elif not link or len(path) > 1:
            collector.error(ProblemKind.UNPARSABLE, f"{' / '.join(path)}: {value}"[:120])
    if not box.is_closed:
        collector.error(ProblemKind.TRUNCATED, f"the table of GPU {gpu[1]} is not closed")
