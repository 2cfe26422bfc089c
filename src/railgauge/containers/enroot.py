"""Enroot. The container is a process of the command's own group; its hooks add the devices."""

from __future__ import annotations

from collections.abc import Sequence

from railgauge.core.model import Container

_NVIDIA = ("NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility")
_MOUNTS = {"amd": ("/dev/kfd", "/dev/dri"), "metax": ("/dev/mxcd", "/dev/dri")}


def argv(
    container: Container,
    name: str,  # noqa: ARG001 - the contract of an engine
    labels: Sequence[str],  # noqa: ARG001
    variables: Sequence[str],
    command: Sequence[str],
) -> tuple[str, ...]:
    given = ["RAILGAUGE_RUN", *variables]
    given += _NVIDIA if container.gpu_vendor == "nvidia" else ()
    folders = [*_MOUNTS.get(container.gpu_vendor, ())]
    if container.rdma:
        given.append("MELLANOX_VISIBLE_DEVICES=all")
        folders.append("/dev/infiniband")
    return (
        *("enroot", "start"),
        *(f"--env={variable}" for variable in given),
        *(f"--mount={folder}:{folder}" for folder in folders),
        *(*container.options, container.image, *command),
    )


def outside(variable: str) -> str:
    return variable


def binding(folder: str) -> tuple[str, ...]:
    return (f"--mount={folder}:{folder}:x-create=dir,rbind",)


def removal(name: str) -> tuple[str, ...]:  # noqa: ARG001 - the contract of an engine
    return ()
