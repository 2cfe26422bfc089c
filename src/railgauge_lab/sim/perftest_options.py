"""Read perftest's command line into a plain description of the test.

For example, ``ib_write_bw -d mlx5_0 -s 1M mx02`` becomes ``verb`` write, ``kind`` bw, ``client``
true, ``host`` mx02, ``device`` mlx5_0, ``sizes`` [1048576], and the defaults for everything else.
"""

from __future__ import annotations

from . import layout
from .options import UsageError, parse, sized

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Test = dict[str, Any]

_SHORT = {
    "d": "device", "i": "ib_port", "p": "tcp_port", "s": "size", "a": "all", "n": "iterations",
    "q": "qps", "F": "any_frequency", "b": "both_ways", "D": "duration", "R": "rdma_cm",
    "x": "gid_index", "I": "inline", "t": "tx_depth", "m": "mtu", "c": "connection", "S": "sl",
    "u": "qp_timeout", "Q": "cq_moderation", "l": "post_list", "f": "margin", "r": "rx_depth",
    "o": "outstanding", "T": "tos", "N": "no_peak", "e": "events", "z": "comm_rdma_cm",
    "U": "unsorted", "H": "histogram",
}  # fmt: skip
_LONG = {
    "ib-dev": "device", "ib-port": "ib_port", "port": "tcp_port", "size": "size", "all": "all",
    "iters": "iterations", "qp": "qps", "CPU-freq": "any_frequency", "bidirectional": "both_ways",
    "duration": "duration", "rdma_cm": "rdma_cm", "gid-index": "gid_index",
    "inline_size": "inline", "tx-depth": "tx_depth", "rx-depth": "rx_depth", "mtu": "mtu",
    "connection": "connection", "sl": "sl", "qp-timeout": "qp_timeout", "cq-mod": "cq_moderation",
    "post_list": "post_list", "margin": "margin", "outs": "outstanding", "tos": "tos",
    "noPeak": "no_peak", "events": "events", "comm_rdma_cm": "comm_rdma_cm",
    "report_gbits": "gbits", "report-unsorted": "unsorted", "report-histogram": "histogram",
    "disable_pcie_relaxed": "no_relaxed_ordering", "out_json": "json", "out_json_file": "json_file",
    "use_hugepages": "hugepages", "bind_source_ip": "bind_source_ip", "tclass": "tclass",
    "force-link": "force_link", "perform_warm_up": "warm_up",
}  # fmt: skip
_FLAGS = {
    "all", "any_frequency", "both_ways", "rdma_cm", "no_peak", "events", "comm_rdma_cm", "gbits",
    "unsorted", "histogram", "no_relaxed_ordering", "json", "hugepages", "warm_up",
    "gpu_dmabuf",
}  # fmt: skip
_VALUED = frozenset((set(_SHORT.values()) | set(_LONG.values()) | {"gpu"}) - _FLAGS)
_FACTOR = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_SWEEP = [2**power for power in range(1, 24)]
_MTUS = {"256", "512", "1024", "2048", "4096"}
_MOST_MEASURED = 20000


class PerftestRefused(Exception):
    """The tool stops; the text is what it prints on stderr, including line ends."""


def read_options(tool: str, arguments: list[str], node: Node) -> Test:
    """Return everything that the test depends on. Raises ``PerftestRefused`` with its message."""
    flavour = node["perftest"]
    long = dict(_LONG)
    if flavour["gpu_flag"]:
        long[flavour["gpu_flag"]] = "gpu"
        long[f"{flavour['gpu_flag']}_dmabuf"] = "gpu_dmabuf"
    try:
        given, words = parse(arguments, _SHORT, long, _VALUED)
        if len(words) > 1:
            raise UsageError(f"unexpected argument '{words[1]}'")
        return _test(tool, given, words, node)
    except (UsageError, ValueError) as error:
        raise PerftestRefused(
            f"{tool}: {error}\n Invalid Command or flag.\n Please check command line and run"
            " again.\n\n Parser function exited with Error\n"
        ) from None


def _test(tool: str, given: dict[str, str], words: list[str], node: Node) -> Test:
    verb, kind = tool.removeprefix("ib_").split("_")
    flavour = node["perftest"]
    device = given.get("device") or next(iter(node["devices"]), "")
    fabric = node["devices"].get(device, {}).get("link_layer", "InfiniBand")
    sizes = _sizes(given, kind)
    iterations = int(given.get("iterations", 5000 if tool == "ib_write_bw" else 1000))
    duration = float(given.get("duration", 0))
    both_ways = "both_ways" in given and kind == "bw"
    return {
        "tool": tool,
        "verb": verb,
        "kind": kind,
        "client": bool(words),
        "host": words[0] if words else "",
        "device": device,
        "ib_port": int(given.get("ib_port", 1)),
        "tcp_port": int(given.get("tcp_port", 18515)),
        "sizes": sizes,
        "iterations": iterations,
        "duration_s": duration,
        "no_peak": bool(duration) or "no_peak" in given or iterations > _MOST_MEASURED,
        "qps": int(given.get("qps", 1)),
        "both_ways": both_ways,
        "title": layout.title(verb, kind, both_ways=both_ways),
        "connection": given.get("connection", "RC"),
        "tx_depth": int(given.get("tx_depth", 128 if kind == "bw" else 1)),
        "cq_moderation": _cq_moderation(given),
        "inline": int(given.get("inline", 236 if kind == "lat" and verb != "read" else 0)),
        "mtu": _mtu(given),
        "gid_index": _gid_index(given, fabric),
        "link_layer": fabric,
        "rdma_cm": "rdma_cm" in given,
        "relaxed": "no_relaxed_ordering" not in given,
        "relaxed_ordering_compliant": flavour["relaxed_ordering_compliant"],
        "frequency_warning": "" if "any_frequency" in given else flavour["frequency_warning"],
        "gbits": "gbits" in given,
        "gpu": int(given["gpu"]) if "gpu" in given else None,
        "gpu_flag": flavour["gpu_flag"],
        "gpu_dmabuf": "gpu_dmabuf" in given,
        "gpu_memory_name": flavour["gpu_memory_name"],
        "dialect": flavour["dialect"],
        "json_file": given.get("json_file") or ("perftest_out.json" if "json" in given else ""),
    }


def _sizes(given: dict[str, str], kind: str) -> list[int]:
    if "all" in given:
        return _SWEEP
    size = sized(given.get("size", "65536" if kind == "bw" else "2"), _FACTOR)
    if not size:
        raise UsageError(f"invalid message size '{given['size']}'")
    return [size]


def _cq_moderation(given: dict[str, str]) -> int:
    return int(given.get("cq_moderation", 100))


def _mtu(given: dict[str, str]) -> int | None:
    if "mtu" not in given:
        return None
    if given["mtu"] not in _MTUS:
        raise UsageError(f"invalid MTU '{given['mtu']}'")
    return int(given["mtu"])


def _gid_index(given: dict[str, str], link_layer: str) -> int | None:
    if "gid_index" in given:
        return int(given["gid_index"])
    return None if link_layer == "InfiniBand" else 3
