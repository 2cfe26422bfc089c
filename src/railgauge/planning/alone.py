"""Measurements that a node can make by itself, for a check without the cluster. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from railgauge.config.thresholds.model import LEVELS, Measurement, Platform
from railgauge.core.errors import BadInput
from railgauge.core.model import Case
from railgauge.core.naming import listed
from railgauge.core.terms import Scope
from railgauge.planning import plan
from railgauge.planning.plan import Level


def measurements(platform: Platform, names: Sequence[str]) -> tuple[Measurement, ...]:
    """Return the named measurements. Raises ``BadInput`` for one that a node cannot make alone."""
    known = [one.name for one in platform.measurements.values() if one.scope == Scope.NODE]
    for name in names:
        if name not in known:
            raise BadInput(
                f"{platform.name} has no measurement {name[:60]} of a single node",
                remedy=f"known: {listed(known, 30) or 'none'}",
            )
    return tuple(platform.measurements[name] for name in dict.fromkeys(names))


def level_of(measurement: Measurement, node: str) -> Level:
    """Return the smallest level that makes the measurement, of this node alone."""
    name = next(level for level in LEVELS if measurement.made_at(level))
    return Level(name, (), (node,), {})


def case_of(measurement: Measurement, node: str) -> Case:
    return plan.case_at(measurement, level_of(measurement, node).name, node)
