"""How commands run on the nodes of a hostfile: ``setup``, ``exec``, ``become``, ``devices``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from railgauge.config.refusal import refuse
from railgauge.core.devices import gpu_number
from railgauge.core.model import Container, Node

BY_SSH = (
    *("ssh", "-T", "-oBatchMode=yes", "-oStrictHostKeyChecking=yes", "-oLogLevel=INFO"),
    *("-oConnectTimeout=10", "-oServerAliveInterval=10", "-oServerAliveCountMax=3"),
    *("-oControlMaster=auto", "-oControlPersist=no", "-oControlPath={socket}"),
)
"""The words of ``exec`` for the system's own ssh; those of the node and the line follow.

``hostfiles/example-openssh.yaml`` has them, with the reasons.
"""

LineOf = Callable[..., int]
"""The number of the line in the file at which these keys are."""


def declared(
    path: Path, document: Mapping[str, Any], nodes: Sequence[Node], line: LineOf
) -> list[Node]:
    """Return the nodes with the file's settings for running commands. Raises ``HostfileError``."""
    words = _exec(path, document, line("exec"), len(nodes))
    become = _words(path, "become", document.get("become", ""), line("become"))
    setup = tuple(document.get("setup", ()))
    return [replace(node, setup=setup, exec=_named(words, node), become=become) for node in nodes]


def _exec(path: Path, document: Mapping[str, Any], line: int, nodes: int) -> Sequence[str]:
    """Return the words of ``exec`` as the file has them; empty for any other transport."""
    words: Sequence[str] = document.get("exec", ())
    if bool(words) != (document.get("transport") == "exec"):
        remedy = 'give both: transport: exec, and exec: [kubectl, exec, "{address}", --]'
        refuse(path, "transport: exec and exec: belong together", remedy, line)
    if words and nodes > 1 and not re.search(r"\{(address|node)\}", " ".join(words)):
        remedy = "write {address} or {node} where the name of the node belongs"
        refuse(path, "exec: is the same command for every node", remedy, line)
    return words


def _named(words: Iterable[str], node: Node) -> tuple[str, ...]:
    return tuple(w.replace("{address}", node.address).replace("{node}", node.name) for w in words)


def _words(path: Path, key: str, text: str, line: int) -> tuple[str, ...]:
    """Return the words of a command line, in which quotes may hold blanks."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        refuse(path, f"{key}: {text!r} has no end: {error}", "close the quotes", line)


def check_devices(
    path: Path, document: Mapping[str, Any], nodes: Collection[str], line: LineOf
) -> None:
    """Refuse names for an unknown node, and a GPU that is named like a NIC."""
    for node, names in document.get("devices", {}).items():
        at = line("devices", node)
        if node not in nodes:
            refuse(path, f"devices: {node} is not under 'nodes'", "name a node of this file", at)
        for name, there in names.items():
            if (gpu_number(name) is None) != (gpu_number(there) is None):
                refuse(path, f"devices: {name} of {node} is {there}", "a GPU is gpu0, gpu1, …", at)


_ALL_TOOLS = "*"


def containers(document: Mapping[str, Any]) -> dict[str, Container]:
    """Return the container of each tool that ``runtime`` names; under ``*`` that of all tools."""
    given = document.get("runtime", {})
    by_tool = {_ALL_TOOLS: given} if "engine" in given else given
    return {key: _container(settings) for key, settings in by_tool.items()}


def _container(settings: Mapping[str, Any]) -> Container:
    return Container(settings["engine"], settings["image"], tuple(settings.get("options", ())))
