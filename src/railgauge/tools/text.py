"""Printed text, cleaned of what terminals and launchers add, and its lines.

The one place where a tool's output is cleaned::

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
    """The text without colours, and with plain line ends."""
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def without_prefix(line: str) -> str:
    """The line without the rank, the host and the time that launchers put before it."""
    for _ in range(_MOST_PREFIXES):
        match = _PREFIX.match(line)
        if match is None:
            break
        line = line[match.end() :]
    return line


def lines(text: str, longest: int = sys.maxsize) -> Iterator[tuple[str, bool]]:
    """Each line, and whether its end was printed too.

    Lines of more than ``longest`` characters are left out: no table has them, they are noise.
    """
    every = text.split("\n")
    for number, line in enumerate(every, 1):
        if len(line) <= longest:
            yield line, number < len(every)


def whole_lines(text: str) -> list[str]:
    """The lines that were printed to their end; a torn last one is left out."""
    return text.split("\n")[:-1]


def is_torn(text: str) -> bool:
    """Whether the text ends within a line."""
    return bool(text.rpartition("\n")[2].strip())


def line_at(text: str, position: int) -> str:
    """What of the line around ``position`` is fit for a message."""
    start = text.rfind("\n", max(0, position - LONGEST_MESSAGE), position) + 1
    start = max(start, position - LONGEST_MESSAGE)
    line = text[start : start + 2 * LONGEST_MESSAGE].partition("\n")[0]
    return " ".join(line.split())[:LONGEST_MESSAGE]


def first_line_with(text: str, signs: Iterable[str]) -> str | None:
    """The line of the first of the ``signs`` that is in the text; ``None`` if none of them is."""
    sign = next((sign for sign in signs if sign in text), None)
    return None if sign is None else line_at(text, text.index(sign))
