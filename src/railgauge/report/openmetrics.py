"""A finished run as OpenMetrics text, for the textfile collector of a node exporter. Pure.

Every metric is a gauge: the Prometheus text format 0.0.4, which that collector reads, refuses the
types ``info`` and ``stateset``, and takes the lines ``# UNIT`` and ``# EOF`` for comments. So the
text is valid in both formats.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from railgauge import __version__
from railgauge.core.errors import BadInput
from railgauge.core.terms import Verdict
from railgauge.judging.record import ItemRecord
from railgauge.judging.stamp import Evidence
from railgauge.report.triage.reading import RecordedRun
from railgauge.verdict.counts import Counts, verdict_of, worst_measurements
from railgauge.verdict.deviations import DeviationState

MOST_CAUSES = 50
MOST_SUBJECTS = 200
# Names in files that were tampered with could have any length.
_LONGEST_LABEL = 200
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
# The counts of ``Counts`` that are outcomes: every planned item is in exactly one of them.
_OUTCOMES = tuple(n for n in Counts.__slots__ if n not in ("planned", "asserted"))


@dataclass(frozen=True, slots=True)
class CausePlace:
    """The node and device of a cause, as ``verdict.json`` holds it. ``peer`` ends a path."""

    node: str
    device: str
    peer: str


@dataclass(frozen=True, slots=True)
class NamedCause:
    """The fields of a cause in ``verdict.json`` that become labels."""

    cause: str
    where: CausePlace
    confidence: str


@dataclass(frozen=True, slots=True)
class DatedDeviation:
    """The fields of an accepted deviation in ``verdict.json`` that become metrics."""

    state: DeviationState
    covers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunOutcome(RecordedRun):
    """The fields of ``verdict.json`` that become metrics."""

    counts: Counts
    causes: tuple[NamedCause, ...]
    deviations: tuple[DatedDeviation, ...] = ()
    part: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class PartIdentity:
    """What identifies a part; ``gpu_uuid`` is the UUID that other exporters show too."""

    serial: str = ""
    gpu_uuid: str = ""


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """What the metrics are made of. Times are seconds since the epoch.

    ``software`` is the version of railgauge that made the run. ``identities`` are the labels that
    identify a part, by node and device; the device of a node itself is empty.
    """

    outcome: RunOutcome
    software: str
    records: tuple[ItemRecord, ...]
    start_s: float
    end_s: float
    identities: Mapping[tuple[str, str], PartIdentity]


@dataclass(frozen=True, slots=True)
class MetricPoint:
    """One value with its labels, whose text is not escaped yet."""

    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """All points of one metric. ``unit`` is the end of ``name``, or empty."""

    name: str
    help: str
    unit: str
    points: tuple[MetricPoint, ...]


def families(run: FinishedRun) -> tuple[MetricFamily, ...]:
    """Return the metrics of a run; each point has the labels ``cluster`` and ``level``.

    Raises ``BadInput`` if the verdict is not the one that follows from the counts.
    """
    outcome = run.outcome
    covered = len({item for one in outcome.deviations for item in one.covers})
    has_loose = any(one.state is DeviationState.LOOSE for one in outcome.deviations)
    is_verified = outcome.evidence != Evidence.NOT_VERIFIED
    due = verdict_of(
        outcome.counts, covered, outcome.part, has_loose=has_loose, is_verified=is_verified
    )
    tallied = [getattr(outcome.counts, name) for name in _OUTCOMES]
    is_sound = min(tallied) >= 0 and sum(tallied) == outcome.counts.planned
    if outcome.verdict is not due or not is_sound:
        raise BadInput(f"says {outcome.verdict}, which does not follow from its counts")
    whose = {"cluster": _clean(outcome.cluster), "level": _clean(outcome.level)}
    return tuple(
        MetricFamily(
            name, help_text, unit, tuple(MetricPoint({**whose, **more}, v) for more, v in points)
        )
        for name, help_text, unit, points in _families(run)
    )


def text(every: Iterable[MetricFamily]) -> str:
    """Return the exposition; it ends with ``# EOF``."""
    return "".join(f"{line}\n" for family in every for line in _lines(family)) + "# EOF\n"


def _lines(family: MetricFamily) -> Iterator[str]:
    yield f"# TYPE {family.name} gauge"
    if family.unit:
        yield f"# UNIT {family.name} {family.unit}"
    yield f"# HELP {family.name} {family.help}"
    for point in family.points:
        labels = ",".join(f'{k}="{v.translate(_ESCAPES)}"' for k, v in point.labels.items())
        yield f"{family.name}{{{labels}}} {point.value!r}"


_Points = Iterable[tuple[Mapping[str, str], float]]


def _families(run: FinishedRun) -> Iterator[tuple[str, str, str, _Points]]:
    outcome = run.outcome
    about = {
        "platform": _clean(outcome.platform),
        "evidence": _clean(outcome.evidence),
        "run_id": _clean(outcome.run_id),
        "version": _clean(run.software),
    }
    counted = Counter(_cause_labels(one, run.identities) for one in outcome.causes)
    worst = _worst(run.records)
    left_out = {
        "causes": max(0, len(counted) - MOST_CAUSES),
        "subjects": max(0, len(worst) - MOST_SUBJECTS),
    }
    made_by = {"version": _clean(__version__), "python": platform.python_version()}
    yield "railgauge_build_info", "What wrote the metrics; always 1.", "", [(made_by, 1)]
    yield "railgauge_run_info", "The run; the value is always 1.", "", [(about, 1)]
    yield (
        "railgauge_run_start_time_seconds", "When the run began, since the epoch.", "seconds",
        [({}, run.start_s)],
    )  # fmt: skip
    yield (
        "railgauge_run_end_time_seconds", "When the run ended, since the epoch.", "seconds",
        [({}, run.end_s)],
    )  # fmt: skip
    yield (
        "railgauge_verdict", "1 for the verdict of the run, 0 for the other verdicts.", "",
        [({"state": str(one)}, int(one is outcome.verdict)) for one in _states(outcome)],
    )  # fmt: skip
    yield (
        "railgauge_items", "Planned items by outcome; each is in exactly one.", "",
        [({"outcome": name}, getattr(outcome.counts, name)) for name in _OUTCOMES],
    )  # fmt: skip
    yield (
        "railgauge_causes", "Root causes that the run named, by part.", "",
        [(dict(labels), count) for labels, count in islice(counted.items(), MOST_CAUSES)],
    )  # fmt: skip
    states = Counter(one.state for one in outcome.deviations)
    yield (
        "railgauge_deviations", "Deviations that the run was given, by what they do in it.", "",
        [({"state": str(one)}, states[one]) for one in DeviationState],
    )  # fmt: skip
    yield (
        "railgauge_worst_margin_ratio",
        "Smallest distance to the limit, as a share of the limit; below 0 it is missed.", "ratio",
        [({"subject": name}, margin) for name, margin in islice(worst.items(), MOST_SUBJECTS)],
    )  # fmt: skip
    yield (
        "railgauge_left_out", "Series that are left out because there are too many.", "",
        [({"of": what}, count) for what, count in left_out.items()],
    )  # fmt: skip


def _states(outcome: RunOutcome) -> Iterator[Verdict]:
    """The verdicts of a cluster, and for a run that qualifies nodes those of nodes."""
    return (one for one in Verdict if outcome.part or not one.is_of_nodes)


def _cause_labels(
    one: NamedCause, identities: Mapping[tuple[str, str], PartIdentity]
) -> tuple[tuple[str, str], ...]:
    where = one.where
    part = identities.get((where.node, where.device), PartIdentity())
    labels = {
        "cause": one.cause,
        "confidence": one.confidence,
        "node": where.node,
        "device": where.device,
        "peer": where.peer,
        "UUID": part.gpu_uuid,  # as DCGM's exporter spells it
        "serial": part.serial,
    }
    return tuple((name, _clean(value)) for name, value in labels.items())


def _worst(records: tuple[ItemRecord, ...]) -> dict[str, float]:
    """The smallest margin of each subject, the smallest of all first."""
    found: dict[str, float] = {}
    for one in worst_measurements(records, most=sum(len(r.judgements) for r in records)):
        found.setdefault(_clean(one.subject), one.margin)
    return found


def _clean(words: str) -> str:
    """Untrusted text without control characters, of a limited length."""
    short = words if len(words) <= _LONGEST_LABEL else f"{words[: _LONGEST_LABEL - 1]}…"
    return "".join(
        c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in short
    )
