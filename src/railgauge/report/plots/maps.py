"""Heat maps of the records: node pairs, GPU x NIC, rails, GPU links, NIC traffic."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from railgauge.core import naming
from railgauge.core.model import Cluster, Judgement, Outcome
from railgauge.core.terms import Rung
from railgauge.core.units import format_size, format_value
from railgauge.judging.record import ItemRecord
from railgauge.report.plots import svg
from railgauge.report.plots.axes import natural
from railgauge.report.plots.matrix import Cell, LabelledMatrix
from railgauge.report.plots.pixels import KEY, NodeGrid, PixelMap, rows_of
from railgauge.report.plots.plot import LETTERS, Plot, heading, key_of, worst_judged

# Up to this many nodes, each cell of a map has its number.
MOST_NUMBERED = 16
_ORDER = list(Outcome)
_GPU_NIC = re.compile(r"gpu(\d+)-([^\s:]+)")
_ACROSS = re.compile(r"([^\s:]+):([^\s:]+)")
_GPU_LINK = re.compile(r"gpu(\d+)>gpu(\d+)")

MapCell = tuple[str, str]
Drawn = LabelledMatrix | NodeGrid | PixelMap


def node_pairs(records: Sequence[ItemRecord], cluster: Cluster, evidence: str) -> list[Plot]:
    """Return a map of each measurement between two nodes: the worst of each pair."""
    nodes = [node.name for node in cluster.nodes]
    known = set(nodes)

    def place(record: ItemRecord) -> MapCell | None:
        if len(record.nodes) != 2 or record.rung == Rung.PREFLIGHT:  # noqa: PLR2004
            return None
        return (record.nodes[0], record.nodes[1]) if known >= {*record.nodes} else None

    axes = ("from node", "to node")
    plots = []
    for (rung, subject), placed in _placed(records, place).items():
        cells, at = _cells(placed), sizes_of(placed.values())
        if len(nodes) <= MOST_NUMBERED:
            matrix: Drawn = LabelledMatrix(nodes, nodes, *axes, cells)
            caption = f"{_MARGINS} Dot: not measured."
        else:
            matrix = PixelMap(nodes, nodes, *axes, cells)
            caption = f"{_SQUARE.format('pair')} {KEY}"
        plots.append(_plot(("pairs", rung, subject), matrix, caption, evidence, at))
    return plots


def node_grids(records: Sequence[ItemRecord], cluster: Cluster, evidence: str) -> list[Plot]:
    """Return for a large cluster the worst of each node in each measurement of one or two nodes."""
    nodes = [node.name for node in cluster.nodes]
    if len(nodes) <= MOST_NUMBERED:
        return []
    found: dict[tuple[int, str], dict[str, list[ItemRecord]]] = {}
    for record in records:
        if record.rung != Rung.PREFLIGHT and len(record.nodes) <= 2:  # noqa: PLR2004
            for node in record.nodes:
                by_node = found.setdefault((record.rung, record.subject), {})
                by_node.setdefault(node, []).append(record)
    plots, rows = [], rows_of(nodes)
    for (rung, subject), placed in found.items():
        if any(map(_measured, placed.values())):
            grid = NodeGrid(rows, {node: _cell(items) for node, items in placed.items()})
            caption, at = f"{_SQUARE.format('node')} {KEY}", sizes_of(placed.values())
            plots.append(_plot(("nodes", rung, subject), grid, caption, evidence, at))
    return plots


_SQUARE = "Each square: the margin of the worst sample of a {}."


def sizes_of(placed: Iterable[Iterable[ItemRecord]]) -> str:
    """Return the message sizes of records in words; a map shows the worst over them."""
    sizes = {r.size_bytes for items in placed for r in items if r.size_bytes is not None}
    if not sizes:
        return ""
    low, high = format_size(min(sizes)), format_size(max(sizes))
    return f"message size {low}" if low == high else f"worst of message sizes {low} to {high}"


_MARGINS = (
    "Each cell: the distance of its worst sample from the limit, as a share; below it, the sample."
)


def gpu_nics(records: Sequence[ItemRecord], evidence: str) -> list[Plot]:
    """Return maps of GPU x NIC in GPU memory: the worst over all nodes and sizes."""
    found = _placed(records, lambda record: _matched(_GPU_NIC, record, "gpu{}", "{}"))
    plots = []
    for (rung, subject), cells in found.items():
        rows, columns = _labels(cells)
        matrix = LabelledMatrix(rows, columns, "GPU", "NIC", _cells(cells))
        at = sizes_of(cells.values())
        plots.append(_plot(("gpu-nic", rung, subject), matrix, _MARGINS, evidence, at))
    return plots


def across_rails(records: Sequence[ItemRecord], evidence: str) -> list[Plot]:
    """Return maps of paths across rails, with their GPUs: the worst over all nodes and sizes."""
    found = _placed(records, lambda record: _matched(_ACROSS, record, "{}", "{}"))
    plots = []
    for (rung, subject), cells in found.items():
        rows, columns = _labels(cells)
        matrix = LabelledMatrix(rows, columns, "from", "to", _cells(cells))
        at = sizes_of(cells.values())
        plots.append(_plot(("across-rails", rung, subject), matrix, _MARGINS, evidence, at))
    return plots


def gpu_links(records: Sequence[ItemRecord], evidence: str) -> list[Plot]:
    """Return maps of the links from each GPU to each other GPU: the worst over all nodes."""
    found = _placed(records, lambda record: _matched(_GPU_LINK, record, "gpu{}", "gpu{}"))
    plots = []
    for (rung, subject), cells in found.items():
        labels = sorted({name for place in cells for name in place}, key=natural)
        matrix = LabelledMatrix(labels, labels, "from GPU", "to GPU", _cells(cells))
        at = sizes_of(cells.values())
        plots.append(_plot(("gpu-links", rung, subject), matrix, _MARGINS, evidence, at))
    return plots


def _matched(pattern: re.Pattern[str], record: ItemRecord, row: str, column: str) -> MapCell | None:
    match = pattern.fullmatch(record.pairing)
    return (row.format(match[1]), column.format(match[2])) if match else None


def _placed(
    records: Iterable[ItemRecord], place: Callable[[ItemRecord], MapCell | None]
) -> dict[tuple[int, str], dict[MapCell, list[ItemRecord]]]:
    """Return (rung, subject) -> place in the map -> records."""
    found: dict[tuple[int, str], dict[MapCell, list[ItemRecord]]] = {}
    for record in records:
        if (at := place(record)) is not None:
            cells = found.setdefault((record.rung, record.subject), {})
            cells.setdefault(at, []).append(record)
    return {key: cells for key, cells in found.items() if any(map(_measured, cells.values()))}


def _measured(records: Iterable[ItemRecord]) -> bool:
    """Whether a record has a measured value."""
    return any(worst_judged(record) is not None for record in records)


def _labels(cells: Iterable[MapCell]) -> tuple[list[str], list[str]]:
    places = list(cells)
    rows, columns = {row for row, _ in places}, {column for _, column in places}
    return sorted(rows, key=natural), sorted(columns, key=natural)


def _cells(placed: Mapping[MapCell, Sequence[ItemRecord]]) -> dict[MapCell, Cell]:
    return {place: _cell(records) for place, records in placed.items()}


def _cell(records: Sequence[ItemRecord]) -> Cell:
    """Return the worst outcome as a letter, the worst value, and a tooltip with its place."""
    outcome = max((record.outcome for record in records), key=_ORDER.index)
    measured = [(judged, r) for r in records if (judged := worst_judged(r))]
    letter = LETTERS.get(outcome, "")
    if not measured:
        return Cell(letter or "ok", letter=letter, hover=_outcomes(records))
    judged, record = min(measured, key=lambda pair: pair[0].margin or 0.0)
    margin = judged.margin or 0.0
    value = format_value(judged.worst or 0.0, judged.unit)
    at = " ".join(filter(None, (naming.place(record.nodes), record.pairing, _size(record))))
    hover = f"{at}: {judged.metric} {judged.measured}, limit {judged.limit}; {_outcomes(records)}"
    return Cell(f"{margin:+.1%}", value, margin, letter, hover)


def _size(record: ItemRecord) -> str:
    return "" if record.size_bytes is None else format_size(record.size_bytes)


def _outcomes(records: Sequence[ItemRecord]) -> str:
    counts = {o: sum(r.outcome is o for r in records) for o in Outcome}
    return ", ".join(f"{n} {o}" for o, n in counts.items() if n).replace("_", " ")


def _plot(
    key: tuple[str, int, str], matrix: Drawn, caption: str, evidence: str, at: str = ""
) -> Plot:
    kind, rung, subject = key
    title = f"{subject}: {_KINDS[kind]}"
    letters = key_of(sorted({cell.letter for cell in matrix.cells.values()}))
    shapes = [*heading(title, at, evidence, matrix.width), *matrix.shapes()]
    picture = svg.document(matrix.width, matrix.height, title, shapes)
    below = f"{caption} Letters: {letters}." if letters else caption
    return Plot(f"rung{rung}-{kind}-{subject}", rung, title, below, picture, subject)


_KINDS = {
    "pairs": "node pairs",
    "nodes": "nodes",
    "gpu-nic": "GPU x NIC",
    "across-rails": "across rails",
    "gpu-links": "GPU links",
    "traffic": "what the NICs carried",
}


# --- the NICs' traffic ---


def nic_traffic(records: Sequence[ItemRecord], cluster: Cluster, evidence: str) -> list[Plot]:
    """Return maps of NICs that share the payload: the largest deviation of each from the mean."""
    nodes = [node.name for node in cluster.nodes]
    found: dict[tuple[int, str], dict[MapCell, list[tuple[float, Judgement, MapCell]]]] = {}
    for record in records:
        for judged, place, off in _shares(record):
            cells = found.setdefault((record.rung, record.subject), {})
            cells.setdefault(place, []).append((off, judged, place))
    plots = []
    for (rung, subject), seen in found.items():
        rows, columns = _labels(seen)
        shares = {place: _share_cell(one) for place, one in seen.items()}
        if len(nodes) <= MOST_NUMBERED:
            matrix: Drawn = LabelledMatrix(rows, columns, "node", "NIC", shares)
            caption = _TRAFFIC.format("cell")
        else:
            turned = {(nic, node): cell for (node, nic), cell in shares.items()}
            matrix = PixelMap(columns, rows, "NIC", "node", turned)
            caption = f"{_TRAFFIC.format('square')} {KEY}"
        plots.append(_plot(("traffic", rung, subject), matrix, caption, evidence))
    return plots


_TRAFFIC = (
    "Each {}: what the NIC carried, against the mean of the node's NICs, in the run where it was "
    "furthest from it."
)


def _shares(record: ItemRecord) -> Iterator[tuple[Judgement, MapCell, float]]:
    """Yield each NIC's bytes as a deviation from the mean, from the judged counters."""
    for judged in record.judgements:
        mean = sum(count for _, _, count in judged.carried) / max(len(judged.carried), 1)
        for node, nic, count in judged.carried if mean else ():
            yield judged, (node, nic), (count - mean) / mean


def _share_cell(seen: Sequence[tuple[float, Judgement, MapCell]]) -> Cell:
    off, judged, (node, nic) = max(seen, key=lambda one: abs(one[0]))
    wrong = any(place in judged.points_at for _, judged, place in seen)
    count = next(c for n, d, c in judged.carried if (n, d) == (node, nic))
    letter = LETTERS[Outcome.FAILED] if wrong else ""
    hover = f"{node} {nic}: {judged.measured}, limit {judged.limit}"
    return Cell(f"{off:+.1%}", format_value(count / 1e9, "GB"), min(off, 0.0), letter, hover)
