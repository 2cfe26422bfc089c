"""Heat maps of the records: node pairs, GPU x NIC, rails, GPU links, NIC traffic."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from railgauge.core import naming
from railgauge.core.model import Cluster, Judgement, Outcome
from railgauge.core.terms import Rung
from railgauge.core.units import format_size, format_value
from railgauge.judging.record import ItemRecord
from railgauge.report.plots import svg
from railgauge.report.plots.matrix import Cell, LabelledMatrix
from railgauge.report.plots.plot import LETTERS, Plot, heading, key_of, worst_judged

_MOST_NODES = 16
_ORDER = list(Outcome)
_GPU_NIC = re.compile(r"gpu(\d+)-([^\s:]+)")
_ACROSS = re.compile(r"([^\s:]+):([^\s:]+)")
_GPU_LINK = re.compile(r"gpu(\d+)>gpu(\d+)")

MapCell = tuple[str, str]


def node_pairs(records: Sequence[ItemRecord], cluster: Cluster, evidence: str) -> list[Plot]:
    """Return a map of each measurement between two nodes: the worst of each pair or blocks."""
    nodes = [node.name for node in cluster.nodes]
    blocks = blocks_of(nodes)

    def place(record: ItemRecord) -> MapCell | None:
        if (
            len(record.nodes) != 2  # noqa: PLR2004
            or record.rung == Rung.PREFLIGHT
            or not blocks.keys() >= {*record.nodes}
        ):
            return None
        return blocks[record.nodes[0]], blocks[record.nodes[1]]

    labels = list(dict.fromkeys(blocks.values()))
    block = math.ceil(len(nodes) / _MOST_NODES)
    note = f"Blocks of up to {block} nodes; a cell is the worst pair of two blocks. "
    caption = (note if block > 1 else "") + _MARGINS + " Dot: not measured."
    plots = []
    for (rung, subject), cells in _placed(records, place).items():
        matrix = LabelledMatrix(labels, labels, "from node", "to node", _cells(cells))
        plots.append(_plot(("pairs", rung, subject), matrix, caption, evidence))
    return plots


def blocks_of(nodes: Sequence[str]) -> dict[str, str]:
    """Return node -> label of its block: its name, or in large clusters ``first..last``."""
    size = math.ceil(len(nodes) / _MOST_NODES)
    if size <= 1:
        return {node: node for node in nodes}
    parts = [nodes[start : start + size] for start in range(0, len(nodes), size)]
    return {node: _span(part) for part in parts for node in part}


def _span(part: Sequence[str]) -> str:
    return part[0] if len(part) == 1 else f"{part[0]}..{part[-1]}"


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
        plots.append(_plot(("gpu-nic", rung, subject), matrix, _MARGINS, evidence))
    return plots


def across_rails(records: Sequence[ItemRecord], evidence: str) -> list[Plot]:
    """Return maps of paths across rails, with their GPUs: the worst over all nodes and sizes."""
    found = _placed(records, lambda record: _matched(_ACROSS, record, "{}", "{}"))
    plots = []
    for (rung, subject), cells in found.items():
        rows, columns = _labels(cells)
        matrix = LabelledMatrix(rows, columns, "from", "to", _cells(cells))
        plots.append(_plot(("across-rails", rung, subject), matrix, _MARGINS, evidence))
    return plots


def gpu_links(records: Sequence[ItemRecord], evidence: str) -> list[Plot]:
    """Return maps of the links from each GPU to each other GPU: the worst over all nodes."""
    found = _placed(records, lambda record: _matched(_GPU_LINK, record, "gpu{}", "gpu{}"))
    plots = []
    for (rung, subject), cells in found.items():
        labels = sorted({name for place in cells for name in place}, key=_natural)
        matrix = LabelledMatrix(labels, labels, "from GPU", "to GPU", _cells(cells))
        plots.append(_plot(("gpu-links", rung, subject), matrix, _MARGINS, evidence))
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
    return sorted(rows, key=_natural), sorted(columns, key=_natural)


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that puts ``gpu10`` after ``gpu9``."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _cells(placed: Mapping[MapCell, Sequence[ItemRecord]]) -> dict[MapCell, Cell]:
    return {place: _cell(records) for place, records in placed.items()}


def _cell(records: Sequence[ItemRecord]) -> Cell:
    """Return the worst outcome as a letter, the worst value, and a tooltip with its place."""
    outcome = max((record.outcome for record in records), key=_ORDER.index)
    measured = [(judged, r) for r in records if (judged := worst_judged(r))]
    letter = LETTERS.get(outcome, "")
    if not measured:
        return Cell(letter or "ok", letter=letter, hover=_told(records))
    judged, record = min(measured, key=lambda pair: pair[0].margin or 0.0)
    margin = judged.margin or 0.0
    value = format_value(judged.worst or 0.0, judged.unit)
    at = " ".join(filter(None, (naming.place(record.nodes), record.pairing, _size(record))))
    hover = f"{at}: {judged.metric} {judged.measured}, limit {judged.limit}; {_told(records)}"
    return Cell(f"{margin:+.1%}", value, margin, letter, hover)


def _size(record: ItemRecord) -> str:
    return "" if record.size_bytes is None else format_size(record.size_bytes)


def _told(records: Sequence[ItemRecord]) -> str:
    counts = {o: sum(r.outcome is o for r in records) for o in Outcome}
    return ", ".join(f"{n} {o}" for o, n in counts.items() if n).replace("_", " ")


def _plot(key: tuple[str, int, str], matrix: LabelledMatrix, caption: str, evidence: str) -> Plot:
    kind, rung, subject = key
    title = f"{subject}: {_KINDS[kind]}"
    letters = key_of(sorted(matrix.letters))
    shapes = [*heading(title, "", evidence, matrix.width), *matrix.shapes()]
    picture = svg.document(matrix.width, matrix.height, title, shapes)
    said = f"{caption} Letters: {letters}." if letters else caption
    return Plot(f"rung{rung}-{kind}-{subject}", rung, title, said, picture, subject)


_KINDS = {
    "pairs": "node pairs",
    "gpu-nic": "GPU x NIC",
    "across-rails": "across rails",
    "gpu-links": "GPU links",
    "traffic": "what the NICs carried",
}


# --- the NICs' traffic ---


def nic_traffic(records: Sequence[ItemRecord], cluster: Cluster, evidence: str) -> list[Plot]:
    """Return maps of NICs that share the payload: the largest deviation of each from the mean."""
    blocks = blocks_of([node.name for node in cluster.nodes])
    found: dict[tuple[int, str], dict[MapCell, list[tuple[float, Judgement, MapCell]]]] = {}
    for record in records:
        for judged, place, off in _shares(record):
            cells = found.setdefault((record.rung, record.subject), {})
            at = blocks.get(place[0], place[0]), place[1]
            cells.setdefault(at, []).append((off, judged, place))
    plots = []
    for (rung, subject), seen in found.items():
        rows, columns = _labels(seen)
        shares = {place: _share_cell(one) for place, one in seen.items()}
        matrix = LabelledMatrix(rows, columns, "node", "NIC", shares)
        plots.append(_plot(("traffic", rung, subject), matrix, _TRAFFIC, evidence))
    return plots


_TRAFFIC = (
    "Each cell: what the NIC carried, against the mean of the node's NICs, in the run where it was "
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
