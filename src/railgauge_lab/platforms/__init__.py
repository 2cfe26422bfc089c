"""The simulated platforms: one JSON file each, and the nodes that are made from it.

For example, ``describe(load("h200"), "h200-01", 0, seed=1)`` is the description of a healthy node:
its GPUs, NICs, PCI functions, tools and settings. Faults change it, and the node's simulated
executables and file tree are made from it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from railgauge.core.errors import BadInput
from railgauge_lab import identities
from railgauge_lab.sim import stored

_HERE = Path(__file__).parent
_FIGURES = _HERE.parent / "figures"
_KEPT = ("netdevs", "collectives", "interrupts", "links")
_UNTOUCHED: dict[str, Any] = {"idle_nics": [], "slow_links": {}, "plugin_loads": True}
_DEFAULTS: dict[str, Any] = {
    "devices": {},
    "netdevs": {},
    "collectives": {},
    "interrupts": [],
    "links": {},
    "perftest": {},
    "cpupower": [],
}
# Above the LIDs of the documents; no node has more NICs.
_FIRST_LID = 0x80
_LIDS_PER_NODE = 16
_ENCODING = {8.0: 128 / 130, 16.0: 128 / 130, 32.0: 128 / 130}
# A PCIe packet has 26 bytes of header and framing around its usual payload of 256 bytes.
_PCIE_PAYLOAD_SHARE = 256 / (256 + 26)


def names() -> tuple[str, ...]:
    """Return the names of the platforms that the lab can simulate, sorted."""
    return tuple(sorted(path.stem for path in _HERE.glob("*.json")))


def load(platform: str) -> dict[str, Any]:
    """Read the platform's file. Raises ``BadInput`` with the known names for an unknown one."""
    path = _HERE / f"{platform}.json"
    if platform not in names():
        raise BadInput(
            f"the lab has no platform {platform!r}", remedy=f"known: {', '.join(names())}"
        )
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return _expanded(data)


def _expanded(data: dict[str, Any]) -> dict[str, Any]:
    """Return the file's values with each device, GPU and bridge completed from ``common``."""
    common = data.get("common", {})
    devices = data.get("devices", {})
    gpus = [_own(common, "gpu", gpu) for gpu in data["gpus"]]
    bridges = [{**common["bridge"], **bridge} for bridge in data.get("bridges", ())]
    return (
        _DEFAULTS
        | data
        | {
            "devices": {name: _own(common, "device", one) for name, one in devices.items()},
            "gpus": [gpu if "links" in gpu else gpu | {"links": _links(gpu, data)} for gpu in gpus],
            "pci": data["pci"] + bridges,
        }
    )


def _own(common: dict[str, Any], kind: str, one: dict[str, Any]) -> dict[str, Any]:
    """Return ``one`` completed by a copy of the common values, so that a fault changes only it."""
    shared: dict[str, Any] = stored.copied(common.get(kind, {}))
    return shared | one


def _links(gpu: dict[str, Any], data: dict[str, Any]) -> dict[str, str]:
    """Return NIC -> distance: PIX behind the GPU's switch, NODE in its NUMA node, else SYS."""
    nics = data.get("devices", {}) | data.get("netdevs", {})
    numa = {name: nic["numa"] for name, nic in nics.items()}
    return {
        name: "PIX" if name in gpu["beside"] else "NODE" if where == gpu["numa"] else "SYS"
        for name, where in numa.items()
    }


def describe(data: dict[str, Any], name: str, index: int, seed: int) -> dict[str, Any]:
    """Return the description of a healthy node as plain data.

    ``index`` is its place among the nodes, from 0, and ``seed`` the seed of its noise. Its
    simulated executables and its file tree are made from this description.
    """
    node: dict[str, Any] = {
        key: stored.copied(data[key])
        for key in (*_KEPT, "tools", "perftest", "host", "peer_memory", "gpus", "smi", "pci_tree")
    }
    devices = {
        device: _device(values, device, data["identities"], index)
        for device, values in data["devices"].items()
    }
    # Every node has dd; the lab's own reads the kernel's log of the node. fio and gdsio measure
    # what the hostfile declares as storage.
    node["tools"]["dd"] = "kernel_log"
    node["tools"]["fio"] = "fio"
    if node["smi"].get("vendor") == "nvidia":
        node["tools"]["gdsio"] = "gdsio"
    for place, gpu in enumerate(node["gpus"]):
        gpu.update(identities.gpu(name, place, node["smi"]["vendor"]))
    return node | {
        "name": name,
        "identity": identities.machine(name),
        "seed": seed,
        "speed": 1.0,
        "slow_paths": {},
        "tree": None,
        "controls_congestion": True,
        "figures": str(_FIGURES / data["figures"]),
        "cpupower": data["cpupower"],
        "devices": devices,
        "collectives": data["collectives"] | stored.copied(_UNTOUCHED),
        "pci": _pci(data, node["gpus"], devices),
        "broken_tools": {},
        "environment": {},
        "sudo_asks": False,
        "kernel_log": {"faults": [], "before": [], "denied": False, "lost": False},
        "logs_in": True,
        "diagnostics": {},
        "processes": {},
        "ssh": {
            "listens": True,
            "stops_after": None,
            "other_host_key": False,
            "refuses": False,
            "resolves": True,
        },
    }


def _device(
    values: dict[str, Any], name: str, identities: list[dict[str, Any]], index: int
) -> dict[str, Any]:
    device: dict[str, Any] = {
        "state": "4: ACTIVE",
        "phys_state": "5: LinkUp",
        "speed": 1.0,
        "cap_gbps": None,
        **stored.copied(values),
    }
    if index < len(identities):
        device.update(identities[index].get(name, {}))
    if index > 0 and name not in (identities[index] if index < len(identities) else {}):
        _renumber(device, index, int(name.rsplit("_", 1)[-1]))
    device["gids"] = _gids(device, index)
    return device


def _renumber(device: dict[str, Any], index: int, position: int) -> None:
    """Give the device a GUID and a LID of its own, on a node that no document describes."""
    device["node_guid"] = f"{int(device['node_guid'], 16) + 0x10000 * index:016x}"
    if device["lid"]:
        device["lid"] = _FIRST_LID + _LIDS_PER_NODE * index + position


def _gids(device: dict[str, Any], index: int) -> list[dict[str, str]]:
    if "gids" not in device:
        guid = device["node_guid"]
        tail = ":".join(guid[i : i + 4] for i in range(0, 16, 4))
        return [{"gid": f"fe80:0000:0000:0000:{tail}", "ipv4": "", "version": "v1", "netdev": ""}]
    return [
        {**_moved(entry, index), "version": version, "netdev": device["netdev"]}
        for entry in device["gids"]
        for version in ("v1", "v2")
    ]


def _moved(entry: dict[str, str], index: int) -> dict[str, str]:
    """Return the GID entry for the node that is ``index`` places after the first."""
    head, _, tail = entry["gid"].rpartition(":")
    gid = f"{head}:{(int(tail, 16) + index) % 0x10000:04x}"
    if not entry["ipv4"]:
        return {"gid": gid, "ipv4": ""}
    octets = bytes.fromhex("".join(gid.split(":")[-2:]))
    return {"gid": gid, "ipv4": ".".join(str(octet) for octet in octets)}


def _pci(
    data: dict[str, Any], gpus: list[dict[str, Any]], devices: dict[str, Any]
) -> list[dict[str, Any]]:
    found = stored.copied(data["pci"])
    found += [{"address": gpu["bus"], **_numa(gpu), **gpu["pci"]} for gpu in gpus]
    found += [
        {
            "address": nic["pci"],
            "numa": nic["numa"],
            "driver": "mlx5_core",
            "link": _link(nic["pcie"]),
            "product": [nic["description"], nic["part"], identities.nic(nic["node_guid"])],
            **nic["pci_ids"],
        }
        for nic in devices.values()
    ]
    found += [
        {"address": nic["pci"], "numa": nic["numa"], "driver": nic["driver"], **nic["pci_ids"]}
        for nic in data["netdevs"].values()
        if nic["pci"]
    ]
    return sorted(found, key=lambda function: str(function["address"]))


def _numa(gpu: dict[str, Any]) -> dict[str, Any]:
    return {"numa": gpu["numa"]} if "numa" in gpu else {}


def _link(pcie: dict[str, Any]) -> list[object]:
    """Return speed, width, maximum speed and maximum width, as lspci writes them."""
    speed = f"{pcie['gt_s']:g}GT/s"
    return [speed, pcie["width"], speed, pcie["max_width"]]


def narrow(node: dict[str, Any], device: str) -> None:
    """Train the slot with the most lanes that do not carry the rate, and cap the bandwidth."""
    nic = node["devices"][device]
    pcie = nic["pcie"]
    rate_gbps = float(nic["rate"].split()[0])
    while _payload_gbps(pcie) > rate_gbps:
        pcie["width"] //= 2
    nic["cap_gbps"] = min(_payload_gbps(pcie), nic["cap_gbps"] or rate_gbps)
    for function in node["pci"]:
        if function["address"] == nic["pci"]:
            function["link"] = _link(pcie)


def _payload_gbps(pcie: dict[str, Any]) -> float:
    lanes: int = pcie["width"]
    speed: float = pcie["gt_s"]
    return speed * _ENCODING[speed] * lanes * _PCIE_PAYLOAD_SHARE
