"""What may be wrong with a lab, where, and which cause must be named for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet
from testing.places import ROOT

from railgauge.config import thresholds
from railgauge.config.thresholds import Platform
from railgauge.core.errors import BadInput
from railgauge.core.naming import unfolded
from railgauge.lab import faults, platforms
from railgauge.lab.fault_courses import strike as strike_node
from railgauge.planning import pairing

PLATFORMS = ("connectx4-homelab", "h100-tcpx", "metax-c500", "mi300x", "h200")
NODES = {
    "connectx4-homelab": ("viper", "columbia", "prometheus"),
    "h100-tcpx": ("tcpx01", "tcpx02", "tcpx03", "tcpx04"),
    "metax-c500": ("mx01", "mx02", "mx03", "mx04"),
    "mi300x": ("mi01", "mi02", "mi03", "mi04"),
    "h200": ("h200-01", "h200-02", "h200-03", "h200-04"),
}

CAUSES = {
    "unreachable": "node-unreachable",
    "node-stops": "node-unreachable",
    "host-key-changed": "host-key-rejected",
    "wrong-key": "node-unreachable",
    "tool-missing": "tool-missing",
    "tool-silent": "tool-failing",
    "tool-garbage": "tool-failing",
    "background-diagnostics": "background-gpu-diagnostics",
    "high-ber": "link-error-rate",
    "port-down": "link-down",
    "link-rate": "link-rate-degraded",
    "gdr-disabled": "gpudirect-rdma-disabled",
    "peermem-missing": "peer-memory-module-missing",
    "slow-xgmi": "slow-gpu-link",
    "numa-balancing": "numa-balancing-enabled",
    "numad": "numa-daemon",
    "modules-by-hand": "module-not-at-boot",
    "acs": "acs-enabled",
    "governor": "cpu-governor",
    "nic-idle": "nic-idle",
    "tcp-fallback": "wrong-transport",
    "slow-node": "slow-node",
    "slow-nic": "slow-nic",
    "slow-gpu": "slow-gpu",
    "slow-path": "slow-path",
    "slow-send": "slow-direction",
    "slow-receive": "slow-direction",
    "gpu-missing": "gpu-missing",
    "nic-missing": "nic-missing",
    "pcie-width": "pcie-degraded",
    "ecc": "gpu-memory-errors",
    "memlock": "memlock-limited",
    "no-sm": "subnet-manager-missing",
    "mtu": "mtu-mismatch",
    "firmware": "firmware-mismatch",
    "corrupt": "data-corruption",
    "remap-failed": "gpu-memory-errors",
    "ecc-off": "gpu-ecc-off",
    "power-cap": "gpu-power-capped",
    "gpu-clock": "gpu-clock-limited",
    "gpu-pcie": "gpu-pcie-degraded",
    "gpu-link": "gpu-link-down",
    "gpu-fabric": "gpu-fabric-down",
    "gpu-partition": "gpu-partitioned",
    "vbios": "firmware-mismatch",
    "clocks-unlocked": "gpu-clock-unlocked",
    "nvme-missing": "nvme-missing",
    "version": "nodes-differ",
    "one-machine": "one-machine",
    "cloned-image": "cloned-image",
    "duplicate-lid": "duplicate-address",
    "duplicate-gid": "duplicate-address",
    "clock": "clock-off",
    "cpus-offline": "cpus-offline",
    "cpu-model": "nodes-differ",
    "memory-missing": "hardware-differs",
    "nic-numa": "nodes-differ",
    "irq-affinity": "",
}
# With those that the matrix leaves out.
ALL_CAUSES = CAUSES | {
    "slow-pcie-path": "slow-pcie-path",
    "gpu-diagnostics": "gpu-diagnostic-failed",
}
PATH = "slow-path"
TUNING, TUNING_CAUSE = "no-tuning", "collective-tuning-missing"
# Faults that leave nothing to judge by: what cannot be measured did not fail.
INCOMPLETE = frozenset(
    {"unreachable", "node-stops", "host-key-changed", "wrong-key", "tool-missing", "tool-silent",
     "tool-garbage"}
)  # fmt: skip
# These causes blame nobody: they list each value with its nodes.
DIFFERENCES = frozenset({"nodes-differ", "firmware-mismatch"})
# A tool that hangs or floods runs into time limits, which the end-to-end selftests have. Smoke
# takes one pairing a NIC, which cannot tell a GPU from its path to the NIC, and no diagnostics.
LEFT_OUT = frozenset({"tool-hangs", "tool-floods", "slow-pcie-path", "gpu-diagnostics"})


@dataclass(frozen=True)
class Ground:
    """What faults are drawn from: the lab's description, the platform file, chance, and nodes."""

    lab: dict[str, Any]
    platform: Platform
    random: Random
    nodes: tuple[str, ...]


def ground(name: str, random: Random, nodes: Sequence[str] = ()) -> Ground:
    """Without ``nodes``, those of the fault matrix."""
    return Ground(platforms.load(name), limits_of(name), random, tuple(nodes or NODES[name]))


@cache
def limits_of(name: str, folder: Path = ROOT / "thresholds") -> Platform:
    """A platform file, read once: checking it takes a second."""
    return thresholds.load(name, folder)


@dataclass(frozen=True)
class Strike:
    """One fault of one lab, and what a run must say of it.

    ``fault`` is as ``--lab-fault`` takes it; empty for a hostfile without tuning variables.
    ``device`` is the one that must be named, ``peer`` the other node of a path.
    """

    platform: str
    name: str
    fault: str
    cause: str
    node: str
    device: str = ""
    peer: str = ""

    @property
    def verdict(self) -> str:
        if not self.cause:
            return "accepted"
        return "incomplete" if self.name in INCOMPLETE else "rejected"

    def is_named_by(self, cause: Mapping[str, Any]) -> bool:
        """Whether a cause of ``verdict.json`` is this strike's, at its node and device."""
        where, own = cause["where"], {self.node, self.peer} - {""}
        if self.cause in DIFFERENCES:
            return self._is_told_by(cause, where)
        node = where["node"]
        nodes = {*(node.split("|") if "|" in node else unfolded(node)), where["peer"]} - {""}
        return (
            cause["cause"] == self.cause
            and nodes == own
            and (not self.device or self.device in where["device"].split(","))
        )

    def _is_told_by(self, cause: Mapping[str, Any], where: Mapping[str, str]) -> bool:
        """Whether a cause that blames nobody tells what this node, or its device, has."""
        nodes = set(NodeSet(where["node"], resolver=RESOLVER_NOGROUP))
        told = (f" on {self.node};", f"{self.node} {self.device}")  # all devices, or one of them
        is_told = any(place in cause["says"] for place in told)
        return cause["cause"] == self.cause and nodes > {self.node} and is_told


def moved(strike: Strike, node: str) -> Strike:
    """The same fault of the same device on another node."""
    _, colon, device = strike.fault.partition(":")
    peer = _twin(NODES[strike.platform], node) if strike.name in _TWINS else strike.peer
    return replace(strike, node=node, peer=peer, fault=f"{strike.name}@{node}{colon}{device}")


# Two nodes tell where these are; of a transport it takes a third one to say which is right.
_FEW = {"h100-tcpx": 2, "mi300x": 2}
_THREE = frozenset({"tcp-fallback"})


def alone(strike: Strike) -> tuple[Strike, int]:
    """On one of as few nodes as it takes, and how many these are."""
    nodes = NODES[strike.platform]
    count = 3 if strike.name in _THREE else _FEW.get(strike.platform, len(nodes))
    if strike.node in nodes[count:]:
        strike = moved(strike, nodes[count - 1])
    return strike, count


# Only other nodes, measured or asked, tell which one these are at.
_COMPARED = frozenset(
    {"version", "vbios", "firmware", "mtu", "slow-node", "slow-nic", "slow-gpu", "slow-path",
     "slow-send", "slow-receive", "slow-xgmi", "tcp-fallback", "corrupt", "high-ber", "nic-idle",
     "tool-garbage", "tool-silent", "gdr-disabled", "gpu-missing", "cpu-model", "memory-missing",
     "nic-numa", TUNING}
)  # fmt: skip


def in_the_matrix(struck: tuple[Strike, ...]) -> tuple[tuple[Strike, ...], int]:
    """Where a fault strikes, and how many nodes there are: two, if others tell no more."""
    one, *others = struck
    nodes = NODES[one.platform]
    if others or one.name in _COMPARED:
        return struck, len(nodes)
    return (moved(one, nodes[1]) if one.node in nodes[2:] else one,), 2


def strikes(name: str, seed: int) -> Iterator[Strike]:
    """Every fault that applies to the platform, once, on a random node and device."""
    random = Random(f"{seed} {name}")
    scene = ground(name, random)
    for fault in sorted(CAUSES):
        if fault in faults.NAMES and (found := _strike(scene, fault)):
            yield found
    if name in _TUNED:
        yield Strike(name, TUNING, "", TUNING_CAUSE, "")


# What the probes say outright: two of these are both told, wherever they are.
_TOLD_BY_FACTS = (
    "governor", "memlock", "mtu", "no-sm", "port-down", "link-rate", "pcie-width", "firmware",
    "gpu-missing", "ecc", "peermem-missing", "gdr-disabled", "unreachable",
)  # fmt: skip


def pairs_of(name: str, seed: int, count: int) -> list[tuple[Strike, Strike]]:
    """Two faults at once: random ones that the facts tell, on nodes of their own or on one."""
    random = Random(f"{seed} {name} pairs")
    told = [s for s in strikes(name, seed) if s.name in _TOLD_BY_FACTS]
    drawn = [random.sample(told, 2) for _ in range(4 * count)]
    apart = [(one, other) for one, other in drawn if _both_are_told(one, other)]
    return apart[:count]


def _both_are_told(one: Strike, other: Strike) -> bool:
    """A node that does not answer tells nothing, and a port that is down hides its rate."""
    return one.node != other.node or (
        "unreachable" not in (one.name, other.name) and bool(one.device) != bool(other.device)
    )


def _strike(ground: Ground, name: str) -> Strike | None:
    node = ground.random.choice(ground.nodes)
    choice = DEVICES.get(name, no_device)(ground)
    peer = _peer(ground.nodes, node) if name == PATH else ""
    return landed(ground, name, node, choice, peer=peer)


def landed(
    ground: Ground, name: str, node: str, choice: Choice, *, peer: str = "", tail: str = ""
) -> Strike | None:
    """The fault at this place; ``None`` where the platform has no such thing to break.

    ``tail`` is the severity and the course of the fault, as ``--lab-fault`` takes them.
    """
    device, named = choice
    platform = ground.platform.name
    fault = f"{name}@{node}" + (f":{peer or device}" if peer or device else "") + tail
    peer = _twin(ground.nodes, node) if name in _TWINS else peer
    try:
        struck = platforms.describe(ground.lab, node, ground.nodes.index(node), seed=1)
        strike_node(
            struck,
            [faults.parse(fault, ground.nodes)],
            lambda one, to: faults.apply(one, to, ground.lab),
        )
    except BadInput:
        return None
    if name in _WAITS_FOR_A_SERVER and len(ground.platform.fabric_nics) > _FEW_NICS:
        return None
    if name in _EXPECTED and _EXPECTED[name] not in ground.platform.expected:
        return None
    if platform in NIC_LOOKS_LIKE_NODE and name in _OF_NICS:
        return Strike(platform, name, fault, _OF_NICS[name], node)
    cause = _DECLARED.get((platform, name), ALL_CAUSES[name])
    return Strike(platform, name, fault, cause, node, named, peer)


# Documents 001 and 003 say what the variables are worth; of the other platforms nobody does.
_TUNED = frozenset({"h200", "h100-tcpx"})
# What is wrong only where the platform file asks for it.
_EXPECTED = {
    "clocks-unlocked": "gpu_clock", "nvme-missing": "nvme_count", "numad": "numa_daemons",
    "modules-by-hand": "boot_module",
}  # fmt: skip
# Every measurement waits for a server that never listens: minutes on nodes with many NICs.
_WAITS_FOR_A_SERVER = frozenset({"tool-garbage", "tool-silent"})
_FEW_NICS = 4


def _peer(nodes: Sequence[str], node: str) -> str:
    """One that smoke measures the node with: a path that nobody takes is seen by nobody."""
    pairs = [pair for turn in pairing.tournament(nodes, 2) for pair in turn]
    met = [
        {pair.source, pair.target} - {node} for pair in pairs if node in (pair.source, pair.target)
    ]
    return min(name for names in met for name in names)


# The lab copies what these share from the first other node; both are named.
_TWINS = frozenset({"one-machine", "cloned-image", "duplicate-lid", "duplicate-gid"})


def _twin(nodes: Sequence[str], node: str) -> str:
    return next(name for name in nodes if name != node)


# The homelab has one NIC a node.
_OF_NICS = {
    "slow-nic": "slow-node", "slow-send": "slow-direction", "slow-receive": "slow-direction",
}  # fmt: skip
# Document 003 states the NUMA node of each NIC.
_DECLARED = {("h100-tcpx", "nic-numa"): "wrong-numa-node"}
NIC_LOOKS_LIKE_NODE = frozenset({"connectx4-homelab"})

Choice = tuple[str, str]
"""The device as the fault takes it, and as the cause must name it."""


def no_device(_ground: Ground) -> Choice:
    return "", ""


def _nic(ground: Ground) -> Choice:
    name = ground.random.choice(ground.platform.fabric_nics).name
    return name, name


def any_gpu(ground: Ground) -> Choice:
    gpus = ground.platform.gpus
    name = f"gpu{ground.random.randrange(gpus.count)}" if gpus else ""
    return name, name


def _measured_gpu(ground: Ground) -> Choice:
    """One that level smoke measures by itself; of others only collectives tell, by their node."""
    paths = ground.platform.measurements.get("gpu_write_bandwidth")
    if paths is None:
        return any_gpu(ground)
    chosen = pairing.choose(ground.platform, paths.memory, paths.extents["smoke"].pairings)
    name = f"gpu{ground.random.choice(sorted({one.gpu for one in chosen if one.gpu is not None}))}"
    return name, name


def _link(ground: Ground) -> Choice:
    one, other = ground.random.sample(range(8), 2)
    return f"{one}>{other}", f"gpu{one}>gpu{other}"


def _bridge(ground: Ground) -> Choice:
    found = [one["address"] for one in ground.lab["pci"] if "acs" in one]
    address = ground.random.choice(found) if found else ""
    return address, address


def _version(ground: Ground) -> Choice:
    """One that other nodes of the cluster can be compared with by its own name."""
    older = ground.lab["faults"]["version"]
    alike = [name for name in older if ground.platform.expected[name].rule == "alike"]
    name = ground.random.choice([name for name in alike if name != "gpu_vbios"])
    return name, name


def _tool(ground: Ground) -> Choice:
    """One that smoke runs on the nodes themselves: neither the launcher's nor the subnet's."""
    made = (m for m in ground.platform.measurements.values() if m.made_at("smoke"))
    name = ground.random.choice(sorted({m.command for m in made if m.scope == "path"}))
    return name, name


DEVICES: Mapping[str, Callable[[Ground], Choice]] = {
    **dict.fromkeys(
        ("high-ber", "port-down", "link-rate", "nic-idle", "nic-missing", "pcie-width", "no-sm",
         "mtu", "firmware", "slow-nic", "slow-send", "slow-receive", "duplicate-lid",
         "duplicate-gid", "nic-numa"),
        _nic,
    ),
    **dict.fromkeys(
        ("gpu-missing", "ecc", "remap-failed", "ecc-off", "power-cap", "gpu-clock",
         "gpu-pcie", "gpu-link", "gpu-fabric", "gpu-partition", "vbios"),
        any_gpu,
    ),
    "slow-gpu": _measured_gpu,
    "version": _version,
    **dict.fromkeys(("tool-missing", "tool-silent", "tool-garbage"), _tool),
    "slow-xgmi": _link,
    "cpu-model": lambda _: ("", "cpu_model"),
    "memory-missing": lambda _: ("", "memory"),
    "acs": _bridge,
}  # fmt: skip
