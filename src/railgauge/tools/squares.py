"""Square tables of device against device, as several vendors' copy tests print them::

    D\\D     0      1
      0 758.31  17.26
      1  17.31 757.20

gives the devices (0, 1) and the cells (0, 0, "758.31"), (0, 1, "17.26"), …
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

_CORNERS = frozenset({"D/D", "D\\D", "GPU", "CPU"})
_LONGEST_LINE = 4000
_LONGEST_INDEX = 4


@dataclass(slots=True)
class Square:
    """One table. ``heading`` is the last line of text above it, ``at`` the heading's line number.

    ``corner`` is the word above the row labels. ``rows`` are the cells as printed.
    """

    heading: str
    at: int
    corner: str
    devices: tuple[int, ...]
    labels: list[int] = field(default_factory=list)
    rows: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether the table is complete: one row for each device, each as wide as the heading."""
        widths = {len(row) for row in self.rows}
        return tuple(self.labels) == self.devices and widths == {len(self.devices)}

    def cells(self) -> Iterator[tuple[int, int, str]]:
        """Yield the row's device, the column's device and the cell's text."""
        for label, row in zip(self.labels, self.rows, strict=True):
            for device, cell in zip(self.devices, row, strict=True):
                yield label, device, cell


def read_squares(lines: list[str]) -> Iterator[Square]:
    """Yield all tables, complete or not; blank lines between rows are skipped."""
    heading, heading_at = "", -1
    square: Square | None = None
    for at, line in enumerate(lines):
        words = line.split() if len(line) <= _LONGEST_LINE else ["…"]
        if not words:
            continue
        if words[0] in _CORNERS and _are_indices(words[1:]):
            if square:
                yield square
            square = Square(heading, heading_at, words[0], tuple(map(int, words[1:])))
        elif square and len(words) > 1 and _are_indices(words[:1]):
            square.labels.append(int(words[0]))
            square.rows.append(tuple(words[1:]))
        else:
            if square:
                yield square
            square, heading, heading_at = None, line.strip(), at
    if square:
        yield square


def _are_indices(words: list[str]) -> bool:
    return bool(words) and all(
        len(word) <= _LONGEST_INDEX and word.isascii() and word.isdigit() for word in words
    )
