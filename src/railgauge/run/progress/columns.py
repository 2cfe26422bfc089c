"""The width of a text in terminal columns, and where it leaves the cursor."""

from __future__ import annotations

import re
import unicodedata

_ELLIPSIS = "..."
_TAB = 8
# What controls the terminal and takes no column: colours, titles and the like.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\].*?(?:\x07|\x1b\\)|[@-Z\\-_])")


def cut(text: str, columns: int) -> str:
    """The text without what could control the terminal, in at most so many columns."""
    plain = "".join(char if char.isprintable() else " " for char in text)
    if width(plain) <= columns:
        return plain
    room, kept = columns - len(_ELLIPSIS), ""
    for char in plain:
        room -= width(char)
        if room < 0:
            break
        kept += char
    return f"{kept}{_ELLIPSIS}"[: max(columns, 0)]


def visible(text: str) -> str:
    """The text without what takes no column, such as colours; carriage returns remain."""
    return _ESCAPES.sub("", text) if "\x1b" in text else text


def after(text: str, column: int, columns: int) -> int:
    """The column of the cursor after a visible text was written at ``column``.

    It is ``columns`` where the line is full, and wraps with the next character.
    """
    last = text.rpartition("\n")[2]
    if "\n" in text or "\r" in last:
        column, last = 0, last.rpartition("\r")[2]
    if last.isascii() and last.isprintable():
        return (column + len(last) - 1) % columns + 1 if last else column
    for char in last:
        column = _moved(char, column, columns)
    return column


def stays(text: str, column: int, columns: int) -> bool:
    """Whether a visible text is written at ``column`` into what is left of the line."""
    return "\n" not in text and column + width(text) < columns


def _moved(char: str, column: int, columns: int) -> int:
    if char == "\b":
        return max(column - 1, 0)
    if char == "\t":
        return min((column // _TAB + 1) * _TAB, columns - 1)
    wide = width(char)
    return column + wide if column + wide <= columns else wide


def width(text: str) -> int:
    """The columns that a text takes; wide characters take two, and combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
    )
