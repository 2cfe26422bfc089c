"""MPICH's ``mpiexec`` (Hydra)."""

from __future__ import annotations

from railgauge.launchers.model import Launch


def argv(launch: Launch) -> tuple[str, ...]:
    """``mpiexec -hosts a:8,b:8 … -n N -env NAME VALUE program``.

    Hydra has no switch against root and needs none. ``-n`` and ``-env`` belong to the program
    that follows, so they come last.
    """
    hosts = ",".join(f"{host.address}:{host.ranks}" for host in launch.hosts)
    per_host = launch.ranks_per_host
    return (
        *("mpiexec", "-hosts", hosts),
        *(("-ppn", str(per_host)) if per_host is not None else ()),
        *(() if launch.has_option("-bind-to", "--bind-to") else ("-bind-to", launch.bind)),
        *launch.options,
        *("-n", str(launch.ranks)),
        *_environment(launch),
        *launch.program,
    )


def _environment(launch: Launch) -> tuple[str, ...]:
    pairs = sorted(launch.environment.items())
    return tuple(part for name, value in pairs for part in ("-env", name, value))
