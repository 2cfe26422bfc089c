"""The simulated platforms: one JSON file each, and how a node is made from it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from railgauge.core.errors import BadInput

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
_ENCODING = {8.0: 128 / 130, 16.0: 128 / 130, 32.0: 128 / 130}
# 26 bytes of header and framing around the usual 256 bytes of payload of a PCIe packet.
_PCIE_PAYLOAD_SHARE = 256 / (256 + 26)


def names() -> tuple[str, ...]:
    """The platforms that the lab can play."""
    return tuple(sorted(path.stem for path in _HERE.glob("*.json")))


def load(platform: str) -> dict[str, Any]:
    """The platform's file. Raises ``BadInput`` naming the platforms that there are."""
    path = _HERE / f"{platform}.json"
    if platform not in names():
        raise BadInput(
            f"the lab has no platform {platform!r}", remedy=f"it has: {', '.join(names())}"
        )
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return _expanded(data)


def _expanded(data: dict[str, Any]) -> dict[str, Any]:
    """With what the file says once for all devices, GPUs and bridges said for each of them."""
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
    """A copy: what is wrong with one of them is nothing of the others'."""
    shared: dict[str, Any] = copy.deepcopy(common.get(kind, {}))
    return shared | one


def _links(gpu: dict[str, Any], data: dict[str, Any]) -> dict[str, str]:
    """PIX to the NIC of its own switch, NODE within its NUMA node, SYS across."""
    nics = data.get("devices", {}) | data.get("netdevs", {})
    numa = {name: nic["numa"] for name, nic in nics.items()}
    return {
        name: "PIX" if name in gpu["beside"] else "NODE" if where == gpu["numa"] else "SYS"
        for name, where in numa.items()
    }


def describe(data: dict[str, Any], name: str, index: int, seed: int) -> dict[str, Any]:
    """A healthy node, as plain data that its simulated executables and its file tree come from."""
    node: dict[str, Any] = {
        key: copy.deepcopy(data[key])
        for key in (*_KEPT, "tools", "perftest", "host", "peer_memory", "gpus", "smi", "pci_tree")
    }
    devices = {
        device: _device(values, device, data["identities"], index)
        for device, values in data["devices"].items()
    }
    return node | {
        "name": name,
        "seed": seed,
        "speed": 1.0,
        "slow_paths": {},
        "figures": str(_FIGURES / data["figures"]),
        "cpupower": data["cpupower"],
        "devices": devices,
        "collectives": data["collectives"] | copy.deepcopy(_UNTOUCHED),
        "pci": _pci(data, node["gpus"], devices),
        "broken_tools": {},
        "diagnostics": {},
        "processes": {},
        "ssh": {"listens": True, "stops_after": None, "other_host_key": False, "refuses": False},
    }


def _device(
    values: dict[str, Any], name: str, identities: list[dict[str, Any]], index: int
) -> dict[str, Any]:
    device: dict[str, Any] = {
        "state": "4: ACTIVE",
        "phys_state": "5: LinkUp",
        "speed": 1.0,
        "cap_gbps": None,
        **copy.deepcopy(values),
    }
    if index < len(identities):
        device.update(identities[index].get(name, {}))
    if index > 0 and name not in (identities[index] if index < len(identities) else {}):
        _renumber(device, index, int(name.rsplit("_", 1)[-1]))
    device["gids"] = _gids(device, index)
    return device


def _renumber(device: dict[str, Any], index: int, position: int) -> None:
    """GUID and LID for a node that no document describes; unlike on every node."""
    device["node_guid"] = f"{int(device['node_guid'], 16) + 0x10000 * index:016x}"
    if device["lid"]:
        device["lid"] = 0x20 + 4 * index + position


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
    """The same kind of GID ``index`` nodes further on."""
    head, _, tail = entry["gid"].rpartition(":")
    gid = f"{head}:{(int(tail, 16) + index) % 0x10000:04x}"
    if not entry["ipv4"]:
        return {"gid": gid, "ipv4": ""}
    octets = bytes.fromhex("".join(gid.split(":")[-2:]))
    return {"gid": gid, "ipv4": ".".join(str(octet) for octet in octets)}


def _pci(
    data: dict[str, Any], gpus: list[dict[str, Any]], devices: dict[str, Any]
) -> list[dict[str, Any]]:
    found = copy.deepcopy(data["pci"])
    found += [{"address": gpu["bus"], **_numa(gpu), **gpu["pci"]} for gpu in gpus]
    found += [
        {
            "address": nic["pci"],
            "numa": nic["numa"],
            "driver": "mlx5_core",
            "link": _link(nic["pcie"]),
            "product": [nic["description"], nic["part"]],
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
    """Speed, width, greatest speed, greatest width, as lspci writes them."""
    speed = f"{pcie['gt_s']:g}GT/s"
    return [speed, pcie["width"], speed, pcie["max_width"]]


def narrow(node: dict[str, Any], device: str) -> None:
    """Train the NIC's slot at half its lanes, and cap its bandwidth by the arithmetic of PCIe."""
    nic = node["devices"][device]
    pcie = nic["pcie"]
    pcie["width"] //= 2
    gbps = pcie["gt_s"] * _ENCODING[pcie["gt_s"]] * pcie["width"] * _PCIE_PAYLOAD_SHARE
    nic["cap_gbps"] = min(gbps, nic["cap_gbps"] or gbps)
    for function in node["pci"]:
        if function["address"] == nic["pci"]:
            function["link"] = _link(pcie)
