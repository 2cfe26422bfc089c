"""Which way the payload of a collective takes, and how much of the healthy bandwidth is left."""

from __future__ import annotations

from . import figures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Path = dict[str, Any]

_GBPS = {"Gb/s": 1.0, "MiB/s": 2.0**20 * 8 / 1e9}
_LARGEST = 1 << 23
_DISTANCES = ["PIX", "PXB", "PHB", "NODE", "SYS"]


def path(nodes: list[Node], environment: dict[str, str], devices: dict[str, list[int]]) -> Path:
    """``network`` (empty in one node), ``gdr``, ``nics`` by node, and the ``share`` that is left.

    ``devices`` are the GPUs in use by node: the payload takes the NICs nearest to them. ``share``
    is what missing, idle or slow NICs leave of the bandwidth over the network.
    """
    library = nodes[0]["collectives"]
    prefix = library["prefix"]
    share = min(node["speed"] for node in nodes)
    if len(nodes) == 1:
        return {"network": "", "gdr": False, "nics": {}, "share": share}
    nics = {
        node["name"]: _nearest(node, used_nics(node, environment), devices[node["name"]])
        for node in nodes
    }
    network = _network(nodes, nics, environment, prefix)
    if network != "Socket":
        share *= min(_nic_share(node, nics[node["name"]], devices[node["name"]]) for node in nodes)
    return {
        "network": network,
        "gdr": network != "Socket" and _direct(nodes, environment, prefix),
        "nics": nics,
        "share": share,
    }


def used_nics(node: Node, environment: dict[str, str]) -> list[str]:
    """The NICs that the library spreads its channels over, in their own order."""
    library = node["collectives"]
    wanted = [name for name in library["fabric"] if name not in library["idle_nics"]]
    chosen = environment.get(library["nic_variable"], "")
    return [name for name in wanted if _up(node, name) and _chosen(name, chosen)]


def _up(node: Node, name: str) -> bool:
    device = node["devices"].get(name) or node["netdevs"].get(name)
    return bool(device) and device["state"] in ("4: ACTIVE", "up")


def _chosen(name: str, text: str) -> bool:
    """``a,b`` are prefixes, ``=a`` is exact and ``^a`` shuts out, as the library reads it."""
    if not text:
        return True
    exact, negated = "=" in text[:2], text.startswith("^")
    names = [one.partition(":")[0] for one in text.lstrip("^=").split(",") if one]
    hit = any(name == one if exact else name.startswith(one) for one in names)
    return hit != negated


def _network(
    nodes: list[Node], nics: dict[str, list[str]], environment: dict[str, str], prefix: str
) -> str:
    refused = environment.get(f"{prefix}_IB_DISABLE") == "1"
    forced = environment.get(f"{prefix}_NET", "").lower() == "socket"
    lost = any(not nics[node["name"]] for node in nodes)
    broken = any(not node["collectives"]["plugin_loads"] for node in nodes)
    if refused or forced or lost or broken:
        return "Socket"
    return str(nodes[0]["collectives"]["network"])


def _direct(nodes: list[Node], environment: dict[str, str], prefix: str) -> bool:
    level = environment.get(f"{prefix}_NET_GDR_LEVEL", "")
    return level not in ("LOC", "0") and all(_has_peer_memory(node) for node in nodes)


def _has_peer_memory(node: Node) -> bool:
    needed = node["collectives"]["peer_memory"]
    modules, clients = node["host"]["modules"], node["peer_memory"]
    return (not needed["module"] or needed["module"] in modules) and (
        not needed["client"] or needed["client"] in clients
    )


def _nearest(node: Node, nics: list[str], gpus: list[int]) -> list[str]:
    """Every GPU's nearest NICs, in the order of the fabric."""
    found = set()
    for gpu in gpus:
        links = node["gpus"][gpu]["links"]
        best = min((_DISTANCES.index(links[nic]) for nic in nics), default=0)
        found |= {nic for nic in nics if _DISTANCES.index(links[nic]) == best}
    return [nic for nic in nics if nic in found]


def _nic_share(node: Node, used: list[str], gpus: list[int]) -> float:
    """All NICs carry the same part, so the slowest of them sets the pace of all."""
    slowest = min(_nic_speed(node, name) for name in used)
    expected = _nearest(node, node["collectives"]["fabric"], gpus)
    return slowest * min(1.0, len(used) / len(expected))


def _nic_speed(node: Node, name: str) -> float:
    device = node["devices"].get(name)
    if device is None:
        return float(node["netdevs"][name]["speed"])
    ceiling = device["cap_gbps"]
    return float(device["speed"] * (min(1.0, ceiling / _line_gbps(node)) if ceiling else 1.0))


def _line_gbps(node: Node) -> float:
    """What a healthy NIC of the platform reaches with host memory."""
    loaded = figures.load(node["figures"])
    return figures.plateau(node, _LARGEST) * _GBPS[loaded["unit"]]
