"""Scripts of the NIC vendor's driver: ibdev2netdev, show_gids, show_counters, ofed_info."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]

_DESCRIPTION_WIDTH = 182


def run(tool: str, arguments: list[str], node: Node) -> int:
    """Return exit code 0, or 1 if ``show_counters`` gets an unknown device."""
    if tool == "ofed_info":
        print(f"{node['host']['ofed']}:")
        return 0
    if tool == "ibdev2netdev":
        return _netdevs(node, verbose="-v" in arguments)
    if tool == "show_gids":
        return _gids(node, arguments)
    return _counters(node, arguments)


def _netdevs(node: Node, *, verbose: bool) -> int:
    for name, device in node["devices"].items():
        state = device["state"].split(": ")[1]
        updown = "Up" if state == "ACTIVE" else "Down"
        target = f"==> {device['netdev']} ({updown})"
        if not verbose:
            print(f"{name} port 1 {target}")
            continue
        part = f"({device['hca_type']} - {device['part']})"
        text = f"{device['description']:<{_DESCRIPTION_WIDTH}}"
        start = f"{device['pci']} {name} {part} {text}"
        print(f"{start} fw {device['firmware']} port 1 ({state:<6}) {target}")
    return 0


def _gids(node: Node, arguments: list[str]) -> int:
    print("DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV")
    print("---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---")
    count = 0
    for name, device in node["devices"].items():
        if arguments and name not in arguments:
            continue
        for index, entry in enumerate(device["gids"]):
            count += 1
            address = f"{entry['ipv4']:<13}\t" if entry["ipv4"] else "\t\t"
            row = f"{name}\t1\t{index}\t{entry['gid']}\t{address}{entry['version']}"
            print(f"{row}\t{entry['netdev']}" if entry["netdev"] else row)
    print(f"n_gids_found={count}")
    return 0


def _counters(node: Node, arguments: list[str]) -> int:
    folder = f"{node['root']}/sys/class/infiniband/{arguments[0] if arguments else ''}/ports"
    if not arguments or not os.path.isdir(folder):  # noqa: PTH112 - see main.py
        sys.stderr.write(f"{arguments[0] if arguments else 'device'}: no such device\n")
        return 1
    for port in sorted(os.listdir(folder)):  # noqa: PTH208 - see main.py
        print(f"Port {port} hw counters:")
        for name in sorted(os.listdir(f"{folder}/{port}/hw_counters")):  # noqa: PTH208
            with open(f"{folder}/{port}/hw_counters/{name}", encoding="ascii") as file:  # noqa: PTH123
                print(f"{name}: {file.read().strip()}")
    return 0
