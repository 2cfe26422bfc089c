"""Docker. Its daemon holds the container, so that it outlives the client."""

from __future__ import annotations

from collections.abc import Sequence

from railgauge.containers.oci import run
from railgauge.core.model import Container

_GPUS = {
    "nvidia": ("--gpus=all",),
    "amd": ("--device=/dev/kfd", "--device=/dev/dri", "--group-add=video"),
    "metax": ("--device=/dev/mxcd", "--device=/dev/dri", "--group-add=video"),
}
# The daemon's limit is 64 KiB, and RDMA locks the memory that it uses.
_OWN = ("--ulimit=memlock=-1:-1",)


def argv(
    container: Container,
    name: str,
    labels: Sequence[str],
    variables: Sequence[str],
    command: Sequence[str],
) -> tuple[str, ...]:
    return run(
        "docker", container, name, labels, command, variables=variables, own=_OWN, gpus=_GPUS
    )


def outside(variable: str) -> str:
    return variable


def binding(folder: str) -> tuple[str, ...]:
    # :z lets the container use it where SELinux is on, and does nothing elsewhere.
    return (f"--volume={folder}:{folder}:z",)


def removal(name: str) -> tuple[str, ...]:
    return ("docker", "rm", "--force", name)
