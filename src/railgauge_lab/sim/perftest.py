"""``ib_{write,read,send}_{bw,lat}``: server and client, and their failures.

Like the real tool, a server of RDMA tests repeats the client's figures in the client's unit, even
if its own heading names another one.
"""

from __future__ import annotations

import os
import sys

from . import background, directions, figures, gpu_memory, hosts, layout, wire
from .counters import count_traffic, lost_per_gb, turn
from .perftest_options import PerftestRefused, read_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Test = dict[str, Any]
    Row = dict[str, Any]

_STATES = {"1: DOWN": "Down", "2: INIT": "Init", "3: ARMED": "Armed"}


def run(tool: str, arguments: list[str], node: Node) -> int:
    """Return exit code 0, or 1 after the messages of the real tool."""
    screen: list[str] = []
    try:
        test = read_options(tool, arguments, node)
        _open_device(test, node)
        if not test["client"]:
            screen += layout.WAITING
        _take_gpu_memory(test, node, screen)
        code = (_client if test["client"] else _server)(test, node, screen)
    except PerftestRefused as refusal:
        sys.stderr.write(str(refusal))
        code = 1
    if screen:
        # The real perftest's stdout is block-buffered in a pipe: its output appears at the end.
        sys.stdout.write("\n".join(screen) + "\n")
        sys.stdout.flush()
    return code


def _open_device(test: Test, node: Node) -> None:
    device = node["devices"].get(test["device"])
    if not node["devices"] and not test["device"]:
        complaint = "Did not detect devices \nIf device exists, check if driver is up\n"
    elif device is None:
        complaint = f"IB device {test['device']} not found\n"
    else:
        _check_port(test, device)
        _check_memlock(test, node)
        return
    raise PerftestRefused(complaint + " Unable to find the Infiniband/RoCE device\n")


def _check_port(test: Test, device: dict[str, Any]) -> None:
    unusable = "\n Couldn't set the link layer\n Couldn't get context for the device\n"
    if test["ib_port"] != 1:
        raise PerftestRefused(
            f" Invalid port number {test['ib_port']}: the device has 1 port{unusable}"
        )
    if device["state"] in _STATES:
        raise PerftestRefused(f" Port number 1 state is {_STATES[device['state']]}{unusable}")


def _check_memlock(test: Test, node: Node) -> None:
    limit = node["host"]["memlock"]
    if limit == "unlimited" or node["host"]["root_login"] or 2 * max(test["sizes"]) < int(limit):
        return
    raise PerftestRefused(
        "Couldn't allocate MR\nfailed to create mr\nFailed to create MR\n"
        " Couldn't create IB resources\n"
    )


def _take_gpu_memory(test: Test, node: Node, screen: list[str]) -> None:
    if test["gpu"] is not None:
        test["buffer"] = 0x7F0000000000 + (os.getpid() % 0xFFFF << 24)
        screen += gpu_memory.allocated(test, node, 2 * max(test["sizes"]))


def _client(test: Test, node: Node, screen: list[str]) -> int:
    if name := hosts.unknown(node, test["host"]):
        raise PerftestRefused(
            f"Name or service not known for {name}:{test['tcp_port']}\n"
            "Problem in resolving basic address and port\n"
            " Unable to init the socket connection\n"
        )
    try:
        host = hosts.address(node, test["host"])
        link = wire.connect(host, test["tcp_port"], node["address"])
    except OSError:
        raise PerftestRefused(
            _no_socket(f"Couldn't connect to {test['host']}:{test['tcp_port']}")
        ) from None
    try:
        mine = _side(test, node, test["sizes"], test["device"])
        link.send(mine)
        theirs = link.receive()
        mine["able"] = _able(test, node, test["sizes"], theirs["device"])
    except wire.Hangup:
        raise PerftestRefused(_no_peer()) from None
    _open_table(test, mine, theirs, screen)
    rows, code = _measure(test, node, mine, theirs)
    screen += [_print(test, row) for row in rows]
    if code == 0:
        _close_table(test, screen)
        _leave_json(test, rows)
        if not _is_loopback(node, theirs):
            _count(test, node, rows, "rcv" if test["verb"] == "read" else "xmit", theirs)
    link.send({"rows": rows, "code": code})
    return code


def _server(test: Test, node: Node, screen: list[str]) -> int:
    try:
        listener = wire.listen(node["address"], test["tcp_port"])
    except OSError:
        raise PerftestRefused(_no_socket(f"Couldn't listen to port {test['tcp_port']}")) from None
    link = wire.accept_only(listener)
    try:
        theirs = link.receive()
        mine = _side(test, node, theirs.get("sizes", ()), theirs.get("device", ""))
        link.send(mine)
        _open_table(test, mine, theirs, screen)
        result = link.receive()
    except (wire.Hangup, KeyError):
        raise PerftestRefused(_no_peer()) from None
    if result["code"] != 0:
        raise PerftestRefused(_no_peer())
    screen += _server_rows(test, result["rows"])
    _close_table(test, screen)
    if not _is_loopback(node, theirs):
        _count(test, node, result["rows"], "xmit" if test["verb"] == "read" else "rcv", theirs)
    return 0


def _is_loopback(node: Node, theirs: dict[str, Any]) -> bool:
    """Whether both sides are on one node: the adapter itself moves the payload, and no port."""
    return bool(theirs["name"] == node["name"])


def _no_socket(complaint: str) -> str:
    return (
        f"{complaint}\nUnable to open file descriptor for socket connection"
        " Unable to init the socket connection\n"
    )


def _no_peer() -> str:
    return (
        "ethernet_read_keys: Couldn't read remote address\n"
        " Unable to read to socket/rdma_cm\n"
        "Failed to exchange data between server and clients\n"
    )


def _able(
    test: Test, node: Node, sizes: list[int], other: str, *, healthy: bool = False
) -> list[list[float]]:
    """Return what one side reaches at each size, if ``other`` is the NIC of the other side.

    With ``healthy`` no fault of the node counts.
    """
    of = (node, test["device"], test["tool"], test["gpu"])
    if test["kind"] != "bw":
        return [figures.latency(*of, size, healthy=healthy) for size in sizes]
    across = other != test["device"]
    return [figures.bandwidth(*of, size, across=across, healthy=healthy) for size in sizes]


def _side(test: Test, node: Node, sizes: list[int], other: str) -> dict[str, Any]:
    """Return one side's message to the other, above all what it reaches at the client's sizes."""
    device = node["devices"][test["device"]]
    tool, gpu = test["tool"], test["gpu"]
    vaddr = test["buffer"] + max(test["sizes"]) if gpu is not None else None
    return {
        "tool": tool,
        "name": node["name"],
        "device": test["device"],
        "slow_paths": node["slow_paths"],
        "switch": background.met(node),
        "lost_per_gb": device.get("lost_per_gb", 0),
        "shares": directions.shares(device),
        "sizes": sizes,
        "largest": max(test["sizes"]),
        "mtu": min(device["mtu"], test["mtu"] or device["mtu"]),
        "able": _able(test, node, sizes, other),
        "qps": layout.queue_pairs(device["lid"], test["qps"], vaddr),
    }


def _open_table(
    test: Test, mine: dict[str, Any], theirs: dict[str, Any], screen: list[str]
) -> None:
    test["mtu"] = min(mine["mtu"], theirs["mtu"])
    screen += layout.header(test)
    screen += layout.address("local", test, mine["qps"])
    screen += layout.address("remote", test, theirs["qps"])
    screen += [layout.RULE, layout.columns(test)]
    if test["frequency_warning"]:
        sys.stderr.write(test["frequency_warning"] + "\n")


def _close_table(test: Test, screen: list[str]) -> None:
    screen.append(layout.RULE)
    if test["gpu"] is not None:
        screen += gpu_memory.freed(test)


def _measure(
    test: Test, node: Node, mine: dict[str, Any], theirs: dict[str, Any]
) -> tuple[list[Row], int]:
    """Return the rows up to the first failure, and the exit code."""
    if theirs["tool"] != test["tool"]:
        _complain(9, 0x8A)
        return [], 1
    key = f"{node['name']}:{theirs['name']} {test['tool']} {test['device']} {test['gpu']}"
    if theirs["device"] != test["device"]:
        key = f"{key} to {theirs['device']}"
    key = f"{key} turn {turn(node, key)}"
    test["route"] = figures.route_share(mine, theirs)
    test["shares"] = mine["shares"], theirs["shares"]
    test["load"] = background.cost(node, [mine["switch"], theirs["switch"]])
    healthy = _able(test, node, test["sizes"], theirs["device"], healthy=True)
    rows = [
        _row(test, node, size, figures.noise(node, key, size), able)
        for size, *able in zip(test["sizes"], mine["able"], theirs["able"], healthy, strict=True)
        if size <= theirs["largest"]
    ]
    if len(rows) < len(test["sizes"]):
        _complain(10, 0x88)
        return rows, 1
    return rows, 0


def _complain(status: int, syndrome: int) -> None:
    sys.stderr.write(
        f" Completion with error at client\n Failed status {status}: wr_id 0 syndrom "
        f"{syndrome:#x}\nscnt=128, ccnt=0\n Failed to complete run_iter_bw function successfully\n"
    )


def _row(test: Test, node: Node, size: int, calm: float, able: list[list[float]]) -> Row:
    """Return one row of results.

    ``able`` holds the figures of the client, of the server, and of a healthy client. A pair reaches
    the worst of the first two and of its path, which has its share of the third. ``calm`` is the
    share that noise leaves. A NIC that is slow in one direction has its latency, because small
    messages need no bandwidth.
    """
    kinds = zip(*able, strict=True)
    route, (grows, keeps) = test["route"], test["load"]
    if test["kind"] == "lat":
        # A cause that lowers bandwidth raises latency by the same factor.
        times = [max(mine, theirs, clean / route) / calm for mine, theirs, clean in kinds]
        return _latency_row(test, size, [one * by for one, by in zip(times, grows)])  # noqa: B905
    peak, average = (
        calm * keeps * min(directions.perftest(test, (mine, theirs)), clean * route)
        for mine, theirs, clean in kinds
    )
    if test["both_ways"]:
        peak, average = (value * figures.both_ways(node) for value in (peak, average))
    return _bandwidth_row(test, size, 0.0 if test["no_peak"] else peak, average)


def _bandwidth_row(test: Test, size: int, peak: float, average: float) -> Row:
    unit = figures.BYTES_PER_S["Gb/s" if test["gbits"] else "MiB/s"]
    seconds = test["duration_s"]
    return {
        "size": size,
        "iterations": int(average / size * seconds)
        if seconds
        else test["iterations"] * test["qps"],
        "peak": peak / unit,
        "average": average / unit,
        "mpps": average / size / 1e6,
    }


def _latency_row(test: Test, size: int, times: list[float]) -> Row:
    row: Row = {"size": size, "iterations": test["iterations"], "times": times}
    if test["duration_s"]:
        row["tps"] = 1e6 / times[3]
        row["iterations"] = int(row["tps"] * test["duration_s"])
    return row


def _print(test: Test, row: Row) -> str:
    """Return the row with the number of digits for this side's unit.

    The figures may be in the unit of the other side.
    """
    if test["kind"] == "lat":
        return layout.latency_row(row)
    return layout.bandwidth_row(test["dialect"], {**row, "gbits": test["gbits"]})


def _server_rows(test: Test, rows: list[Row]) -> list[str]:
    """Return the rows that the server prints.

    The server of a write or read bandwidth test repeats the client's last row, in the client's
    unit. The server of a send bandwidth test measures by itself, but without a peak. Servers of
    latency tests print the client's rows; for reads they print none.
    """
    if test["kind"] == "lat":
        return [] if test["verb"] == "read" else [_print(test, row) for row in rows]
    if test["verb"] != "send":
        return [_print(test, row) for row in rows[-1:]]
    return [_print(test, _in_own_unit(test, row)) for row in rows]


def _in_own_unit(test: Test, row: Row) -> Row:
    return _bandwidth_row(test, row["size"], 0.0, row["mpps"] * 1e6 * row["size"]) | {
        "iterations": row["iterations"]
    }


def _count(test: Test, node: Node, rows: list[Row], direction: str, theirs: dict[str, Any]) -> None:
    """Add the payload to the NIC's counters; a bidirectional test moves it in both directions.

    ``direction`` is that of the payload at this NIC: the target of a read sends. ``theirs`` is the
    message of the other side.
    """
    lost = lost_per_gb(node, test["device"], [float(theirs["lost_per_gb"])])
    for way in ("xmit", "rcv") if test["both_ways"] else (direction,):
        count_traffic(node, test["device"], way, _payload(rows), lost)


def _payload(rows: list[Row]) -> int:
    return sum(int(row["size"]) * int(row["iterations"]) for row in rows)


def _leave_json(test: Test, rows: list[Row]) -> None:
    """Write the JSON file; perftest truncates it for every size, so only the last row stays."""
    if not test["json_file"]:
        return
    from .perftest_json import document  # noqa: PLC0415 - rarely asked for

    with open(test["json_file"], "w", encoding="utf-8") as file:  # noqa: PTH123 - see main.py
        file.write(document(test, rows[-1]))
