"""The parts of a verdict: counts, coverage, and the values closest to their limits. Pure.

Example: 100 items were planned, 99 passed and one did not run. ``asserted`` is 99 and ``not_run``
is 1, so the verdict is ``incomplete``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from railgauge.config.thresholds.model import SIGNOFF, Platform
from railgauge.core import naming
from railgauge.core.model import Cluster, Judgement, Outcome, Pairing
from railgauge.core.terms import Rung, Verdict
from railgauge.core.units import format_size, format_value
from railgauge.diagnosis import STRAGGLER, Cause
from railgauge.diagnosis.left_open.unknown import Unknown
from railgauge.judging.record import ItemRecord
from railgauge.judging.stamp import Evidence
from railgauge.planning.forecast import of_leaves
from railgauge.planning.pairing import leaves
from railgauge.planning.part import ONLY
from railgauge.verdict import history
from railgauge.verdict.deviations import DeviationEffect
from railgauge.verdict.history import MergedPart

SCHEMA_VERSION = 2
NOT_LIMITED = "possible here, not limited"
_SCREEN = 100  # characters
_UNMET = (Verdict.REJECTED, Verdict.INCOMPLETE, Verdict.NOT_QUALIFIED)


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of items by outcome. Every planned item is in exactly one of the last eight."""

    planned: int
    asserted: int
    passed: int
    marginal: int
    failed: int
    error: int
    blocked: int
    flaky: int
    record_only: int
    not_run: int

    @property
    def ran(self) -> int:
        return self.planned - self.not_run


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The verdict of a run, as ``verdict.json`` holds it.

    ``scope`` names what this cluster lacks compared with a complete one: one node, no pair, no GPU.
    ``not_limited`` are the tests that are possible here but not in the platform file; ``None`` if
    the run did not keep the list of its tests. ``unknown`` lists what is not known of each node,
    and why. ``deviations`` are all that were given with the run, each with its effect. ``soak``
    holds the figures of the soak, ``None`` for a run without one. ``part`` is the measured part of
    the level: ``shard``, or the nodes that it qualifies (``only``) and their ``partners``; ``None``
    for all of it. ``merged`` are the runs from which this one was merged; usually none.
    """

    run_id: str
    cluster: str
    platform: str
    evidence: Evidence
    level: str
    verdict: Verdict
    counts: Counts
    coverage: Mapping[str, Mapping[str, int]]
    not_applicable: Mapping[str, str]
    scope: str = ""
    causes: Sequence[Cause] = ()
    notes: tuple[str, ...] = ()
    not_limited: tuple[str, ...] | None = None
    unknown: tuple[Unknown, ...] = ()
    deviations: tuple[DeviationEffect, ...] = ()
    soak: Mapping[str, Any] | None = None
    part: Mapping[str, str] | None = None
    merged: tuple[MergedPart, ...] = ()

    @property
    def exit_code(self) -> int:
        return self.verdict.exit_code

    @property
    def heading(self) -> str:
        """The verdict in capitals, after the names of its nodes if it is only about some."""
        nodes = (self.part or {}).get(ONLY, "")
        return f"{nodes} {self.verdict.upper()}".strip()

    @property
    def excluded(self) -> str:
        """What could be tested here but was not, by name; empty if there is nothing."""
        return f"{self._excluded}{', '.join(self.not_limited)}" if self.not_limited else ""

    @property
    def excluded_line(self) -> str:
        """The same for a screen: if it is too long, the number, and where the list is."""
        if len(self.excluded) <= _SCREEN or not self.not_limited:
            return self.excluded
        return f"{self._excluded}{len(self.not_limited)} tests, see not_limited in verdict.json"

    @property
    def _excluded(self) -> str:
        signed = "excluded from this sign-off, " if self.level == SIGNOFF else ""
        return f"{signed}{NOT_LIMITED}: "

    @property
    def measured_again(self) -> tuple[str, ...]:
        """A line for each node of which a later run replaced results, with the first of them."""
        return tuple(history.measured_again(self.merged))

    @property
    def reservation(self) -> str:
        """The reservation of an accepted or qualified run: which parts are behind their peers."""
        if self.verdict in _UNMET:
            return ""
        found = [cause.headline for cause in self.causes if cause.cause == STRAGGLER]
        if not found:
            return ""
        first, *others = found
        more = f", and {len(others)} more parts are behind" if others else ""
        return f"but {first}{more}"

    def to_json(self) -> dict[str, Any]:
        causes = [cause.to_json() for cause in self.causes]
        data = {"schema_version": SCHEMA_VERSION, **asdict(self), "causes": causes}
        data["deviations"] = [one.to_json() for one in self.deviations]
        if self.not_limited is None:
            del data["not_limited"]
        if not self.deviations:  # runs without any, and those of earlier versions, have no list
            del data["deviations"]
        for name in ("soak", "part", "merged"):
            if not data[name]:
                del data[name]
        return data


def count(planned: Iterable[str], records: Mapping[str, ItemRecord]) -> Counts:
    """Count the planned items by outcome; an item without a record did not run."""
    ids = list(planned)
    outcomes = [records[i].outcome if i in records else Outcome.NOT_RUN for i in ids]
    tally = {str(outcome): outcomes.count(outcome) for outcome in Outcome}
    asserted = sum(records[i].asserted for i in ids if i in records)
    return Counts(planned=len(ids), asserted=asserted, **tally)


def scope_of(cluster: Cluster, platform: Platform) -> str:
    """In words, what this cluster lacks: one node, no pair, no GPU; empty if it is complete."""
    one = len(cluster.nodes) == 1
    lacks = {"one node": one, "no pair": one, "no GPU": platform.gpus is None}
    return ", ".join(name for name, is_so in lacks.items() if is_so)


def verdict_of(
    counts: Counts,
    covered: int = 0,
    part: Mapping[str, str] | None = None,
    *,
    has_loose: bool = False,
    is_verified: bool = True,
) -> Verdict:
    """``rejected`` if an item failed, ``accepted`` if all were asserted, else ``incomplete``.

    ``covered`` is how many of the failed items are accepted deviations. If all are, the run is
    ``accepted with deviations``, but only if all items were asserted. So is one with loose limits
    (``has_loose``) in which no item failed. Nodes that are measured alone are ``qualified``
    instead. A shard is ``incomplete`` at best: the rest of its cluster was not measured. So is a
    replay of evidence that is not verified. ``part`` is as in ``RunVerdict``.
    """
    is_shard = part is not None and ONLY not in part
    may_accept = is_verified and not is_shard
    found = _of_all(counts, covered, may_accept=may_accept, has_loose=has_loose)
    return found.of_nodes if part and ONLY in part else found


def _of_all(counts: Counts, covered: int, *, may_accept: bool, has_loose: bool) -> Verdict:
    if counts.failed > covered:
        return Verdict.REJECTED
    if not may_accept or counts.planned == 0 or counts.asserted != counts.planned:
        return Verdict.INCOMPLETE
    return Verdict.WITH_DEVIATIONS if counts.failed or has_loose else Verdict.ACCEPTED


# The rungs whose tests run over declared GPU/NIC pairings.
_PATH_RUNGS = (Rung.NETWORK, Rung.GPUDIRECT)


def coverage(
    cluster: Cluster, platform: Platform, records: Iterable[ItemRecord]
) -> dict[str, dict[str, int]]:
    """Return how many of the declared nodes, pairs, sizes and so on were asserted.

    Each value is ``{"tested": N, "declared": N}``; an asserted item counts with any outcome.
    """
    asserted = [record for record in records if record.asserted]
    nodes, paths = len(cluster.nodes), _declared_paths(platform)
    met = {frozenset(record.nodes) for record in asserted if len(record.nodes) == 2}  # noqa: PLR2004
    single = paths.keys() & {r.pairing for r in asserted if r.rung in _PATH_RUNGS}
    tested: dict[str, set[Any]] = {
        "nodes": {node for record in asserted for node in record.nodes},
        "pairs": met,
        "pairings": single,
        "sizes": {record.size_bytes for record in asserted if record.size_bytes is not None},
        "rungs": {record.rung for record in asserted},
        "rails": {paths[name].nic for name in single},
    }
    declared = {
        "nodes": nodes,
        "pairs": nodes * (nodes - 1) // 2,
        "pairings": len(paths),
        "sizes": len(_declared_sizes(platform)),
        "rungs": 6,
        "rails": len(platform.fabric_nics),
    }
    shares = {name: {"tested": len(tested[name]), "declared": declared[name]} for name in declared}
    of = leaves([node.name for node in cluster.nodes], cluster.groups)
    return {**shares, **({name: asdict(s) for name, s in of_leaves(of, met).items()} if of else {})}


def _declared_paths(platform: Platform) -> dict[str, Pairing]:
    every = (platform.paths(m) for m in platform.measurements.values())
    return {str(pairing): pairing for paths in every for pairing in paths}


def _declared_sizes(platform: Platform) -> set[int]:
    return {
        size
        for measurement in platform.measurements.values()
        for extent in measurement.extents.values()
        for size in extent.sizes
    }


@dataclass(frozen=True, slots=True)
class Worst:
    """One line of the list of measurements that missed their limit or came closest to it."""

    margin: float
    id: str
    subject: str
    where: str
    measured: str
    limit: str
    ceiling: str
    metric: str


def worst_measurements(records: Iterable[ItemRecord], most: int = 5) -> list[Worst]:
    """Return the ``most`` smallest margins, the largest miss first, one for each measurement.

    Counts that must be met (64 of 64 requests) have no meaningful margin and are left out.
    """
    lines = [
        Worst(
            j.margin, record.id, record.subject, _where(record), j.measured, j.limit, _ceiling(j),
            j.metric,
        )
        for record in records
        for j in record.judgements
        if j.margin is not None and j.outcome is not Outcome.RECORD_ONLY and j.unit != "count"
    ]  # fmt: skip
    ordered = sorted(lines, key=lambda line: (line.margin, line.id))
    first = {(line.subject, line.metric): line for line in reversed(ordered)}
    return sorted(first.values(), key=lambda line: (line.margin, line.id))[:most]


def _ceiling(judgement: Judgement) -> str:
    if judgement.physical_ceiling is None:
        return ""
    return format_value(judgement.physical_ceiling, judgement.unit)


def _where(record: ItemRecord) -> str:
    size = "" if record.size_bytes is None else format_size(record.size_bytes)
    return " ".join(part for part in (naming.place(record.nodes), record.pairing, size) if part)


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """One failure or error, with all items that have the same reason."""

    what: str
    rung: Rung
    reason: str
    remedy: str
    items: tuple[str, ...]

    @property
    def ids(self) -> str:
        """The first item, and the number of others with the same reason."""
        first = self.items[0].rpartition("::")[2]
        return first if len(self.items) == 1 else f"{first} and {len(self.items) - 1} more"


def left_out(records: Iterable[ItemRecord]) -> list[tuple[str, int]]:
    """The items that did not run, counted by subject and reason, most first."""
    absent = (item for item in records if item.outcome is Outcome.NOT_RUN)
    return Counter(f"{item.subject}: {item.reason}" for item in absent).most_common()


def failure_groups(records: Iterable[ItemRecord]) -> list[FailureGroup]:
    """Group failures, then errors, from the lowest rung up; items with one reason are one group."""
    found: dict[tuple[str, Rung, str, str], list[str]] = {}
    for item in records:
        what = {Outcome.FAILED: "failed", Outcome.ERROR: "could not tell"}.get(item.outcome)
        if what:
            found.setdefault((what, item.rung, item.reason, item.remedy), []).append(item.id)
    listed = [FailureGroup(*key, tuple(ids)) for key, ids in found.items()]
    return sorted(listed, key=lambda group: (group.what != "failed", group.rung))
