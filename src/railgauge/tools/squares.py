"""Square tables of device against device, as several vendors' copy tests print them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

_CORNERS = frozenset({"D/D", "D\\D", "GPU", "CPU"})
_LONGEST_LINE = 4000
_LONGEST_INDEX = 4


@dataclass(slots=True)
class Square:
    """``heading`` is the last line of words above the table, ``at`` its line number.

    ``corner`` is the word over the row labels. ``rows`` are the cells as printed.
    """

    heading: str
    at: int
    corner: str
    devices: tuple[int, ...]
    labels: list[int] = field(default_factory=list)
    rows: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether there is one row for each device, as wide as the heading."""
        widths = {len(row) for row in self.rows}
        return tuple(self.labels) == self.devices and widths == {len(self.devices)}

    def cells(self) -> Iterator[tuple[int, int, str]]:
        """Row's device, column's device, text of the cell."""
        for label, row in zip(self.labels, self.rows, strict=True):
            for device, cell in zip(self.devices, row, strict=True):
                yield label, device, cell


def read_squares(lines: list[str]) -> Iterator[Square]:
    """All tables, whole or not; blank lines between rows are passed over."""
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
