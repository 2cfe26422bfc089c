"""The other nodes of the lab, as a launcher on one of them finds them."""

from __future__ import annotations

import os

from . import stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]


class Unreachable(Exception):
    """What ssh says on stderr when it does not get in."""


def named(node: Node, host: str) -> Node:
    """The node that is called ``host`` or has that address. Raises ``Unreachable``."""
    if host in (node["name"], node["address"], "localhost", "127.0.0.1"):
        return node
    for one in _all(node):
        if host in (one["name"], one["address"]):
            return _entered(one, host)
    raise Unreachable(f"ssh: Could not resolve hostname {host}: Name or service not known")


def names(node: Node) -> list[str]:
    """Every node of the cluster, in the order of its hostfile."""
    return [one["name"] for one in _all(node)]


def _all(node: Node) -> list[dict[str, Any]]:
    home = os.path.dirname(node["root"])  # noqa: PTH120 - see main.py
    found: list[dict[str, Any]] = stored.read(f"{home}/../../server")["nodes"]
    return found


def _entered(one: dict[str, Any], host: str) -> Node:
    ssh = one["ssh"]
    if not ssh["listens"]:
        raise Unreachable(f"ssh: connect to host {host} port 22: Connection refused")
    if ssh["other_host_key"]:
        raise Unreachable("Host key verification failed.")
    if ssh["refuses"]:
        raise Unreachable(f"lab@{host}: Permission denied (publickey).")
    found: Node = stored.read(f"{one['home']}/node")
    return found


def expanded(text: str) -> list[str]:
    """``a[01-03,7],b`` as the names it stands for."""
    import re  # noqa: PLC0415 - only srun has such lists, and mpirun starts sooner without

    found: list[str] = []
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\])?[^,\[]*", text):
        head, bracket, rest = part.partition("[")
        inside, _, tail = rest.partition("]")
        found += [head + n + tail for n in _numbers(inside)] if bracket else [part.strip()]
    return found


def _numbers(text: str) -> list[str]:
    numbers: list[str] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        numbers += [f"{n:0{len(first)}d}" for n in range(int(first), int(last or first) + 1)]
    return numbers
