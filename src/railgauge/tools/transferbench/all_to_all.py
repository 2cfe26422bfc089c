"""The all-to-all matrix: all links at the same time, and checks of its sums."""

from __future__ import annotations

from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector
from railgauge.tools.transferbench.peers import placement
from railgauge.tools.transferbench.reading import CLOSINGS, PeerMatrix, PeerRow, Reading

_UNIT = "GB/s"
# Half of the last printed decimal: newer versions print two decimals, older ones three.
_ROUNDING = {3: 0.0005, 2: 0.005}


def collect_all_to_all(matrix: PeerMatrix, reading: Reading, collector: OutputCollector) -> None:
    """Add links, sums and averages of one matrix, and check them against each other."""
    rows = [row for row in matrix.rows if row.label != "rtotal"]
    _complain_of_gaps(matrix, rows, reading, collector)
    for row in rows:
        _collect_row(matrix, row, collector)
    links = [value for row in rows for value in _links(matrix, row).values()]
    if not links:
        return
    if len(rows) == len(matrix.devices):
        collector.add("links", "count", len(links), "all")
        collector.add("slowest_link", _UNIT, min(links), "all")
    _collect_closings(reading, collector)
    _check_closings(matrix, rows, reading, collector)
    _check_totals(matrix, rows, collector)


def _complain_of_gaps(
    matrix: PeerMatrix, rows: list[PeerRow], reading: Reading, collector: OutputCollector
) -> None:
    lacking = set(matrix.devices) - {row.label for row in rows}
    if lacking:
        collector.error(
            ProblemKind.TRUNCATED, f"the matrix has no row for {', '.join(sorted(lacking))}"
        )
    elif len(rows) == len(matrix.rows):
        collector.error(ProblemKind.TRUNCATED, "the matrix has no row of totals")
    if {metric for metric, _, _ in reading.closings} != set(CLOSINGS.values()):
        collector.error(ProblemKind.TRUNCATED, "the output ends before its three averages")


def _links(matrix: PeerMatrix, row: PeerRow) -> dict[str, float]:
    """Return bandwidths by target; ``nic`` is the ring that NUM_QUEUE_PAIRS adds."""
    return {
        column: cell
        for column, cell in zip(matrix.columns, row.cells, strict=True)
        if cell is not None and column not in ("stotal", "actual")
    }


def _cell(matrix: PeerMatrix, row: PeerRow, column: str) -> float | None:
    return row.cells[matrix.columns.index(column)] if column in matrix.columns else None


def _collect_row(matrix: PeerMatrix, row: PeerRow, collector: OutputCollector) -> None:
    links = _links(matrix, row)
    for target in matrix.devices:
        if target not in links and target != row.label:
            collector.error(ProblemKind.MISSING_LINK, f"no bandwidth from {row.label} to {target}")
    for target, value in links.items():
        metric = "local_bw" if target == row.label else "link_bw"
        collector.add(metric, _UNIT, value, placement(row.label, target))
    for metric, column in (("gpu_sum", "stotal"), ("gpu_actual", "actual")):
        printed = _cell(matrix, row, column)
        if printed is not None:
            collector.add(metric, _UNIT, printed, row.label)
    if links:
        slowest = min(links.values())
        collector.add("slowest_link", _UNIT, slowest, row.label)
        collector.add("derived_aggregate", _UNIT, len(links) * slowest, row.label)
        _check_row(matrix, row, links, collector)


def _check_row(
    matrix: PeerMatrix, row: PeerRow, links: dict[str, float], collector: OutputCollector
) -> None:
    count = len(links)
    total, actual = _cell(matrix, row, "stotal"), _cell(matrix, row, "actual")
    if total is not None and not _agree(sum(links.values()), total, count + 1, matrix):
        collector.error(
            ProblemKind.INCONSISTENT, f"STotal of {row.label} is not the sum of its links"
        )
    derived = count * min(links.values())
    if actual is not None and not _agree(derived, actual, count + 1, matrix):
        collector.warn(
            ProblemKind.OTHER_ACTUAL,
            f"Actual of {row.label} is {actual}, not {count} x its slowest link"
            f" ({derived:.3f}): older versions print the executor's bandwidth there",
        )


def _collect_closings(reading: Reading, collector: OutputCollector) -> None:
    for metric, value, unit in reading.closings:
        collector.add(metric, unit, value, "all")


def _check_closings(
    matrix: PeerMatrix, rows: list[PeerRow], reading: Reading, collector: OutputCollector
) -> None:
    cells = [value for row in rows for value in _links(matrix, row).values()]
    expected = {"aggregate_bw": sum(cells), "average_bw": sum(cells) / len(cells)}
    for metric, value, _ in reading.closings:
        roundings = len(cells) + 1 if metric == "aggregate_bw" else 2
        if metric in expected and not _agree(expected[metric], value, roundings, matrix):
            collector.error(
                ProblemKind.INCONSISTENT,
                f"{metric} is printed as {value}, but the links give {expected[metric]:.3f}",
            )


def _check_totals(matrix: PeerMatrix, rows: list[PeerRow], collector: OutputCollector) -> None:
    totals = next((row for row in matrix.rows if row.label == "rtotal"), None)
    if totals is None or len(rows) != len(matrix.devices):
        return
    for index, column in enumerate(matrix.columns):
        printed = totals.cells[index] if index < len(totals.cells) else None
        cells = [row.cells[index] for row in rows]
        expected = sum(cell for cell in cells if cell is not None)
        if column == "actual" or printed is None:
            continue
        if not _agree(expected, printed, len(cells) + 1, matrix):
            collector.error(
                ProblemKind.INCONSISTENT, f"RTotal of {column} is not the sum of its column"
            )


def _agree(expected: float, printed: float, roundings: int, matrix: PeerMatrix) -> bool:
    return abs(expected - printed) <= roundings * _rounding(matrix) + 1e-9


def _rounding(matrix: PeerMatrix) -> float:
    return _ROUNDING[min(matrix.decimals, 3)]
