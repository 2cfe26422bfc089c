"""Containers in which the tools run: one module for each engine makes its command line.

A command of a container is a process of the engine on the node, in the command's process group.
The container of a daemon (docker, podman) is not its child, and is ended by its name or its label.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Protocol, cast

from railgauge.core.model import Container

_ENGINES = {
    "docker": "railgauge.containers.docker",
    "podman": "railgauge.containers.podman",
    "enroot": "railgauge.containers.enroot",
    "apptainer": "railgauge.containers.apptainer",
}
# Engines whose containers outlive the process that started them.
DETACHED = ("docker", "podman")


class Engine(Protocol):
    """The contract of an engine's module."""

    def argv(
        self,
        container: Container,
        name: str,
        labels: Sequence[str],
        variables: Sequence[str],
        command: Sequence[str],
    ) -> tuple[str, ...]:
        """Return the command line that runs ``command`` in a new container and ends with its code.

        The container is called ``name`` and removes itself. ``labels`` are ``KEY=VALUE``. Every
        GPU, every RDMA device and the network of the node are there, and so are the variable
        ``RAILGAUGE_RUN`` and those named by ``variables``, with the values that they have outside.
        An image that the node does not have is an error, not a download.
        """

    def outside(self, variable: str) -> str:
        """Return the name under which the engine's client is given a variable of the container."""

    def binding(self, folder: str) -> tuple[str, ...]:
        """Return the options that show a folder of the node, under its own name, inside."""

    def removal(self, name: str) -> tuple[str, ...]:
        """Return the command line that ends and removes a container; empty if it is its group."""


def engine(name: str) -> Engine:
    """Return the module of an engine that the schema of hostfiles knows."""
    return cast(Engine, import_module(_ENGINES[name]))


def labels(tag: str) -> tuple[str, ...]:
    """Return the labels by which a sweep finds the containers of a run, and of one part of it.

    ``tag`` is ``RUN/NODE/PART/``; empty for none.
    """
    if not tag:
        return ()
    run = "/".join(tag.split("/")[:2])
    return (f"railgauge.run={run}/", f"railgauge.part={tag}")
