"""Which network and NICs a collective uses, and which share of the healthy bandwidth is left."""

from __future__ import annotations

from . import algorithms, directions, figures, physics, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Path = dict[str, Any]

_GBPS = {"Gb/s": 1.0, "MiB/s": 2.0**20 * 8 / 1e9}
_LARGEST = 1 << 23
_DISTANCES = ["PIX", "PXB", "PHB", "NODE", "SYS"]


def path(
    nodes: list[Node], environment: dict[str, str], devices: dict[str, list[int]], op: str = ""
) -> Path:
    """Return the path of the payload as a dictionary with these keys.

    ``network``: the network plugin; empty within one node. ``gdr``: whether GPUDirect RDMA is used.
    ``nics``: node -> the NICs nearest to its GPUs, which carry the payload. ``ways`` (between nodes
    only): node -> the NICs that send (``xmit``) and receive (``rcv``). ``share``: the share of the
    healthy bandwidth that slow nodes and GPUs and missing, idle or slow NICs leave. ``devices`` are
    the GPUs in use by node, in the order of their ranks.
    """
    library = nodes[0]["collectives"]
    prefix = library["prefix"]
    if op == "sendrecv" and len(nodes) > 1:
        # Each GPU sends to the next rank; a node's last GPU sends to the next node's first GPU.
        devices = {name: [gpus[0], gpus[-1]] for name, gpus in devices.items()}
    share = gpus_share(nodes, devices)
    if len(nodes) == 1:
        return {"network": "", "gdr": False, "nics": {}, "share": share}
    used = {node["name"]: used_nics(node, environment) for node in nodes}
    nics = {
        node["name"]: _nearest(node, used[node["name"]], devices[node["name"]]) for node in nodes
    }
    network = _network(nodes, nics, environment, prefix)
    between = tree.share(nodes, op, algorithms.chosen(library, environment))
    shares = [share, min(figures.route_share(*hop) for hop in _ring(nodes)), between]
    if network != "Socket":
        over = (_nic_share(node, nics[node["name"]], devices[node["name"]]) for node in nodes)
        shares.append(min(over))
    share = physics.together(nodes[0], f"{len(nodes)} nodes", *shares)
    return {
        "network": network,
        "gdr": network != "Socket" and _direct(nodes, environment, prefix),
        "nics": nics,
        "ways": {
            node["name"]: _ways(op, node, used[node["name"]], devices[node["name"]], place)
            for node, place in zip(nodes, _places(len(nodes)))  # noqa: B905
        },
        "share": share,
    }


def gpus_share(nodes: list[Node], devices: dict[str, list[int]]) -> float:
    """Return the share of the bandwidth inside the nodes that slow nodes and GPUs leave."""
    return float(min(node["speed"] * _gpus_share(node, devices[node["name"]]) for node in nodes))


def _places(count: int) -> list[str]:
    return ["first", *["between"] * (count - 2), "last"]


def _ways(
    op: str, node: Node, nics: list[str], gpus: list[int], place: str
) -> dict[str, list[str]]:
    """Return the NICs that send (``xmit``) and receive (``rcv``).

    ``place`` is the node's place among the nodes: ``first``, ``between`` or ``last``. A broadcast
    is a chain from the first node, which does not receive, to the last, which does not send. A
    reduce goes from the last node to the first.
    """
    if op == "sendrecv":
        ends = {"xmit": gpus[-1:], "rcv": gpus[:1]}
        return {way: _nearest(node, nics, end) for way, end in ends.items()}
    without = {"broadcast": ("last", "first"), "reduce": ("first", "last")}.get(op, ("", ""))
    near = _nearest(node, nics, gpus)
    return {
        way: [] if place == silent else near
        for way, silent in zip(("xmit", "rcv"), without)  # noqa: B905
    }


def _gpus_share(node: Node, gpus: list[int]) -> float:
    """Return the share of the slowest GPU, for which all ranks wait."""
    return min(figures.gpu_share(node, gpu) for gpu in gpus)


def _ring(nodes: list[Node]) -> list[tuple[Node, Node]]:
    """Return the hops of a ring: from node to node in the order of the ranks, then to the first."""
    return list(zip(nodes, [*nodes[1:], nodes[0]]))  # noqa: B905


def used_nics(node: Node, environment: dict[str, str]) -> list[str]:
    """Return the NICs over which the library spreads its channels, in the order of the fabric."""
    library = node["collectives"]
    wanted = [name for name in library["fabric"] if name not in library["idle_nics"]]
    chosen = environment.get(library["nic_variable"], "")
    return [name for name in wanted if _up(node, name) and _chosen(name, chosen)]


def _up(node: Node, name: str) -> bool:
    device = node["devices"].get(name) or node["netdevs"].get(name)
    return bool(device) and device["state"] in ("4: ACTIVE", "up")


def _chosen(name: str, text: str) -> bool:
    """Tell whether the library's NIC filter selects ``name``.

    ``a,b`` selects names by prefix, ``=a`` selects one exact name, ``^a`` excludes.
    """
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
    """Return the nearest NICs of every GPU, in the order of ``nics``."""
    found = set()
    for gpu in gpus:
        links = node["gpus"][gpu]["links"]
        best = min((_DISTANCES.index(links[nic]) for nic in nics), default=0)
        found |= {nic for nic in nics if _DISTANCES.index(links[nic]) == best}
    return [nic for nic in nics if nic in found]


def _nic_share(node: Node, used: list[str], gpus: list[int]) -> float:
    """Return the share that is left; all NICs carry equal parts, so the slowest limits them all."""
    slowest = min(_nic_speed(node, name) * _worst_way(node, name, used, gpus) for name in used)
    expected = _nearest(node, node["collectives"]["fabric"], gpus)
    return slowest * min(1.0, len(used) / len(expected))


def _worst_way(node: Node, name: str, used: list[str], gpus: list[int]) -> float:
    """Return the share of the slowest path between the NIC and the GPUs that use it."""
    ways = [node["gpus"][gpu] for gpu in gpus if name in _nearest(node, used, [gpu])]
    return min((float(gpu.get("slow_to", {}).get(name, 1.0)) for gpu in ways), default=1.0)


def _nic_speed(node: Node, name: str) -> float:
    device = node["devices"].get(name)
    if device is None:
        netdev = node["netdevs"][name]
        return float(physics.nic_speed(node, netdev) * netdev.get("wire_share", 1.0)) * _slower_way(
            netdev
        )
    ceiling = device["cap_gbps"]
    speed = physics.nic_speed(node, device) * device.get("wire_share", 1.0)
    speed = float(speed) * _slower_way(device)
    return min(speed, ceiling / _line_gbps(node)) if ceiling else speed


def _slower_way(nic: dict[str, Any]) -> float:
    """Collectives move data in both directions at once, so the slower one limits them."""
    return min(directions.shares(nic).values())


def _line_gbps(node: Node) -> float:
    """Return what a healthy NIC of the platform reaches with host memory, in Gb/s."""
    loaded = figures.load(node["figures"])
    return figures.plateau(node, _LARGEST) * _GBPS[loaded["unit"]]
