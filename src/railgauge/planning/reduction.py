"""The pairs that ``--rounds`` leaves out of a level. Pure.

The platform file defines a level. A run with fewer rounds is no run of that level: the pairs that
it leaves out did not run. ``--level signoff --rounds 1`` of six nodes measures 3 of 15 pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

from railgauge.config.thresholds.model import Measurement, Platform
from railgauge.core.model import Cluster
from railgauge.core.terms import Scope
from railgauge.planning import pairing, plan, sample

_TWO = 2


@dataclass(frozen=True, slots=True)
class Reduction:
    """The number of a level's pairs that are measured with ``--rounds``.

    ``what`` is counted: pairs, or the directions of the only pair.
    """

    level: str
    rounds: int
    made: int
    due: int
    what: str = "pairs"

    def __str__(self) -> str:
        share = f"{self.made} of {self.due} {self.what}"
        return f"level {self.level} reduced by --rounds {self.rounds}: {share}"


def of(
    platform: Platform, cluster: Cluster, name: str, rounds: int | None, directions: int
) -> Reduction | None:
    """Return the reduction of the level ``name`` by ``--rounds``; ``None`` if there is none."""
    between = [m for m in platform.measurements.values() if m.made_at(name) and _is_of_pairs(m)]
    if rounds is None or not between:
        return None
    asked, nodes = platform.pair_levels[name], len(cluster.nodes)
    made = pairing.number_of_pairs(nodes, asked, rounds)
    due = pairing.number_of_pairs(_sampled(platform, cluster, name), asked)
    if made < due:
        return Reduction(name, rounds, made, due)
    is_turned = directions == pairing.BOTH_WAYS and any(map(plan.is_one_way, between))
    is_once = pairing.has_one_round(asked, rounds) and not pairing.has_one_round(asked)
    if nodes == _TWO and is_turned and is_once:
        return Reduction(name, rounds, 1, _TWO, "directions of the pair")
    return None


def _is_of_pairs(measurement: Measurement) -> bool:
    return measurement.scope in (Scope.PATH, Scope.PAIR)


def _sampled(platform: Platform, cluster: Cluster, name: str) -> int:
    """The number of nodes that the level measures in pairs."""
    if name != sample.SMOKE:
        return len(cluster.nodes)
    return len(sample.level(platform, cluster, name).measured)
