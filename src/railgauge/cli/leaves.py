"""``railgauge leaves``: the nodes of each leaf switch, as ``groups:`` of a hostfile."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from railgauge.cli import text
from railgauge.config import hostfile
from railgauge.core.errors import BadInput
from railgauge.subnet import Topology, leaf_groups, topology

HELP = "print the groups of nodes on each leaf switch, from a dump of ibnetdiscover"
EXAMPLE = "example: ibnetdiscover >fabric.topo; railgauge leaves fabric.topo"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="a dump of ibnetdiscover, or - for standard input"
    )
    parser.add_argument(
        "--hostfile", type=Path, metavar="F", help="only the nodes of this hostfile (and its dump)"
    )


def run(options: argparse.Namespace) -> int:
    subnet, nodes = _asked(options)
    groups = leaf_groups(subnet, nodes)
    if not groups:
        where = options.file or str(options.hostfile)
        raise BadInput("no host is connected to a switch", where=where)
    if options.json:
        text.print_json({"groups": groups, "switches": list(subnet.owners)})
    else:
        print("groups:")
        for name, members in groups.items():
            print(f'  {name}: "{_folded(members)}"')
    return 0


def _asked(options: argparse.Namespace) -> tuple[Topology, Sequence[str]]:
    """Return the subnet and the names of the nodes to list."""
    if options.file is None and options.hostfile is None:
        raise BadInput("name a dump of ibnetdiscover, or a hostfile that names one")
    nodes: Sequence[str] = ()
    dump = "" if options.file is None else text.read(options.file)
    if options.hostfile is not None:
        schema = options.root / "hostfiles" / "schema.json"
        cluster = hostfile.load(options.hostfile, schema_file=schema)
        nodes = [node.name for node in cluster.nodes]
        if not dump and cluster.fabric is None:
            raise BadInput("names no topology file under 'fabric'", where=cluster.source)
        dump = dump or (cluster.fabric.topology if cluster.fabric else "")
    subnet = topology(dump)
    if subnet.problem or not subnet.cables:
        what = subnet.problem or "has no cable"
        raise BadInput(what, where=options.file or "", remedy="dump it with: ibnetdiscover >FILE")
    return subnet, nodes or sorted(subnet.hosts())


def _folded(members: Sequence[str]) -> str:
    from ClusterShell.NodeSet import NodeSet  # noqa: PLC0415 - slow to import

    return str(NodeSet.fromlist(list(members)))
