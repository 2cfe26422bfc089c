"""The faults that studies inject into a lab, their places, and the causes that must be named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from random import Random
from typing import Any

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet
from expected_causes import (
    ALL_CAUSES,
    CAUSES,
    DIFFERENCES,
    INCOMPLETE,
    NEEDS,
    PATH,
    TUNING,
    TUNING_CAUSE,
    RunNeeds,
    needs_of,
)
from lab_cluster import leaves_of
from testing.places import ROOT

from railgauge.config import thresholds
from railgauge.config.thresholds import Platform
from railgauge.core.errors import BadInput
from railgauge.core.naming import folded, unfolded
from railgauge.planning import pairing
from railgauge_lab import fabric_faults, faults, platforms
from railgauge_lab.fault_timing import apply_faults

PLATFORMS = ("connectx4-homelab", "h100-tcpx", "metax-c500", "mi300x", "h200")
NODES = {
    "connectx4-homelab": ("viper", "columbia", "prometheus"),
    "h100-tcpx": ("tcpx01", "tcpx02", "tcpx03", "tcpx04"),
    "metax-c500": ("mx01", "mx02", "mx03", "mx04"),
    "mi300x": ("mi01", "mi02", "mi03", "mi04"),
    "h200": ("h200-01", "h200-02", "h200-03", "h200-04"),
}


@dataclass(frozen=True)
class DrawInputs:
    """What faults are drawn from: lab description, platform file, random generator, nodes."""

    lab: dict[str, Any]
    platform: Platform
    random: Random
    nodes: tuple[str, ...]


def draw_inputs(name: str, random: Random, nodes: Sequence[str] = ()) -> DrawInputs:
    """The inputs of a platform; the default of ``nodes`` is that of the fault matrix."""
    return DrawInputs(platforms.load(name), limits_of(name), random, tuple(nodes or NODES[name]))


@cache
def limits_of(name: str, folder: Path = ROOT / "thresholds") -> Platform:
    """A platform file, cached because checking it takes a second."""
    return thresholds.load(name, folder)


@dataclass(frozen=True)
class Injection:
    """One fault of one lab, and what a run must report of it.

    ``fault`` has the syntax of ``--lab-fault``; it is empty for a hostfile without tuning
    variables. ``device`` is the one that must be named, ``peer`` the other node of a path.
    ``node`` is a folded set of nodes for a leaf, and empty for a whole fabric.
    """

    platform: str
    name: str
    fault: str
    cause: str
    node: str
    device: str = ""
    peer: str = ""

    @cached_property
    def nodes(self) -> frozenset[str]:
        """All nodes that the cause must name."""
        return frozenset({*unfolded(self.node), self.peer} - {""})

    @property
    def needs(self) -> RunNeeds:
        return needs_of([self.name])

    @property
    def verdict(self) -> str:
        if not self.cause:
            return "accepted"
        return "incomplete" if self.name in INCOMPLETE else "rejected"

    def is_named_by(self, cause: Mapping[str, Any]) -> bool:
        """Whether a cause of ``verdict.json`` is that of this fault, with its node and device."""
        where = cause["where"]
        if self.cause in DIFFERENCES and self._is_shown_by(cause, where):
            return True
        node = where["node"]
        nodes = {*(node.split("|") if "|" in node else unfolded(node)), where["peer"]} - {""}
        return (
            cause["cause"] == self.cause
            and nodes == self.nodes
            and (not self.device or self.device in where["device"].split(","))
        )

    def _is_shown_by(self, cause: Mapping[str, Any], where: Mapping[str, str]) -> bool:
        """Whether a cause without blame shows the value of this node or its device."""
        nodes = set(NodeSet(where["node"], resolver=RESOLVER_NOGROUP))
        shown = (f" on {self.node};", f"{self.node} {self.device}")  # all devices, or one of them
        is_shown = any(place in cause["says"] for place in shown)
        return cause["cause"] == self.cause and nodes > {self.node} and is_shown


def moved(injection: Injection, node: str) -> Injection:
    """The same fault of the same device on another node."""
    _, colon, device = injection.fault.partition(":")
    peer = (
        _first_other(NODES[injection.platform], node)
        if injection.name in _OF_TWO_NODES
        else injection.peer
    )
    return replace(injection, node=node, peer=peer, fault=f"{injection.name}@{node}{colon}{device}")


# Platforms where two nodes show which one is faulty; a wrong transport needs a third node.
_FEW = {"h100-tcpx": 2, "mi300x": 2}
_THREE = frozenset({"tcp-fallback", "slow-client", "storage-corruption"})


def on_few_nodes(injection: Injection) -> tuple[Injection, int]:
    """The fault in the smallest lab that can show it, and the number of nodes of that lab."""
    if injection.needs.nodes:
        return injection, injection.needs.nodes
    nodes = NODES[injection.platform]
    compared = _FEW.get(injection.platform, len(nodes)) if injection.name in _COMPARED else 2
    count = 3 if injection.name in _THREE else compared
    if injection.node in nodes[count:]:
        injection = moved(injection, nodes[count - 1])
    return injection, count


# These faults are located only by comparing the node with other nodes.
_COMPARED = frozenset(
    {"version", "vbios", "firmware", "mtu", "slow-node", "slow-nic", "slow-gpu", "slow-path",
     "slow-send", "slow-receive", "slow-xgmi", "tcp-fallback", "corrupt", "high-ber", "nic-idle",
     "tool-garbage", "tool-silent", "gdr-disabled", "gpu-missing", "cpu-model", "memory-missing",
     "nic-numa", "node-login", "name-unresolved", "retransmits", TUNING,
     "slow-client", "storage-corruption"}
)  # fmt: skip


def placed_for_matrix(injected: tuple[Injection, ...]) -> tuple[tuple[Injection, ...], int]:
    """The faults of one run with their nodes, and the number of nodes: two if that is enough."""
    one, *others = injected
    if one.needs.nodes:
        return injected, one.needs.nodes
    nodes = NODES[one.platform]
    if others or one.name in _COMPARED:
        return injected, len(nodes)
    return (moved(one, nodes[1]) if one.node in nodes[2:] else one,), 2


def injections(name: str, seed: int) -> Iterator[Injection]:
    """Each fault that applies to the platform, once, on a random node and device.

    What is drawn for one depends on no other, so that a new fault moves none.
    """
    lab = draw_inputs(name, Random())
    for fault in sorted(CAUSES):
        inputs = replace(lab, random=Random(f"{seed} {name} {fault}"))
        if fault in faults.NAMES and (found := _injection(inputs, fault)):
            yield found
    if name in _TUNED:
        yield Injection(name, TUNING, "", TUNING_CAUSE, "")


# Faults that facts show directly: two of these are both shown on any nodes.
_SHOWN_BY_FACTS = (
    "governor", "memlock", "mtu", "no-sm", "port-down", "link-rate", "pcie-width", "firmware",
    "gpu-missing", "ecc", "peermem-missing", "gdr-disabled", "unreachable",
)  # fmt: skip


def pairs_of(name: str, seed: int, count: int) -> list[tuple[Injection, Injection]]:
    """Pairs of random faults that facts show, on two nodes or on one."""
    random = Random(f"{seed} {name} pairs")
    shown = [s for s in injections(name, seed) if s.name in _SHOWN_BY_FACTS]
    drawn = [random.sample(shown, 2) for _ in range(4 * count)]
    apart = [(one, other) for one, other in drawn if _both_are_shown(one, other)]
    return apart[:count]


def _both_are_shown(one: Injection, other: Injection) -> bool:
    """Whether both are shown: unreachable nodes show no facts, and a down port hides its rate."""
    return one.node != other.node or (
        "unreachable" not in (one.name, other.name) and bool(one.device) != bool(other.device)
    )


def _injection(inputs: DrawInputs, name: str) -> Injection | None:
    inputs = in_its_lab(inputs, name)
    node = inputs.random.choice(inputs.nodes)
    choice = DEVICES.get(name, no_device)(inputs)
    peer = _peer(inputs.nodes, node) if name == PATH else ""
    return injection_at(inputs, name, node, choice, peer=peer)


def in_its_lab(inputs: DrawInputs, name: str) -> DrawInputs:
    """The inputs, with the nodes of all leaves that the fault needs."""
    leaves = leaves_of(inputs.platform.name, NEEDS[name].leaves) if name in NEEDS else {}
    nodes = tuple(node for members in leaves.values() for node in members)
    return replace(inputs, nodes=nodes or inputs.nodes)


def injection_at(
    inputs: DrawInputs, name: str, node: str, choice: Choice, *, peer: str = "", tail: str = ""
) -> Injection | None:
    """The fault at this place; ``None`` if the platform has no such part.

    ``tail`` is the severity and the timing of the fault in the syntax of ``--lab-fault``.
    """
    device, named = choice
    platform = inputs.platform.name
    needs = needs_of([name])
    fault = f"{name}@{node}" + (f":{peer or device}" if peer or device else "") + tail
    peer = _first_other(inputs.nodes, node) if name in _OF_TWO_NODES else peer
    leaves = leaves_of(platform, needs.leaves)
    if not inputs.platform.measurements.keys() >= set(needs.measurements):
        return None
    try:
        injected = platforms.describe(inputs.lab, node, inputs.nodes.index(node), seed=1)
        injected["tree"] = fabric_faults.trees(leaves, inputs.nodes).get(node, {})
        apply_faults(
            injected,
            [faults.parse(fault, inputs.nodes)],
            lambda one, to: faults.apply(one, to, inputs.lab),
        )
    except BadInput:
        return None
    if name in _WAITS_FOR_A_SERVER and len(inputs.platform.fabric_nics) > _FEW_NICS:
        return None
    if name in _EXPECTED and _EXPECTED[name] not in inputs.platform.expected:
        return None
    if platform in NIC_LOOKS_LIKE_NODE and name in _OF_NICS:
        return Injection(platform, name, fault, _OF_NICS[name], node)
    cause = _DECLARED.get((platform, name), ALL_CAUSES[name])
    if leaves:
        leaf = next(members for members in leaves.values() if node in members)
        node = "" if name in _OF_ALL_LEAVES else folded(leaf)
    return Injection(platform, name, fault, cause, node, named, peer)


_OF_ALL_LEAVES = frozenset({"oversubscribed-uplinks", "poor-scaling", "no-adaptive-routing"})


# Only documents 001 and 003 say how much bandwidth the variables give.
_TUNED = frozenset({"h200", "h100-tcpx"})
# These faults matter only if the platform file has the expectation.
_EXPECTED = {
    "clocks-unlocked": "gpu_clock", "nvme-missing": "nvme_count",
    "nvme-degraded": "nvme_health", "numad": "numa_daemons",
    "modules-by-hand": "boot_module", "boost-off": "cpu_boost", "cpu-model": "cpu_model",
    "memory-missing": "memory",
}  # fmt: skip
# With these faults each measurement waits for a server: minutes on nodes with many NICs.
_WAITS_FOR_A_SERVER = frozenset({"tool-garbage", "tool-silent"})
_FEW_NICS = 4


def _peer(nodes: Sequence[str], node: str) -> str:
    """A partner that level smoke measures the node with."""
    pairs = [pair for turn in pairing.tournament(nodes, 2) for pair in turn]
    met = [
        {pair.source, pair.target} - {node} for pair in pairs if node in (pair.source, pair.target)
    ]
    return min(name for names in met for name in names)


# The lab copies the shared value from the first other node; both nodes are named.
_OF_TWO_NODES = frozenset({"one-machine", "cloned-image", "duplicate-lid", "duplicate-gid"})


def _first_other(nodes: Sequence[str], node: str) -> str:
    return next(name for name in nodes if name != node)


# The homelab has one NIC per node, so a fault of the NIC is one of the node.
_OF_NICS = {
    "slow-nic": "slow-node", "slow-send": "slow-direction", "slow-receive": "slow-direction",
}  # fmt: skip
# Document 003 gives the NUMA node of each NIC.
_DECLARED = {("h100-tcpx", "nic-numa"): "wrong-numa-node"}
NIC_LOOKS_LIKE_NODE = frozenset({"connectx4-homelab"})

Choice = tuple[str, str]
"""The device in the syntax of the fault, and as the cause must name it."""


def no_device(_inputs: DrawInputs) -> Choice:
    return "", ""


def _nic(inputs: DrawInputs) -> Choice:
    name = inputs.random.choice(inputs.platform.fabric_nics).name
    return name, name


def any_gpu(inputs: DrawInputs) -> Choice:
    gpus = inputs.platform.gpus
    name = f"gpu{inputs.random.randrange(gpus.count)}" if gpus else ""
    return name, name


def _measured_gpu(inputs: DrawInputs) -> Choice:
    """A GPU that level smoke measures by itself; collectives show others only by node."""
    paths = inputs.platform.measurements.get("gpu_write_bandwidth")
    if paths is None:
        return any_gpu(inputs)
    chosen = pairing.choose(inputs.platform, paths.memory, paths.extents["smoke"].pairings)
    name = f"gpu{inputs.random.choice(sorted({one.gpu for one in chosen if one.gpu is not None}))}"
    return name, name


def _link(inputs: DrawInputs) -> Choice:
    one, other = inputs.random.sample(range(8), 2)
    return f"{one}>{other}", f"gpu{one}>gpu{other}"


def _bridge(inputs: DrawInputs) -> Choice:
    found = [one["address"] for one in inputs.lab["pci"] if "acs" in one]
    address = inputs.random.choice(found) if found else ""
    return address, address


def _version(inputs: DrawInputs) -> Choice:
    """A version that is compared between nodes under its own name."""
    older = inputs.lab["faults"]["version"]
    asked = {name: one.rule for name, one in inputs.platform.expected.items()}
    alike = [name for name in older if asked.get(name) == "alike" and name != "gpu_vbios"]
    name = inputs.random.choice(alike)
    return name, name


def _tool(inputs: DrawInputs) -> Choice:
    """A tool that smoke runs on the nodes themselves, without a launcher or a subnet scan."""
    made = (m for m in inputs.platform.measurements.values() if m.made_at("smoke"))
    name = inputs.random.choice(sorted({m.command for m in made if m.scope == "path"}))
    return name, name


DEVICES: Mapping[str, Callable[[DrawInputs], Choice]] = {
    **dict.fromkeys(
        ("high-ber", "port-down", "link-rate", "nic-idle", "nic-missing", "pcie-width", "no-sm",
         "mtu", "firmware", "slow-nic", "slow-send", "slow-receive", "duplicate-lid",
         "duplicate-gid", "guid-unset", "nic-numa", "pcie-errors", "link-flap", "retransmits",
         "congestion", "nic-idle-in-training"),
        _nic,
    ),
    **dict.fromkeys(
        ("gpu-missing", "ecc", "remap-failed", "ecc-off", "power-cap", "gpu-clock",
         "gpu-pcie", "gpu-link", "gpu-fabric", "gpu-partition", "vbios", "gpu-xid", "gpu-ras",
         "throttle", "ecc-growth", "gpu-link-errors", "wrong-bit", "late-rank"),
        any_gpu,
    ),
    "slow-gpu": _measured_gpu,
    "pcie-replays": lambda inputs: any_gpu(inputs) if inputs.platform.gpus else _nic(inputs),
    "version": _version,
    **dict.fromkeys(("tool-missing", "tool-silent", "tool-garbage"), _tool),
    "slow-xgmi": _link,
    "cpu-model": lambda _: ("", "cpu_model"),
    "memory-missing": lambda _: ("", "memory"),
    "acs": _bridge,
}  # fmt: skip
