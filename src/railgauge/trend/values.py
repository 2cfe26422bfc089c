"""What a trend is made of: nights, series, and the changes found in them. Frozen and plain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from railgauge.core import naming

REGRESSION, IMPROVEMENT, RECOVERED = "regression", "improvement", "recovered"
STEP, DRIFT = "step", "drift"

# A level needs three nights before a change and two (shared) or three (one series) after it.
NIGHTS_BEFORE = 3
NIGHTS_AFTER_SHARED = 2
NIGHTS_AFTER_ALONE = 3
FEWEST_NIGHTS = NIGHTS_BEFORE + NIGHTS_AFTER_SHARED


@dataclass(frozen=True, slots=True)
class SeriesKey:
    """What must be the same for two values to be comparable, besides cluster and evidence.

    ``better`` is ``higher`` or ``lower``, as the tool declared it when it was measured.
    """

    subject: str
    metric: str
    unit: str
    nodes: tuple[str, ...]
    pairing: str = ""
    size_bytes: int | None = None
    better: str = "higher"

    @property
    def lower_is_better(self) -> bool:
        return self.better == "lower"

    @property
    def measured(self) -> tuple[str, str]:
        return self.subject, self.metric

    @property
    def order(self) -> tuple[str, str, int, tuple[str, ...], str, str]:
        return self.subject, self.metric, self.size_bytes or 0, self.nodes, self.pairing, self.unit


@dataclass(frozen=True, slots=True)
class Fleet:
    """Whose nights may be compared: one cluster of one platform, with evidence of one kind."""

    cluster: str
    platform: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Night:
    """One run: the median of all samples of each series, in the unit of its key, above 0.

    ``run_id`` starts with the time at which the run began, so that names sort like nights.
    """

    run_id: str
    fleet: Fleet
    level: str
    values: Mapping[SeriesKey, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rules:
    """When a change is one. All shares.

    ``min_change``: healthy repeats in the documents lie within 1 % of each other; twice that.
    ``false_alarm_rate``: how often a report on an unchanged cluster may hold a false finding; it
    is divided by all that is looked at (Bonferroni). ``shared``: how many series of a node (a
    metric, a cluster) must have changed alike for the node to be named instead of the series.
    """

    min_change: float = 0.02
    false_alarm_rate: float = 0.01
    shared: float = 0.8


@dataclass(frozen=True, slots=True)
class FindingScope:
    """What a finding is about. Empty means any: all empty is the whole cluster."""

    nodes: tuple[str, ...] = ()
    subject: str = ""
    metric: str = ""
    pairing: str = ""
    size_bytes: int | None = None

    def __str__(self) -> str:
        parts = (naming.place(self.nodes) or "all nodes", self.pairing, self.subject, self.metric)
        return " ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Movement:
    """What one series did: medians before and after in its unit, and the change as a share."""

    key: SeriesKey
    before: float
    after: float

    @property
    def change(self) -> float:
        return self.after / self.before - 1


@dataclass(frozen=True, slots=True)
class Finding:
    """A change that noise does not explain.

    ``verdict`` is ``regression``, ``improvement`` or ``recovered`` (worse for a while). ``since``
    is the first night of the new level (of a drift: of the nights looked at). ``worse`` is the
    loss as a share of what was, negative for a gain. ``chance`` is the false-alarm probability
    after correction for all that was looked at. ``series`` are those that moved, ``of`` how many
    the scope has.
    """

    verdict: str
    kind: str
    scope: FindingScope
    since: str
    nights: int
    worse: float
    chance: float
    series: tuple[Movement, ...]
    of: int


@dataclass(frozen=True, slots=True)
class Trend:
    """The nights of one fleet and what was found. ``tests`` is how many things were looked at."""

    fleet: Fleet
    nights: tuple[str, ...]
    findings: tuple[Finding, ...]
    judged: int
    too_few: int
    tests: int

    @property
    def regressions(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.verdict == REGRESSION)
