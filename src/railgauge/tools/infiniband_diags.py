"""The infiniband-diags: the state of a subnet.

The node that the hostfile names under ``fabric`` scans the complete subnet. The output of
``perfquery``, the counters of one port, is only read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from railgauge.core.errors import BadInput
from railgauge.core.model import Command, Parsed
from railgauge.core.problems import ProblemKind
from railgauge.subnet import topology
from railgauge.subnet.errorcounters import (
    FULL,
    parse_ibqueryerrors,
    parse_perfquery,
    part_of_perfquery,
    ports_of_perfquery,
)
from railgauge.subnet.linkinfo import LinkTable, link_table
from railgauge.tools import Setting
from railgauge.tools.collector import OutputCollector
from railgauge.tools.metric import HIGHER, LOWER, Better, Metric
from railgauge.tools.options import program, read_options
from railgauge.tools.output_checks import checks_nothing
from railgauge.tools.text import clean, is_torn
from railgauge.tools.torn import complain

Summary = Mapping[str, object]

# ``$1`` is an exit code that is a result and no failure: ibqueryerrors ends with 1 if it found
# errors, sminfo with 255 if no subnet manager answered. The output distinguishes the cases.
_SCRIPT = 'answer=$1; shift; "$0" "$@"; code=$?; [ "$code" = "$answer" ] || exit "$code"'
_NO_PORT = re.compile(
    r"^[^\n]{0,80}(?:Failed to open|can't open (?:UMAD|MAD) port|discover failed)[^\n]{0,120}",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class SubnetProgram:
    """One program. ``read`` adds samples and problems, and returns the summary.

    ``answer`` is its exit code that is a result.
    """

    name: str
    read: Callable[[str, OutputCollector], Summary]
    METRICS: tuple[Metric, ...] = ()
    arguments: tuple[str, ...] = ()
    answer: int = 0

    output_checks = staticmethod(checks_nothing)

    def commands(self, setting: Setting, port: int) -> tuple[Command, ...]:  # noqa: ARG002 - no server
        """Return the command. Raises ``BadInput`` if the hostfile names no subnet."""
        read_options(setting, frozenset())
        fabric = setting.cluster.fabric
        if fabric is None:
            raise BadInput(
                f"{setting.measurement.name} needs a subnet",
                where=setting.cluster.source,
                remedy="name the node that scans it under 'fabric' in the hostfile",
            )
        hca = setting.platform.devices.on(fabric.node, fabric.hca)
        adapter = ("-C", hca) if hca else ()
        own = program(setting, self.name)
        started = ("sh", "-c", _SCRIPT, own, str(self.answer))
        limit_s = setting.measurement.time_limit_s
        argv = (*started, *adapter, *self.arguments)
        return (Command(fabric.node, argv, {"LC_ALL": "C"}, limit_s, programs=(own,)),)

    def parse(self, text: str) -> Parsed:
        """Read the output. Never raises and takes time linear in the text."""
        return _parse(self, text)


@lru_cache(maxsize=16)  # several items ask for one scan
def _parse(of: SubnetProgram, text: str) -> Parsed:
    text = clean(text)
    collector = OutputCollector()
    if collector.check_started(text, of.name) and (refused := _NO_PORT.search(text)):
        collector.error(ProblemKind.DEVICE_NOT_FOUND, refused[0])
    summary = of.read(text, collector)
    if collector.is_empty:
        collector.nothing(text, "this text is not the program's output")
    return collector.parsed(of.name, None, summary)


def _counts(*names: str, better: Better = HIGHER) -> tuple[Metric, ...]:
    return tuple(Metric(name, ("count",), better, may_be_zero=True) for name in names)


# --- sminfo: whether a subnet manager answers, and whether it is the master ---

_LINE = re.compile(
    r"sminfo: sm lid (\d{1,6}) sm guid (0x[0-9a-f]{1,16}),"
    r" activity count (\d{1,12}) priority (\d{1,3}) state (\d{1,2}) (SMINFO_\w{1,20})"
)
_NOBODY = re.compile(r"^(?:\S{1,200}/)?sminfo: iberror: failed: query\s*$", re.MULTILINE)
_PARTS = ("sm lid", "sm guid", "activity count", "priority", "SMINFO_")
_MASTER = "SMINFO_MASTER"
_STATES = frozenset({"SMINFO_NOTACT", "SMINFO_DISCOVER", "SMINFO_STANDBY", _MASTER})


def _read_sminfo(text: str, collector: OutputCollector) -> Summary:
    """Add ``subnet_managers``, 1 if a master answered, else 0; return its GUID and state.

    A query that no subnet manager answered is a result (0); a query that could not be sent is an
    error.
    """
    answers = list(_LINE.finditer(text))
    line = answers[0] if answers else None
    collector.refuse_several(len(answers) + len(_NOBODY.findall(text)))
    if line or _NOBODY.search(text):
        is_master = bool(line and line[6] == _MASTER)
        collector.add("subnet_managers", "count", float(is_master), may_be_zero=True)
    parts = max(text.count(part) for part in _PARTS)
    if len(answers) != parts or (line and line[6] not in _STATES):
        collector.error(ProblemKind.UNPARSABLE, f"no answer of a manager: {text.strip()!r}")
    if line is None:
        return {}
    numbers = {"lid": line[1], "activity": line[3], "priority": line[4]}
    return {"guid": line[2], "state": line[6], **{name: int(n) for name, n in numbers.items()}}


# --- ibnetdiscover: the cables between the ports of the subnet ---

_OPENING = re.compile(r"^# Topology file: generated on ", re.MULTILINE)


def _read_ibnetdiscover(text: str, collector: OutputCollector) -> Summary:
    """Add the counts ``switches``, ``adapters`` and ``cables``; return them.

    A dump with an incomplete record of a node is ``truncated``, two dumps are ``several-tables``.
    """
    found = topology(text)
    if found.nodes:
        kinds = [node.kind for node in found.nodes.values()]
        collector.add("switches", "count", kinds.count("SW"), may_be_zero=True)
        collector.add("adapters", "count", kinds.count("CA"), may_be_zero=True)
        collector.add("cables", "count", len(found.cables), may_be_zero=True)
    if found.nodes and found.problem:
        collector.error(ProblemKind.TRUNCATED, found.problem)
    collector.refuse_several(len(_OPENING.findall(text)))
    switches = {node.name: f"{guid:#x}" for guid, node in found.nodes.items() if node.kind == "SW"}
    cables = [(found.label(c.near), found.label(c.far), c.speed) for c in found.cables]
    return {"switches": switches, "cables": cables}


# --- iblinkinfo: state, width and speed of every port, with and without -l ---


def _read_iblinkinfo(text: str, collector: OutputCollector) -> Summary:
    """Add ``ports_up``, ``ports_down`` and ``ports_degraded``; return every port.

    A port that is up and narrower or slower than both ends can be (``Could be``) is degraded.
    A port that is listed twice is ``several-tables``. The program prints no closing line: if a port
    at the other end of a cable has no line, lines are missing, the warning ``no-closing-line``.
    """
    table = link_table(text)
    ports = table.ports
    if not ports:
        return {}
    down = sum(port.state == "Down" for port in ports)
    collector.add("ports_up", "count", len(ports) - down, may_be_zero=True)
    collector.add("ports_down", "count", down, may_be_zero=True)
    slow = [port for port in ports if port.could_be and port.state != "Down"]
    collector.add("ports_degraded", "count", len(slow), may_be_zero=True)
    for port in slow:
        what = f"{port.node}/{port.port} could be {port.could_be}"
        collector.warn(ProblemKind.TOOL_WARNING, what)
    _check_links(text, table, collector)
    return {"ports": ports}


def _check_links(text: str, table: LinkTable, collector: OutputCollector) -> None:
    if is_torn(text) and not text.rstrip().endswith(")"):
        collector.error(ProblemKind.TRUNCATED, "the last line is incomplete")
    elif table.unreadable:
        message = f"{table.unreadable} lines of ports cannot be read"
        collector.error(ProblemKind.UNPARSABLE, message)
    if table.repeated:
        message = f"{table.repeated} ports are listed twice; give the output of one run"
        collector.error(ProblemKind.SEVERAL_TABLES, message)
    if table.unlisted:
        message = f"{table.unlisted} ports at the other ends of cables have no line"
        collector.warn(ProblemKind.NO_CLOSING_LINE, message)


# --- ibqueryerrors: the error counters of every port ---

_UNMANAGED = re.compile(r"No SM/SA found[^\n]{0,80}")
_UNREAD = re.compile(r"^[^\n]{0,80}query failed on[^\n]{0,160}", re.MULTILINE)


def _read_ibqueryerrors(text: str, collector: OutputCollector) -> Summary:
    """Add counters above 0 by port (placement ``node01 mlx5_0/1``), and what was scanned.

    ``nodes_checked`` and ``ports_checked`` count what was scanned. A scan without its closing
    summary is ``truncated``, and a port whose counters could not be read ``counters-unread``.
    Without a subnet manager the program finds no paths: ``no-subnet-manager``.
    """
    scan = parse_ibqueryerrors(text)
    for port in scan.ports:
        for name, value in port.counters.items():
            collector.add(name, "count", value, f"{port.node}/{port.port}", may_be_zero=True)
    if scan.part and not _UNMANAGED.search(text):
        complain(scan.part, collector)
    if scan.nodes_checked is not None:
        collector.add("nodes_checked", "count", scan.nodes_checked)
        collector.add("ports_checked", "count", scan.ports_checked or 0)
    elif scan.ports:
        collector.error(ProblemKind.TRUNCATED, "the scan ends before its summary")
    collector.refuse_several(scan.summaries)
    if unmanaged := _UNMANAGED.search(text):
        collector.error(ProblemKind.NO_SUBNET_MANAGER, unmanaged[0])
    if unread := _UNREAD.search(text):
        collector.error(ProblemKind.COUNTERS_UNREAD, unread[0])
    return {"ports_with_errors": scan.ports_with_errors}


# --- perfquery ---

_SELECTORS = ("PortSelect", "CounterSelect", "CounterSelect2")
# What the program prints last: of a port (older ones know no waits), and of the parts of -E.
_LAST = frozenset({"PortXmitWait", "PortRcvPkts", "PortLoopingErrors", "PortMultiCastRcvPkts"})


def _read_perfquery(text: str, collector: OutputCollector) -> Summary:
    """Add every counter as a sample; one at its maximum gives the warning ``counter-full``."""
    counters = parse_perfquery(text)
    if counters and (is_torn(text) or not _LAST.intersection(counters)):
        collector.error(ProblemKind.TRUNCATED, "the output ends before the last counter")
    for name, value in counters.items():
        if name in _SELECTORS:
            continue
        collector.add(name, "count", value, may_be_zero=True)
        if value == FULL.get(name):
            collector.warn(
                ProblemKind.COUNTER_FULL, f"{name} is at its maximum, {value}, and no longer counts"
            )
    if counters and (part := part_of_perfquery(text)):
        complain(part, collector)
    headings = ports_of_perfquery(text)
    collector.refuse_several(1 + len(headings) - len(set(headings)))
    return {}


sminfo = SubnetProgram("sminfo", _read_sminfo, _counts("subnet_managers"), answer=255)
_PROGRAMS = (
    sminfo,
    SubnetProgram("ibnetdiscover", _read_ibnetdiscover, _counts("switches", "adapters", "cables")),
    SubnetProgram(
        "iblinkinfo",
        _read_iblinkinfo,
        (*_counts("ports_up"), *_counts("ports_down", "ports_degraded", better=LOWER)),
        ("-l",),
    ),
    # The platform file limits the counters themselves under ``fabric``. Without the site's
    # thresholds all counters above 0 are printed.
    SubnetProgram(
        "ibqueryerrors",
        _read_ibqueryerrors,
        _counts("nodes_checked", "ports_checked"),
        ("--threshold-file", "/dev/null"),
        answer=1,
    ),
    SubnetProgram("perfquery", _read_perfquery),
)


def named(name: str) -> SubnetProgram:
    """Return the program that the registry calls ``name``."""
    return next(program for program in _PROGRAMS if program.name == name)
