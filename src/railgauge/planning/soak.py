"""A soak: rounds of the level's measurements, drawn anew each time, after the ladder. Pure.

All draws follow from the seed and the number of the round: the partners, the GPU of each NIC, and
the order. So a verifier can draw the same rounds again, and evidence of one round fits no other.

Example: with seed 7, round 3 measures ``mx02:mx04`` and ``mx01:mx03``, and in round 4 ``mx01`` has
another partner.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from railgauge.config.thresholds.model import Measurement, Platform
from railgauge.core.errors import BadInput
from railgauge.core.model import Case, Cluster, Pairing
from railgauge.core.terms import Rung, Scope
from railgauge.planning import plan
from railgauge.planning.plan import Level
from railgauge.planning.required import LevelScope, RequiredCheck, required_checks

FOLDER = "soak"
"""The folder of the evidence of all rounds, and the beginning of the ids of a soak's items."""
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_TIME = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)([smhd])")
_ROUNDS = re.compile(r"(\d{1,6})rounds?")
_RATE = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)/(\d{1,9}(?:\.\d{1,6})?)h")
_TWO = 2


def folder_of(number: int) -> str:
    """The folder of a round's evidence, and the beginning of its items' ids."""
    return f"{FOLDER}/{number:04d}"


def is_of_soak(item_id: str) -> bool:
    """Whether an item belongs to a soak; no test and no folder of the ladder has such an id."""
    return item_id.startswith(f"{FOLDER}/")


@dataclass(frozen=True, slots=True)
class SoakPlan:
    """The request for a soak: ``seconds`` under load, or a number of ``rounds``.

    ``asked`` is the option as it was given. ``below_per_h`` is the rate of events, per hour of a
    node, for which the report gives the confidence; ``None`` without one.
    """

    asked: str
    seed: int
    seconds: float | None = None
    rounds: int | None = None
    below_per_h: float | None = None
    no_gates: bool = False

    def is_reached(self, soaked_s: float, rounds: int) -> bool:
        if self.rounds is not None:
            return rounds >= self.rounds
        return self.seconds is not None and soaked_s >= self.seconds


def planned(asked: str, seed: int, below: str = "", *, no_gates: bool = False) -> SoakPlan:
    """Read ``24h``, ``90m`` or ``5rounds``, and a rate such as ``1/1000h``. Raises ``BadInput``."""
    rate = rate_per_h(below) if below else None
    if counted := _ROUNDS.fullmatch(asked):
        if int(counted[1]) > 0:
            return SoakPlan(asked, seed, None, int(counted[1]), rate, no_gates)
    elif (time := _TIME.fullmatch(asked)) and float(time[1]) > 0:
        return SoakPlan(asked, seed, float(time[1]) * _SECONDS[time[2]], None, rate, no_gates)
    raise BadInput(
        f"{asked!r} is neither a time nor a number of rounds",
        where="--soak",
        remedy="say 24h, 90m, 3m, or 5rounds",
    )


def rate_per_h(text: str) -> float:
    """Read ``1/1000h``: events per hour of a node. Raises ``BadInput``."""
    found = _RATE.fullmatch(text)
    if found and float(found[1]) > 0 and float(found[2]) > 0:
        return float(found[1]) / float(found[2])
    remedy = "give 1/1000h for one event in 1000 hours of a node"
    raise BadInput(f"{text!r} is no rate of events", where="--soak-below", remedy=remedy)


@dataclass(frozen=True, slots=True)
class RoundCase:
    """A case of a round, and the required checks that it answers."""

    case: Case
    rung: Rung
    gated: tuple[str, ...]
    checks: tuple[RequiredCheck, ...]


@dataclass(frozen=True, slots=True)
class SoakRounds:
    """Draws the rounds of a run's soak. ``count`` is ``--rounds`` of the run."""

    soak: SoakPlan
    platform: Platform
    cluster: Cluster
    level: Level
    count: int | None = None

    def cases(self, number: int) -> tuple[RoundCase, ...]:
        """Return the cases of a round in the order in which they are measured."""
        scope = LevelScope(self.platform, self.cluster, self._level(number))
        pairings = {m.name: self._pairings(m, number) for m in self.platform.measurements.values()}
        by_case: dict[Case, list[RequiredCheck]] = {}
        for check in required_checks(scope):
            case = check.question.case
            if case is not None and not check.why_not:
                drawn = _with(check, pairings[case.measurement])
                assert drawn.question.case is not None
                by_case.setdefault(drawn.question.case, []).append(drawn)
            # Measured in each round too, even if it is no place of the level.
            if check.question.other:
                by_case.setdefault(check.question.other, [])
        # Whatever the order of the platform file: redaction sorts it.
        place = {node.name: number for number, node in enumerate(self.cluster.nodes)}
        found = [self._case(case, by_case[case]) for case in sorted(by_case, key=_key(place))]
        return tuple(_ordered(found, self._draw(number, "order")))

    def _draw(self, number: int, what: str) -> Random:
        return Random(f"{self.soak.seed}/{number}/{what}")  # noqa: S311 - nothing to keep secret

    def _level(self, number: int) -> Level:
        """The level with the partners and the sample of nodes that are drawn for this round."""
        nodes = list(self.cluster.nodes)
        self._draw(number, "nodes").shuffle(nodes)
        sample = tuple(node.name for node in nodes[: len(self.level.sample)])
        drawn = plan.level(
            self.platform,
            replace(self.cluster, nodes=tuple(nodes)),
            self.level.name,
            self.count,
            self.level.directions,
            sample=sample,
        )
        return replace(self.level, rounds=drawn.rounds, turned=drawn.turned, sample=sample)

    def _pairings(self, measurement: Measurement, number: int) -> Mapping[Pairing, Pairing]:
        """The GPU with which each NIC is measured, where the level asks for one of them."""
        extent = measurement.extents.get(self.level.name)
        if measurement.scope != Scope.PATH or not extent or extent.pairings != "one_per_nic":
            return {}
        return {
            path: self._draw(number, f"{measurement.name}/{path.nic}").choice(
                sorted(
                    one
                    for one in self.platform.pairings(measurement.memory)
                    if (one.nic, one.distance) == (path.nic, path.distance)
                )
            )
            for path in plan.paths(self.platform, measurement, self.level.name)
            if path and path.gpu is not None and path.peer is None
        }

    def _case(self, case: Case, asked: Sequence[RequiredCheck]) -> RoundCase:
        gated = plan.gate_nodes(self.platform, case.measurement, case.nodes)
        rung = self.platform.measurements[case.measurement].rung
        return RoundCase(case, rung, gated, tuple(asked))


def _key(place: Mapping[str, int]) -> Callable[[Case], tuple[str, list[int], str]]:
    """Return the key that orders cases by measurement, nodes and path, whatever the names."""
    return lambda one: (one.measurement, [place[n] for n in one.nodes], str(one.pairing or ""))


def _with(check: RequiredCheck, drawn: Mapping[Pairing, Pairing]) -> RequiredCheck:
    """Return the check over the pairing that was drawn in place of the level's."""
    question, key = check.question, check.key
    case = question.case
    if case is None or case.pairing is None or case.pairing not in drawn:
        return check
    path = drawn[case.pairing]
    part = str(path) if key.part == str(case.pairing) else key.part
    question = replace(question, case=replace(case, pairing=path))
    return replace(check, key=replace(key, part=part), question=question)


def _ordered(found: list[RoundCase], draw: Random) -> Iterator[RoundCase]:
    """Order the cases by rung, but alternate those inside nodes with those between nodes.

    The GPUs of a place compute before its collectives, and others between two collectives, so that
    power swings. Cases of all nodes come after the pairs. A scan that counts since another one
    comes last.
    """
    draw.shuffle(found)
    places = {one.case.nodes: number for number, one in enumerate(found)}
    found.sort(key=lambda one: (one.rung, len(one.case.nodes) > _TWO, places[one.case.nodes]))
    late = [one for one in found if any(d.question.other for d in one.checks) and not one.gated]
    alone = [one for one in found if one.rung == Rung.INTRANODE and one not in late]
    for one in found:
        if one in late or one.rung == Rung.INTRANODE:
            continue
        if one.rung > Rung.INTRANODE:
            mine = [each for each in alone if set(each.case.nodes) & set(one.gated)]
            yield from mine
            alone = [each for each in alone if each not in mine]
        yield one
        if one.rung > Rung.INTRANODE and alone:
            yield alone.pop(0)
    yield from (*alone, *late)


def round_s(rounds: SoakRounds) -> tuple[float, float]:
    """The planned duration of a round in seconds, one measurement after the other.

    The second number is the sum of the times in which each node is measured.
    """
    measurements = rounds.platform.measurements
    made = [
        (measurements[one.case.measurement].typical_s * one.case.repeats, len(one.case.nodes))
        for one in rounds.cases(1)
    ]
    return math.fsum(took for took, _ in made), math.fsum(took * nodes for took, nodes in made)
