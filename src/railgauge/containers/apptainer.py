"""Apptainer. The container is a process of the command's own group; the node's /dev is in it."""

from __future__ import annotations

from collections.abc import Sequence

from railgauge.core.model import Container

_GPUS = {"nvidia": ("--nv",), "amd": ("--rocm",), "metax": ("--bind=/opt/maca",)}


def argv(
    container: Container,
    name: str,  # noqa: ARG001 - the contract of an engine
    labels: Sequence[str],  # noqa: ARG001
    variables: Sequence[str],  # noqa: ARG001 - it takes all that ``outside`` names
    command: Sequence[str],
) -> tuple[str, ...]:
    gpus = _GPUS.get(container.gpu_vendor, ())
    return ("apptainer", "exec", *gpus, *container.options, container.image, *command)


def outside(variable: str) -> str:
    # Also where options keep the node's own variables out (--cleanenv), and before the image's.
    return f"APPTAINERENV_{variable}"


def binding(folder: str) -> tuple[str, ...]:
    return (f"--bind={folder}:{folder}",)


def removal(name: str) -> tuple[str, ...]:  # noqa: ARG001 - the contract of an engine
    return ()
