"""A collective that runs until it is ended, and what its traffic costs a pair of other nodes.

A collective with the option for cycles without end (``-N 0``) prints rows until it is killed. As
long as it runs it holds a lock on a file of each of its nodes, which the kernel gives back however
it ends. perftest between other nodes looks for such files, so that it sees a load that really runs.

What a load costs is the lab's own assumption; no document measures it. A fabric with congestion
control holds queues short: the slowest of a hundred messages waits for some packets, and a large
flow keeps all but a few per cent. Without it queues fill the buffers of the switches: small
messages wait for tens of microseconds, and flows share a link as it comes.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Node = dict[str, Any]
    Job = dict[str, Any]

_FILE = "load"
_ROW_S = 0.01
# Smaller messages load the fabric less.
_WHOLE_BYTES = 64 << 20
# By what the times of a message grow: [min, max, typical, average, stdev, p99, p99.9]; then the
# share of its bandwidth that a large flow keeps.
_CONTROLLED = [1.0, 2.0, 1.05, 1.1, 4.0, 1.6, 2.0], 0.97
_UNCONTROLLED = [1.0, 30.0, 3.0, 6.0, 200.0, 20.0, 30.0], 0.45


def endless(job: Job, screen: list[str], rows: Callable[[int], list[str]]) -> int:
    """Print the rows of one cycle after the other while the nodes are loaded; never return.

    ``screen`` is what comes before the rows. The NICs' counters stay as they are.
    """
    held = [_hold(node, max(job["run"]["sizes"])) for node in job["nodes"]]
    cycle = 0
    while held:
        sys.stdout.write("\n".join([*screen, *rows(cycle)]) + "\n")
        sys.stdout.flush()
        screen, cycle = [], cycle + 1
        time.sleep(_ROW_S)
    return 0


def _hold(node: Node, size: int) -> int:
    """Lock the file of a node with its leaf and the size of the messages; return the descriptor."""
    handle = os.open(f"{node['root']}/../{_FILE}", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
    fcntl.flock(handle, fcntl.LOCK_EX)
    os.write(handle, f"{size} {_leaf(node)}".encode())
    return handle


def _leaf(node: Node) -> str:
    return str(node["tree"]["leaf"]) if node["tree"] else ""


def met(node: Node) -> dict[str, Any]:
    """Return what a node says to the other side of perftest of its switch."""
    return {"leaf": _leaf(node), "controls_congestion": node["controls_congestion"]}


def cost(node: Node, ends: list[dict[str, Any]]) -> tuple[list[float], float]:
    """Return by what the times of messages between two nodes grow, and what bandwidth they keep.

    ``ends`` is what ``met`` returns of both; ``node`` is any of the lab.
    """
    leaves = {end["leaf"] for end in ends}
    share = max((_share(size) for size, leaf in _running(node) if leaf in leaves), default=0.0)
    controlled = all(end["controls_congestion"] for end in ends)
    times, keeps = _CONTROLLED if controlled else _UNCONTROLLED
    return [1.0 + (grows - 1.0) * share for grows in times], 1.0 - (1.0 - keeps) * share


def _share(size: int) -> float:
    return min(1.0, size / _WHOLE_BYTES)


def _running(node: Node) -> list[tuple[int, str]]:
    """Return the size of the messages and the leaf of each node that is loaded now."""
    nodes = f"{node['root']}/../.."
    found = (_loaded(f"{nodes}/{name}/{_FILE}") for name in os.listdir(nodes))  # noqa: PTH208
    return [one for one in found if one]


def _loaded(path: str) -> tuple[int, str] | None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        size, _, leaf = os.read(handle, 256).decode().partition(" ")
        return (int(size), leaf) if size else None
    finally:
        os.close(handle)
    return None
