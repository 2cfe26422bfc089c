"""The counters of a node: the NICs' bytes and packets, and how often each measurement was run."""

from __future__ import annotations

import fcntl
import os
from _blake2 import blake2b  # hashlib also loads OpenSSL, a tenth of a tool's start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BYTES_PER_WORD = 4
# Tools that load GPUs, NICs or both: each run of them is one measurement of the node.
MEASURES = frozenset(
    {
        *("perftest", "iperf", "gemm", "transferbench", "nvbandwidth", "dcgmi", "vllm"),
        *("collective", "train"),
    }
)
_ETHERNET_MTU = 8244
# Clock ticks for which the CPUs of a virtual node want to work in one measurement.
_TICKS = 1000


def count_traffic(
    node: dict[str, Any], device: str, direction: str, payload_bytes: int, lost_per_gb: float = 0.0
) -> None:
    """Add to ``port_{xmit,rcv}_{data,packets}``; ``data`` counts words of four bytes.

    A NIC with bit errors also counts errors for the traffic that it receives. ``lost_per_gb`` are
    the packets that were lost on the way: their sender knows it, and their receiver misses them.
    """
    port = f"{node['root']}/sys/class/infiniband/{device}/ports/1"
    folder = f"{port}/counters"
    packets = payload_bytes // node["devices"][device]["mtu"] + 1
    _add(f"{folder}/port_{direction}_data", payload_bytes // _BYTES_PER_WORD)
    _add(f"{folder}/port_{direction}_packets", packets)
    errors = int(node["devices"][device].get("errors_per_gb", 0) * payload_bytes / 1e9)
    if errors and direction == "rcv":
        _add(f"{folder}/symbol_error", errors)
        _add(f"{folder}/port_rcv_errors", errors // 10)
        _add(f"{port}/hw_counters/out_of_sequence", errors // 10)
    if discards := int(node["devices"][device].get("discards_per_gb", 0) * payload_bytes / 1e9):
        _add(f"{folder}/port_xmit_discards", discards)
    if lost := int(lost_per_gb * payload_bytes / 1e9):
        name = "out_of_sequence" if direction == "rcv" else "packet_seq_err"
        _add(f"{port}/hw_counters/{name}", lost)
        if direction == "xmit":
            _add(f"{port}/hw_counters/local_ack_timeout_err", lost // 10)


def lost_per_gb(node: dict[str, Any], device: str, partners: list[float]) -> float:
    """Return what is lost of the traffic of a NIC: at itself, and at its partners."""
    own = float(node["devices"][device].get("lost_per_gb", 0))
    return own + (sum(partners) / len(partners) if partners else 0.0)


def count_errors(node: dict[str, Any]) -> None:
    """Count one measurement's errors of the node's GPUs and of its PCIe links."""
    for gpu in node["gpus"]:
        for name, amount in gpu.get("counts", {}).items():
            os.makedirs(_errors_of(node, gpu), exist_ok=True)  # noqa: PTH103 - see main.py
            _add(f"{_errors_of(node, gpu)}/{name}", amount)
    for address, amount in node.get("pcie_errors", {}).items():
        path = f"{node['root']}/sys/devices/pci0000:00/{address}/aer_dev_correctable"
        total = _add(f"{node['root']}/../aer-{address}", amount)
        with open(path, "w", encoding="ascii") as file:  # noqa: PTH123 - see main.py
            file.write(f"RxErr 0\nBadTLP {total}\nBadDLLP 0\nTOTAL_ERR_COR {total}\n")
    if "stolen" in node:
        measured = _add(f"{node['root']}/../measured", 1)
        with open(f"{node['root']}/proc/stat", "w", encoding="ascii") as file:  # noqa: PTH123 - see main.py
            file.write(cpu_time(measured, node["stolen"]))


def cpu_time(measurements: int, stolen: float) -> str:
    """Return what /proc/stat says after so many measurements, of which a share was stolen."""
    lost = round(measurements * _TICKS * stolen)
    worked = measurements * _TICKS - lost
    return f"cpu  {worked} 0 0 {8 * worked} 0 0 0 {lost} 0 0\nprocs_running 1\n"


def counted(node: dict[str, Any], gpu: dict[str, Any], name: str) -> int:
    """Return how many errors of a kind were counted at the GPU since the lab's start."""
    return value(f"{_errors_of(node, gpu)}/{name}")


def _errors_of(node: dict[str, Any], gpu: dict[str, Any]) -> str:
    return f"{node['root']}/../gpu-errors/{gpu['bus']}"


def count_ethernet(
    node: dict[str, Any], netdev: str, direction: str, payload_bytes: int, *, devmem: bool = False
) -> None:
    """Add to ``{tx,rx}_{bytes,packets}``, and with ``devmem`` to the packets for GPU memory.

    ``direction`` is ``tx`` or ``rx``. The packet size of 8253 bytes is that of document 003:
    128.93 GB in 15,622,248 packets.
    """
    folder = f"{node['root']}/sys/class/net/{netdev}/statistics"
    packets = payload_bytes // (_ETHERNET_MTU + 9) + 1
    _add(f"{folder}/{direction}_bytes", payload_bytes)
    _add(f"{folder}/{direction}_packets", packets)
    if dropped := int(node["netdevs"][netdev].get("discards_per_gb", 0) * payload_bytes / 1e9):
        _add(f"{node['root']}/../ethtool/{netdev}/rx_devmem_dropped", dropped)
    if devmem and direction == "rx":
        _add(f"{node['root']}/../ethtool/{netdev}/rx_devmem_pkts", packets)


def turn(node: dict[str, Any], key: str) -> int:
    """Count this measurement of ``key`` on the node, and return its number, from 1.

    The noise depends on it: repeats within a lab differ, and two labs with one seed agree.
    """
    name = blake2b(key.encode(), digest_size=8).hexdigest()
    folder = f"{node['root']}/../turns"
    os.makedirs(folder, exist_ok=True)  # noqa: PTH103 - see main.py
    return _add(f"{folder}/{name}", 1)


def value(path: str) -> int:
    """Return the count in the file, or 0 if there is no file yet."""
    try:
        with open(path, encoding="ascii") as file:  # noqa: PTH123 - see main.py
            return int(file.read() or "0")
    except FileNotFoundError:
        return 0


def _add(path: str, amount: int) -> int:
    """Add to the count in the file, and return the new total."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        total = (int(os.read(handle, 64) or b"0") + amount) % 2**64
        os.pwrite(handle, f"{total}\n".encode(), 0)
    finally:
        os.close(handle)
    return total
