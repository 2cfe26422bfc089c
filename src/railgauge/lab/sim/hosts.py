"""The other nodes of the lab, as a launcher on one of them finds them."""

from __future__ import annotations

import json
import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


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
    path = f"{home}/../../server.json"
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - see main.py
        found: list[dict[str, Any]] = json.load(file)["nodes"]
    return found


def _entered(one: dict[str, Any], host: str) -> Node:
    ssh = one["ssh"]
    if not ssh["listens"]:
        raise Unreachable(f"ssh: connect to host {host} port 22: Connection refused")
    if ssh["other_host_key"]:
        raise Unreachable("Host key verification failed.")
    if ssh["refuses"]:
        raise Unreachable(f"lab@{host}: Permission denied (publickey).")
    with open(f"{one['home']}/node.json", encoding="utf-8") as file:  # noqa: PTH123 - see main.py
        found: Node = json.load(file)
    return found


def expanded(text: str) -> list[str]:
    """``a[01-03,7],b`` as the names it stands for."""
    found: list[str] = []
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\])?[^,\[]*", text):
        head, bracket, rest = part.partition("[")
        inside, _, tail = rest.partition("]")
        found += [head + n + tail for n in _numbers(inside)] if bracket else [part.strip()]
    return found


def _numbers(text: str) -> list[str]:
    numbers: list[str] = []
    for match in _RANGE.finditer(text):
        first, last = match[1], match[2] or match[1]
        numbers += [f"{n:0{len(first)}d}" for n in range(int(first), int(last) + 1)]
    return numbers
