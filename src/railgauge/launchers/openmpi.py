"""Open MPI's ``mpirun``, versions 4 and 5."""

from __future__ import annotations

from railgauge.launchers.model import Launch


def argv(launch: Launch) -> tuple[str, ...]:
    """Return ``mpirun -np N --host a:8,b:8 … -x NAME=VALUE program``."""
    hosts = ",".join(f"{host.address}:{host.ranks}" for host in launch.hosts)
    return (
        "mpirun",
        *(("--allow-run-as-root",) if launch.allow_run_as_root else ()),
        *("-np", str(launch.ranks), "--host", hosts),
        *_placement(launch),
        *_network(launch),
        *launch.options,
        *_environment(launch),
        *launch.program,
    )


def _placement(launch: Launch) -> tuple[str, ...]:
    # Without this mapping Open MPI may distribute ranks over the nodes in turn. A test uses the GPU
    # with the number of the rank on its node, so consecutive ranks must run on the same node.
    mapping = ("--map-by", "slot") if not launch.has_option("--map-by", "-map-by") else ()
    if launch.has_option("--bind-to", "-bind-to"):
        return mapping
    return (*mapping, "--bind-to", launch.bind)


def _network(launch: Launch) -> tuple[str, ...]:
    """Return the options that set the network of the daemons that start the ranks (oob), and that
    of the ranks' own TCP messages (btl)."""
    if not launch.network:
        return ()
    both = ("btl_tcp_if_include", "oob_tcp_if_include")
    return tuple(part for name in both for part in ("-mca", name, launch.network))


def _environment(launch: Launch) -> tuple[str, ...]:
    pairs = sorted(launch.environment.items())
    return tuple(part for name, value in pairs for part in ("-x", f"{name}={value}"))
