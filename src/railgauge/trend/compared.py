"""The values of a comparison of two runs: the sides, and what was found for each series. Pure."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from railgauge.trend.values import Fleet, Rules, SeriesKey, TrendScope

WORSE, BETTER, ALIKE, UNSURE = "worse", "better", "alike", "too noisy to tell"
STATUSES = (WORSE, BETTER, ALIKE, UNSURE)
NODES, RAILS = "nodes", "rails"
AT_LEAST = 1 - Rules().min_change


@dataclass(frozen=True, slots=True)
class RunSide:
    """One of the two runs.

    ``named`` is how the user named it. ``names_nodes`` is false if the names of nodes are
    pseudonyms, which differ from run to run. ``ways`` holds for each measurement how it is made
    (the tool, its options and so on) and ``setting`` how the run was made, both as name -> text.
    ``remarks`` are sentences about the run that a reader must know, such as lines left out.
    """

    named: str
    run_id: str
    fleet: Fleet
    verdict: str
    series: Mapping[SeriesKey, tuple[float, ...]]
    names_nodes: bool = True
    ways: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    setting: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def nodes(self) -> frozenset[str]:
        return frozenset(node for key in self.series for node in key.nodes)


@dataclass(frozen=True, slots=True)
class ComparedSeries:
    """A series of the second run beside the first.

    ``before`` and ``after`` are medians in the unit of the key. ``reaches`` is the share of the
    reference that the second run reaches: below 1 it is worse, for times too. ``noise`` is the
    standard deviation of one value as a share, ``chance`` the chance that noise alone explains the
    difference, corrected for the number of series. ``counts`` are the numbers of values.
    """

    key: SeriesKey
    status: str
    before: float
    after: float
    reaches: float
    noise: float
    chance: float
    counts: tuple[int, int]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Unlike:
    """A series that both runs have and that cannot be compared, with the reason."""

    key: SeriesKey
    reason: str


@dataclass(frozen=True, slots=True)
class Shared:
    """A scope of which most series are worse: one finding instead of many."""

    scope: TrendScope
    worse: int
    of: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result. ``only_first`` and ``only_second`` are the series of one run alone.

    ``matched`` is ``nodes`` or ``rails``. ``differences`` are sentences about what else differs
    between the runs.
    """

    matched: str
    at_least: float
    series: tuple[ComparedSeries, ...]
    unlike: tuple[Unlike, ...]
    only_first: tuple[SeriesKey, ...]
    only_second: tuple[SeriesKey, ...]
    shared: tuple[Shared, ...]
    differences: tuple[str, ...]

    def of(self, status: str) -> tuple[ComparedSeries, ...]:
        """The series of a status, the worst first."""
        found = (one for one in self.series if one.status == status)
        return tuple(sorted(found, key=lambda one: (one.reaches, one.key.order)))

    @property
    def counts(self) -> dict[str, int]:
        return {status: len(self.of(status)) for status in STATUSES}


@dataclass(frozen=True, slots=True)
class MetricRow:
    """All series of one metric and size: their number, medians, and the worst of them."""

    subject: str
    metric: str
    size_bytes: int | None
    unit: str
    before: float
    after: float
    worst: ComparedSeries
    counts: Mapping[str, int]


def rows(comparison: Comparison) -> list[MetricRow]:
    """One row for each metric and size, in the order of the series."""
    groups: dict[tuple[str, str, int | None, str], list[ComparedSeries]] = {}
    for one in comparison.series:
        key = one.key
        groups.setdefault((key.subject, key.metric, key.size_bytes, key.unit), []).append(one)
    return [
        MetricRow(
            *name,
            statistics.median(one.before for one in found),
            statistics.median(one.after for one in found),
            min(found, key=lambda one: (one.status != WORSE, one.reaches)),
            Counter(one.status for one in found),
        )
        for name, found in groups.items()
    ]
