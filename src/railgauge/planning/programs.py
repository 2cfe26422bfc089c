"""The programs that the measurements of a platform need on its nodes. Pure."""

from __future__ import annotations

from dataclasses import replace

from railgauge.config import thresholds
from railgauge.config.thresholds import Platform
from railgauge.core.model import Cluster
from railgauge.core.terms import Scope
from railgauge.planning import plan
from railgauge.planning.vendor import platform_stack
from railgauge.tools import Setting, container_of
from railgauge.tools.options import program

# Tools that a launcher starts -> their program; empty if it is the measurement's command.
_LAUNCHED = {"mpi-bench": "mpi-bench", "train-bench": "train-bench", "ccl-tests": ""}
_FEW = 3  # nodes, which make a pair and a group
_PORT = 18515  # any value will do for a command that is only planned


def programs(platform: Platform, cluster: Cluster) -> tuple[str, ...]:
    """Return the programs of the measurements between or on nodes, each with its path if given."""
    few = replace(cluster, nodes=cluster.nodes[:_FEW], groups={})
    found: dict[str, None] = {}
    for measurement in platform.measurements.values():
        if measurement.scope == Scope.FABRIC:  # one node alone scans the subnet
            continue
        if container_of(cluster, measurement.tool):  # the programs are those of its image
            continue
        one = replace(platform, measurements={measurement.name: measurement})
        level = plan.level(one, few, thresholds.LEVELS[-1])
        case = next((case for _, case in plan.cases(one, level)), None)
        if case is None:
            continue
        setting = Setting(case, measurement, few, platform_stack(one), one, {})
        for command in plan.commands(case, one, few, _PORT):
            found[command.argv[0]] = None
        if measurement.tool in _LAUNCHED:
            found[program(setting, _LAUNCHED[measurement.tool] or measurement.command)] = None
    return tuple(found)
