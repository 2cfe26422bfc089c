"""The lines of PBQT: which pairs of GPUs can reach each other, and at which bandwidth.

Older releases name a GPU by its number alone, newer ones by ``[GPU:: 2 - 42583 - 0000:05:00.0]``.
Lines without a duration are intermediate values and give no samples.
"""

from __future__ import annotations

import re

from railgauge.core.problems import ProblemKind
from railgauge.tools.rvs.reading import RvsRun

_END = r"(\[GPU:: [^\]]{1,60}\]|\S{1,40})"
_PEERS = re.compile(rf"\[(\S{{1,120}})\] p2p {_END} {_END} peers:(\w{{1,8}})(?: .{{0,100}})?")
_BANDWIDTH = re.compile(
    rf"\[\S{{1,120}}\] (?:a2a-)?p2p-bandwidth {{0,4}}\[ {{0,4}}\d{{1,5}}/\d{{1,5}}\] "
    rf"{_END} {_END} {{1,4}}"
    r"bidirectional: (true|false) {1,4}(\S{1,24}) (\S{1,8})(?: {1,4}(duration: .{1,40}))?"
)
_NUMBERED = re.compile(r"\[GPU:: {1,4}[0-9]{1,4} - {1,5}([0-9]{1,6}) - ([0-9a-fA-F:.]{7,16})\]")
_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,9})?")
_ID = re.compile(r"\d{1,9}")


def take(result: str, run: RvsRun) -> bool:
    """Take a result; return whether it is about a pair of GPUs."""
    if found := _PEERS.fullmatch(result):
        run.peers[_placement(found[2], found[3], run)] = found[4] == "true"
    elif figure := _BANDWIDTH.fullmatch(result):
        if figure[6]:
            _collect(figure, run)
    elif "p2p-bandwidth" in result:
        run.collector.error(ProblemKind.UNPARSABLE, result)
    else:
        return False
    return True


def check(run: RvsRun) -> None:
    """Report pairs that cannot reach each other, and pairs without a bandwidth."""
    for placement, can_reach in run.peers.items():
        if not can_reach:
            run.collector.warn(ProblemKind.NO_PEER_ACCESS, placement)
    if run.peers and run.collector.is_empty:
        what = "pairs of GPUs, but no bandwidth between them"
        run.collector.warn(ProblemKind.NO_BANDWIDTH, what)


def _number(end: str) -> str:
    """Return RVS's number of a GPU; a text that is no name of a GPU is returned unchanged."""
    match = _NUMBERED.fullmatch(end)
    return match[1] if match else end


def _placement(source: str, target: str, run: RvsRun) -> str:
    numbers = map(_number, (source, target))
    return ">".join(run.place(one) if _ID.fullmatch(one) else one for one in numbers)


def _collect(figure: re.Match[str], run: RvsRun) -> None:
    source, target, both_ways, value, unit, _ = figure.groups()
    ids = _ID.fullmatch(_number(source)) and _ID.fullmatch(_number(target))
    if not ids or not _NUMBER.fullmatch(value):
        run.collector.error(ProblemKind.NOT_A_NUMBER, figure[0])
    elif unit != "GBps":
        run.collector.error(ProblemKind.UNIT_UNKNOWN, figure[0])
    else:
        ending = "_bidirectional" if both_ways == "true" else ""
        placement = _placement(source, target, run)
        run.collector.add(f"p2p_bw{ending}", "GB/s", float(value), placement)
