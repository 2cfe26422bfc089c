"""``railgauge compare``: a run beside another one, series by series."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from railgauge.cli import text
from railgauge.core import arguments
from railgauge.core.errors import BadInput
from railgauge.run.store import write_whole
from railgauge.trend import comparison_text
from railgauge.trend.compared import AT_LEAST, BETTER, UNSURE, WORSE, Comparison, RunSide
from railgauge.trend.comparison import compare

HELP = "compare two runs, two sites, or tonight with the sign-off, series by series"
EXAMPLE = (
    "example: railgauge compare signoff.railgauge reports/latest --at-least 0.9; "
    "exit codes: 0 not worse, 1 worse, 2 nothing to compare or bad usage"
)
_WORSE = 1
_MOST_LINES = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", type=Path, metavar="A", help="the reference: a run or a bundle")
    parser.add_argument("second", type=Path, metavar="B", help="what is compared with it")
    parser.add_argument(
        "--at-least", type=arguments.share, default=AT_LEAST, metavar="SHARE",
        help="what each series of B must reach of A, from 0 to 1 (default: %(default)g)",
    )  # fmt: skip
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write a page")


def run(options: argparse.Namespace) -> int:
    """Exit code 1 if a series is worse, 0 if none is."""
    from railgauge.bundle import side  # noqa: PLC0415 - keys and envelopes take 0.3 s to import

    sides = side.read(options.first), side.read(options.second)
    found = compare(*sides, options.at_least)
    if options.html:
        _write(options.html, sides, found)
    if options.json:
        text.print_json(_json(sides, found))
    else:
        print(text.printable("\n".join(_lines(sides, found))))
    return _WORSE if found.of(WORSE) else 0


def _write(path: Path, sides: tuple[RunSide, RunSide], found: Comparison) -> None:
    from railgauge.trend.comparison_page import page  # noqa: PLC0415 - jinja2 takes 0.1 s

    try:
        write_whole(path, page(*sides, found))
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror}", where=str(path)) from None


def _json(sides: tuple[RunSide, RunSide], found: Comparison) -> dict[str, Any]:
    first, second = map(_side_json, sides)
    return {
        "reference": first, "compared": second, "worse": bool(found.of(WORSE)),
        "counts": found.counts, **asdict(found),
    }  # fmt: skip


def _side_json(side: RunSide) -> dict[str, Any]:
    return {
        "named": side.named, "run_id": side.run_id, "verdict": side.verdict,
        **asdict(side.fleet), "setting": dict(side.setting), "remarks": list(side.remarks),
    }  # fmt: skip


def _lines(sides: tuple[RunSide, RunSide], found: Comparison) -> Iterator[str]:
    for name, about in comparison_text.heading(*sides, found):
        yield f"{name:<10} {about}"
    yield ""
    yield from _aligned([comparison_text.HEAD, *comparison_text.table(found)])
    yield ""
    yield from _several("together", [comparison_text.shared(one) for one in found.shared])
    for status in (WORSE, UNSURE, BETTER):
        yield from _several(status, [comparison_text.sentence(one) for one in found.of(status)])
    yield from _several("not alike", comparison_text.unlike(found))
    for name, keys in (("only in A", found.only_first), ("only in B", found.only_second)):
        yield from _several(name, comparison_text.alone(keys))
    yield comparison_text.summary(found)


def _aligned(cells: Sequence[Sequence[str]]) -> Iterator[str]:
    """The table's lines; the first and the last two columns are text."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        words = [
            f"{word:>{width}}" if 0 < i < len(row) - 2 else f"{word:<{width}}"
            for i, (word, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(words).rstrip()


def _several(name: str, lines: Sequence[str]) -> Iterator[str]:
    yield from (f"{name}: {line}" for line in lines[:_MOST_LINES])
    if len(lines) > _MOST_LINES:
        yield f"{name}: and {len(lines) - _MOST_LINES} more (all with --json and --html)"
