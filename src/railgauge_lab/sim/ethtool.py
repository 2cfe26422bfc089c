"""``ethtool`` on a network device: ``-i``, ``-S`` and the plain settings."""

from __future__ import annotations

import os
import sys

from .counters import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]

SHOWN = ("rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_dropped", "tx_dropped")
# What a device without counters of its own shows.
ABSENT = ("rx_discards_phy", "tx_discards_phy", "rx_out_of_buffer")
_NO_DEVICE = 71
_VERSION = {"gve": "1.4.3", "mlx5_core": "24.10-1.1.4", "hv_netvsc": "5.15.0"}


def run(_tool: str, arguments: list[str], node: Node) -> int:
    """Return exit code 0, or 71 for an unknown device, as the real tool does."""
    words = [word for word in arguments if not word.startswith("-")]
    flags = [word for word in arguments if word.startswith("-")]
    name = words[0] if words else ""
    known = drivers(node)
    if name not in known:
        sys.stderr.write("Cannot get driver information: No such device\n")
        return _NO_DEVICE
    if "-i" in flags or "--driver" in flags:
        print("\n".join(_driver(node, name, known[name])))
    elif "-S" in flags or "--statistics" in flags:
        print("\n".join(_statistics(node, name)))
    else:
        print("\n".join(_settings(node, name)))
    return 0


def drivers(node: Node) -> dict[str, str]:
    found = {nic["netdev"]: "mlx5_core" for nic in node["devices"].values()}
    return found | {name: netdev["driver"] for name, netdev in node["netdevs"].items()}


def _pci(node: Node, name: str) -> tuple[str, str]:
    if name in node["netdevs"]:
        netdev = node["netdevs"][name]
        return netdev["pci"], netdev.get("firmware", "N/A")
    nic = next(one for one in node["devices"].values() if one["netdev"] == name)
    return nic["pci"], f"{nic['firmware']} ({nic['board_id']})"


def _driver(node: Node, name: str, driver: str) -> list[str]:
    pci, firmware = _pci(node, name)
    return [
        f"driver: {driver}",
        f"version: {_VERSION.get(driver, '1.0')}",
        f"firmware-version: {firmware}",
        "expansion-rom-version: ",
        f"bus-info: {pci}",
        "supports-statistics: yes",
        "supports-test: no",
        "supports-eeprom-access: no",
        "supports-register-dump: no",
        "supports-priv-flags: yes",
    ]


def _statistics(node: Node, name: str) -> list[str]:
    folder = f"{node['root']}/sys/class/net/{name}/statistics"
    counts = {key: value(f"{folder}/{key}") for key in SHOWN}
    own = f"{os.path.dirname(node['root'])}/ethtool/{name}"  # noqa: PTH120 - see main.py
    if os.path.isdir(own):  # noqa: PTH112 - see main.py
        counts |= {key: value(f"{own}/{key}") for key in sorted(os.listdir(own))}  # noqa: PTH208
    else:
        counts |= dict.fromkeys(ABSENT, 0)
    return ["NIC statistics:", *(f"     {key}: {count}" for key, count in counts.items())]


def _settings(node: Node, name: str) -> list[str]:
    netdev = node["netdevs"].get(name)
    speed = netdev["speed_mbps"] if netdev else 400000
    up = netdev["state"] == "up" if netdev else True
    return [
        f"Settings for {name}:",
        f"\tSpeed: {speed if up else 'Unknown!'}{'Mb/s' if up else ''}",
        "\tDuplex: Full",
        "\tAuto-negotiation: off",
        f"\tLink detected: {'yes' if up else 'no'}",
    ]
