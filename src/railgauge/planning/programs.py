"""The programs that the measurements of a platform need on its nodes. Pure."""

from __future__ import annotations

from dataclasses import replace

from railgauge.config import thresholds
from railgauge.config.thresholds import Platform
from railgauge.core.devices import AS_DECLARED
from railgauge.core.model import Cluster
from railgauge.core.terms import Scope
from railgauge.planning import plan
from railgauge.tools import container_of

_FEW = 4  # nodes, which make a pair, a group, and a pair beside others
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
        # A program does not depend on the names of devices, which may differ from node to node.
        one = replace(platform, measurements={measurement.name: measurement}, devices=AS_DECLARED)
        level = plan.level(one, few, thresholds.LEVELS[-1])
        case = next((case for _, case in plan.cases(one, level)), None)
        if case is None:
            continue
        for command in plan.commands(case, one, few, _PORT):
            found |= dict.fromkeys(command.programs or command.argv[:1])
    return tuple(found)
