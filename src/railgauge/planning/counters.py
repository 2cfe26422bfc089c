"""The command that reads the error counters of a node that its platform limits. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from railgauge.config.thresholds import Platform
from railgauge.config.thresholds.counter_groups import BY_ETHTOOL, GROUPS
from railgauge.core.model import Cluster, Command
from railgauge.core.programs import folders
from railgauge.facts.counters import PROGRAMS, reading_argv
from railgauge.planning.vendor import platform_stack
from railgauge.stacks import Stack

# Four tools of 20 s each; a node that does not answer waits for one of them.
_TIME_LIMIT_S = 90.0


def reading(node: str, platform: Platform, cluster: Cluster) -> Command:
    """Return the one command that prints all counters of the node."""
    nics = [platform.devices.on(node, nic) for nic in _by_ethtool(platform)]
    placed = folders(cluster.tools, PROGRAMS)
    argv = reading_argv(cluster.rootfs, stack_of(platform), nics, placed)
    return Command(node, argv, {"LC_ALL": "C"}, _TIME_LIMIT_S)


def stack_of(platform: Platform) -> Stack | None:
    """The stack whose tools are run; ``None`` if no limit is about their counters."""
    groups = (GROUPS[name] for name in platform.growth or ())
    return platform_stack(platform) if any(group.of_nics is None for group in groups) else None


def _by_ethtool(platform: Platform) -> Sequence[str]:
    asked = [GROUPS[name].of_nics for name in platform.growth or () if name in BY_ETHTOOL]
    return [nic.name for nic in platform.fabric_nics if any(has and has(nic) for has in asked)]
