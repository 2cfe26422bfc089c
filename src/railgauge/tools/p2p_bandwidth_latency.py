"""p2pBandwidthLatencyTest of the CUDA samples: its output is read, the tool is never run."""

from __future__ import annotations

import re

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector
from railgauge.tools.squares import Square, read_squares
from railgauge.tools.text import clean, is_torn, whole_lines, with_end

_TOOL = "p2p-bandwidth-latency"
_MATRIX = re.compile(
    r"(?:(Unidirectional|Bidirectional) )?P2P=(Enabled|Disabled) (Bandwidth|Latency) "
    r"(?:\(P2P (Writes|Reads)\) )?Matrix \(([^)\n]{1,12})\)"
)
_CONNECTIVITY = "P2P Connectivity Matrix"
_DEVICE = re.compile(r"Device: (\d{1,4}), ([^\n,]{1,80}), pciBusID: ")
_NO_PEER = re.compile(r"Device=(\d{1,4}) CANNOT Access Peer Device=(\d{1,4})")
_NUMBER = re.compile(r"\d{1,9}\.\d{2}")
_FAILED = re.compile(r"^[^\n]{0,80}(?:Cuda failure|CUDA error|No CUDA)[^\n]{0,160}", re.I | re.M)
_UNITS = {"Bandwidth": "GB/s", "Latency": "us"}


def parse(text: str) -> Parsed:
    """Read all complete matrices, also those of an excerpt; never raises.

    The heading of a matrix gives the metric: ``unidirectional_p2p_enabled``,
    ``bidirectional_p2p_disabled``, … in decimal GB/s, ``latency_p2p_enabled`` (by the GPU's clock)
    and ``cpu_latency_p2p_enabled`` (by the host's) in us; ``_reads`` is added if the heading says
    that the matrix is of reads. Placements are ``gpu0>gpu1`` (row, then column) and ``gpu0`` for a
    GPU with itself; ``<metric>_cells`` counts the links. Without peer access (warning
    ``no-peer-access``) the enabled values are copies through the host. ``size_bytes`` is ``None``:
    it is not printed.
    """
    text = with_end(clean(text), decimals=2)
    lines = whole_lines(text)
    collector = OutputCollector()
    if collector.check_started(text, "p2pBandwidthLatencyTest") and (
        failed := _FAILED.search(text)
    ):
        collector.error(ProblemKind.TOOL_FAILED, failed[0])
    for match in _NO_PEER.finditer(text):
        collector.warn(ProblemKind.NO_PEER_ACCESS, match[0])
    squares = list(read_squares(lines))
    _collect_announced(lines, squares, collector)
    for square in squares:
        _collect_matrix(square, collector)
    if is_torn(text):
        collector.error(ProblemKind.TRUNCATED, "the last line is incomplete")
    if squares and not any(square.heading == _CONNECTIVITY for square in squares):
        message = "the matrix of peer access is missing: others may be missing too"
        collector.warn(ProblemKind.NO_OPENING_LINE, message)
    if squares and not any(square.corner == "CPU" for square in squares):
        message = "the latencies by the host's clock are missing, which are printed last"
        collector.warn(ProblemKind.NO_CLOSING_LINE, message)
    _collect_nothing(text, collector)
    devices = {f"gpu{match[1]}": match[2] for match in _DEVICE.finditer(text)}
    return collector.parsed(_TOOL, None, {"devices": devices, "matrices": len(squares)})


def _collect_announced(lines: list[str], squares: list[Square], collector: OutputCollector) -> None:
    """Report matrices that are announced but missing, and matrices that are printed twice."""
    headings = [square.heading for square in squares if square.corner != "CPU"]
    if len(set(headings)) < len(headings):
        collector.several_runs()
    printed = {square.at for square in squares}
    for at, line in enumerate(lines):
        if "Matrix" in line[:120] and at not in printed:
            collector.error(ProblemKind.TRUNCATED, f"announced but not printed: {line[:120]}")


def _collect_matrix(square: Square, collector: OutputCollector) -> None:
    if not square.is_whole:
        rows, devices = len(square.rows), len(square.devices)
        collector.error(
            ProblemKind.TRUNCATED, f"{rows} complete rows for {devices} GPUs: {square.heading}"
        )
        return
    if square.heading == _CONNECTIVITY:
        return
    match = _MATRIX.fullmatch(square.heading)
    if match is None or (match[1] is None) != (match[3] == "Latency"):
        collector.error(
            ProblemKind.NO_HEADING, f"unknown heading of a matrix: {square.heading[:120]!r}"
        )
    elif match[5] != _UNITS[match[3]]:
        collector.error(ProblemKind.UNIT_UNKNOWN, square.heading)
    else:
        _collect_cells(square, _metric(match, square.corner), match[5], collector)


def _metric(match: re.Match[str], corner: str) -> str:
    way = match[1].lower() if match[1] else "latency"
    clock = "cpu_" if corner == "CPU" else ""
    reads = "_reads" if match[4] == "Reads" else ""
    return f"{clock}{way}_p2p_{match[2].lower()}{reads}"


def _collect_cells(square: Square, metric: str, unit: str, collector: OutputCollector) -> None:
    links = 0
    for row, column, cell in square.cells():
        placement = f"gpu{row}" if row == column else f"gpu{row}>gpu{column}"
        if not _NUMBER.fullmatch(cell):
            collector.error(ProblemKind.NOT_A_NUMBER, f"{metric} of {placement} is {cell}")
            continue
        collector.add(metric, unit, float(cell), placement)
        links += row != column
    collector.add(f"{metric}_cells", "count", links, "all", may_be_zero=True)


def _collect_nothing(text: str, collector: OutputCollector) -> None:
    if collector.is_empty:
        collector.nothing(text, "no matrix of p2pBandwidthLatencyTest in this text")
