"""``gdsio``: transfers between a declared path and a GPU's memory, at the rates of fio's disk.

As the real one it prints ``GPUD`` whatever way the data take: where the node has no direct path,
cuFile moves them through host memory, unless the environment forbids that.
"""

from __future__ import annotations

import os
import sys

from . import figures
from .counters import turn
from .fio import OPERATIONS
from .options import UsageError, parse, sized

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]

_NAMES = {
    "D": "folder", "d": "gpu", "w": "threads", "s": "size", "i": "block", "x": "transfer",
    "I": "way", "T": "seconds",
}  # fmt: skip
_NEEDED = ("folder", "gpu", "threads", "size", "block", "transfer", "way")
_TRANSFERS = {"0": "GPUD", "1": "CPUONLY", "2": "CPU_GPU"}
_WAYS = {"0": "read", "1": "write"}
_FACTORS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_MIB = 1 << 20
_OVER_HOST = 0.6
_NOISE_BYTES = 1 << 29
_REFUSED = "file register error: GPUDirect Storage not supported on current file filename:"
_FELL_BACK = (
    "NOTICE  cufio:293 cuFileHandleRegister GDS not supported or disabled by config, "
    "using cuFile posix read/write with compat mode enabled"
)


def run(_tool: str, arguments: list[str], node: Node) -> int:
    """Return 0, or 1 for a command line or a file that it does not take."""
    try:
        asked, _ = parse(arguments, _NAMES, {}, frozenset(_NAMES.values()))
    except UsageError as error:
        sys.stderr.write(f"gdsio: {error}\n")
        return 1
    if any(name not in asked for name in _NEEDED):
        sys.stderr.write("usage: gdsio -D folder -d gpu -w threads -s size -i block -x 0 -I 0\n")
        return 1
    if not int(asked["gpu"]) < len(node["gpus"]):
        sys.stderr.write(f"Error: invalid GPU index {asked['gpu']}\n")
        return 1
    may_fall_back = os.environ.get("CUFILE_ALLOW_COMPAT_MODE", "true") != "false"
    is_direct = asked["transfer"] == "0" and node.get("gds", True)
    _log(may_fall_back, fell_back=asked["transfer"] == "0" and not is_direct)
    if asked["transfer"] == "0" and not is_direct and not may_fall_back:
        sys.stderr.write(f"{_REFUSED}{asked['folder']}/gdsio.0\n")
        return 1
    print(_row(asked, node, 1.0 if is_direct else _OVER_HOST))
    return 0


def _log(may_fall_back: bool, *, fell_back: bool) -> None:
    """Write what cuFile does where the environment wants its log."""
    path = os.environ.get("CUFILE_LOGFILE_PATH")
    if not path:
        return
    lines = [
        f"INFO   0:1511 properties.use_compat_mode : {str(may_fall_back).lower()}",
        "INFO   0:1513 properties.force_compat_mode : false",
        *([_FELL_BACK] if fell_back and may_fall_back else []),
    ]
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 - see main.py
        file.writelines(f" 30-11-2026 12:00:00:1 [pid=1 tid=1] {line}\n" for line in lines)


def _row(asked: dict[str, str], node: Node, share: float) -> str:
    way, threads = _WAYS[asked["way"]], int(asked["threads"])
    each, block = (sized(asked[name], _FACTORS) or _MIB for name in ("size", "block"))
    key = f"{node['name']} gdsio {asked['folder']} {way}"
    key = f"{key} turn {turn(node, key)}"
    rate = OPERATIONS[way, "1M"] * _MIB * share * node.get("storage_speed", 1.0)
    rate *= figures.noise(node, key, _NOISE_BYTES)
    ops = threads * each // block
    if "seconds" in asked:
        ops = int(0.98 * int(asked["seconds"]) * rate / block)
    seconds = ops * block / rate
    return (
        f"IoType: {way.upper()} XferType: {_TRANSFERS[asked['transfer']]} Threads: {threads} "
        f"DataSetSize: {ops * block >> 10}/{threads * each >> 10}(KiB) IOSize: {block >> 10}(KiB) "
        f"Throughput: {rate / (1 << 30):.6f} GiB/sec, "
        f"Avg_Latency: {threads * block / rate * 1e6:.6f} usecs ops: {ops} "
        f"total_time {seconds:.6f} secs"
    )
