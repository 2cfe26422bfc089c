"""ROCm Validation Suite (only read): what its module pbqt reports about pairs of GPUs."""

from __future__ import annotations

import re

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.tools import NOT_LIMITED as METRICS
from railgauge.tools import is_not_run as commands
from railgauge.tools import sends_nothing as payload_bytes
from railgauge.tools.claims import claims_nothing as claims
from railgauge.tools.collector import OutputCollector
from railgauge.tools.text import clean, is_torn, whole_lines

__all__ = ["METRICS", "claims", "commands", "parse", "payload_bytes"]

_LINE = re.compile(r"\[(RESULT|INFO|ERROR) {0,4}\] \[ {0,9}[\d.]{1,20}\] (.{0,400})")
_PEERS = re.compile(r"\[(\S{1,60})\] p2p (\S{1,40}) (\S{1,40}) peers:(\w{1,8})(?: .{0,100})?")
_BANDWIDTH = re.compile(
    r"\[\S{1,60}\] p2p-bandwidth {1,4}\[\d{1,5}/\d{1,5}\] (\S{1,40}) (\S{1,40}) {1,4}"
    r"bidirectional: (true|false) {1,4}(\S{1,24}) (\S{1,8}) {1,4}duration: .{1,40}"
)
_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,9})?")
_ID = re.compile(r"\d{1,9}")


def parse(text: str) -> Parsed:
    """Read the RESULT lines of ``p2p`` and ``p2p-bandwidth``; never raises.

    ``p2p_bw`` and ``p2p_bw_bidirectional`` are decimal GB/s as printed (``GBps``); the placement is
    ``gpu4>gpu5`` with the GPU ids of RVS. INFO lines hold intermediate values and give no samples.
    ``summary.peers`` tells for each placement whether the GPUs can access each other. An id or a
    value that is not a number (the manual prints ``<result>``) is the error ``not-a-number``.
    """
    text = clean(text)
    collector = OutputCollector()
    collector.check_started(text, "rvs")
    peers: dict[str, bool] = {}
    for line in whole_lines(text):
        match = _LINE.fullmatch(line.rstrip()) if len(line) < 500 else None  # noqa: PLR2004 - a line
        if match:
            _collect_line(match[1], match[2], collector, peers)
    if is_torn(text):
        collector.error(ProblemKind.TRUNCATED, "the last line is incomplete")
    _collect_nothing(text, collector, peers)
    return collector.parsed("rvs", None, {"peers": peers})


def _collect_line(
    level: str, said: str, collector: OutputCollector, peers: dict[str, bool]
) -> None:
    if level == "ERROR":
        collector.error(ProblemKind.TOOL_FAILED, said)
    elif level == "INFO":
        return
    elif found := _PEERS.fullmatch(said):
        peers[_placement(found[2], found[3])] = found[4] == "true"
    elif figure := _BANDWIDTH.fullmatch(said):
        _collect_figure(figure, collector)
    elif "p2p-bandwidth" in said:
        collector.error(ProblemKind.UNPARSABLE, said)


def _placement(source: str, target: str) -> str:
    return ">".join(f"gpu{end}" if _ID.fullmatch(end) else end for end in (source, target))


def _collect_figure(figure: re.Match[str], collector: OutputCollector) -> None:
    source, target, both_ways, value, unit = figure.groups()
    ids = _ID.fullmatch(source) and _ID.fullmatch(target)
    if not ids or not _NUMBER.fullmatch(value):
        collector.error(ProblemKind.NOT_A_NUMBER, figure[0])
    elif unit != "GBps":
        collector.error(ProblemKind.UNIT_UNKNOWN, figure[0])
    else:
        ending = "_bidirectional" if both_ways == "true" else ""
        collector.add(f"p2p_bw{ending}", "GB/s", float(value), _placement(source, target))


def _collect_nothing(text: str, collector: OutputCollector, peers: dict[str, bool]) -> None:
    for placement, can_reach in peers.items():
        if not can_reach:
            collector.warn(ProblemKind.NO_PEER_ACCESS, placement)
    if not collector.is_empty:
        return
    if peers:
        collector.warn(ProblemKind.NO_BANDWIDTH, "pairs of GPUs, but no bandwidth between them")
    else:
        collector.nothing(text, "no output of RVS about pairs of GPUs in this text")
