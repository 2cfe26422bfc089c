"""The contents of a node's /sys, /proc and /etc, in the kernel's format.

``of`` gives the files and ``links`` the symbolic links. For example, ``of`` maps
``sys/class/infiniband/mlx5_0/ports/1/rate`` to ``400 Gb/sec (4X NDR)``.
"""

from __future__ import annotations

import uuid
from typing import Any

from railgauge_lab import identities, net_files
from railgauge_lab.net_files import Files
from railgauge_lab.sim.counters import cpu_time

_COUNTERS = (  # noqa: SIM905 - read as words
    "VL15_dropped excessive_buffer_overrun_errors link_downed link_error_recovery"
    " local_link_integrity_errors multicast_rcv_packets multicast_xmit_packets"
    " port_rcv_constraint_errors port_rcv_data port_rcv_errors port_rcv_packets"
    " port_rcv_remote_physical_errors port_rcv_switch_relay_errors port_xmit_constraint_errors"
    " port_xmit_data port_xmit_discards port_xmit_packets port_xmit_wait symbol_error"
    " unicast_rcv_packets unicast_xmit_packets"
).split()
# Boot IDs depend on the node's name only. A restarted lab therefore looks as if it had never gone
# down, which is correct: it keeps no state that a reboot could lose.
_BOOTS = uuid.UUID("5a6b9a3e-0d63-4f0c-9a3f-2f5d4b0c7e11")
_IMAGES = uuid.UUID("0d0c3a52-5f3b-4a7e-8f56-7a8f5d3a9c40")
_INFINIBAND = "sys/class/infiniband"
_CPU = "sys/devices/system/cpu"
_PCI = "sys/devices/pci0000:00"
_NVME_SPEED, _NVME_LANES = "16GT/s", 4

PRIVATE = (
    "port_rcv_data",
    "port_rcv_packets",
    "port_xmit_data",
    "port_xmit_packets",
    "port_rcv_errors",
    "symbol_error",
    "out_of_sequence",
    "packet_seq_err",
    "local_ack_timeout_err",
    "port_xmit_discards",
    "aer_dev_correctable",
    "proc/uptime",
    "proc/stat",
    *net_files.PRIVATE,
)
"""Suffixes of the paths whose files the tools change."""


def of(node: dict[str, Any]) -> Files:
    """Return the node's files: path below its root -> text."""
    return {
        **_proc(node),
        **_identity(node["identity"]),
        **_etc(node["host"]),
        "etc/machine-id": f"{uuid.uuid5(_IMAGES, node.get('image_of', node['name'])).hex}\n",
        **_system(node["host"]),
        **_peer_memory(node["peer_memory"]),
        # The size of a library tells one build from another.
        **{path: f"{path}\n" for path in node["host"].get("libraries", ())},
        **_disks(node),
        **_pci_functions(node),
        **net_files.of(node),
        **{
            path: text
            for name, device in node["devices"].items()
            for path, text in _infiniband(name, device).items()
        },
    }


def links(node: dict[str, Any]) -> Files:
    """Return the node's symbolic links: path below its root -> target."""
    addresses = [function["address"] for function in node["pci"]]
    found = {
        f"sys/bus/pci/devices/{one}": f"../../../devices/pci0000:00/{one}" for one in addresses
    }
    for name, device in node["devices"].items():
        found[f"{_INFINIBAND}/{name}/device"] = f"../../../devices/pci0000:00/{device['pci']}"
    found.update(net_files.links(node))
    first = f"{_CPU}/cpufreq/policy0"
    for cpu in range(_online(node["host"])):
        found[f"{_CPU}/cpu{cpu}/cpufreq"] = f"../cpufreq/{first.rpartition('/')[2]}"
    return found


def _identity(own: dict[str, str]) -> Files:
    """Return what the firmware says of the machine and its BMC."""
    dmi, bmc = "sys/class/dmi/id", "sys/class/ipmi/ipmi0/device/bmc"
    return {
        f"{dmi}/sys_vendor": "railgauge\n",
        f"{dmi}/product_sku": "RG-LAB-1\n",
        f"{dmi}/product_serial": f"{own['serial']}\n",
        f"{dmi}/product_uuid": f"{own['uuid']}\n",
        f"{bmc}/manufacturer_id": "0x002a7c\n",
        f"{bmc}/product_id": "0x1b0e\n",
        f"{bmc}/firmware_revision": "1.74\n",
        f"{bmc}/guid": f"{own['bmc']}\n",
    }


def _proc(node: dict[str, Any]) -> Files:
    host, kernel = node["host"], node.get("kernel_of", node["name"])
    return {
        "dev/kmsg": "",  # the lab's dd knows what it holds
        "proc/uptime": "86400.00 172800.00\n",
        "proc/stat": cpu_time(0, 0),
        "proc/sys/kernel/hostname": f"{node['name']}\n",
        "proc/sys/kernel/random/boot_id": f"{uuid.uuid5(_BOOTS, kernel)}\n",
        "proc/sys/kernel/osrelease": f"{host['kernel']}\n",
        "proc/sys/kernel/numa_balancing": f"{host['numa_balancing']}\n",
        "proc/modules": "".join(
            f"{module} 32768 0 - Live 0x0000000000000000\n" for module in host["modules"]
        ),
        "proc/kallsyms": "".join(
            f"0000000000000000 r __ksymtab_{symbol}\n"
            for symbol in ("kfree", *host.get("symbols", ()))
        ),
        "proc/cpuinfo": _cpuinfo(host),
        "proc/meminfo": _meminfo(host["memory_gib"]),
        "proc/self/limits": _limits(host["memlock"]),
    }


def _cpuinfo(host: dict[str, Any]) -> str:
    """Return one stanza for all CPUs; /sys/devices/system/cpu gives their number."""
    guest = " hypervisor" if host.get("guest") else ""
    return (
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n"
        f"model name\t: {host['cpu_model']}\ncpu MHz\t\t: 3000.000\n"
        f"flags\t\t: fpu vme sse sse2 ht{guest} avx2\n\n"
    )


def _meminfo(gib: int) -> str:
    """Return the memory without the 1.6 % that the kernel's page table entries take."""
    total = gib * (1024 - 16) * 1024
    return f"MemTotal:       {total} kB\nMemFree:        {total // 2} kB\n"


def _limits(memlock: str) -> str:
    rows = [
        ("Limit", "Soft Limit", "Hard Limit", "Units"),
        ("Max stack size", "8388608", "unlimited", "bytes"),
        ("Max open files", "1048576", "1048576", "files"),
        ("Max locked memory", memlock, memlock, "bytes"),
        ("Max address space", "unlimited", "unlimited", "bytes"),
    ]
    return "".join(f"{a:<25} {b:<20} {c:<20} {d:<10}\n" for a, b, c, d in rows)


def _etc(host: dict[str, Any]) -> Files:
    limit = host["memlock"]
    kib = limit if limit == "unlimited" else str(int(limit) // 1024)
    return {
        "etc/os-release": "\n".join(host["os_release"]) + "\n",
        "etc/modules-load.d/hpc.conf": "".join(f"{one}\n" for one in host.get("boot_modules", ())),
        "etc/security/limits.d/99-hpc.conf": f"* soft memlock {kib}\n* hard memlock {kib}\n",
    }


def _system(host: dict[str, Any]) -> Files:
    cpus = f"0-{host['cpus'] - 1}\n"
    nodes = host["numa_nodes"]
    online = f"0-{len(nodes) - 1}\n" if len(nodes) > 1 else "0\n"
    found = {f"{_CPU}/{name}": cpus for name in ("possible", "present")}
    found[f"{_CPU}/online"] = f"0-{_online(host) - 1}\n"
    found[f"{_CPU}/cpufreq/policy0/scaling_governor"] = f"{host['governor']}\n"
    found[f"{_CPU}/cpufreq/boost"] = f"{int(host.get('boost', True))}\n"
    found["sys/devices/system/node/online"] = online
    found["sys/class/dmi/id/product_name"] = "railgauge lab node\n"
    found["sys/class/dmi/id/bios_version"] = f"{host['bios']}\n"
    for index, cpulist in enumerate(nodes):
        listed = _below(cpulist, _online(host))
        found[f"sys/devices/system/node/node{index}/cpulist"] = f"{listed}\n"
    return found


def _online(host: dict[str, Any]) -> int:
    """Return how many CPUs are online: all, or the first ones."""
    return int(host.get("online", host["cpus"]))


def _below(cpulist: str, end: int) -> str:
    """Return the CPUs of ``0-51,104-155`` whose number is less than ``end``."""
    spans = [[int(number) for number in part.split("-")] for part in cpulist.split(",")]
    left = [(span[0], min(span[-1], end - 1)) for span in spans if span[0] < end]
    return ",".join(f"{first}-{last}" if first < last else f"{first}" for first, last in left)


def _disks(node: dict[str, Any]) -> Files:
    """Return the system's own disk and the NVMe disks, each with its controller."""
    numbers = range(node["host"].get("nvmes", 0))
    names = ("sda", *(f"nvme{number}n1" for number in numbers))
    found = {f"sys/block/{name}/size": "7501476528\n" for name in names}
    for number in numbers:
        found.update(_nvme(node, f"nvme{number}"))
    return found


def _nvme(node: dict[str, Any], name: str) -> Files:
    folder, width = f"sys/class/nvme/{name}", node.get("nvme_widths", {}).get(name, _NVME_LANES)
    return {
        f"{folder}/transport": "pcie\n",
        f"{folder}/address": f"00{int(name[4:]):02x}:00:00.0\n",
        f"{folder}/model": f"{'Lab NVMe 3.84TB':<40}\n",
        f"{folder}/serial": f"{identities.disk(node['name'], name):<20}\n",
        f"{folder}/firmware_rev": "2.1.0   \n",
        **_link(f"{folder}/device", [_NVME_SPEED, width, _NVME_SPEED, _NVME_LANES]),
    }


def _peer_memory(clients: dict[str, str]) -> Files:
    return {f"sys/kernel/mm/memory_peers/{name}/version": f"{v}\n" for name, v in clients.items()}


def _pci_functions(node: dict[str, Any]) -> Files:
    found: Files = {}
    for function in node["pci"]:
        folder = f"{_PCI}/{function['address']}"
        found[f"{folder}/vendor"] = f"0x{function['vendor']}\n"
        found[f"{folder}/device"] = f"0x{function['device']}\n"
        found[f"{folder}/class"] = f"0x{function['class']}00\n"
        found[f"{folder}/numa_node"] = f"{function['numa']}\n"
        if "link" in function:
            found.update(_link(folder, function["link"]))
            found.update(_aer(folder))
        if "link" in function or "driver" in function:
            found[f"{folder}/uevent"] = _uevent(function)
    for name, device in node["devices"].items():
        found[f"{_PCI}/{device['pci']}/net/{device['netdev']}/operstate"] = _operstate(device)
        found[f"{_PCI}/{device['pci']}/infiniband/{name}/node_desc"] = f"{node['name']} {name}\n"
    return found


def _aer(folder: str) -> Files:
    """Return the kernel's counters of PCIe errors, with some of their kinds."""
    kinds = {
        "correctable": ("RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout", "TOTAL_ERR_COR"),
        "nonfatal": ("DLP", "CmpltTO", "CmpltAbrt", "TOTAL_ERR_NONFATAL"),
        "fatal": ("DLP", "MalfTLP", "ECRC", "TOTAL_ERR_FATAL"),
    }
    return {
        f"{folder}/aer_dev_{name}": "".join(f"{kind} 0\n" for kind in of)
        for name, of in kinds.items()
    }


def _uevent(function: dict[str, Any]) -> str:
    ids = f"{function['vendor']}:{function['device']}".upper()
    slot = function["address"]
    driver = f"DRIVER={function['driver']}\n" if "driver" in function else ""
    return (
        f"{driver}PCI_CLASS={function['class'].lstrip('0')}00\nPCI_ID={ids}\nPCI_SLOT_NAME={slot}\n"
    )


def _operstate(device: dict[str, Any]) -> str:
    return "up\n" if device["state"] == "4: ACTIVE" else "down\n"


def _link(folder: str, link: list[Any]) -> Files:
    speed, width, most_speed, most_width = link
    return {
        f"{folder}/current_link_speed": f"{_gt_s(speed)} PCIe\n",
        f"{folder}/current_link_width": f"{width}\n",
        f"{folder}/max_link_speed": f"{_gt_s(most_speed)} PCIe\n",
        f"{folder}/max_link_width": f"{most_width}\n",
    }


def _gt_s(speed: str) -> str:
    return f"{float(speed.removesuffix('GT/s')):.1f} GT/s"


def _infiniband(name: str, device: dict[str, Any]) -> Files:
    folder = f"{_INFINIBAND}/{name}"
    port = f"{folder}/ports/1"
    guid = device["node_guid"]
    return {
        f"{folder}/fw_ver": f"{device['firmware']}\n",
        f"{folder}/hca_type": f"{device['hca_type']}\n",
        f"{folder}/board_id": f"{device['board_id']}\n",
        f"{folder}/node_guid": ":".join(guid[i : i + 4] for i in range(0, 16, 4)) + "\n",
        f"{port}/state": f"{device['state']}\n",
        f"{port}/phys_state": f"{device['phys_state']}\n",
        f"{port}/rate": f"{device['rate']}\n",
        f"{port}/link_layer": f"{device['link_layer']}\n",
        f"{port}/lid": f"{device['lid']:#x}\n",
        f"{port}/sm_lid": f"{device['sm_lid']:#x}\n",
        **_gids(port, device),
        **{f"{port}/counters/{counter}": "0\n" for counter in _COUNTERS},
        **{f"{port}/hw_counters/{key}": f"{v}\n" for key, v in device["hw_counters"].items()},
    }


def _gids(port: str, device: dict[str, Any]) -> Files:
    found: Files = {}
    for index, entry in enumerate(device["gids"]):
        kind = "RoCE v2" if entry["version"] == "v2" else "IB/RoCE v1"
        found[f"{port}/gids/{index}"] = f"{entry['gid']}\n"
        found[f"{port}/gid_attrs/types/{index}"] = f"{kind}\n"
        if entry["netdev"]:
            found[f"{port}/gid_attrs/ndevs/{index}"] = f"{entry['netdev']}\n"
    return found
