"""What the command lines of docker and podman have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from railgauge.core.model import Container


def run(
    program: str,
    container: Container,
    name: str,
    labels: Sequence[str],
    command: Sequence[str],
    *,
    variables: Sequence[str],
    own: Sequence[str],
    gpus: Mapping[str, Sequence[str]],
) -> tuple[str, ...]:
    """Return the command line; ``own`` are options of this engine, ``gpus`` those by vendor."""
    first, *arguments = command
    return (
        *(program, "run", "--rm", "--pull=never", f"--name={name}"),
        *(f"--label={label}" for label in labels),
        *(f"--env={variable}" for variable in ("RAILGAUGE_RUN", *variables)),
        *("--network=host", "--ipc=host", "--cap-add=IPC_LOCK", *own),
        *gpus.get(container.gpu_vendor, ()),
        *(("--device=/dev/infiniband",) if container.rdma else ()),
        *container.options,
        # An image's own entry point prints, or starts something else.
        *(f"--entrypoint={first}", container.image, *arguments),
    )
