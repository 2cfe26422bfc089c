"""The subnet that a hostfile declares: its node, its topology file, and the leaves in that file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NoReturn

from railgauge.core.errors import HostfileError
from railgauge.core.model import Fabric
from railgauge.core.plain_files import Unreadable, read_text
from railgauge.subnet.topology import Topology, leaf_groups, topology

_MOST_BYTES = 256 * 2**20
_SHOWN = 3


def declared_fabric(
    hostfile: Path, entry: Mapping[str, str] | None, nodes: Collection[str], line: int
) -> Fabric | None:
    """Return ``fabric`` of a hostfile with the text of its topology file.

    ``None`` if there is no such entry, or if it only gives a reason (``none``). Raises
    ``HostfileError``.
    """
    if entry is None or "none" in entry:
        return None
    where = f"{hostfile}:{line}"
    if entry["node"] not in nodes:
        what = f"fabric: {entry['node']} is not listed under 'nodes'"
        raise HostfileError(what, where=where, remedy="use a node of this hostfile")
    path = hostfile.parent / Path(entry["topology"]).expanduser()
    text = read_topology(path)
    _refuse_unknown_nodes(path, topology(text), nodes)
    return Fabric(entry["node"], text, str(path), entry.get("hca", ""))


def read_topology(path: Path) -> str:
    """Return the text of a topology file. Raises ``HostfileError`` if it is not complete."""
    try:
        text = read_text(path, _MOST_BYTES)
    except Unreadable as error:
        _refuse(path, str(error))
    found = topology(text)
    if found.problem or not found.cables:
        _refuse(path, found.problem or "has no cable")
    return text


def _refuse_unknown_nodes(path: Path, subnet: Topology, nodes: Iterable[str]) -> None:
    """Refuse nodes that the declared subnet does not have: their missing cables would go unnoticed.

    Raises ``HostfileError``.
    """
    hosts = subnet.hosts()
    absent = sorted(node for node in nodes if node.partition(".")[0] not in hosts)
    if absent:
        more = f" and {len(absent) - _SHOWN} more" if len(absent) > _SHOWN else ""
        raise HostfileError(
            f"does not contain the hosts {', '.join(absent[:_SHOWN])}{more}",
            where=str(path),
            remedy="use as a node's name the first word of its adapters' node descriptions, or "
            "dump the subnet again",
        )


def _refuse(path: Path, what: str) -> NoReturn:
    raise HostfileError(what, where=str(path), remedy="dump it with: ibnetdiscover >FILE")


def declared_leaves(fabric: Fabric, nodes: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the leaf groups for a hostfile that declares none."""
    return leaf_groups(topology(fabric.topology), nodes)


def declared_switches(fabric: Fabric | None) -> tuple[str, ...]:
    """Return the switches to which the declared cables are assigned; empty without a subnet."""
    return topology(fabric.topology).owners if fabric else ()
