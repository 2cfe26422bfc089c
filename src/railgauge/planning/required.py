"""The checks that a level requires of a cluster, computed without pytest and without the tests.

The verdict compares a run with this list, not with what pytest collected. Each required check is
one question about one place, part and size, such as the bandwidth of ``host_write_bandwidth`` from
``n1`` to ``n2`` over ``mlx5_0`` at 8 MiB. Which test asks it does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from railgauge.config.thresholds.model import Assertion, Measurement, Platform
from railgauge.core.model import Case, Cluster, Pairing
from railgauge.core.question import (
    FABRIC,
    FACT,
    LIMITS,
    RATIO,
    RESULTS,
    TRAFFIC,
    TRANSPORT,
    Question,
)
from railgauge.core.terms import Rung, Scope
from railgauge.planning import expectations, plan
from railgauge.planning.forecast import work
from railgauge.planning.plan import Level, Place
from railgauge.subnet.declared import declared_switches

# The ways to ask for limits: once for each size, link or GPU, or once for the run. The other ways
# are in ``core.question``.
SIZE, LINK, GPU, RUN = "size", "link", "gpu", "run"


@dataclass(frozen=True, slots=True)
class ItemKey:
    """The subject of an item: two items with equal keys ask the same.

    ``part`` is the pairing, link, GPU, NIC or switch, as ids show it.
    """

    subject: str
    way: str
    nodes: tuple[str, ...]
    part: str
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class RequiredCheck:
    """One question that a level asks; ``place`` is the name of its node, pair or group.

    ``why_not`` is the reason why no item can answer it on this cluster; empty if one can.
    """

    key: ItemKey
    place: str
    rung: Rung
    question: Question
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class LevelScope:
    """The inputs that decide the required checks."""

    platform: Platform
    cluster: Cluster
    level: Level


def ways(measurement: Measurement, level: str = "") -> tuple[str, ...]:
    """Return the ways in which the platform file asks for a measurement, at ``level`` or any."""
    if level and not measurement.made_at(level):
        return ()
    swept = measurement.extents[level].sizes if level else None
    every = dict.fromkeys(assertion.per for assertion in measurement.asserts)
    per = [name for name in every if measurement.asserted(name, swept=swept)]
    specs = {
        TRAFFIC: measurement.traffic,
        TRANSPORT: measurement.transport,
        FABRIC: measurement.fabric,
        RESULTS: measurement.results,
    }
    return (*per, *(way for way, spec in specs.items() if spec is not None))


def required_checks(scope: LevelScope) -> Iterator[RequiredCheck]:
    """Yield all required checks of the level, lowest rung first."""
    for node in scope.level.nodes:
        yield from of_node(scope, node)
    for measurement in sorted(scope.platform.measurements.values(), key=lambda m: m.rung):
        for place in plan.places(measurement, scope.level):
            for pairing in plan.paths(scope.platform, measurement, scope.level.name):
                yield from of_run(scope, measurement, place, pairing)
    yield from _unscanned(scope)


def count(scope: LevelScope) -> int:
    """Return the number of required checks without listing them: all pairs may be millions."""
    node = sum(1 for _ in of_node(scope, ""))
    runs = sum(
        each.runs * _per_run(scope, each.measurement)
        for each in work(scope.platform, scope.level)
        if each.runs
    )
    return node * len(scope.level.nodes) + runs + sum(1 for _ in _unscanned(scope))


def _per_run(scope: LevelScope, measurement: Measurement) -> int:
    """Return the number of required checks of one place and path; all have the same number."""
    place = next(plan.each_place(measurement, scope.level))
    pairing = next(iter(plan.paths(scope.platform, measurement, scope.level.name)))
    return sum(1 for _ in of_run(scope, measurement, place, pairing))


def of_node(scope: LevelScope, node: str) -> Iterator[RequiredCheck]:
    """Yield the required checks of the survey's facts of a node."""
    for name, expectation in scope.platform.expected.items():
        for part in expectations.parts(scope.platform, expectation):
            question = fact_question(scope.platform, name, node, part)
            yield RequiredCheck(
                ItemKey(name, FACT, (node,), part_label(part), None), node, Rung.PREFLIGHT, question
            )


def fact_question(
    platform: Platform, name: str, node: str, part: expectations.NodePart
) -> Question:
    """Return the question that the expectation ``name`` asks about a part of a node."""
    return Question(FACT, fact=expectations.fact_at(platform, name, node, part), metric=name)


_SHOWN = ("gpu", "nic", "adapter", "link", "switch")


def part_label(values: Mapping[str, object]) -> str:
    """Return a part of a node as ids and records show it, such as ``gpu3-mlx5_0``."""
    if values.get("pairing") is not None:
        return str(values["pairing"])
    known = {name: values[name] for name in _SHOWN if values.get(name) is not None}
    return "-".join(gpu_label(v) if name == "gpu" else str(v) for name, v in known.items())


def gpu_label(gpu: object) -> str:
    return f"gpu{gpu}"


def links(platform: Platform) -> list[str]:
    """Return every directed link between two GPUs of a node, such as ``gpu0>gpu1``."""
    numbers = expectations.choices_of(platform, expectations.GPU)
    return [f"gpu{a}>gpu{b}" for a in numbers for b in numbers if a != b]


# --- one run of a tool ---


def of_run(
    scope: LevelScope, measurement: Measurement, place: Place, pairing: Pairing | None
) -> Iterator[RequiredCheck]:
    """Yield the required checks of one measurement at one place."""
    case = plan.case_at(measurement, scope.level.name, place, pairing)
    path = str(pairing) if pairing else ""
    asked = chain(
        _limits(scope.platform, measurement, case),
        _ratios(scope, measurement, place, case),
        _specs(measurement, case),
        _subnet(scope, measurement, place, case),
    )
    for way, question in asked:
        part = question.placement or path
        key = ItemKey(measurement.name, way, case.nodes, part, question.size_bytes)
        yield RequiredCheck(key, str(place), measurement.rung, question)


def _limits(
    platform: Platform, measurement: Measurement, case: Case
) -> Iterator[tuple[str, Question]]:
    for size in case.sizes:
        if measurement.asserted(SIZE, size):
            yield SIZE, Question(LIMITS, case, size)
    if measurement.asserted(LINK, swept=case.sizes):
        yield from ((LINK, Question(LIMITS, case, None, link)) for link in links(platform))
    if measurement.asserted(GPU, swept=case.sizes):
        gpus = expectations.choices_of(platform, expectations.GPU)
        yield from ((GPU, Question(LIMITS, case, None, gpu_label(gpu))) for gpu in gpus)
    if measurement.asserted(RUN, swept=case.sizes):
        yield RUN, Question(LIMITS, case)


def _specs(measurement: Measurement, case: Case) -> Iterator[tuple[str, Question]]:
    if measurement.traffic is not None:
        yield TRAFFIC, Question(TRAFFIC, case)
    if measurement.transport is not None:
        yield TRANSPORT, Question(TRANSPORT, case)
    if measurement.results is not None:
        yield RESULTS, Question(RESULTS, case)


def _ratios(
    scope: LevelScope, measurement: Measurement, place: Place, case: Case
) -> Iterator[tuple[str, Question]]:
    for assertion in measurement.asserts:
        if assertion.per == RATIO:
            yield RATIO, ratio_question(scope, assertion, place, case)


def ratio_question(scope: LevelScope, assertion: Assertion, place: Place, case: Case) -> Question:
    """Return the question for the ratio of one metric in ``case`` and in another measurement.

    If the other measurement is made on nodes, a pair or a group is compared with its first node; a
    step of a scaling ladder is compared with the smallest one.
    """
    other, level = scope.platform.measurements[assertion.over], scope.level
    where = plan.nodes_of(place)[0] if other.scope == Scope.NODE else place
    where = plan.Group("", level.ladder.smallest) if other.ladder else where
    beside = plan.case_at(other, level.name, where)
    return Question(RATIO, case, other=beside, metric=assertion.of)


# Subjects of the tests of the subnet, which only a hostfile can declare.
SUBNET = (
    "fabric_manager",
    "fabric_cabling",
    "fabric_links",
    "fabric_errors",
    "fabric_errors_growth",
)
NOWHERE = "subnet"  # the place of a required check that no node can answer
NOT_SCANNED = (
    "the hostfile declares no subnet to scan (fabric: with node and topology), and does not say "
    "why there is none (fabric: {none: REASON})"
)


def _unscanned(scope: LevelScope) -> Iterator[RequiredCheck]:
    """Yield those of the subnet's scan if the hostfile neither declares nor excludes it."""
    if not scope.level.scan.is_missing:
        return
    for name in SUBNET:
        if name not in scope.platform.not_applicable:
            key = ItemKey(name, FABRIC, (), "", None)
            question = Question(FABRIC, Case(name, (), None, ()))
            yield RequiredCheck(
                key, NOWHERE, scan_rung(scope.platform, name), question, NOT_SCANNED
            )


def scan_rung(platform: Platform, name: str) -> Rung:
    """Return the rung of a test of the subnet, even if the platform file does not measure it."""
    measurement = platform.measurements.get(name)
    return measurement.rung if measurement else Rung.NETWORK


def _subnet(
    scope: LevelScope, measurement: Measurement, place: Place, case: Case
) -> Iterator[tuple[str, Question]]:
    spec = measurement.fabric
    if spec is None:
        return
    earlier = scope.platform.measurements[spec.since] if spec.since else None
    since = plan.case_at(earlier, scope.level.name, place) if earlier else None
    switches: tuple[str | None, ...] = declared_switches(scope.cluster.fabric)
    for switch in switches if spec.per_switch else (None,):
        yield FABRIC, Question(FABRIC, case, placement=switch, other=since)
