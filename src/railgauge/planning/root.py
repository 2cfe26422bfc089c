"""The parts of a run that need root on the nodes, and the way in which they get it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from railgauge.config.thresholds import Platform
from railgauge.core.model import Cluster
from railgauge.planning.forecast import Work
from railgauge.tools import root_reason

_PROBE = "lspci -vvv (ACS of PCIe bridges, part numbers of NICs)"

_SMART = "nvme smart-log, or smartctl (the health of NVMe disks)"
_KERNEL_LOG = "/dev/kmsg (the kernel's log, where kernel.dmesg_restrict is 1)"


def needing_root(platform: Platform, works: Iterable[Work]) -> Iterator[str]:
    """Yield each part that needs root, with the reason: the probe, tools that run, preparations."""
    yield _PROBE
    if {"nvme_health", "nvme_wear"} & platform.expected.keys():
        yield _SMART
    if platform.kernel_log:
        yield _KERNEL_LOG
    of: dict[str, list[str]] = {}
    for tool in dict.fromkeys(each.measurement.tool for each in works if each.runs):
        of.setdefault(root_reason(tool), []).append(tool)
    for reason, tools in of.items():
        if reason:
            yield f"{', '.join(tools)} ({reason})"
    if names := [step.name for step in platform.preparations]:
        yield f"--prepare ({', '.join(names)})"


def way_to_root(cluster: Cluster) -> str:
    """Return how commands become root; empty without ``become`` and ``ssh: {user}``."""
    for node in cluster.nodes:
        if node.become:
            return f"by {shlex.join(node.become)}"
    return "by login" if all(node.ssh.user == "root" for node in cluster.nodes) else ""
