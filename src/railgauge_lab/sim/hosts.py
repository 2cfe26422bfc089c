"""The nodes of the lab, as a launcher on one of them reaches them."""

from __future__ import annotations

import os

from . import fault_timing, stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]


class Unreachable(Exception):
    """A login that fails; the text is what ssh prints on stderr."""


_ITSELF = ("localhost", "127.0.0.1")


def address(node: Node, host: str) -> str:
    """Return the address to connect to: a node of the lab listens on its own one alone."""
    return node["address"] if host in _ITSELF else host


def named(node: Node, host: str, agent: str = "") -> Node:
    """Return the node with the name or address ``host``. Raises ``Unreachable``.

    ``agent`` is the remote agent that the launcher uses in place of ssh.
    """
    if host in (node["name"], node["address"], *_ITSELF):
        return node
    for one in _all(node):
        if host in (one["name"], one["address"]):
            return _called(one, host, agent) if agent else _entered(node, one, host)
    raise Unreachable(f"ssh: Could not resolve hostname {host}: Name or service not known")


def unknown(node: Node, host: str) -> str:
    """Return the name of another node whose address is ``host``, if the node cannot resolve it.

    A tool that is played without a lab has no other nodes.
    """
    if not node["root"]:
        return ""
    others = (one for one in _all(node) if host in (one["name"], one["address"]))
    return next((str(one["name"]) for one in others if not one["ssh"]["resolves"]), "")


def names(node: Node) -> list[str]:
    """Return the names of all nodes of the cluster, in the order of its hostfile."""
    return [one["name"] for one in _all(node)]


def _all(node: Node) -> list[dict[str, Any]]:
    home = os.path.dirname(node["root"])  # noqa: PTH120 - see main.py
    found: list[dict[str, Any]] = stored.read(f"{home}/../../server")["nodes"]
    return found


def _called(one: dict[str, Any], host: str, agent: str) -> Node:
    """Have the agent start a daemon there, which in the lab has nothing to do."""
    import subprocess  # noqa: PLC0415 - as below

    done = subprocess.run([*agent.split(), host, "true"], capture_output=True, check=False)
    if done.returncode:
        raise Unreachable(done.stderr.decode(errors="replace").strip())
    return fault_timing.present(f"{one['home']}/node")


def _entered(node: Node, one: dict[str, Any], host: str) -> Node:
    ssh = one["ssh"]
    if not ssh["resolves"]:
        raise Unreachable(f"ssh: Could not resolve hostname {host}: Name or service not known")
    if not ssh["listens"]:
        raise Unreachable(f"ssh: connect to host {host} port 22: Connection refused")
    if ssh["other_host_key"]:
        raise Unreachable("Host key verification failed.")
    if ssh["refuses"] or not node["logs_in"]:
        raise Unreachable(f"lab@{host}: Permission denied (publickey).")
    return fault_timing.present(f"{one['home']}/node")


def expanded(text: str) -> list[str]:
    """Return the names of a list such as ``a[01-03,7],b``: a01, a02, a03, a7, b."""
    import re  # noqa: PLC0415 - only srun needs it, and mpirun starts faster without it

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
