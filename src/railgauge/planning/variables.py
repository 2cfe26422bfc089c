"""The environment of a measurement, with the names that devices have on its nodes.

Some variables are lists of the devices that a library may use. If nodes have other names for their
devices, all nodes get the names of all, and each uses those that it has. This is impossible if a
name in the list is that of another NIC on one of the nodes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from railgauge.config.thresholds.model import Measurement, Platform
from railgauge.core.errors import BadInput
from railgauge.core.model import Case, Cluster
from railgauge.core.naming import folded, listed
from railgauge.core.terms import Rung

# NCCL, RCCL and MCCL: ``=`` asks for whole names in place of prefixes, ``^`` excludes them.
_IS_LIST = re.compile(r"[A-Z0-9_]+_(?:IB_HCA|SOCKET_IFNAME)")
_LIST = re.compile(r"(\^?=?)(.*)", re.DOTALL)
_MOST_SHOWN = 3


def environment(
    case: Case, measurement: Measurement, platform: Platform, cluster: Cluster
) -> dict[str, str]:
    """Return the platform's recommended variables, overridden by the hostfile's.

    Those of the platform file name devices as it declares them and get the names on the nodes of
    the case; those of the hostfile are passed as they are. Raises ``BadInput`` if the nodes of a
    collective need different values: a launcher sets each variable once for all ranks.
    """
    recommended = {**platform.environment, **measurement.environment}
    ours = {k: v for k, v in recommended.items() if k not in cluster.environment}
    found = {name: value_on(name, value, case.nodes, platform) for name, value in ours.items()}
    if measurement.rung >= Rung.COLLECTIVE:
        for name in (name for name, value in found.items() if value is None):
            raise _no_value(name, ours[name], platform, cluster)
    ours = {name: ours[name] if value is None else value for name, value in found.items()}
    return {**ours, **cluster.environment}


def differs(
    name: str, have: str, values: Sequence[str], platform: Platform, nodes: Sequence[str]
) -> bool:
    """Whether a variable has another value on nodes than each of ``values``, as the nodes need it.

    A variable that has no value from the platform file is set by the site.
    """
    needed = [value_on(name, value, nodes, platform) for value in values]
    if None in needed:
        return False
    if not _IS_LIST.fullmatch(name):
        return have not in (*values, *needed)
    given, known = DeviceList.of(have), (*values, *filter(None, needed))
    return not any(given.is_like(DeviceList.of(value)) for value in known)


def value_on(name: str, value: str, nodes: Sequence[str], platform: Platform) -> str | None:
    """Return the value of a variable that holds on all nodes; ``None`` if there is none."""
    if platform.devices.of.keys().isdisjoint(nodes):
        return value
    texts = {node: platform.devices.text_on(node, value) for node in nodes}
    lists = {node: DeviceList.of(text) for node, text in texts.items()}
    first = lists[nodes[0]]
    if all(one.is_like(first) for one in lists.values()):
        return texts[nodes[0]]
    if not _IS_LIST.fullmatch(name):
        return None
    every = dict.fromkeys(member for one in lists.values() for member in one.members)
    joined = replace(first, members=tuple(every))
    is_wrong = any(_strays(joined, own, node, platform) for node, own in lists.items())
    return None if is_wrong else str(joined)


@dataclass(frozen=True, slots=True)
class DeviceList:
    """A list of devices, ``=mlx5_0:1,mlx5_1:1``: its sign and its members; their order is free."""

    sign: str
    members: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> DeviceList:
        match = _LIST.fullmatch(text)
        return cls(match[1], tuple(match[2].split(","))) if match else cls("", (text,))

    def is_like(self, other: DeviceList) -> bool:
        return (self.sign, set(self.members)) == (other.sign, set(other.members))

    def names(self, device: str) -> bool:
        """Whether the list names a device."""
        own = (member.partition(":")[0] for member in self.members)
        if "=" in self.sign:
            return device in own
        return any(device.startswith(one) for one in own)

    def __str__(self) -> str:
        return self.sign + ",".join(self.members)


def _strays(every: DeviceList, own: DeviceList, node: str, platform: Platform) -> bool:
    """Whether the list of all nodes names a NIC of this node that its own list does not name."""
    there = (platform.devices.on(node, nic.name) for nic in platform.nics)
    return any(every.names(name) and not own.names(name) for name in there)


def _no_value(name: str, value: str, platform: Platform, cluster: Cluster) -> BadInput:
    by_text: dict[str, list[str]] = {}
    for node in cluster.nodes:
        by_text.setdefault(platform.devices.text_on(node.name, value), []).append(node.name)
    some = [f"{text} on {folded(nodes)}" for text, nodes in by_text.items()]
    return BadInput(
        f"{name} would be {listed(some, _MOST_SHOWN)}, and a launcher sets it once for all",
        remedy=f"give {name} under environment a value that holds on every node, or give the "
        "devices the same names on all nodes",
    )
