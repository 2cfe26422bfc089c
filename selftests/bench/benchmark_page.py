"""The benchmark table as a page: one section a topic, each with the note of its machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from measuring import GROWTH_MAX, Row, growths, row_from_json, too_fast

_HEAD = f"""# Benchmarks

What the suite itself costs. Made by `make bench`; `selftests/bench/` has a module for each topic.

Both sides of a ratio were measured in turn within one run, and the ratio is the median over the
turns. The growth exponent k of a series is that of cost = c x size^k over its sizes: 1 is linear,
2 quadratic; above {GROWTH_MAX:g} it counts as missed, unless its line says otherwise.
"""
_COLUMNS = (
    "what", "size", "measured", "compared with", "ratio", "target", "met", "growth",
)  # fmt: skip


def page(results: Mapping[str, Any]) -> str:
    """The page of ``results`` (topic: its title, about, machine and rows), topics in order."""
    sections = ["\n".join(_section(results[topic])) for topic in sorted(results)]
    return "\n".join([_HEAD, *sections])


def _section(result: Mapping[str, Any]) -> Iterator[str]:
    rows = [row_from_json(data) for data in result["rows"]]
    yield f"## {result['title']}\n"
    yield f"{result['about'].strip()}\n"
    yield f"Measured on {machine_line(result['machine'])}.\n"
    yield from table(rows)
    yield ""
    if lines := list(reasons(rows)):
        yield from (f"- {line}" for line in lines)
        yield ""


def machine_line(machine: Mapping[str, Any]) -> str:
    return (
        f"{machine['cores']} cores, {machine['kernel']}, Python {machine['python']}, "
        f"load {machine['load']:.1f} at the start"
    )


def table(rows: Sequence[Row]) -> Iterator[str]:
    yield f"| {' | '.join(_COLUMNS)} |"
    yield f"|{' --- |' * len(_COLUMNS)}"
    growth = growths(rows)
    last = {row.what: row for row in rows}
    for row in rows:
        # An exponent belongs to a series and is shown in its last row.
        yield f"| {' | '.join(_cells(row, growth[row.what] if last[row.what] is row else None))} |"


def _cells(row: Row, growth: float | None) -> tuple[str, ...]:
    compared = row.compared_with
    if row.baseline is not None:
        compared += f": {number(row.baseline)} {row.unit}"
    ratio = "" if row.baseline is None else f"{row.judged:.2f}"
    target = "" if row.target is None else f"{_scale(row, row.target)} at most"
    grown = "" if growth is None else f"{growth:.2f}"
    shown = f" ({row.shown})" if row.shown else ""
    size = f"{row.size:,g}" if row.size < 1e6 else f"{row.size:,.0f}"
    return (
        row.what,
        f"{size} {row.size_unit}",
        f"{number(row.measured)} {row.unit}{shown}",
        compared,
        ratio,
        target,
        verdict(row, growth),
        grown,
    )


def _scale(row: Row, target: float) -> str:
    return f"{target:g}" if row.baseline is not None else f"{target:g} {row.unit}"


def verdict(row: Row, growth: float | None) -> str:
    """``met``, ``missed``, or nothing without a target; too fast a growth is missed."""
    if row.missed:
        return "**missed**"
    if too_fast(row, growth):
        return "**missed**: growth"
    return "met" if row.target is not None else ""


def reasons(rows: Sequence[Row]) -> Iterator[str]:
    """Why targets were missed, once for each series: by the largest size that missed."""
    growth = growths(rows)
    for what in growth:
        of = [row for row in rows if row.what == what]
        missed = [row for row in of if row.missed or too_fast(row, growth[what])]
        if missed:
            why = next((row.why for row in reversed(missed) if row.why), "not explained yet")
            yield f"{what}: {why}"


def number(value: float) -> str:
    """Three significant digits."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
