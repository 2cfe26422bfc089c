"""The CPUs that a launcher gives each rank of a node, as Open MPI, Hydra and Slurm bind them.

On two sockets with the CPUs ``0-3,8-11`` and ``4-7,12-15``, ``--map-by socket --bind-to core``
gives the first ranks the CPUs ``0,8``, ``4,12``, ``1,9``.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]

_SOCKETS = ("socket", "numa", "package", "ldoms", "sockets")
_CORES = ("core", "cores")


def given(node: Node, rank: int, bind: str, mapping: str) -> str:
    """Return the CPUs of the rank with this number on its node.

    ``bind`` is what a rank is bound to, ``mapping`` what ranks are dealt out over: ``socket``, or
    ``slot`` and other words, by which the cores of the first socket come first.
    """
    nodes = node["host"]["numa_nodes"]
    if bind in _CORES:
        cores = [_cores(cpus) for cpus in nodes]
        if mapping in _SOCKETS:
            own = cores[rank % len(cores)]
            return own[rank // len(cores) % len(own)]
        every = [core for own in cores for core in own]
        return every[rank % len(every)]
    if bind in _SOCKETS:
        cpus: str = nodes[rank % len(nodes)]
        return cpus
    return ",".join(nodes)


def core_of(node: Node, cpus: str) -> str:
    """Return the hardware threads of the core of the first of these CPUs."""
    first = int(cpus.replace("-", ",").split(",")[0])
    every = (core for one in node["host"]["numa_nodes"] for core in _cores(one))
    return next(core for core in every if first in map(int, core.split(",")))


def _cores(cpus: str) -> list[str]:
    """Return the cores of a socket: two ranges of CPUs are the two threads of each of its cores."""
    ends = (part.partition("-") for part in cpus.split(","))
    threads = [range(int(first), int(last or first) + 1) for first, _, last in ends]
    return [",".join(map(str, core)) for core in zip(*threads)]  # noqa: B905 - of one length
