"""The peer-to-peer matrices: one pair at a time, unidirectional and bidirectional."""

from __future__ import annotations

from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector
from railgauge.tools.transferbench.reading import PeerMatrix, PeerRow, Reading

_UNIT = "GB/s"
_ARROWS = {"->": "_forward", "<-": "_backward", "<->": "_bidirectional"}
_ROUNDING = 0.005
_KINDS = ("cpu>cpu", "cpu>gpu", "gpu>cpu", "gpu>gpu")


def collect_peers(matrix: PeerMatrix, reading: Reading, collector: OutputCollector) -> None:
    """Add the links of one p2p matrix, all in GB/s with the placement ``gpu0>gpu7``.

    ``link_bw`` is between GPUs, ``host_link_bw`` between a GPU and a CPU, ``cpu_link_bw`` between
    CPUs, ``local_bw`` within one device (placement ``gpu0``). The bidirectional matrix gives the
    same names with ``_forward``, ``_backward`` and ``_bidirectional`` (the sum of both).
    ``slowest_link`` (``gpu0`` and ``all``) is over the links between GPUs,
    ``slowest_link_bidirectional`` over their sums; ``average_bw`` and ``average_bw_bidirectional``
    have the placements ``gpu>gpu``, ``gpu>cpu``, … and are checked against the cells. An average
    hides a slow pair: limit the links.
    """
    arrows = tuple(_ARROWS) if matrix.is_bidirectional else ("->",)
    rows = {(row.label, row.arrow): row for row in matrix.rows}
    lacking = sorted(
        {label for label in matrix.devices for arrow in arrows if (label, arrow) not in rows}
    )
    if lacking:
        collector.error(
            ProblemKind.TRUNCATED, f"the matrix has no full row for {', '.join(lacking)}"
        )
    for row in matrix.rows:
        _collect_row(matrix, row, collector)
    _collect_slowest(matrix, is_complete=not lacking, collector=collector)
    _collect_means(matrix, reading, collector)
    if matrix.is_bidirectional:
        _check_sums(matrix, rows, collector)


def _collect_row(matrix: PeerMatrix, row: PeerRow, collector: OutputCollector) -> None:
    ending = _ARROWS.get(row.arrow, "") if matrix.is_bidirectional else ""
    for target, value in zip(matrix.columns, row.cells, strict=True):
        if value is not None:
            metric = f"{_metric(row.label, target)}{ending}"
            collector.add(metric, _UNIT, value, placement(row.label, target))
        elif target != row.label:
            _complain_of_gap(row.label, target, collector)


def placement(source: str, target: str) -> str:
    """``gpu0>gpu7`` for a link; a copy within one device is the device's own, ``gpu0``."""
    return source if source == target else f"{source}>{target}"


def _complain_of_gap(source: str, target: str, collector: OutputCollector) -> None:
    message = f"no bandwidth from {source} to {target}"
    if source.startswith("gpu") and target.startswith("gpu"):
        collector.error(ProblemKind.MISSING_LINK, message)
    else:
        # Only a warning: a NUMA node without cores cannot execute transfers.
        collector.warn(ProblemKind.MISSING_LINK, message)


def _metric(source: str, target: str) -> str:
    if source == target:
        return "local_bw"
    kinds = {source[:3], target[:3]}
    if kinds == {"gpu"}:
        return "link_bw"
    return "cpu_link_bw" if kinds == {"cpu"} else "host_link_bw"


def _gpu_links(matrix: PeerMatrix, row: PeerRow) -> list[float]:
    return [
        value
        for target, value in zip(matrix.columns, row.cells, strict=True)
        if value is not None and _metric(row.label, target) == "link_bw"
    ]


def _collect_slowest(matrix: PeerMatrix, *, is_complete: bool, collector: OutputCollector) -> None:
    arrow, ending = ("<->", "_bidirectional") if matrix.is_bidirectional else ("->", "")
    slowest = {
        row.label: min(links)
        for row in matrix.rows
        if row.arrow == arrow and (links := _gpu_links(matrix, row))
    }
    for label, value in slowest.items():
        collector.add(f"slowest_link{ending}", _UNIT, value, label)
    if slowest and is_complete:
        collector.add(f"slowest_link{ending}", _UNIT, min(slowest.values()), "all")


def _collect_means(matrix: PeerMatrix, reading: Reading, collector: OutputCollector) -> None:
    ending = "_bidirectional" if matrix.is_bidirectional else ""
    means = reading.means.get(matrix.is_bidirectional)
    if means is None:
        collector.error(ProblemKind.TRUNCATED, "the output ends before the averages of a matrix")
        return
    for kind, mean in zip(_KINDS, means, strict=True):
        if mean is not None:
            collector.add(f"average_bw{ending}", _UNIT, mean, kind)
            _check_mean(matrix, kind, mean, collector)


def _check_mean(matrix: PeerMatrix, kind: str, value: float, collector: OutputCollector) -> None:
    source, target = kind.split(">")
    cells = [
        cell
        for row in matrix.rows
        if row.arrow != "<->" and row.label.startswith(source)
        for column, cell in zip(matrix.columns, row.cells, strict=True)
        if cell is not None and column.startswith(target) and column != row.label
    ]
    if cells and abs(sum(cells) / len(cells) - value) > 2 * _ROUNDING + 1e-9:
        message = f"average {kind} is printed as {value}, links give {sum(cells) / len(cells):.2f}"
        collector.error(ProblemKind.INCONSISTENT, message)


def _check_sums(
    matrix: PeerMatrix, rows: dict[tuple[str, str], PeerRow], collector: OutputCollector
) -> None:
    for label in matrix.devices:
        three = [rows.get((label, arrow)) for arrow in _ARROWS]
        forward, backward, both = (row.cells if row else () for row in three)
        for there, back, total in zip(forward, backward, both, strict=False):
            if there is None or back is None or total is None:
                continue
            if abs(there + back - total) > 3 * _ROUNDING + 1e-9:
                collector.error(
                    ProblemKind.INCONSISTENT, f"{label}: {there} + {back} is not {total}"
                )
