"""``ibv_devices``, ``ibv_devinfo`` and ``ibstat``."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Device = dict[str, Any]

_MTU_CODE = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}
_IBSTAT_STATE = {"DOWN": "Down", "INIT": "Initializing", "ARMED": "Armed", "ACTIVE": "Active"}


def run(tool: str, arguments: list[str], node: Node) -> int:
    """Return the exit code of the real tool; for ``ibstat`` on a node without devices it is 0."""
    code: int = {"ibv_devices": _devices, "ibv_devinfo": _devinfo, "ibstat": _ibstat}[tool](
        arguments, node
    )
    return code


def _devices(_arguments: list[str], node: Node) -> int:
    print(f"    {'device':<16}\t   node GUID")
    print(f"    {'------':<16}\t----------------")
    for name, device in node["devices"].items():
        print(f"    {name:<16}\t{device['node_guid']}")
    return 0


def _devinfo(arguments: list[str], node: Node) -> int:
    wanted = _value_of(arguments, ("-d", "--ib-dev"))
    if wanted and wanted not in node["devices"]:
        sys.stderr.write(f"IB device '{wanted}' wasn't found\n")
        return 255
    if not node["devices"]:
        sys.stderr.write("No IB devices found\n")
        return 255
    if "-l" in arguments or "--list" in arguments:
        count = len(node["devices"])
        print(f"{count} HCA{'s' if count != 1 else ''} found:")
        print("\n".join(f"\t{name}" for name in node["devices"]) + "\n")
        return 0
    for name in [wanted] if wanted else node["devices"]:
        print("\n".join(_device_lines(name, node["devices"][name])) + "\n")
    return 0


def _value_of(arguments: list[str], flags: tuple[str, ...]) -> str:
    for flag, value in zip(arguments, arguments[1:]):  # noqa: B905, RUF007 - adjacent words
        if flag in flags:
            return value
    return ""


def _device_lines(name: str, device: Device) -> list[str]:
    number, _, state = device["state"].partition(": ")
    return [
        f"hca_id:\t{name}",
        "\ttransport:\t\t\tInfiniBand (0)",
        f"\tfw_ver:\t\t\t\t{device['firmware']}",
        f"\tnode_guid:\t\t\t{_colons(device['node_guid'])}",
        f"\tsys_image_guid:\t\t\t{_colons(device['node_guid'])}",
        "\tvendor_id:\t\t\t0x02c9",
        f"\tvendor_part_id:\t\t\t{device['part_id']}",
        "\thw_ver:\t\t\t\t0x0",
        f"\tboard_id:\t\t\t{device['board_id']}",
        "\tphys_port_cnt:\t\t\t1",
        "\t\tport:\t1",
        f"\t\t\tstate:\t\t\tPORT_{state} ({number})",
        "\t\t\tmax_mtu:\t\t4096 (5)",
        f"\t\t\tactive_mtu:\t\t{device['mtu']} ({_MTU_CODE[device['mtu']]})",
        f"\t\t\tsm_lid:\t\t\t{device['sm_lid']}",
        f"\t\t\tport_lid:\t\t{device['lid']}",
        "\t\t\tport_lmc:\t\t0x00",
        f"\t\t\tlink_layer:\t\t{device['link_layer']}",
    ]


def _colons(guid: str) -> str:
    return ":".join(guid[i : i + 4] for i in range(0, 16, 4))


def _ibstat(arguments: list[str], node: Node) -> int:
    if "-l" in arguments or "--list_of_cas" in arguments:
        print("".join(f"{name}\n" for name in node["devices"]), end="")
        return 0
    words = [word for word in arguments if not word.startswith("-")]
    if words and words[0] not in node["devices"]:
        sys.stderr.write(
            f"ibpanic: [{os.getpid()}] main: '{words[0]}' IB device can't be found: "
            "No such file or directory\n"
        )
        return 255
    for name in words[:1] or node["devices"]:
        print("\n".join(_ca_lines(name, node["devices"][name])))
    return 0


def _ca_lines(name: str, device: Device) -> list[str]:
    guid = f"0x{device['node_guid']}"
    ethernet = device["link_layer"] != "InfiniBand"
    return [
        f"CA '{name}'",
        f"\tCA type: {device['hca_type']}",
        "\tNumber of ports: 1",
        f"\tFirmware version: {device['firmware']}",
        "\tHardware version: 0",
        f"\tNode GUID: {guid}",
        f"\tSystem image GUID: {guid}",
        "\tPort 1:",
        f"\t\tState: {_IBSTAT_STATE[device['state'].split(': ')[1]]}",
        f"\t\tPhysical state: {device['phys_state'].split(': ')[1]}",
        f"\t\tRate: {device['rate'].split(' ')[0]}",
        f"\t\tBase lid: {device['lid']}",
        "\t\tLMC: 0",
        f"\t\tSM lid: {device['sm_lid']}",
        f"\t\tCapability mask: {'0x00010000' if ethernet else '0xa651e848'}",
        f"\t\tPort GUID: {guid}",
        f"\t\tLink layer: {device['link_layer']}",
    ]
