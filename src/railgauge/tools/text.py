"""Removal of everything that terminals and launchers add to a tool's output; access to its lines.

No other module cleans output::

    >>> clean("\x1b[1mbusbw\x1b[0m\r\n")
    'busbw\n'
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator

from railgauge.core import digits
from railgauge.tools.prefixes import without_prefixes

# Colours and movements, titles of windows, character sets and keypads.
_COLOUR = re.compile(
    r"\x1b(?:\[[0-9;?]{0,20}[@-~]|\][^\x07\x1b\n]{0,1000}(?:\x07|\x1b\\)|[()][0-9A-B]|[=>78])"
)
# The prompt of a shell below an output that was copied from a terminal.
_PROMPT = re.compile(
    r"(?:\([\w.\-]{1,60}\) )?(?:\[[\w.\-]{1,80}@[\w.\-]{1,80} [^\]\n]{1,200}\]"
    r"|[\w.\-]{1,80}@[\w.\-]{1,80}:[^\n$#]{0,200})[$#] ?|\$ ?"
)
# The heading of watch above an output: Every 5.0s: nvidia-smi   node1: Fri Dec 12 16:34:07 2025
_WATCH = re.compile(r"\A\s{0,200}Every \d{1,6}(?:\.\d)?s: [^\n]{1,400}\n(?:[ \t]{0,200}\n)?")
_BYTE_ORDER_MARK = "\ufeff"
LONGEST_MESSAGE = 200
_QUOTED_LENGTH = 160


def clean(text: str, *, is_log: bool = False) -> str:
    """Return the text as the tool printed it, with ``\\n`` as line end.

    Colour codes, a byte order mark and the prefix of every line are removed (``without_prefixes``;
    ``is_log``: the text is a log, whose times stay), and digits of other scripts are replaced.
    """
    text = text.removeprefix(_BYTE_ORDER_MARK)
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    text = digits.of_ascii(text).replace("\r\n", "\n").replace("\r", "\n")
    return _without_prompt(without_prefixes(_WATCH.sub("", text), is_log=is_log))


def _without_prompt(text: str) -> str:
    whole, _, last = text.rpartition("\n")
    return f"{whole}\n" if _PROMPT.fullmatch(last) and whole else text


def is_prompt(line: str) -> bool:
    """Return whether a line is a shell's prompt, with or without a command behind it."""
    return _PROMPT.match(line[:LONGEST_MESSAGE]) is not None and not line.startswith("$\t")


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


def with_end(text: str, *, decimals: int = 0, ends: tuple[str, ...] = ()) -> str:
    """Return the text with the line end that its last line lost, if that line is complete.

    It is complete if it is one of ``ends``, or if it has as many words as the line above it and the
    last one has all its ``decimals``, of which the tool prints the same number everywhere.
    """
    whole, _, last = text.rpartition("\n")
    above, words = whole.rstrip().rpartition("\n")[2].split(), last.split()
    shown = len(words[-1].partition(".")[2]) if words else 0
    is_row = decimals > 0 and shown == decimals and len(words) == len(above)
    return f"{text}\n" if is_row or last.strip() in ends else text


def line_at(text: str, position: int) -> str:
    """Return the line around ``position``, shortened for a message."""
    start = text.rfind("\n", max(0, position - LONGEST_MESSAGE), position) + 1
    start = max(start, position - LONGEST_MESSAGE)
    line = text[start : start + 2 * LONGEST_MESSAGE].partition("\n")[0]
    return " ".join(line.split())[:LONGEST_MESSAGE]


def quoted(text: str) -> str:
    """Return the beginning of a line in quotes, for a message."""
    return repr(" ".join(text[:_QUOTED_LENGTH].split()))


def first_line_with(text: str, signs: Iterable[str]) -> str | None:
    """Return the line of the first of ``signs`` that the text contains; ``None`` if it has none."""
    sign = next((sign for sign in signs if sign in text), None)
    return None if sign is None else line_at(text, text.index(sign))
