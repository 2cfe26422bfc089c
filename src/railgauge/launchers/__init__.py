"""Launchers, which start one process per GPU on several nodes: one module for each, by name.

A launcher turns a ``Launch`` into the argv of one command, which runs on the first node.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Protocol, cast

from railgauge.core.errors import BadInput
from railgauge.launchers.model import Host, Launch, is_host

__all__ = ["NAMES", "Host", "Launch", "Launcher", "is_host", "launcher", "through"]

_MODULES = {
    "openmpi": "railgauge.launchers.openmpi",
    "mpich": "railgauge.launchers.mpich",
    "slurm": "railgauge.launchers.slurm",
}

NAMES = tuple(_MODULES)
PROGRAMS = ("mpirun", "mpiexec", "srun")
# The tools whose ranks a launcher starts.
LAUNCHED = ("ccl-tests", "mpi-bench", "train-bench", "congestion")


class Launcher(Protocol):
    """The contract of a launcher module."""

    def argv(self, launch: Launch) -> tuple[str, ...]:
        """Return the command that starts all ranks. Raises ``BadInput`` if it cannot start them."""

    def through(self, agent: str) -> Mapping[str, str]:
        """Return the environment in which the launcher starts its daemons by ``agent``.

        ``agent`` is the path of a program that is called as ssh is, with a host and a command.
        Empty for a launcher that has daemons of its own on every node.
        """


def launcher(name: str) -> Launcher:
    """Return the launcher module ``name``. Raises ``BadInput`` for an unknown one."""
    if name not in _MODULES:
        raise BadInput(f"unknown launcher {name!r}", remedy=f"known: {', '.join(NAMES)}")
    return cast(Launcher, import_module(_MODULES[name]))


def through(agent: str) -> dict[str, str]:
    """Return the environment in which every launcher starts its daemons by ``agent``."""
    return {k: v for name in NAMES for k, v in launcher(name).through(agent).items()}
