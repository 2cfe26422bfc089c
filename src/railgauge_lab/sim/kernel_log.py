"""``dd if=…/dev/kmsg``: the log of the node's kernel, record by record; any other ``dd`` is real.

The first reading finds the lines of the boot only. The kernel says more while the lab runs: lines
of a healthy node, and those of the node's faults, dated between the first reading and this one.
``/proc/uptime`` shows the clock of the log as of the last reading.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time

from . import stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]

_LOG = "/dev/kmsg"
_UP_BEFORE_S = 86400.0
_INFO, _ERROR, _OF_A_PROGRAM = 6, 3, 30  # syslog: facility 0 is the kernel, 3 a daemon
_BOOT_US = 1_700_000
_KEPT_WHEN_LOST = 1


def run(_tool: str, arguments: list[str], node: Node) -> int:
    """Return exit code 1, with which ``dd`` ends when there is no further record."""
    paths = [word[3:] for word in arguments if word.startswith("if=")]
    if not paths or not paths[-1].endswith(_LOG):
        os.execvpe("dd", ["dd", *arguments], {**os.environ, "PATH": os.defpath})  # noqa: S606
    path, log = paths[-1], node["kernel_log"]
    if log["denied"] and "SUDO_USER" not in os.environ:
        sys.stderr.write(f"dd: failed to open '{path}': Operation not permitted\n")
        return 1
    lines = _lines(node)
    print("\n".join(lines), flush=True)
    sys.stderr.write(f"dd: error reading '{path}': Resource temporarily unavailable\n")
    sys.stderr.write(f"0+{len(lines)} records in\n0+{len(lines)} records out\n")
    return 1


def _lines(node: Node) -> list[str]:
    """Return the records that the log holds now; the first of them may be lost."""
    path = f"{node['root']}/../kernel_log"
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        now = time.monotonic()
        is_first = os.fstat(handle).st_size == 0
        state: dict[str, Any] = {"start": now, "logged": []} if is_first else stored.read(path)
        if not is_first and not state["logged"]:
            middle = _clock_us(state, (state["start"] + now) / 2)
            state["logged"] = [[one[0], middle, one[1]] for one in _window(node)]
        stored.write(path, state)
        _tell_uptime(node, _clock_us(state, now))
    finally:
        os.close(handle)
    records = [[level, _BOOT_US * (1 + n), text] for n, (level, text) in enumerate(_boot(node))]
    records += state["logged"]
    lost = len(records) - _KEPT_WHEN_LOST if node["kernel_log"]["lost"] and not is_first else 0
    return [
        f"{level},{number},{at_us},-;{text}"
        for number, (level, at_us, text) in enumerate(records)
        if number >= lost
    ]


def _clock_us(state: dict[str, Any], at: float) -> int:
    return int(1e6 * (_UP_BEFORE_S + at - state["start"]))


def _tell_uptime(node: Node, now_us: int) -> None:
    with open(f"{node['root']}/proc/uptime", "w", encoding="ascii") as file:  # noqa: PTH123 - see main.py
        file.write(f"{now_us / 1e6:.2f} {now_us / 5e5:.2f}\n")


def _boot(node: Node) -> list[list[Any]]:
    """Return the lines of the boot; some of them would be faults if they were of a run."""
    host = node["host"]
    found = [
        [5, f"Linux version {host['kernel']} (buildd@lab) #1 SMP"],
        [_INFO, f"smpboot: Allowing {host['cpus']} CPUs, 0 hotplug CPUs"],
        [_INFO, "RAS: Correctable Errors collector initialized."],
        [_INFO, "pcieport 0000:00:01.0: AER: enabled with IRQ 122"],
        [4, "pcieport 0000:00:01.0: AER: Corrected error message received from 0000:00:01.0"],
    ]
    for nic in node["devices"].values():
        found.append(
            [_INFO, f"mlx5_core {nic['pci']}: Port module event: module 0, Cable unplugged"]
        )
        found.append([_INFO, f"mlx5_core {nic['pci']}: Port module event: module 0, Cable plugged"])
    if node["gpus"] and node["smi"].get("vendor") == "nvidia":
        slot = node["gpus"][0]["bus"].rpartition(".")[0]
        found.append([_ERROR, f"NVRM: Xid (PCI:{slot}): 31, pid=812, name=python3, Ch 00000008"])
    return found + [[level, text] for level, text in node["kernel_log"]["before"]]


def _window(node: Node) -> list[list[Any]]:
    """Return what the kernel says while the lab runs: a healthy node's lines, and the faults'."""
    healthy = [
        [_INFO, "IPv6: ADDRCONF(NETDEV_CHANGE): eno1: link becomes ready"],
        [_OF_A_PROGRAM, "systemd[1]: Started Session 7 of User lab."],
        [_INFO, "perf: interrupt took too long (2503 > 2500), lowering the sample rate to 79750"],
    ]
    return healthy + [[level, text] for level, text in node["kernel_log"]["faults"]]
