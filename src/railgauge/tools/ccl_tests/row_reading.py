"""One row: its tokens against the columns of its heading."""

from __future__ import annotations

import re

from railgauge.tools.ccl_tests.figures import Figure, is_number, read_figure
from railgauge.tools.ccl_tests.headings import PREAMBLE, TIMES, Column, Heading
from railgauge.tools.ccl_tests.rows import Row, Side

_INTEGER = re.compile(r"[0-9]{1,20}")
_ROOT = re.compile(r"-?[0-9]{1,6}")
_WORD = re.compile(r"[A-Za-z][\w:.\-]{0,30}")
_COUNTED = frozenset({"#wrong", "error", "#bitdiff"})
_CHECKS = frozenset({"#wrong", "error"})
_CHOICES = ("algo", "proto", "nchannels")
_DECIMALS = 2
_ABSENT = "N/A"


def read_row(tokens: list[str], heading: Heading, *, is_whole: bool) -> Row | None:
    """The row, or ``None`` for tokens that do not fit the heading one by one.

    The last token of a line whose end was not printed counts only if it cannot go on.
    """
    tokens = _aligned(tokens, heading)
    if len(tokens) != len(heading.columns) or not _fits(tokens, heading):
        return None
    if not is_whole and not _is_complete(tokens[-1], heading.columns[-1]):
        return None
    return _row(tokens, heading)


def _aligned(tokens: list[str], heading: Heading) -> list[str]:
    """One token a column: a date and its time are one, a blank reduction is an empty one."""
    if heading.has_timestamp and len(tokens) > 1 and ":" in tokens[-1]:
        tokens = [*tokens[:-2], f"{tokens[-2]} {tokens[-1]}"]
    if len(tokens) == len(heading.columns) - 1 and "redop" in heading.names:
        at = heading.names.index("redop")
        return [*tokens[:at], "", *tokens[at:]]
    return tokens


def _fits(tokens: list[str], heading: Heading) -> bool:
    return all(
        _fits_column(token, column) for token, column in zip(tokens, heading.columns, strict=True)
    )


def _fits_column(token: str, column: Column) -> bool:
    name = column.name
    if name in {"size", "count"}:
        return _INTEGER.fullmatch(token) is not None
    if name in {"type", "redop"}:
        return _WORD.fullmatch(token) is not None or (name == "redop" and not token)
    if name == "root":
        return _ROOT.fullmatch(token) is not None
    if column.side is None:
        return bool(token)
    return token == _ABSENT or is_number(token.rstrip("*") if name in _COUNTED else token)


def _is_complete(token: str, column: Column) -> bool:
    """Whether nothing can follow: 2 decimals of a bandwidth, ``0`` of a count, ``N/A``."""
    if column.name in _COUNTED:
        return token in {_ABSENT, "0"} and column.name != "error"
    if column.name in {"algbw", "busbw"}:
        return len(token.partition(".")[2]) == _DECIMALS
    return column.side is None and column.name not in PREAMBLE


def _row(tokens: list[str], heading: Heading) -> Row:
    first = dict(zip(heading.names, tokens, strict=True))
    sides = tuple(
        _side(placement, {c.name: (t, c.unit)
                          for c, t in zip(heading.columns, tokens, strict=True) if c.side == side})
        for side, placement in enumerate(heading.placements)
    )  # fmt: skip
    choices = {name: first[name] for name in _CHOICES if name in first}
    own = (first["type"], first.get("redop"), sides, choices, first.get("root"))
    return Row(int(first["size"]), *own)


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
    )


def _figure(token: str, unit: str) -> Figure | None:
    return None if token == _ABSENT else read_figure(token, unit)


def _count(cells: dict[str, tuple[str, str]], name: str) -> float | None:
    token = cells.get(name, (_ABSENT, ""))[0].rstrip("*")
    return None if token == _ABSENT else float(token)
