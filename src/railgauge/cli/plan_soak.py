"""The part of ``railgauge plan`` about a soak: how many rounds, and what they prove."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

from railgauge.planning.required import LevelScope
from railgauge.planning.soak import SoakRounds, planned, round_s
from railgauge.run.soak.causes import lasting
from railgauge.run.soak.proof import Soaked, in_words, proof

# The number of cases of a round does not depend on the seed, so any seed shows the duration.
_ANY_SEED = 0
_EVENTS = (0, 1, 2)
_WIDTH = 96


@dataclass(frozen=True, slots=True)
class PlannedSoak:
    """A soak that a run would make: its rounds, each with its cases and its duration.

    ``node_s`` is the sum of the times in which each node is measured in a round.
    """

    rounds: SoakRounds
    cases: int
    round_s: float
    node_s: float

    @property
    def count(self) -> int:
        soak = self.rounds.soak
        if soak.rounds is not None:
            return soak.rounds
        return ceil((soak.seconds or 0.0) / self.round_s) if self.round_s else 0

    @property
    def soaked(self) -> Soaked:
        """The time under load that is proven: what was asked for, or the rounds as planned."""
        seconds = self.rounds.soak.seconds or self.count * self.round_s
        busy = self.node_s / self.round_s if self.round_s else 0.0
        return Soaked(seconds, len(self.rounds.cluster.nodes), seconds * busy)


def planned_soak(scope: LevelScope, wanted: str, below: str, count: int | None) -> PlannedSoak:
    """``count`` is ``--rounds`` of the run. Raises ``BadInput``."""
    soak = planned(wanted, _ANY_SEED, below)
    rounds = SoakRounds(soak, scope.platform, scope.cluster, scope.level, count)
    return PlannedSoak(rounds, len(rounds.cases(1)), *round_s(rounds))


def as_json(found: PlannedSoak) -> dict[str, Any]:
    soak = found.rounds.soak
    return {
        "asked": soak.asked,
        "rounds": found.count,
        "measurements_a_round": found.cases,
        "round_s": found.round_s,
        "estimate_s": found.count * found.round_s,
        "allowed_events": 0,
        "proves": [proof(soak, found.soaked, events) for events in _EVENTS],
    }


def lines(found: PlannedSoak) -> Iterator[str]:
    soak = found.rounds.soak
    yield (
        f"soak of {soak.asked} after the ladder: about {found.count} rounds of"
        f" {lasting(found.round_s)}, {found.cases} measurements each"
    )
    yield "soak, an event is a round with a failure or an error, and none is allowed; it proves:"
    for events in _EVENTS:
        for line in in_words(soak, found.soaked, events):
            yield from textwrap.wrap(f"  {line}", _WIDTH, subsequent_indent="    ")
