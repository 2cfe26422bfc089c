"""The clusters of the labs' hostfiles: with any number of nodes, and with leaves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from testing.places import ROOT

from railgauge.config import hostfile
from railgauge.core.model import Cluster
from railgauge_lab.cluster import resized


def lab_cluster(name: str, count: int) -> Cluster:
    """The cluster of the lab's hostfile with this number of nodes."""
    path = ROOT / "hostfiles" / f"lab-{name}.yaml"
    return resized(hostfile.load(path, schema_file=ROOT / "hostfiles" / "schema.json"), count)


@cache
def leaves_of(name: str, count: int) -> Mapping[str, tuple[str, ...]]:
    """So many leaves of two nodes each of a lab."""
    nodes = [node.name for node in lab_cluster(name, 2 * count).nodes] if count else []
    pairs = zip(nodes[::2], nodes[1::2], strict=True)
    return {f"leaf{number:02d}": pair for number, pair in enumerate(pairs, 1)}
