"""Measurements that a node can make by itself, for a check without the cluster. Pure.

They are those of a single node, and those of a path whose limits hold in loopback too: these run
from each NIC of the node to itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from railgauge.config.thresholds.model import LEVELS, Measurement, Platform
from railgauge.core.errors import BadInput
from railgauge.core.model import Case, Pair
from railgauge.core.naming import listed
from railgauge.core.terms import Scope
from railgauge.planning import plan
from railgauge.planning.plan import Level

_FAR = "far"


def measurements(platform: Platform, names: Sequence[str]) -> tuple[Measurement, ...]:
    """Return the named measurements. Raises ``BadInput`` for one that a node cannot make alone."""
    known = [one.name for one in platform.measurements.values() if _is_alone(one)]
    for name in names:
        if name not in known:
            raise BadInput(
                f"{platform.name} has no measurement {name[:60]} of a single node",
                remedy=f"known: {listed(known, 30) or 'none'}",
            )
    return tuple(platform.measurements[name] for name in dict.fromkeys(names))


def _is_alone(measurement: Measurement) -> bool:
    return measurement.scope == Scope.NODE or measurement.loopback is not None


def level_of(measurement: Measurement, node: str) -> Level:
    """Return the smallest level that makes the measurement, of this node alone."""
    name = next(level for level in LEVELS if measurement.made_at(level))
    rounds = ((Pair(node, node),),) if measurement.loopback else ()
    return Level(name, rounds, (node,), {})


def cases_of(platform: Platform, measurement: Measurement, node: str) -> Iterator[Case]:
    """Yield the cases of a measurement on a node: in loopback one for each NIC of the level."""
    level = level_of(measurement, node)
    for place in plan.places(measurement, level):
        for pairing in plan.paths(platform, measurement, level.name):
            if not (pairing and (pairing.peer or pairing.distance == _FAR)):
                yield plan.case_at(measurement, level.name, place, pairing)


def is_loopback(case: Case) -> bool:
    return len(case.nodes) > len({*case.nodes})
