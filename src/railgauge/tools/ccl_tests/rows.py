"""The columns of a heading, and the row that a line's tokens form under it.

Columns are found by their names, never by their positions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

_NUMBER = re.compile(r"[0-9]{1,25}(?:\.([0-9]{1,12}))?(?:e([+-]?[0-9]{1,3}))?|nan|inf|-nan|-inf")

# Intervals are wider than the rounding by this factor: floats are not exact decimals.
_SLACK = 1.02


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in ``unit``; ``half`` is half a unit of its last printed digit."""

    value: float
    half: float
    unit: str

    def times(self, factor: float, unit: str) -> Figure:
        return Figure(self.value * factor, self.half * factor, unit)

    @property
    def low(self) -> float:
        return self.value - self.half * _SLACK

    @property
    def high(self) -> float:
        return self.value + self.half * _SLACK


def is_number(token: str) -> bool:
    return len(token) < 64 and _NUMBER.fullmatch(token) is not None  # noqa: PLR2004


@lru_cache(4096)  # the figures of a table resemble each other
def read_figure(token: str, unit: str) -> Figure:
    """Read a token for which ``is_number`` holds: the tests print 2, 1 or 0 decimals, or %e."""
    match = _NUMBER.fullmatch(token)
    if match is None:
        raise ValueError(token)
    value = float(token)
    if not math.isfinite(value):
        return Figure(value, 0.0, unit)
    exponent = int(match[2] or 0) - len(match[1] or "")
    return Figure(value, 0.5 * 10.0**exponent, unit)


@dataclass(frozen=True, slots=True)
class Side:
    """One half of a row, in place or out of place. ``wrong`` is ``None`` if not checked.

    ``max_error`` is the value that tools before 2022 print instead of ``wrong``; ``is_flagged`` is
    true if they mark it with an asterisk as too large. ``has_check`` is true if there is a column
    for the check, whatever its cell holds. ``iterations`` are the times of single iterations with
    ``-I``: their minimum (``min``), maximum and 99th percentile.
    """

    placement: str | None
    time: Figure | None
    algbw: Figure | None
    busbw: Figure | None
    is_cpu_time: bool = False
    wrong: float | None = None
    max_error: float | None = None
    is_flagged: bool = False
    different_bits: float = 0.0
    has_check: bool = False
    iterations: Mapping[str, Figure] = field(default_factory=dict)

    @property
    def is_checked(self) -> bool:
        return self.wrong is not None or self.max_error is not None


@dataclass(frozen=True, slots=True)
class CclRow:
    """One row. ``size_bytes`` is as printed: collectives with a part for each rank round it down.

    ``redop`` and ``root`` are as printed, ``None`` if there is no such column. ``choices`` are the
    columns that RCCL adds, as printed: ``algo``, ``proto``, ``nchannels``.
    """

    size_bytes: int
    dtype: str
    redop: str | None
    sides: tuple[Side, ...]
    choices: Mapping[str, str] = field(default_factory=dict)
    root: str | None = None


# --- headings ---

PREAMBLE = frozenset({"size", "count", "type", "redop", "root"})
TIMES = ("time", "cputime")
_MEASURED = ("algbw", "busbw", "#wrong", "error", "#bitdiff", "i_min", "i_max", "i_p99", "i_cv%")
_TRAILING = frozenset({"algo", "proto", "nchannels", "#iters", "timestamp"})
_HAS_UNIT = frozenset({"size", "count", *TIMES, "algbw", "busbw", *_MEASURED[5:]})
_ITERATIONS = {"i_min": "min", "i_max": "max", "i_p99": "p99"}
_DEFAULT_UNITS = {"time": "us", "cputime": "us", "algbw": "GB/s", "busbw": "GB/s"}
_DEFAULT_UNITS |= dict.fromkeys(_ITERATIONS, "us")
_PLACEMENTS = ("out_of_place", "in_place")
_GLUED = re.compile(r"([a-z][a-z0-9:_%]{0,20})\(([^)\s]{1,20})\)")
_UNITS = re.compile(r"\(([^)]{1,20})\)")


@dataclass(frozen=True, slots=True)
class CclColumn:
    """One column. ``side`` is 0 or 1 for the columns of each half, ``None`` for the others."""

    name: str
    side: int | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class CclHeading:
    """The columns of a table, and the placements of its sides in printed order.

    ``has_binary_units`` is true for nccom-test, whose ``GB/s`` are GiB/s. ``unknown`` are columns
    that no version of the tools prints; the other columns are still read by name.
    """

    columns: tuple[CclColumn, ...]
    placements: tuple[str | None, ...]
    has_binary_units: bool = False
    unknown: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def has_timestamp(self) -> bool:
        return self.names[-1:] == ("timestamp",)

    def with_units(self, line: str) -> CclHeading | None:
        """Return the heading with the units of the line below it; ``None`` if they do not fit."""
        units = _UNITS.findall(line)
        expected = sum(column.name in _HAS_UNIT for column in self.columns)
        if len(units) != expected:
            return None
        left = iter(units)
        columns = tuple(
            replace(column, unit=next(left)) if column.name in _HAS_UNIT else column
            for column in self.columns
        )
        return replace(self, columns=columns)


# What the tools print, by number of columns, for rows whose heading was cut away: since 2022,
# before it, and as documents shorten it.
_RATES = ("time", "algbw", "busbw")
_SHAPES = (
    ("size", "count", "type", "redop", "root", *((*_RATES, "#wrong") * 2)),
    ("size", "count", "type", "redop", *((*_RATES, "error") * 2)),
    ("size", "count", "type", "redop", *(_RATES * 2)),
)


def usual_heading(width: int) -> CclHeading | None:
    """The heading that rows of so many tokens have in official versions."""
    shape = next((shape for shape in _SHAPES if len(shape) == width), None)
    return read_heading(list(shape)) if shape else None


def is_heading(content: str) -> bool:
    words = content[:80].split(None, 2)
    return len(words) > 1 and words[0] in {"size", "size(B)"} and words[1].startswith("count")


def is_units(content: str) -> bool:
    return content.startswith("(B)")


def is_placements(content: str) -> bool:
    return "out-of-place" in content and "in-place" in content


def read_heading(words: list[str], placements: str = "") -> CclHeading | None:
    """Return the heading in ``words``; ``None`` if a column that a row needs is missing.

    ``placements`` is the line above the heading, empty if there is none.
    """
    glued = [_GLUED.fullmatch(word) for word in words]
    is_glued = all(glued[:2])
    names = [match[1].replace("time:avg", "time") if match else word
             for match, word in zip(glued, words, strict=True)]  # fmt: skip
    units = [match[2] if match else "" for match in glued]
    columns = _columns(names, units)
    sides = max((column.side for column in columns if column.side is not None), default=-1) + 1
    if not _has_each_figure(columns, sides):
        return None
    unknown = tuple(column.name for column in columns if not _is_known(column.name))
    return CclHeading(tuple(columns), _order(sides, placements), is_glued, unknown)


def _columns(names: list[str], units: list[str]) -> list[CclColumn]:
    columns: list[CclColumn] = []
    side = -1
    for name, unit in zip(names, units, strict=True):
        side += name in TIMES
        is_measured = name in TIMES or name in _MEASURED
        own = side if is_measured and side >= 0 else None
        columns.append(CclColumn(name, own, unit or _DEFAULT_UNITS.get(name, "")))
    return columns


def _is_known(name: str) -> bool:
    return (
        name in PREAMBLE
        or name in TIMES
        or name in _MEASURED
        or name in _TRAILING
        or name.startswith("time:")
    )


def _has_each_figure(columns: list[CclColumn], sides: int) -> bool:
    """Return whether there are 1 or 2 sides, each with one time, one algbw and one busbw."""
    if sides not in {1, 2} or [column.name for column in columns[:3]] != ["size", "count", "type"]:
        return False
    for side in range(sides):
        own = [column.name for column in columns if column.side == side]
        if own.count("algbw") != 1 or own.count("busbw") != 1 or len(set(own)) != len(own):
            return False
    return True


def _order(sides: int, placements: str) -> tuple[str | None, ...]:
    if sides == 1:
        return (None,)
    outer, inner = placements.find("out-of-place"), placements.find("in-place")
    return _PLACEMENTS[::-1] if 0 <= inner < outer else _PLACEMENTS


# --- a row's tokens against the columns ---

_INTEGER = re.compile(r"[0-9]{1,20}")
_ROUNDED = re.compile(r"[0-9](?:\.[0-9]{1,6})?[eE]\+?[0-9]{1,2}")
_ROOT = re.compile(r"-?[0-9]{1,6}")
_WORD = re.compile(r"[A-Za-z][\w:.\-]{0,30}")
_COUNTED = frozenset({"#wrong", "error", "#bitdiff"})
_CHECKS = frozenset({"#wrong", "error"})
_CHOICES = ("algo", "proto", "nchannels")
_DECIMALS = 2
_ABSENT = "N/A"


def read_row(tokens: list[str], heading: CclHeading, *, is_whole: bool) -> CclRow | None:
    """Return the row, or ``None`` if the tokens do not fit the heading's columns.

    An incomplete line is a row only if its last token cannot continue.
    """
    tokens = _aligned(tokens, heading)
    if len(tokens) != len(heading.columns) or not _fits(tokens, heading):
        return None
    if not is_whole and not _is_complete(tokens[-1], heading.columns[-1]):
        return None
    return _row(tokens, heading)


def _aligned(tokens: list[str], heading: CclHeading) -> list[str]:
    """Return one token a column: join date and time, and insert a missing reduction as empty."""
    if heading.has_timestamp and len(tokens) > 1 and ":" in tokens[-1]:
        tokens = [*tokens[:-2], f"{tokens[-2]} {tokens[-1]}"]
    if len(tokens) == len(heading.columns) - 1 and "redop" in heading.names:
        at = heading.names.index("redop")
        return [*tokens[:at], "", *tokens[at:]]
    return tokens


def _fits(tokens: list[str], heading: CclHeading) -> bool:
    return all(
        _fits_column(token, column) for token, column in zip(tokens, heading.columns, strict=True)
    )


def _fits_column(token: str, column: CclColumn) -> bool:
    name = column.name
    if name in {"size", "count"}:
        # The number of elements is not used: spreadsheets round it to 2.68e+8.
        is_rounded = name == "count" and _ROUNDED.fullmatch(token) is not None
        return is_rounded or _INTEGER.fullmatch(token) is not None
    if name in {"type", "redop"}:
        return _WORD.fullmatch(token) is not None or (name == "redop" and not token)
    if name == "root":
        return _ROOT.fullmatch(token) is not None
    if column.side is None:
        return bool(token)
    return token == _ABSENT or is_number(token.rstrip("*") if name in _COUNTED else token)


def _is_complete(token: str, column: CclColumn) -> bool:
    """Return whether the token is complete: a bandwidth with 2 decimals, a count 0, ``N/A``."""
    if column.name in _COUNTED:
        return token in {_ABSENT, "0"} and column.name != "error"
    if column.name in {"algbw", "busbw"}:
        return len(token.partition(".")[2]) == _DECIMALS
    return column.side is None and column.name not in PREAMBLE


def _row(tokens: list[str], heading: CclHeading) -> CclRow:
    first = dict(zip(heading.names, tokens, strict=True))
    sides = tuple(
        _side(placement, {c.name: (t, c.unit)
                          for c, t in zip(heading.columns, tokens, strict=True) if c.side == side})
        for side, placement in enumerate(heading.placements)
    )  # fmt: skip
    choices = {name: first[name] for name in _CHOICES if name in first}
    own = (first["type"], first.get("redop"), sides, choices, first.get("root"))
    return CclRow(int(first["size"]), *own)


def _side(placement: str | None, cells: dict[str, tuple[str, str]]) -> Side:
    time_name = next(name for name in TIMES if name in cells)
    return Side(
        placement=placement,
        time=_figure(*cells[time_name]),
        algbw=_figure(*cells["algbw"]),
        busbw=_figure(*cells["busbw"]),
        is_cpu_time=time_name == "cputime",
        wrong=_count(cells, "#wrong"),
        max_error=_count(cells, "error"),
        is_flagged=any(cells[name][0].endswith("*") for name in _COUNTED & set(cells)),
        different_bits=_count(cells, "#bitdiff") or 0.0,
        has_check=not _CHECKS.isdisjoint(cells),
        iterations={
            statistic: figure
            for column, statistic in _ITERATIONS.items()
            if column in cells and (figure := _figure(*cells[column]))
        },
    )


def _figure(token: str, unit: str) -> Figure | None:
    return None if token == _ABSENT else read_figure(token, unit)


def _count(cells: dict[str, tuple[str, str]], name: str) -> float | None:
    token = cells.get(name, (_ABSENT, ""))[0].rstrip("*")
    return None if token == _ABSENT else float(token)
