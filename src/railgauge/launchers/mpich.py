"""MPICH's ``mpiexec`` (Hydra)."""

from __future__ import annotations

from railgauge.core.errors import BadInput
from railgauge.launchers.model import Launch


def argv(launch: Launch) -> tuple[str, ...]:
    """Return ``mpiexec -hosts a:8,b:8 … -n N program``.

    Hydra runs as root without an option. It gives the ranks its whole environment, or what
    ``-genvlist`` names if the suite starts its daemons. ``-n`` and ``-env`` apply to the program
    that follows, so they come last. Raises ``BadInput`` for a network that is not an interface.
    """
    hosts = ",".join(f"{host.address}:{host.ranks}" for host in launch.hosts)
    per_host, names = launch.ranks_per_host, launch.by_name
    return (
        *("mpiexec", "-hosts", hosts),
        *(("-ppn", str(per_host)) if per_host is not None else ()),
        *(() if launch.has_option("-bind-to", "--bind-to") else ("-bind-to", launch.bind)),
        *(("-iface", _interface(launch.network)) if launch.network else ()),
        *launch.options,
        *(("-genvlist", ",".join(names)) if launch.through_suite and names else ()),
        *("-n", str(launch.ranks)),
        *_environment(launch),
        *launch.program,
    )


def through(agent: str) -> dict[str, str]:
    """Return Hydra's variables; it calls ``agent`` with the arguments of ssh.

    ``HYDRA_ENV`` keeps it from giving all ranks the environment of the first node, which has the
    tag of that node's processes. The ranks get the environment of their own node, and what
    ``-genvlist`` names.
    """
    return {"HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": agent, "HYDRA_ENV": "none"}


def within(ports: tuple[int, int]) -> dict[str, str]:
    """Return the variable by which Hydra and its proxies listen on these ports only."""
    return {"MPIEXEC_PORT_RANGE": f"{ports[0]}:{ports[1]}"}


def _interface(network: str) -> str:
    """Return the interface. Raises ``BadInput`` for a network: Hydra takes only interface names."""
    if any(sign in network for sign in ",/:"):
        raise BadInput(
            f"mpi_network {network}: MPICH takes the name of one interface",
            remedy="set it in the hostfile, for example: mpi_network: eth0",
        )
    return network


def _environment(launch: Launch) -> tuple[str, ...]:
    # For the ranks: ch3 reads the first, UCX the second.
    names = ("MPIR_CVAR_CH3_PORT_RANGE", ":"), ("UCX_TCP_PORT_RANGE", "-")
    ranges = {name: sign.join(map(str, launch.ports)) for name, sign in names if launch.ports}
    pairs = sorted({**ranges, **launch.by_value}.items())
    return tuple(
        part
        for name, value in pairs
        if name not in launch.by_name
        for part in ("-env", name, value)
    )
