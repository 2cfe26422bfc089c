"""Lines freed of what launchers put before them, and of the library's log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
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
_LOG_MARKS = ("CCL INFO", "CCL WARN", "CCL TRACE", "CCL ERROR")
_LOG_START = re.compile(r"(\S{1,200}):[0-9]{1,10}:[0-9]{1,10} \[[0-9]{1,4}\] [A-Z]{0,4}$")
_WINDOW = 260


@dataclass(frozen=True, slots=True)
class Line:
    """``text`` before the log, ``log`` from its host name on; ``is_whole`` if its end was printed.

    A row that the library interrupts runs into the log without a blank: ``float sum -1node01:7:7
    [0] NCCL INFO``. ``text`` then lacks the last number, which ``log`` begins with.
    """

    text: str
    log: str
    is_whole: bool

    @property
    def content(self) -> str:
        """The text without the marks that make it a comment."""
        return self.text.strip().lstrip("#").strip()


def plain(text: str) -> str:
    """Without colours, and with plain line ends."""
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_lines(text: str) -> Iterator[Line]:
    """All lines of ``text`` that are not empty; it has plain line ends."""
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if line:
            yield _split(_without_prefix(line), is_whole=number < len(lines))


def _without_prefix(line: str) -> str:
    for _ in range(_MOST_PREFIXES):
        match = _PREFIX.match(line)
        if match is None:
            break
        line = line[match.end() :]
    return line


def _split(line: str, *, is_whole: bool) -> Line:
    at = min((at for mark in _LOG_MARKS if (at := line.find(mark)) >= 0), default=-1)
    if at < 0:
        return Line(line, "", is_whole)
    window = max(0, at - _WINDOW)
    match = _LOG_START.search(line[window:at])
    start = window + match.start() if match else 0
    return Line(line[:start], line[start:], is_whole)
