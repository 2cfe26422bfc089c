"""A subnet as cables between ports, and the leaf switches to which its hosts connect. Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from railgauge.subnet.netdiscover import DiscoveredPort, Discovery, parse_ibnetdiscover

_SWITCH = "SW"
_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")
# Descriptions that firmware sets: of an adapter that its host has not named, and of the adapter
# inside a switch.
_NOT_NAMED = ("Mellanox Technologies", "Aggregation Node")
_KINDS = {"S": "SW", "H": "CA", "R": "RT"}


@dataclass(frozen=True, slots=True)
class FabricNode:
    """A switch (``SW``), a channel adapter (``CA``) or a router (``RT``).

    ``description`` is its node description; ``name`` is short, unique in the subnet and valid in
    test ids: ``leaf01`` for ``MF0;leaf01:MQM9701/U1``.
    """

    guid: int
    kind: str
    description: str
    name: str

    @property
    def host(self) -> str:
        """The host's name in ``node01 mlx5_0``; empty for a switch, or if the host set none."""
        words = self.description.split() if self.kind == "CA" else []
        if not words or any(sign in self.description for sign in _NOT_NAMED):
            return ""
        return words[0].partition(".")[0]

    @property
    def device(self) -> str:
        """The adapter's name in ``node01 mlx5_0``; empty for a switch."""
        return self.description.partition(" ")[2].strip() if self.kind == "CA" else ""


@dataclass(frozen=True, slots=True, order=True)
class End:
    """One port of one node."""

    guid: int
    port: int


@dataclass(frozen=True, slots=True)
class Cable:
    """A connection of two ports; ``speed`` is in the notation of ``ibnetdiscover``: ``4xHDR``.

    ``near`` is the port of the switch to which the cable is assigned (its owner).
    """

    near: End
    far: End
    speed: str


@dataclass(frozen=True, slots=True)
class Topology:
    """Nodes by GUID, and every cable once. ``problem`` is why the dump cannot be complete.

    ``by_owner`` holds the cables by the name of the switch to which they are assigned, ``joined``
    the peer of every port that has one.
    """

    nodes: Mapping[int, FabricNode]
    cables: tuple[Cable, ...]
    problem: str = ""
    by_owner: Mapping[str, tuple[Cable, ...]] = field(default_factory=dict)
    joined: Mapping[End, End] = field(default_factory=dict)

    @property
    def owners(self) -> tuple[str, ...]:
        """The names of the switches that own cables. Each cable has one owner."""
        return tuple(self.by_owner)

    def label(self, end: End) -> str:
        """Return a readable name of a port: ``leaf01 port 3``, ``node01 mlx5_0``."""
        node = self.nodes.get(end.guid)
        if node is None:
            return f"{end.guid:#x} port {end.port}"
        if node.kind == "CA":
            return node.description + (f" port {end.port}" if end.port > 1 else "")
        return f"{node.name} port {end.port}"

    def part(self, end: End) -> tuple[str, str]:
        """Return the node and the device of a port, as used in causes."""
        node = self.nodes.get(end.guid)
        if node is None:
            return f"{end.guid:x}", f"port {end.port}"
        if node.kind == "CA":
            device = node.device if end.port == 1 else f"{node.device} port {end.port}".strip()
            name = _UNFIT.sub("-", node.host) or node.name
            return name, device or f"port {end.port}"
        return node.name, f"port {end.port}"

    def key_of(self, end: End) -> int | str:
        """Return the key of the port's node in the tools' output: the GUID of a switch, the
        description of an adapter."""
        node = self.nodes[end.guid]
        return node.description if node.kind == "CA" else end.guid

    def hosts(self) -> frozenset[str]:
        """Return the host names in the descriptions of all channel adapters."""
        return frozenset(node.host for node in self.nodes.values() if node.host)


@lru_cache(maxsize=4)
def topology(text: str) -> Topology:
    """Return the subnet in a dump of ``ibnetdiscover``. Never raises: errors go to ``problem``."""
    return _topology(parse_ibnetdiscover(text))


def _topology(found: Discovery) -> Topology:
    nodes = _named(_nodes(found))
    speeds: dict[frozenset[End], str] = {}
    for port in found.ports:
        if port.peer_guid and port.peer_port is not None:
            far = End(_guid(port.peer_guid), port.peer_port)
            speeds.setdefault(frozenset((End(_guid(port.guid), port.port), far)), port.speed)
    cables = sorted(
        (_cable(ends, speed, nodes) for ends, speed in speeds.items() if len(ends) > 1),
        key=lambda cable: cable.near,
    )
    by_owner: dict[str, list[Cable]] = defaultdict(list)
    for cable in cables:
        by_owner[nodes[cable.near.guid].name].append(cable)
    owners = {name: tuple(by_owner[name]) for name in sorted(by_owner)}
    joined = {end: far for c in cables for end, far in ((c.near, c.far), (c.far, c.near))}
    return Topology(nodes, tuple(cables), found.problem or _gap(found), owners, joined)


def _gap(found: Discovery) -> str:
    """Return the problem of a dump without a record of every node that peers name, else ``""``."""
    named = {port.peer_guid: port.peer for port in found.ports if port.peer_guid}
    absent = sorted(set(named) - {*found.nodes, *(port.guid for port in found.ports)})
    if not absent:
        return ""
    return f"{len(absent)} nodes have no record of their own, first {named[absent[0]]}"


def _cable(ends: Iterable[End], speed: str, nodes: Mapping[int, FabricNode]) -> Cable:
    """Return a cable, assigned to its switch; to the first by name if both ends are switches."""

    def rank(end: End) -> tuple[bool, str, End]:
        return nodes[end.guid].kind != _SWITCH, nodes[end.guid].name, end

    near, far = sorted(ends, key=rank)
    return Cable(near, far, speed)


def _nodes(found: Discovery) -> dict[int, tuple[str, str]]:
    """Return kind and description of every node, also of those that only a peer's record names."""
    seen: dict[int, tuple[str, str]] = {}
    for port in found.ports:
        seen[_guid(port.guid)] = (port.kind, port.node)
    for port in found.ports:
        if port.peer_guid:
            seen.setdefault(_guid(port.peer_guid), (_peer_kind(port), port.peer))
    for guid, description in found.nodes.items():
        seen.setdefault(_guid(guid), (_KINDS.get(guid[0], "CA"), description))
    return seen


def _peer_kind(port: DiscoveredPort) -> str:
    """Return the peer's kind from the letter of its GUID.

    Rows of ``-p`` have no letter and need none: there every node has rows of its own.
    """
    return _KINDS.get(port.peer_guid[0], "CA")


def _guid(text: str) -> int:
    """Return the GUID in ``S-0000000000100001`` or ``0x100001``."""
    return int(text.rpartition("-")[2].removeprefix("0x"), 16)


def _named(seen: Mapping[int, tuple[str, str]]) -> dict[int, FabricNode]:
    """Return the nodes with unique names; a GUID is added to names that several nodes share."""
    names = {guid: _short(description) for guid, (_, description) in seen.items()}
    count = Counter(names.values())
    return {
        guid: FabricNode(guid, kind, description, _unique(names[guid], guid, count))
        for guid, (kind, description) in sorted(seen.items())
    }


def _unique(name: str, guid: int, count: Mapping[str, int]) -> str:
    return name if name and count[name] == 1 else f"{name or 'unnamed'}-{guid:x}"


def _short(description: str) -> str:
    """Return ``leaf01`` for ``MF0;leaf01:MQM9701/U1``, ``sw01-L02`` for
    ``MF0;sw01:MCS8500/L02/U1``."""
    text = description.removeprefix("MF0;")
    name, colon, model = text.partition(":")
    boards = "/".join(model.split("/")[1:]).removesuffix("/U1").removesuffix("U1")
    return _UNFIT.sub("-", f"{name}/{boards}" if colon and boards else name).strip("-._")


# --- leaves ---


def leaf_groups(subnet: Topology, nodes: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return groups of nodes that connect to the same leaf switches, named after the first of them.

    If a node has one NIC, its group is that of its leaf. If each NIC of a node connects to another
    leaf (rails), a group has the nodes with the same set of leaves. Groups never overlap.
    ``nodes`` are host names; a node that the subnet does not have is in no group.
    """
    leaves = _leaves_by_host(subnet)
    shared: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for node in nodes:
        if found := leaves.get(node.partition(".")[0]):
            shared[tuple(sorted(found))].append(node)
    return {
        name: tuple(members)
        for name, members in zip(_group_names(shared), shared.values(), strict=True)
    }


def _group_names(shared: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yield the first leaf of each group; all its leaves if that one is first in several."""
    every = list(shared)
    first = Counter(leaves[0] for leaves in every)
    for leaves in every:
        yield leaves[0] if first[leaves[0]] == 1 else "_".join(leaves)


def _leaves_by_host(subnet: Topology) -> dict[str, set[str]]:
    leaves: dict[str, set[str]] = defaultdict(set)
    for cable in subnet.cables:
        near, far = subnet.nodes[cable.near.guid], subnet.nodes[cable.far.guid]
        if near.kind == _SWITCH and far.host:
            leaves[far.host].add(near.name)
    return leaves
