"""The labs: the only place of the product that imports ``railgauge_lab``, the package beside it.

It is imported when a lab is asked for, and only then: it takes a while, and no cluster needs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from railgauge.core.model import Cluster


def listed_faults() -> list[str]:
    """Return the lines of ``--lab-fault list``."""
    from railgauge_lab import faults  # noqa: PLC0415 - see above

    return faults.listed()


def declared(cluster: Cluster, nodes: int | None, faults: Sequence[str]) -> Cluster:
    """Return ``cluster`` with so many nodes (``None``: its own), before it is started.

    Raises ``BadInput`` for a number of nodes that no lab has, and for an unknown fault.
    """
    from railgauge_lab import cluster as lab  # noqa: PLC0415
    from railgauge_lab import faults as known  # noqa: PLC0415

    cluster = lab.resized(cluster, nodes) if nodes else cluster
    for fault in faults:
        known.parse(fault, [node.name for node in cluster.nodes])
    return cluster


@contextmanager
def started(
    cluster: Cluster, *, seed: int, nodes: int | None = None, faults: Sequence[str] = ()
) -> Iterator[Cluster]:
    """Give ``cluster`` as reached, over SSH, in a lab that runs until the block ends."""
    from railgauge_lab import cluster as lab  # noqa: PLC0415

    with (
        TemporaryDirectory(prefix="railgauge-lab-", ignore_cleanup_errors=True) as folder,
        lab.start(
            cluster,
            nodes=nodes,
            seed=seed,
            faults=tuple(faults),
            folder=Path(folder, "lab"),
            removes=Path(folder),
        ) as running,
    ):
        yield running.cluster


def run_with_tcp(
    nodes: int, faults: Mapping[str, Sequence[str]], sshd: str, command: Sequence[str]
) -> int:
    """Run ``command`` with a TCP cluster of so many nodes; return its exit code."""
    from railgauge_lab import netlab  # noqa: PLC0415

    return netlab.run(netlab.settings(nodes, faults, sshd), command)
