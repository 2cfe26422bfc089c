"""``iperf3``: a server, and a client that prints JSON or a text table."""

from __future__ import annotations

import os
import sys
import time

from . import directions, figures, hosts, physics, stored, wire
from .counters import count_ethernet, turn
from .options import UsageError, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Options = dict[str, str]

_SHORT = {
    "s": "server", "c": "client", "p": "port", "1": "one", "J": "json", "t": "time",
    "P": "streams", "B": "bind", "R": "reverse", "l": "length", "O": "omit", "i": "interval",
    "D": "daemon", "4": "ipv4", "Z": "zero", "w": "window", "u": "udp", "b": "rate", "f": "format",
}  # fmt: skip
_LONG = {
    "server": "server", "client": "client", "port": "port", "one-off": "one", "json": "json",
    "time": "time", "parallel": "streams", "bind": "bind", "bind-dev": "device",
    "reverse": "reverse", "length": "length", "omit": "omit", "interval": "interval",
    "zerocopy": "zero", "window": "window", "version": "version", "format": "format",
    "bitrate": "rate", "congestion": "congestion", "set-mss": "mss",
}  # fmt: skip
_VALUED = frozenset(
    [
        *("client", "port", "time", "streams", "bind", "device", "length", "omit", "interval"),
        *("window", "rate", "format", "congestion", "mss"),
    ]
)
_LARGE = 1 << 30
_GBPS = 1e9
_BLOCK = 131072


def run(_tool: str, arguments: list[str], node: Node) -> int:
    """Return exit code 0, or 1 after the message ``iperf3: error - …``."""
    try:
        options, _ = parse(arguments, _SHORT, _LONG, _VALUED)
        if "version" in options:
            print("iperf 3.17.1 (cJSON 1.7.15)")
            return 0
        if "server" not in options and "client" not in options:
            raise UsageError("parameter error - must either be a client (-c) or server (-s)")
        _check_device(options, node)
    except UsageError as error:
        sys.stderr.write(f"iperf3: {error}\n")
        return 1
    port = int(options.get("port", 5201))
    return _client(options, node, port) if "client" in options else _serve(options, node, port)


def _check_device(options: Options, node: Node) -> None:
    wanted = options.get("device")
    known = [*node["netdevs"], *(nic["netdev"] for nic in node["devices"].values())]
    if wanted and wanted not in known:
        raise UsageError("error - unable to bind to device: No such device")


def _serve(options: Options, node: Node, port: int) -> int:
    while True:
        try:
            listener = wire.listen(node["address"], port)
        except OSError:
            sys.stderr.write("iperf3: error - unable to start listener for connections: Address"
                             " already in use\niperf3: exiting\n")  # fmt: skip
            return 1
        code = _one_test(wire.accept_only(listener), options, node, port)
        if "one" in options:
            return code


def _one_test(link: wire.Wire, options: Options, node: Node, port: int) -> int:
    bar = "-" * 59
    print(f"{bar}\nServer listening on {port} (test #1)\n{bar}")
    try:
        asked = link.receive()
        if "streams" not in asked:
            raise wire.Hangup
        way = directions.SENDS if asked["reverse"] else directions.RECEIVES
        gbps = _able(node, _device(options, node), asked["streams"], way)
        link.send({"gbps": gbps, "name": node["name"], "slow_paths": node["slow_paths"]})
        result = link.receive()
    except wire.Hangup:
        sys.stderr.write("iperf3: error - the client has terminated\n")
        return 1
    direction = "tx" if asked["reverse"] else "rx"
    _count(node, _device(options, node), direction, result["bytes"])
    print("\n".join(_table(result["gbps"], asked["seconds"], "receiver")))
    return 0


def _device(options: Options, node: Node) -> str:
    library = node["collectives"]
    fallback = next(iter(node["netdevs"]), "")
    return options.get("device") or library.get("tcp_device") or fallback


def _able(node: Node, device: str, streams: int, way: str) -> float:
    """Return what the node can carry this way, in Gb/s; 0 if the link is down.

    Each stream has a ceiling, and so has the NIC.
    """
    netdev = node["netdevs"].get(device, {"speed": 1.0, "state": "up"})
    if netdev["state"] != "up":
        return 0.0
    most = _healthy(node, streams, physics.nic_speed(node, netdev) * netdev.get("wire_share", 1.0))
    return float(node["speed"] * directions.shares(netdev)[way] * most)


def _healthy(node: Node, streams: int, share: float = 1.0) -> float:
    """Return what streams carry over a NIC that has this share of its line rate, in Gb/s."""
    tcp = figures.load(node["figures"])["tcp"]
    return float(min(streams * tcp["single_gbps"], tcp["line_gbps"] * share))


def _count(node: Node, device: str, direction: str, payload: int) -> None:
    if device in node["netdevs"]:
        count_ethernet(node, device, direction, payload)


def _client(options: Options, node: Node, port: int) -> int:
    streams, seconds = int(options.get("streams", 1)), float(options.get("time", 10))
    host, reverse = options["client"], "reverse" in options
    device = _device(options, node)
    if hosts.unknown(node, host):
        return _failed(options, "unable to connect to server: Name or service not known")
    try:
        link = wire.connect(host, port, node["address"])
        link.send({"streams": streams, "seconds": seconds, "reverse": reverse})
        theirs = link.receive()
        path = figures.route_share(node, theirs) * _healthy(node, streams)
    except (OSError, wire.Hangup, KeyError):
        return _failed(options, f"unable to connect to server - server may have stopped running or"
                       f" use a different port, firewall issue, etc.: {_refused()}")  # fmt: skip
    key = f"{node['name']} {host} iperf {device} {streams}"
    calm = figures.noise(node, f"{key} turn {turn(node, key)}", _LARGE)
    way = directions.RECEIVES if reverse else directions.SENDS
    gbps = min(_able(node, device, streams, way), theirs["gbps"], path) * calm
    if gbps <= 0:
        return _failed(options, "unable to connect to server: No route to host")
    moved = int(gbps * _GBPS / 8 * seconds)
    link.send({"gbps": gbps, "bytes": moved})
    _count(node, device, "rx" if reverse else "tx", moved)
    test = {"host": host, "port": port, "streams": streams, "seconds": seconds, "reverse": reverse}
    test |= {"length": _length(options), "omit": int(options.get("omit", 0))}
    if "json" in options:
        print(stored.as_json(_document(test, node, gbps), indent="\t", separators=(",", ":\t")))
    else:
        print("\n".join(_table(gbps, seconds, "sender")))
    return 0


def _refused() -> str:
    return "Connection refused"


def _failed(options: Options, why: str) -> int:
    if "json" in options:
        document = {"start": {"connected": [], "version": "iperf 3.17.1"}, "intervals": []}
        print(stored.as_json({**document, "end": {}, "error": why}, indent="\t"))
    else:
        sys.stderr.write(f"iperf3: error - {why}\n")
    return 1


def _length(options: Options) -> int:
    text = options.get("length", str(_BLOCK))
    factor = {"K": 2**10, "M": 2**20, "G": 2**30}.get(text[-1:].upper(), 1)
    return int(text.rstrip("kKmMgG")) * factor


def _document(test: dict[str, Any], node: Node, gbps: float) -> dict[str, Any]:
    seconds, streams = test["seconds"], test["streams"]
    whole = max(1, int(seconds))
    intervals = [
        {"streams": [], "sum": _sum(gbps, at, at + seconds / whole)}
        for at in (i * seconds / whole for i in range(whole))
    ]
    now = time.time()
    local = {
        "local_host": node["address"],
        "local_port": 32768 + int.from_bytes(os.urandom(4), "big") % 28000,
        "remote_host": test["host"],
        "remote_port": test["port"],
    }
    each = [
        {"sender": _sum(gbps / streams, 0, seconds), "receiver": _sum(gbps / streams, 0, seconds)}
        for _ in range(streams)
    ]
    return {
        "start": {
            "connected": [{"socket": 5 + i, **local} for i in range(streams)],
            "version": "iperf 3.17.1",
            "system_info": f"Linux {node['name']} {node['host']['kernel']} x86_64",
            "timestamp": {"time": time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(now)),
                          "timesecs": int(now)},
            "connecting_to": {"host": test["host"], "port": test["port"]},
            "cookie": f"{os.getpid():032x}",
            "tcp_mss_default": 8192,
            "test_start": {
                "protocol": "TCP",
                "num_streams": streams,
                "blksize": test["length"],
                "omit": test["omit"],
                "duration": int(seconds) if seconds == int(seconds) else seconds,
                "bytes": 0,
                "blocks": 0,
                "reverse": int(test["reverse"]),
                "bidir": 0,
            },
        },
        "intervals": intervals,
        "end": {
            "streams": each,
            "sum_sent": {**_sum(gbps, 0, seconds), "retransmits": 0, "sender": True},
            "sum_received": {**_sum(gbps, 0, seconds), "sender": True},
            "cpu_utilization_percent": {"host_total": 41.2, "remote_total": 48.9},
            "sender_tcp_congestion": "cubic",
            "receiver_tcp_congestion": "cubic",
        },
    }  # fmt: skip


def _sum(gbps: float, start: float, end: float) -> dict[str, Any]:
    moved = int(gbps * _GBPS / 8 * (end - start))
    return {
        "start": start,
        "end": end,
        "seconds": end - start,
        "bytes": moved,
        "bits_per_second": moved * 8 / (end - start),
        "omitted": False,
    }


def _table(gbps: float, seconds: float, side: str) -> list[str]:
    moved = gbps * _GBPS / 8 * seconds / 2**30
    return [
        "[ ID] Interval           Transfer     Bitrate",
        f"[SUM]   0.00-{seconds:.2f}  sec  {moved:5.1f} GBytes  {gbps:5.1f} Gbits/sec"
        f"                  {side}",
        "",
    ]
