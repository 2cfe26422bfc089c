"""Headings: the columns of a table, found by their names and never by their places."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

PREAMBLE = frozenset({"size", "count", "type", "redop", "root"})
TIMES = ("time", "cputime")
_MEASURED = ("algbw", "busbw", "#wrong", "error", "#bitdiff", "i_min", "i_max", "i_p99", "i_cv%")
_TRAILING = frozenset({"algo", "proto", "nchannels", "#iters", "timestamp"})
_HAS_UNIT = frozenset({"size", "count", *TIMES, "algbw", "busbw", *_MEASURED[5:]})
_DEFAULT_UNITS = {"time": "us", "cputime": "us", "algbw": "GB/s", "busbw": "GB/s"}
_PLACEMENTS = ("out_of_place", "in_place")
_GLUED = re.compile(r"([a-z][a-z0-9:_%]{0,20})\(([^)\s]{1,20})\)")
_UNITS = re.compile(r"\(([^)]{1,20})\)")


@dataclass(frozen=True, slots=True)
class Column:
    """``side`` is 0 or 1 for columns that each half of a row has, ``None`` for the others."""

    name: str
    side: int | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """The columns of a table, and the placement of its sides in printed order.

    ``has_binary_units`` is so for nccom-test, whose ``GB/s`` are GiB/s. ``unknown`` are columns
    that no version of the tools prints; their table is read by the names that are known.
    """

    columns: tuple[Column, ...]
    placements: tuple[str | None, ...]
    has_binary_units: bool = False
    unknown: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def has_timestamp(self) -> bool:
        return self.names[-1:] == ("timestamp",)

    def with_units(self, line: str) -> Heading | None:
        """The same with the units of the line below it; ``None`` if they do not fit."""
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


def usual_heading(width: int) -> Heading | None:
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


def read_heading(words: list[str], placements: str = "") -> Heading | None:
    """The heading in ``words``; ``None`` if it lacks what a row needs.

    ``placements`` is the line above it, where one was printed.
    """
    glued = [_GLUED.fullmatch(word) for word in words]
    is_glued = all(glued[:2])
    names = [match[1].replace("time:avg", "time") if match else word
             for match, word in zip(glued, words, strict=True)]  # fmt: skip
    units = [match[2] if match else "" for match in glued]
    columns = _columns(names, units)
    sides = max((column.side for column in columns if column.side is not None), default=-1) + 1
    if not _is_complete(columns, sides):
        return None
    unknown = tuple(column.name for column in columns if not _is_known(column.name))
    return Heading(tuple(columns), _order(sides, placements), is_glued, unknown)


def _columns(names: list[str], units: list[str]) -> list[Column]:
    columns: list[Column] = []
    side = -1
    for name, unit in zip(names, units, strict=True):
        side += name in TIMES
        is_measured = name in TIMES or name in _MEASURED
        own = side if is_measured and side >= 0 else None
        columns.append(Column(name, own, unit or _DEFAULT_UNITS.get(name, "")))
    return columns


def _is_known(name: str) -> bool:
    return (
        name in PREAMBLE
        or name in TIMES
        or name in _MEASURED
        or name in _TRAILING
        or name.startswith("time:")
    )


def _is_complete(columns: list[Column], sides: int) -> bool:
    """Two sides at most, each with its time and both bandwidths once."""
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
