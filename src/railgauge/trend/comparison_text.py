"""Write a comparison of two runs as lines, for terminal and page alike. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from railgauge.core import naming
from railgauge.core.units import format_size, format_value
from railgauge.trend.compared import (
    ALIKE,
    BETTER,
    NODES,
    STATUSES,
    UNSURE,
    WORSE,
    ComparedSeries,
    Comparison,
    MetricRow,
    RunSide,
    Shared,
    rows,
)
from railgauge.trend.sentences import where
from railgauge.trend.values import SeriesKey

HEAD = ("Measurement", "Series", "Reference", "Compared", "Reaches", "Worst series", "Result")


def heading(first: RunSide, second: RunSide, comparison: Comparison) -> Iterator[tuple[str, str]]:
    """The lines above the table, each a name and a text."""
    for name, side in (("reference", first), ("compared", second)):
        fleet = side.fleet
        about = f"{side.run_id} ({fleet.platform}), {side.verdict}, {side.setting.get('level', '')}"
        yield name, f"{about}, {fleet.evidence.upper()} evidence: {side.named}"
        yield from ((name, remark) for remark in side.remarks)
    by_node = "node by node, since both are of one cluster"
    by_rail = (
        "by measurement, size and pairing: the nodes are others, so each series is compared with "
        "all places of the reference"
    )
    yield "matched", by_node if comparison.matched == NODES else by_rail
    yield "rule", f"worse: reaches less than {comparison.at_least:g} of the reference, not by noise"
    yield from (("differs", text) for text in comparison.differences)


def summary(comparison: Comparison) -> str:
    """The result in one line, with all series that were not compared."""
    counts = comparison.counts
    alone = (("only in the reference", comparison.only_first),
             ("only in the compared run", comparison.only_second),
             ("not alike", comparison.unlike))  # fmt: skip
    found = ", ".join(f"{counts[status]} {status}" for status in STATUSES)
    missing = [f"{len(keys)} {what}" for what, keys in alone if keys]
    rest = f"; not compared: {', '.join(missing)}" if missing else ""
    word = WORSE.upper() if counts[WORSE] else "NOT WORSE"
    return f"{word}: {len(comparison.series)} series compared: {found}{rest}"


def table(comparison: Comparison) -> list[tuple[str, ...]]:
    """The cells of the table, a row for each metric and size."""
    return [_row(row) for row in rows(comparison)]


def _row(row: MetricRow) -> tuple[str, ...]:
    size = "" if row.size_bytes is None else format_size(row.size_bytes)
    count = sum(row.counts.values())
    odd = [f"{row.counts[s]} {s}" for s in STATUSES if s != ALIKE and row.counts.get(s)]
    return (
        " ".join(filter(None, (row.subject, row.metric, size))),
        str(count),
        format_value(row.before, row.unit),
        format_value(row.after, row.unit),
        f"{_reaches(row):.3f}",
        f"{row.worst.reaches:.3f} {place(row.worst.key)}",
        ", ".join(odd) or ALIKE,
    )


def _reaches(row: MetricRow) -> float:
    is_lower = row.worst.key.lower_is_better and row.after
    return row.before / row.after if is_lower else row.after / row.before


def place(key: SeriesKey) -> str:
    return " ".join(filter(None, (naming.place(key.nodes), key.pairing)))


def sentence(one: ComparedSeries) -> str:
    """One line for a series: what, where, both values, and what the noise is."""
    key = one.key
    size = "" if key.size_bytes is None else format_size(key.size_bytes)
    what = " ".join(filter(None, (place(key) + ":", key.subject, key.metric, size)))
    levels = f"{format_value(one.before, key.unit)} to {format_value(one.after, key.unit)}"
    counts = f"{one.counts[0]} and {one.counts[1]} values, noise {one.noise:.1%}"
    why = f"; {one.reason}" if one.reason else ""
    return f"{what}: reaches {one.reaches:.3f} ({levels}, {counts}){why}"


def shared(one: Shared) -> str:
    return f"{where(one.scope)}: {one.worse} of {one.of} series are worse"


def alone(keys: Iterable[SeriesKey]) -> list[str]:
    """A line for each metric and size of the series of one run, with their places."""
    found: dict[tuple[str, str, int | None], list[str]] = {}
    for key in keys:
        found.setdefault((key.subject, key.metric, key.size_bytes), []).append(place(key))
    return [
        " ".join(filter(None, (subject, metric, "" if size is None else format_size(size))))
        + f": {_several(places)}"
        for (subject, metric, size), places in found.items()
    ]


def unlike(comparison: Comparison) -> list[str]:
    """A line for each measurement and reason for which series are not compared."""
    found = Counter((one.key.subject, one.key.metric, one.reason) for one in comparison.unlike)
    return [f"{subject} {metric}: {n} series: {why}" for (subject, metric, why), n in found.items()]


def _several(places: Sequence[str]) -> str:
    return f"{len(places)} series: {naming.listed(places, 4)}" if any(places) else f"{len(places)}"


def changed(comparison: Comparison) -> list[ComparedSeries]:
    """All series but those that are alike, the worst first."""
    return [one for status in (WORSE, UNSURE, BETTER) for one in comparison.of(status)]
