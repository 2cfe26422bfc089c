"""Rows that the output of another program interrupts: their parts are an error, never read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile

from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector

_FIGURE = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{0,30})?(?:e[+-]?[0-9]{1,3})?|\.[0-9]{1,30}|N/A")
# The longest row of any table.
_LONGEST_ROW = 2000


def figures_at_an_end(line: str) -> int:
    """Return how many words at the beginning of a line, or at its end, are figures.

    A row that is cut in two leaves half of its figures together, whatever stands beside them; a
    line of another program has one or none there.
    """
    if len(line) > _LONGEST_ROW:
        return 0
    words = line.split()
    return max(_first(words), _first(reversed(words)))


def _first(words: Iterable[str]) -> int:
    return sum(1 for _ in takewhile(_FIGURE.fullmatch, words))


def is_figure(text: str) -> bool:
    return _FIGURE.fullmatch(text.strip()) is not None


def complain(line: str, collector: OutputCollector) -> None:
    """Add the error for the rest of an interrupted row."""
    text = " ".join(line[:160].split())
    collector.error(ProblemKind.UNPARSABLE, f"a row is interrupted by another text: {text!r}")
