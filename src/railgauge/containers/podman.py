"""Podman. A monitor of its own (conmon) holds the container, so that it outlives the client.

The limit of locked memory is the login's, which a user cannot raise.
"""

from __future__ import annotations

from collections.abc import Sequence

from railgauge.containers.oci import run
from railgauge.core.model import Container

_GPUS = {
    "nvidia": ("--device=nvidia.com/gpu=all",),  # by CDI: nvidia-ctk cdi generate
    "amd": ("--device=/dev/kfd", "--device=/dev/dri", "--group-add=keep-groups"),
    "metax": ("--device=/dev/mxcd", "--device=/dev/dri", "--group-add=keep-groups"),
}


def argv(
    container: Container,
    name: str,
    labels: Sequence[str],
    variables: Sequence[str],
    command: Sequence[str],
) -> tuple[str, ...]:
    return run("podman", container, name, labels, command, variables=variables, own=(), gpus=_GPUS)


def outside(variable: str) -> str:
    return variable


def binding(folder: str) -> tuple[str, ...]:
    # :z lets the container use it where SELinux is on, and does nothing elsewhere.
    return (f"--volume={folder}:{folder}:z",)


def removal(name: str) -> tuple[str, ...]:
    return ("podman", "rm", "--force", "--time=0", name)
