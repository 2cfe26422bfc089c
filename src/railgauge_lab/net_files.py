"""The files of a node's network devices, interrupts and processes, in the kernel's format."""

from __future__ import annotations

from typing import Any

Files = dict[str, str]

_STATISTICS = (  # noqa: SIM905 - read as words
    "collisions multicast rx_bytes rx_crc_errors rx_dropped rx_errors rx_fifo_errors"
    " rx_frame_errors rx_length_errors rx_missed_errors rx_nohandler rx_over_errors rx_packets"
    " tx_aborted_errors tx_bytes tx_carrier_errors tx_dropped tx_errors tx_fifo_errors tx_packets"
).split()
_DEVICES = "sys/devices"
_LOOPBACK = f"{_DEVICES}/virtual/net/lo"
_BYTES_PER_DEVMEM_PACKET = 8253

PRIVATE = tuple(f"statistics/{way}_{unit}" for way in ("rx", "tx") for unit in ("bytes", "packets"))
"""Suffixes of the paths whose files the tools change."""


def of(node: dict[str, Any]) -> Files:
    """Return these files of the node: path below its root -> text."""
    # Loopback is always there, so that /sys/class/net exists even on a node without a NIC.
    found: Files = {f"{_LOOPBACK}/operstate": "unknown\n", f"{_LOOPBACK}/mtu": "65536\n"}
    for name, netdev in node["netdevs"].items():
        found.update(_netdev(_home(name, netdev["pci"]), netdev))
    for nic in node["devices"].values():
        # RDMA traffic bypasses the netdev, so the netdev has no traffic counters here.
        home = _home(nic["netdev"], nic["pci"])
        up = nic["state"] == "4: ACTIVE"
        found[f"{home}/mtu"] = "2044\n"
        found[f"{home}/speed"] = f"{int(nic['rate'].split()[0]) * 1000 if up else -1}\n"
    if node["interrupts"]:
        found.update(_interrupts(node))
    if node["smi"].get("vendor") == "nvidia":
        found["proc/driver/nvidia/version"] = _driver(node["smi"]["driver"])
    for pid, command in (node["diagnostics"] | node["processes"]).items():
        found[f"proc/{pid}/comm"] = f"{command.split()[0].rpartition('/')[2][:15]}\n"
        found[f"proc/{pid}/cmdline"] = command.replace(" ", "\0") + "\0"
        found[f"proc/{pid}/status"] = f"Name:\t{command.split()[0]}\nState:\tR (running)\n"
    return found


def links(node: dict[str, Any]) -> Files:
    """Return the symbolic links to these files: path below the node's root -> target."""
    found: Files = {"sys/class/net/lo": f"../../{_LOOPBACK.removeprefix('sys/')}"}
    named = [(nic["netdev"], nic["pci"]) for nic in node["devices"].values()]
    named += [(name, netdev["pci"]) for name, netdev in node["netdevs"].items()]
    for name, pci in named:
        home = _home(name, pci)
        found[f"sys/class/net/{name}"] = f"../../{home.removeprefix('sys/')}"
        if pci:
            found[f"{home}/device"] = f"../../../{pci}"
    for function in node["pci"]:
        if "driver" in function:
            driver = f"../../../bus/pci/drivers/{function['driver']}"
            found[f"{_DEVICES}/pci0000:00/{function['address']}/driver"] = driver
    return found


def ethtool(node: dict[str, Any]) -> Files:
    """Return the counters that only ``ethtool -S`` shows: ``NETDEV/NAME`` -> count."""
    found: Files = {}
    for name, netdev in node["netdevs"].items():
        if "rx_bytes" in netdev:
            before = netdev.get("rx_devmem_pkts", netdev["rx_bytes"] // _BYTES_PER_DEVMEM_PACKET)
            found[f"{name}/rx_devmem_pkts"] = f"{before}\n"
            found[f"{name}/rx_devmem_dropped"] = "0\n"
    return found


def _driver(version: str) -> str:
    """Return the version text of the proprietary kernel module, not of the open one.

    With the proprietary module, GPUDirect needs nvidia_peermem.
    """
    return (
        f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  Fri Sep 27 17:13:05 UTC 2024\n"
        "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n"
    )


def _home(name: str, pci: str) -> str:
    return f"{_DEVICES}/pci0000:00/{pci}/net/{name}" if pci else f"{_DEVICES}/virtual/net/{name}"


def _netdev(home: str, netdev: dict[str, Any]) -> Files:
    counts = dict.fromkeys(_STATISTICS, 0)
    counts["rx_bytes"] = netdev.get("rx_bytes", 0)
    counts["rx_packets"] = counts["rx_bytes"] // _BYTES_PER_DEVMEM_PACKET
    up = netdev["state"] == "up"
    return {
        f"{home}/operstate": f"{netdev['state']}\n",
        f"{home}/carrier": "1\n" if up else "0\n",
        f"{home}/speed": f"{netdev['speed_mbps'] if up else -1}\n",
        f"{home}/duplex": "full\n",
        f"{home}/mtu": f"{netdev['mtu']}\n",
        **{f"{home}/statistics/{name}": f"{count}\n" for name, count in counts.items()},
    }


def _interrupts(node: dict[str, Any]) -> Files:
    """Return ``proc/interrupts``, with a column for each CPU, and the affinity files of IRQs."""
    cpus = node["host"]["cpus"]
    rows = [" " * 12 + "".join(f"{f'CPU{cpu}':<11}" for cpu in range(cpus))]
    found: Files = {}
    for one in node["interrupts"]:
        for queue in range(one["queues"]):
            irq, cpu = one["first_irq"] + queue, one["first_cpu"] + queue
            counts = "".join(f"{1_000_000 if at == cpu else 0:>10} " for at in range(cpus))
            name = f"gve-ntfy-blk{queue}@pci:{one['pci']}"
            rows.append(f"{irq:>4}: {counts} PCI-MSI {irq}-edge      {name}")
            found[f"{_DEVICES}/pci0000:00/{one['pci']}/msi_irqs/{irq}"] = "msix\n"
            found[f"proc/irq/{irq}/smp_affinity_list"] = f"{cpu}\n"
            found[f"proc/irq/{irq}/effective_affinity_list"] = f"{cpu}\n"
    return {"proc/interrupts": "\n".join(rows) + "\n", **found}
