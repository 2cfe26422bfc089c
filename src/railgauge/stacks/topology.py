"""Parser for the matrix of distances that ``nvidia-smi topo -m`` and ``mx-smi topo -n`` print.

It has a heading of device names, one row for each device, and a legend that gives the name of
``NIC0``; older drivers have the name itself, ``mlx5_0``, in the heading. The row
``GPU0   X   NV18   PXB`` below ``GPU0   GPU1   NIC0`` becomes
``{"gpu0": {"gpu1": "NV18", "mlx5_0": "PXB"}}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_GPU = re.compile(r"GPU\d{1,4}")
_NUMBERED = re.compile(r"(?:GPU|NIC)\d{1,4}")
_DEVICE = re.compile(r"[A-Za-z][\w.-]{0,30}\d")
# As the legends have it. Other matrices of the same form (topo -p2p) say what is supported: OK.
_DISTANCE = re.compile(r"X|NV\d{1,3}|C2C|PIX|PXB|PSB|PHB|NODE|SYS|SOC|MX|ETH|NA")
_AFFINITY = re.compile(r"(CPU|NUMA|Node) Affinity|GPU NUMA ID")
_LONGEST_LINE = 4000
_LEGEND = re.compile(r"\s*(NIC\d{1,4}):\s*(\S+)\s*")


@dataclass(frozen=True, slots=True)
class GpuTopology:
    """Distances by device name, ``{"gpu0": {"gpu1": "MX", "mlx5_0": "PXB"}}``.

    ``cpus`` and ``numa_nodes`` are the affinities of the GPUs that are printed. ``problem`` is what
    could not be read; the matrix is then not reliable.
    """

    distances: Mapping[str, Mapping[str, str]]
    problem: str = ""
    cpus: Mapping[str, str] = field(default_factory=dict)
    numa_nodes: Mapping[str, int] = field(default_factory=dict)


def parse_topology(text: str) -> GpuTopology:
    """Parse each GPU's distance to every other GPU and to each NIC, named as in the legend."""
    lines = text.splitlines()
    columns = next(_headings(lines), ())
    names = {column: column.lower() for column in columns if column.startswith("GPU")}
    names |= {column: column for column in columns if not _NUMBERED.fullmatch(column)}
    names |= {m[1]: m[2] for m in map(_LEGEND.fullmatch, lines) if m}
    rows = _rows(lines, columns)
    affinity = _affinities(lines, columns)
    return GpuTopology(
        {
            names[row]: {
                names[column]: distance
                for column, distance in zip(columns, cells, strict=True)
                if column != row and column in names
            }
            for row, cells in rows.items()
        },
        _problem(columns, names, rows),
        {gpu: cells["CPU"] for gpu, cells in affinity.items() if "CPU" in cells},
        {gpu: int(node) for gpu, cells in affinity.items() if (node := _numa_node(cells))},
    )


def _affinities(lines: list[str], columns: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Return the affinity cells after the matrix.

    A row with an empty cell is left out, because its other cells cannot be assigned.
    """
    heading = next((line for line in lines if _AFFINITY.search(line[:_LONGEST_LINE])), "")
    kinds = [match[1] or "GPU" for match in _AFFINITY.finditer(heading[:_LONGEST_LINE])]
    words = [line.split() for line in lines]
    return {
        row[0].lower(): dict(zip(kinds, row[len(columns) + 1 :], strict=True))
        for row in words
        if row and row[0] in columns and len(row) == 1 + len(columns) + len(kinds)
    }


def _numa_node(cells: Mapping[str, str]) -> str:
    node = cells.get("NUMA", cells.get("Node", ""))
    return node if re.fullmatch(r"\d{1,4}", node) else ""


def _headings(lines: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield the devices of heading rows: they begin with a GPU and have no distance."""
    for line in lines:
        words = _AFFINITY.split(line[:_LONGEST_LINE], maxsplit=1)[0].split()
        if words and _GPU.fullmatch(words[0]) and all(map(_DEVICE.fullmatch, words)):
            yield tuple(dict.fromkeys(words))


def _rows(lines: list[str], columns: tuple[str, ...]) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {}
    for line in lines:
        name, *cells = line.split() or [""]
        if name.startswith("GPU") and name in columns:
            cells = cells[: len(columns)]
            if len(cells) == len(columns) and _is_complete(cells, columns.index(name)):
                rows[name] = cells
    return rows


def _is_complete(cells: list[str], own: int) -> bool:
    """Whether a row fits its heading: only its own cell is ``X``, and no cell is an affinity."""
    return cells[own] == "X" and cells.count("X") == 1 and all(map(_DISTANCE.fullmatch, cells))


def _problem(
    columns: tuple[str, ...], names: Mapping[str, str], rows: Mapping[str, list[str]]
) -> str:
    if not columns:
        return "no matrix of devices was printed"
    unnamed = [column for column in columns if column not in names]
    if unnamed:
        return f"the legend does not name {', '.join(unnamed)}"
    incomplete = [column for column in columns if column.startswith("GPU") and column not in rows]
    return f"no complete row for {', '.join(incomplete)}" if incomplete else ""
