"""The values of a trend: nights, series, and the changes found in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from railgauge.core import naming
from railgauge.judging.stamp import Evidence

REGRESSION, IMPROVEMENT, RECOVERED = "regression", "improvement", "recovered"
STEP, DRIFT = "step", "drift"

# A level needs three nights before a change and two (shared) or three (one series) after it. Two
# nights before it show a loss if the same was measured at other places, which show the noise.
NIGHTS_BEFORE = 3
NIGHTS_BEFORE_BESIDE_KIN = 2
NIGHTS_AFTER_SHARED = 2
NIGHTS_AFTER_ALONE = 3
FEWEST_NIGHTS = NIGHTS_BEFORE + NIGHTS_AFTER_SHARED


@dataclass(frozen=True, slots=True)
class SeriesKey:
    """The identity of a series: values are compared only if it, the cluster and the evidence match.

    ``better`` is ``higher`` or ``lower``, as the tool declared it when the value was measured.
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


Values = Mapping[SeriesKey, Mapping[int, float]]
"""The values of each series, by the number of the night."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """A cluster of one platform with evidence of one kind; only its own nights are compared."""

    cluster: str
    platform: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Night:
    """One run: the median of all samples of each series, in the unit of its key, above 0.

    ``run_id`` starts with the time at which the run began, so that ids sort by time. ``limits``
    are the limits of series that have one: a floor, or a ceiling if lower is better.
    """

    run_id: str
    fleet: Fleet
    level: str
    values: Mapping[SeriesKey, float] = field(default_factory=dict)
    limits: Mapping[SeriesKey, float] = field(default_factory=dict)

    @property
    def is_replay(self) -> bool:
        """Whether it has measured nothing itself."""
        return self.fleet.evidence in (Evidence.REPLAYED, Evidence.NOT_VERIFIED)


@dataclass(frozen=True, slots=True)
class Rules:
    """The conditions for a change to be reported. All are shares.

    ``min_change`` is the smallest change, twice the 1 % within which healthy repeats in the
    documents agree. ``false_alarm_rate`` is how often a report on an unchanged cluster may hold a
    false finding; it is divided by the number of tests (Bonferroni). ``shared`` is the share of a
    scope's series (of a node, a metric, a cluster) that must follow a change for the scope to be
    named instead of the series.
    """

    min_change: float = 0.02
    false_alarm_rate: float = 0.01
    shared: float = 0.8


@dataclass(frozen=True, slots=True)
class TrendScope:
    """The scope of a finding. An empty field means any; all empty is the entire cluster."""

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
    """The change of one series: medians before and after in its unit, and the share."""

    key: SeriesKey
    before: float
    after: float

    @property
    def change(self) -> float:
        return self.after / self.before - 1


@dataclass(frozen=True, slots=True)
class TrendFinding:
    """A change that noise does not explain.

    ``verdict`` is ``regression``, ``improvement`` or ``recovered`` (worse for a while). ``since``
    is the first night of the new level; for a drift, the first night of the history. ``worse`` is
    the loss as a share of the level before, negative for a gain. ``chance`` is the false-alarm
    probability, corrected for the number of tests. ``series`` are the series that moved, ``of`` is
    the number of series in the scope. ``recovered`` is the first night after a loss that went
    away.
    """

    verdict: str
    kind: str
    scope: TrendScope
    since: str
    nights: int
    worse: float
    chance: float
    series: tuple[Movement, ...]
    of: int
    recovered: str = ""


@dataclass(frozen=True, slots=True)
class Trend:
    """The nights of one fleet and the findings. ``tests`` is the number of tests made."""

    fleet: Fleet
    nights: tuple[str, ...]
    findings: tuple[TrendFinding, ...]
    judged: int
    too_few: int
    tests: int

    @property
    def regressions(self) -> tuple[TrendFinding, ...]:
        return tuple(finding for finding in self.findings if finding.verdict == REGRESSION)
