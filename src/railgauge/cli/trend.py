"""``railgauge trend``: compare the latest run with earlier ones: what changed, and since when."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from railgauge.cli import text
from railgauge.core import arguments
from railgauge.core.errors import BadInput
from railgauge.core.units import format_size, format_value
from railgauge.run.store import write_whole
from railgauge.trend import Night, Rules, Trend, findings
from railgauge.trend.page import page
from railgauge.trend.read import read
from railgauge.trend.sentences import MetricChange, metric_changes, sentence, summary

HELP = "compare the runs in reports/: steps and drifts, and since which night"
EXAMPLE = (
    "example: railgauge trend --cluster lab-h200 --html trend.html; "
    "exit codes: 0 no regression, 1 a regression, 2 nothing to compare"
)
_REGRESSED = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cluster", metavar="C", help="only this cluster (default: all clusters)")
    parser.add_argument(
        "--last",
        type=arguments.count,
        metavar="N",
        help="only the last N nights of each (default: all)",
    )
    parser.add_argument(
        "--min-change",
        type=float,
        default=Rules().min_change * 100,
        metavar="PERCENT",
        help="ignore smaller changes (default: %(default)g)",
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write a page with plots")


def run(options: argparse.Namespace) -> int:
    """Exit code 1 if there is a regression, 0 if there is none."""
    if not 0 < options.min_change < 100:  # noqa: PLR2004 - per cent
        raise BadInput(f"--min-change {options.min_change:g} must be between 0 and 100 percent")
    reports = options.root / "reports"
    archive = read(reports, options.cluster, options.last)
    if not archive.nights:
        whose = f" of cluster {options.cluster}" if options.cluster else ""
        raise BadInput(
            f"no finished run{whose}"
            + "".join(f"; {name}: {why}" for name, why in archive.left_out),
            where=str(reports),
        )
    rules = Rules(min_change=options.min_change / 100)
    seen = [
        (nights, findings(nights[:-1], nights[-1], rules))
        for nights in map(archive.of, archive.fleets)
    ]
    if options.html:
        write_whole(options.html, page(seen, archive.left_out))
    if options.json:
        text.print_json({"fleets": [_json(*one) for one in seen], "left_out": archive.left_out})
    else:
        print("\n".join(_lines(seen, archive.left_out)))
    return _REGRESSED if any(trend.regressions for _, trend in seen) else 0


def _json(nights: Sequence[Night], trend: Trend) -> dict[str, Any]:
    listed = [{**asdict(f), "says": sentence(f)} for f in trend.findings]
    return {
        **asdict(trend),
        "findings": listed,
        "tonight": [asdict(s) for s in metric_changes(nights, trend)],
    }


def _lines(
    seen: Sequence[tuple[Sequence[Night], Trend]], left_out: Sequence[tuple[str, str]]
) -> Iterator[str]:
    for nights, trend in seen:
        fleet = trend.fleet
        yield f"{fleet.cluster} ({fleet.platform}), {fleet.evidence.upper()} evidence"
        yield f"  {summary(trend)}"
        yield from (f"  {sentence(finding)}" for finding in trend.findings)
        yield f"  {trend.nights[-1]} against the median of the earlier good nights:"
        yield from map(_metric_line, metric_changes(nights, trend))
    yield from (f"left out: {name}: {why}" for name, why in left_out)


def _metric_line(one: MetricChange) -> str:
    size = "" if one.size_bytes is None else format_size(one.size_bytes)
    name = f"{one.subject} {one.metric} {size}".strip()
    now = format_value(one.tonight, one.unit)
    if one.change is None or one.worst is None or one.earlier is None:
        return f"    {name:<52} {now:>14}  not measured before"
    many = f", worst of {one.series}: {one.worst:+.1%} {one.where}" if one.series > 1 else ""
    before = format_value(one.earlier, one.unit)
    return f"    {name:<52} {now:>14}  was {before:>14}  {one.change:+.1%}{many}"
