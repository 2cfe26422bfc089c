"""The description of a node at this moment: with those of its faults that act now.

A node with intermittent faults has ``timings``: ``[name, probability, time of the monotonic clock
at which it begins, whether it is one of the fabric]`` for each of them. The description with a set
of them is in ``node.N`` beside ``node``, where bit I of N is fault I. A process is one measurement:
it asks once for a node.
"""

from __future__ import annotations

import os
import sys
import time

from . import stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]

_present: dict[str, Node] = {}
_chosen: dict[str, int] = {}
_of_fabric: list[str] = []  # what this process draws for the fabric: the same for every node


def present(path: str) -> Node:
    """Return the description in the file at ``path``, with the faults that act now."""
    path = path.replace("/bin/../", "/")
    if path not in _present:
        node = stored.read(path)
        number = _chosen[path] = _acting(node) if "timings" in node else 0
        _present[path] = stored.read(f"{path}.{number}") if number else node
    return _present[path]


def at_this_moment(node: Node) -> Node:
    """Return the description for a tool that runs on while faults begin.

    Faults of a probability below 1 are those that were drawn when it started.
    """
    path = f"{os.path.dirname(node['root'])}/node"  # noqa: PTH120 - see main.py
    healthy: Node = stored.read(path)
    if "timings" not in healthy:
        return node
    number, now = _chosen.get(path, 0), time.monotonic()
    for bit, (_, share, begins, _) in enumerate(healthy["timings"]):
        if share == 1 and now >= begins:
            number |= 1 << bit
    found: Node = stored.read(f"{path}.{number}") if number else healthy
    return found


def _acting(node: Node) -> int:
    """Return the sum of the bits of the faults that act on this measurement."""
    from .chance import chance  # noqa: PLC0415
    from .counters import turn  # noqa: PLC0415 - most nodes need neither, and tools start faster

    tool = sys.argv[1].rpartition("/")[2] if len(sys.argv) > 1 else ""
    drawn = f"{node['seed']} {node['name']} {tool} {turn(node, f'faults of {tool}')}"
    now = time.monotonic()
    _of_fabric.append(drawn)
    found = 0
    for bit, (name, share, begins, is_of_fabric) in enumerate(node["timings"]):
        key = _of_fabric[0] if is_of_fabric else drawn
        if now >= begins and chance(f"{key} {name}") < share:
            found |= 1 << bit
    return found
