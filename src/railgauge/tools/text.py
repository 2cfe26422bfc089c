"""Removal of what terminals and launchers add to a tool's output, and access to its lines.

No other module cleans output::

    >>> clean("\x1b[1mbusbw\x1b[0m\r\n")
    'busbw\n'
    >>> without_prefix("[1,0]<stdout>: 8  2  float")
    '8  2  float'
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator

_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
# srun --label, mpirun --tag-output (4 and 5), mpiexec -prepend-rank, and timestamps.
_PREFIX = re.compile(
    r"\[[0-9]{1,6},[0-9]{1,6}\](?:<std[a-z]{3,4}>)?: ?"
    r"|\[[\w.\-]{1,120}@[0-9]{1,6},[0-9]{1,6}\](?:<std[a-z]{3,4}>)?: ?"
    r"|<std[a-z]{3,4}>: ?"
    r"|\[?[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]{5,8}(?:[.,][0-9]{1,9})?(?:Z|[+-][0-9:]{2,6})?"
    r"\]?[ \t]"
    r"|[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9]?[0-9] [0-9:]{8} [0-9]{4}(?=[\[<])"
    r"|[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})? "
    r"|\[[0-9]{1,6}\] (?=[#\s0-9])"
    r"|std(?:out|err) [FP] "
    r"|[ ]{0,6}[0-9]{1,6}: "
)
_MOST_PREFIXES = 4
LONGEST_MESSAGE = 200


def clean(text: str) -> str:
    """Return the text without colour codes, with ``\\n`` as line end."""
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def without_prefix(line: str) -> str:
    """Return the line without the rank, host and time that launchers put before it."""
    for _ in range(_MOST_PREFIXES):
        match = _PREFIX.match(line)
        if match is None:
            break
        line = line[match.end() :]
    return line


def lines(text: str, longest: int = sys.maxsize) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it is complete: its line end was printed.

    Lines of more than ``longest`` characters are skipped: they are not rows of a table.
    """
    every = text.split("\n")
    for number, line in enumerate(every, 1):
        if len(line) <= longest:
            yield line, number < len(every)


def whole_lines(text: str) -> list[str]:
    """Return the complete lines; an incomplete last line is left out."""
    return text.split("\n")[:-1]


def is_torn(text: str) -> bool:
    """Return whether the last line is incomplete."""
    return bool(text.rpartition("\n")[2].strip())


def line_at(text: str, position: int) -> str:
    """Return the line around ``position``, shortened for a message."""
    start = text.rfind("\n", max(0, position - LONGEST_MESSAGE), position) + 1
    start = max(start, position - LONGEST_MESSAGE)
    line = text[start : start + 2 * LONGEST_MESSAGE].partition("\n")[0]
    return " ".join(line.split())[:LONGEST_MESSAGE]


def first_line_with(text: str, signs: Iterable[str]) -> str | None:
    """Return the line of the first of ``signs`` that the text contains; ``None`` if it has none."""
    sign = next((sign for sign in signs if sign in text), None)
    return None if sign is None else line_at(text, text.index(sign))
