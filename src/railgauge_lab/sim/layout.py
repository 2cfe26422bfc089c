"""The output of perftest, line by line.

There are two dialects. ``spaced`` is that of the MetaX build in document 000. ``tabbed`` is that of
upstream 6.x in document 004, which separates columns by tabs and has more fields.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Test = dict[str, Any]

RULE = "-" * 87
WAITING = ["", "*" * 36, "* Waiting for client to connect... *", "*" * 36]
RELAXED_ORDERING = [
    " WARNING: CPU is not PCIe relaxed ordering compliant.",
    " WARNING: You should disable PCIe RO with `--disable_pcie_relaxed`"
    " for both server and client.",
]
_SIX_DIGITS_BELOW_GBPS = 0.1
_LATENCY_COLUMNS = (
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]"
    "    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] "
)
_DURATION_COLUMNS = " #bytes        #iterations       t_avg[usec]    tps average"


def title(verb: str, kind: str, *, both_ways: bool) -> str:
    """Return the title of a test, for example ``RDMA_Write BW Test``."""
    name = {"write": "RDMA_Write", "read": "RDMA_Read", "send": "Send"}[verb]
    way = "Bidirectional " if both_ways else ""
    return f"{name} {way}{'BW' if kind == 'bw' else 'Latency'} Test"


def header(test: Test) -> list[str]:
    """Return the lines from the first rule to the one before the addresses."""
    tabbed = test["dialect"] == "tabbed"
    relaxed = "ON" if test["relaxed"] else "OFF"
    return [
        RULE,
        f"{'':20}{test['title']}",
        _two(test, "Dual-port", "OFF", "Device", test["device"]),
        _two(test, "Number of qps", test["qps"], "Transport type", "IB"),
        _two(test, "Connection type", test["connection"], "Using SRQ", "OFF"),
        *_maybe_two(test, f" PCIe relax order: {relaxed}", "Lock-free", relaxed="warn"),
        *_maybe_two(test, " ibv_wr* API     : ON", "Using DDP"),
        *_depths(test),
        *([f" CQ Moderation   : {test['cq_moderation']}"] if test["kind"] == "bw" else []),
        *([" CQE Poll Batch  : 16"] if tabbed and test["kind"] == "bw" else []),
        f" Mtu             : {test['mtu']}[B]",
        f" Link type       : {'IB' if test['link_layer'] == 'InfiniBand' else 'Ethernet'}",
        *([f" GID index       : {test['gid_index']}"] if test["gid_index"] is not None else []),
        _inline(test),
        f" rdma_cm QPs{_TAB if tabbed else '    '} : {'ON' if test['rdma_cm'] else 'OFF'}",
        *_memory(test),
        f" Data ex. method : {'rdma_cm' if test['rdma_cm'] else 'Ethernet'}",
        RULE,
    ]


_TAB = "\t"


def _two(test: Test, left: str, value: object, right: str, other: object) -> str:
    gap = "\t\t" if test["dialect"] == "tabbed" else " " * (13 - len(str(value)))
    return f" {left:<16}: {value}{gap}{right:<15}: {other}"


def _maybe_two(test: Test, first: str, second: str, relaxed: str = "") -> list[str]:
    """Return the line of a field, with the second field of newer versions, and its warnings."""
    line = f"{first}\t\t{second:<15}: OFF" if test["dialect"] == "tabbed" else first
    warns = relaxed and test["relaxed"] and not test["relaxed_ordering_compliant"]
    return [line, *(RELAXED_ORDERING if warns else [])]


def _depths(test: Test) -> list[str]:
    sends = test["client"] or test["both_ways"] or test["kind"] == "lat"
    server = not test["client"] or test["both_ways"]
    receives = test["verb"] == "send" and test["kind"] == "bw" and server
    lines = [f" TX depth        : {test['tx_depth']}"] if sends else []
    return lines + ([" RX depth        : 512"] if receives else [])


def _inline(test: Test) -> str:
    if test["verb"] == "read":
        return " Outstand reads  : 16"
    return f" Max inline data : {test['inline']}[B]"


def _memory(test: Test) -> list[str]:
    name = test["gpu_memory_name"]
    return [f" Use {name} memory : {'OFF' if test['gpu'] is None else 'ON'}"] if name else []


def address(side: str, test: Test, qps: list[dict[str, Any]]) -> list[str]:
    """Return one line for each queue pair; only RDMA tests show the address of the buffer."""
    return [f" {side} address: {_lid(qp)}{_keys(test, qp)}" for qp in qps]


def _lid(qp: dict[str, Any]) -> str:
    lid = f"{qp['lid']:#04x}" if qp["lid"] else "0000"
    return f"LID {lid} QPN {qp['qpn']:#06x} PSN {qp['psn']:#06x}"


def _keys(test: Test, qp: dict[str, Any]) -> str:
    if test["verb"] == "send":
        return ""
    out = "OUT 0x10 " if test["verb"] == "read" else ""
    return f" {out}RKey {qp['rkey']:#08x} VAddr {qp['vaddr']:#016x}"


def queue_pairs(lid: int, count: int, vaddr: int | None) -> list[dict[str, Any]]:
    """Return the numbers of queue pairs, which the real tool draws at random for each run."""
    drawn = os.urandom(16)
    first, psn, place = (int.from_bytes(drawn[a : a + 4], "big") for a in (0, 4, 8))
    return [
        {
            "lid": lid,
            "qpn": 0x100 + first % 0xE00 + i,
            "psn": (psn + i * 7919) % 0x1000000,
            "rkey": 0x1FFF00 + i,
            "vaddr": vaddr or 0x7F0000000000 + (place << 8) // 0x1000 * 0x1000,
        }
        for i in range(count)
    ]


def columns(test: Test) -> str:
    """Return the heading of the table."""
    if test["kind"] == "lat":
        return _DURATION_COLUMNS if test["duration_s"] else _LATENCY_COLUMNS
    unit = "Gb/sec" if test["gbits"] else "MiB/sec"
    return f" #bytes     #iterations    BW peak[{unit}]    BW average[{unit}]   MsgRate[Mpps]"


def bandwidth_row(dialect: str, row: dict[str, Any]) -> str:
    """Return a bandwidth row.

    ``row`` holds size, iterations, peak and average in the unit of the side that measured, the
    message rate in Mpps, and whether the side that prints reports Gb/s.
    """
    start = f" {row['size']:<7}    {row['iterations']:<10}     "
    if row["gbits"] and row["average"] < _SIX_DIGITS_BELOW_GBPS:
        gap = " " * 12
        line = f"{start}{row['peak']:<7.6f}{gap}{row['average']:<7.6f}{gap}{row['mpps']:<7.6f}"
        return line.rstrip()
    gap = "\t\t     " if dialect == "tabbed" else " " * 12
    figures = f"{row['peak']:<7.2f}            {row['average']:<7.2f}"
    return f"{start}  {figures}{gap}{row['mpps']:<7.6f}"


def latency_row(row: dict[str, Any]) -> str:
    """Return a latency row.

    ``row`` holds size, iterations and seven times in microseconds; with ``tps`` (transactions per
    second) it is a row of a run by duration.
    """
    if "tps" in row:
        return (
            f" {row['size']:<7}       {row['iterations']}            {row['times'][3]:<7.2f}"
            f"         {row['tps']:<7.2f}"
        )
    low, high, typical, average, stdev, p99, p999 = row["times"]
    return (
        f" {row['size']:<7} {row['iterations']}          {low:<7.2f}        {high:<7.2f}"
        f"      {typical:<7.2f}  \t       {average:<7.2f}     \t{stdev:<7.2f}\t\t{p99:<7.2f}"
        f" \t\t{p999:<7.2f}"
    )
