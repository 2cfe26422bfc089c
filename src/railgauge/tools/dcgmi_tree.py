"""The boxes with a tree of values in which ``dcgmi`` prints ``nvlink -e`` and ``health -c``::

    +-----------------------------+---------------------------------+
    | NVLINK Error Counts                                           |
    | GPU 0                                                         |
    +=============================+=================================+
    | Link 0                      |                                 |
    | -> CRC FLIT Error           | 0                               |
    +-----------------------------+---------------------------------+

Format: DCGM's sources, DcgmiOutput (``DcgmiOutputTree``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_LONGEST_LINE = 400
_EDGE = re.compile(r"\+-{5,300}(?:\+-{5,300})?\+")
_DIVIDER = re.compile(r"\+={5,300}\+={5,300}\+")
_HEADER = re.compile(r"\| ([^|]{1,300}?) {0,300}\|")
_ROW = re.compile(r"\| ( {0,30})(?:(-> )?([^|]{0,120}?)) {0,300}\| ([^|]{0,300}?) {0,300}\|")
_INDENT = 3


@dataclass(slots=True)
class Box:
    """One box. ``rows`` are the path of names to a value, and the value.

    ``is_closed``: its last line was printed. ``strange`` are lines inside it that are no rows.
    """

    headers: list[str] = field(default_factory=list)
    rows: list[tuple[tuple[str, ...], str]] = field(default_factory=list)
    is_closed: bool = False
    strange: list[str] = field(default_factory=list)


def read_boxes(text: str) -> Iterator[Box]:
    """Yield every box that has a line of ``=``; one that was not closed ends with the text."""
    headers: list[str] = []
    box: Box | None = None
    for line in (line[:_LONGEST_LINE].rstrip() for line in text.split("\n")):
        if box is None and _DIVIDER.fullmatch(line):
            box = Box(headers)
        elif box is None:
            header = _HEADER.fullmatch(line)
            headers = [*headers, header[1]] if header else []
        elif _EDGE.fullmatch(line):
            box.is_closed = True
            yield box
            box, headers = None, []
        else:
            _take(line, box)
    if box:
        yield box


def _take(line: str, box: Box) -> None:
    row = _ROW.fullmatch(line)
    if row is None:
        box.strange += [line] if line.strip() else []
        return
    indent, arrow, name, value = row.groups()
    if not name and box.rows and value:  # the value of the row above goes on
        path, above = box.rows[-1]
        box.rows[-1] = path, f"{above} {value}".strip()
        return
    depth = len(indent) // _INDENT + 1 if arrow else 0
    parents = box.rows[-1][0] if box.rows else ()
    box.rows.append(((*parents[:depth], name), value))
