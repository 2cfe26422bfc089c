"""Changes of a text, chosen by whatever chooses: hypothesis or chance.

``choose(n)`` returns a whole number from 0 to ``n - 1``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

Choose = Callable[[int], int]

MOST_CHANGES = 4
MOST_CHARACTERS = 20_000
NUMBERS = (
    *("0", "-1", "1", "00", "0.0", "1e3", "9" * 20, "9" * 400, "9" * 5000, "1e999", "-1e-999"),
    *("nan", "inf", "-inf", "NaN", "Infinity", "0x", "0xffffffffffffffffffff", "1_000", "1,000"),
)
# Numbers that no tool means, characters of terminals and of other scripts, and what begins
# something in YAML, JSON, XML or a table.
HOSTILE = (
    *NUMBERS,
    *("\u0663", "\u00b2", "\uff11", "\0", "\r", "\n", "\t", "\x0b", "\x85", "\u2028", "\x1b[2J"),
    *("\ufeff", "\U0001f600", " ", "  ", '"', "'", "\\", "{", "}", "[", "]", "[" * 3000),
    *('{"a":' * 3000, ":", ",", ";", "- ", "#", "|", "&a ", "*a", "<<: *a", "!!python/name:os"),
    *("null", "true", "None", "N/A", "GB/s", "GiB", "Mb/s", "::railgauge ab12 ", "<", "&#0;"),
    *("n[1-99999999]", "../", "$(id)", "=", "()", "*", "/", "%", "GPU 0", "0000:00:00.0"),
)
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def changed(text: str, others: Sequence[str], choose: Choose) -> str:
    """The text after one to four changes; ``others`` are texts to take parts of."""
    for _ in range(1 + choose(MOST_CHANGES)):
        text = _CHANGES[choose(len(_CHANGES))](text, others, choose)[:MOST_CHARACTERS]
    return text


def _cut_out(text: str, _: Sequence[str], choose: Choose) -> str:
    at = choose(len(text) + 1)
    return text[:at] + text[at + 1 + choose(40) :]


def _cut_end(text: str, _: Sequence[str], choose: Choose) -> str:
    return text[: choose(len(text) + 1)]


def _cut_head(text: str, _: Sequence[str], choose: Choose) -> str:
    return text[choose(len(text) + 1) :]


def _insert(text: str, _: Sequence[str], choose: Choose) -> str:
    at = choose(len(text) + 1)
    return text[:at] + HOSTILE[choose(len(HOSTILE))] + text[at:]


def _replace(text: str, _: Sequence[str], choose: Choose) -> str:
    at = choose(len(text) + 1)
    return text[:at] + HOSTILE[choose(len(HOSTILE))] + text[at + 1 :]


def _renumber(text: str, _: Sequence[str], choose: Choose) -> str:
    """Another number in place of one: a hostile one, or one of the text itself."""
    found = list(_NUMBER.finditer(text))
    if not found:
        return text
    one = found[choose(len(found))]
    new = NUMBERS[choose(len(NUMBERS))] if choose(2) else found[choose(len(found))][0]
    return text[: one.start()] + new + text[one.end() :]


def _of_lines(change: Callable[[list[str], int, int], None]) -> Callable[..., str]:
    def of_lines(text: str, _: Sequence[str], choose: Choose) -> str:
        lines = text.split("\n")
        change(lines, choose(len(lines)), choose(len(lines)))
        return "\n".join(lines)

    return of_lines


def _lose(lines: list[str], at: int, _: int) -> None:
    del lines[at]


def _repeat(lines: list[str], at: int, to: int) -> None:
    lines.insert(to, lines[at])


def _swap(lines: list[str], at: int, to: int) -> None:
    lines[at], lines[to] = lines[to], lines[at]


def _many(lines: list[str], at: int, _: int) -> None:
    lines[at:at] = [lines[at]] * 60


def _splice(text: str, others: Sequence[str], choose: Choose) -> str:
    other = others[choose(len(others))]
    return text[: choose(len(text) + 1)] + other[choose(len(other) + 1) :]


_CHANGES = (
    _cut_out, _cut_end, _cut_head, _insert, _insert, _replace, _renumber, _renumber, _splice,
    *map(_of_lines, (_lose, _repeat, _swap, _many)),
)  # fmt: skip
