"""CSV that is safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

_FORMULA = tuple("=+-@\t\r＝＋－＠")
"""What a spreadsheet takes for the begin of a formula."""


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    """Return the rows as CSV; a cell that a spreadsheet would compute begins with a quote."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows(map(_cells, rows))
    return out.getvalue()


def _cells(row: Sequence[str]) -> list[str]:
    return [f"'{text}" if text.startswith(_FORMULA) else text for text in row]
