"""MPICH's ``mpiexec`` (Hydra)."""

from __future__ import annotations

from railgauge.core.errors import BadInput
from railgauge.launchers.model import Launch


def argv(launch: Launch) -> tuple[str, ...]:
    """Return ``mpiexec -hosts a:8,b:8 … -n N -env NAME VALUE program``.

    Hydra runs as root without an option. ``-n`` and ``-env`` apply to the program that follows,
    so they come last. Raises ``BadInput`` for a network that is not an interface.
    """
    hosts = ",".join(f"{host.address}:{host.ranks}" for host in launch.hosts)
    per_host = launch.ranks_per_host
    return (
        *("mpiexec", "-hosts", hosts),
        *(("-ppn", str(per_host)) if per_host is not None else ()),
        *(() if launch.has_option("-bind-to", "--bind-to") else ("-bind-to", launch.bind)),
        *(("-iface", _interface(launch.network)) if launch.network else ()),
        *launch.options,
        *("-n", str(launch.ranks)),
        *_environment(launch),
        *launch.program,
    )


def _interface(network: str) -> str:
    """Return the interface. Raises ``BadInput`` for a network: Hydra takes only interface names."""
    if any(sign in network for sign in ",/:"):
        raise BadInput(
            f"mpi_network {network}: MPICH takes the name of one interface",
            remedy="set it in the hostfile, for example: mpi_network: eth0",
        )
    return network


def _environment(launch: Launch) -> tuple[str, ...]:
    pairs = sorted(launch.environment.items())
    return tuple(part for name, value in pairs for part in ("-env", name, value))
