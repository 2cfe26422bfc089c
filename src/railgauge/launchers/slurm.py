"""Slurm's ``srun``, which starts the ranks itself."""

from __future__ import annotations

from railgauge.core.errors import BadInput
from railgauge.launchers.model import Launch

# srun's name for a NUMA domain.
_BINDINGS = {"numa": "ldoms", "none": "none"}


def argv(launch: Launch) -> tuple[str, ...]:
    """``srun --nodes=2 --nodelist=a,b --ntasks=16 … program``.

    Nodes go by the names that Slurm knows them by. What kind of MPI (``--mpi``) and which GPUs
    (``--gres``) the site uses is for the options. Raises ``BadInput`` for hosts with different
    numbers of ranks, which one job step cannot have, and for a network, which slurm.conf names.
    """
    per_host = launch.ranks_per_host
    if launch.network:
        raise BadInput(
            f"mpi_network {launch.network}: srun takes no network for MPI",
            where="slurm",
            remedy="drop it from the hostfile; Slurm's own network is set in slurm.conf",
        )
    if per_host is None:
        raise BadInput("srun starts the same number of ranks on each node", where="slurm")
    return (
        "srun",
        f"--nodes={len(launch.hosts)}",
        f"--nodelist={','.join(host.name for host in launch.hosts)}",
        f"--ntasks={launch.ranks}",
        f"--ntasks-per-node={per_host}",
        *_placement(launch),
        # A rank that dies would otherwise leave the others waiting for it until the time limit.
        "--kill-on-bad-exit=1",
        _export(launch),
        *launch.options,
        *_by_env(launch),
        *launch.program,
    )


def _placement(launch: Launch) -> tuple[str, ...]:
    own = () if launch.has_option("--distribution", "-m") else ("--distribution=block",)
    if launch.has_option("--cpu-bind", "--cpu_bind"):
        return own
    return (*own, f"--cpu-bind={_BINDINGS[launch.bind]}")


def _export(launch: Launch) -> str:
    pairs = sorted(launch.environment.items())
    plain = [f"{name}={value}" for name, value in pairs if _is_plain(value)]
    return f"--export={','.join(['ALL', *plain])}"


def _by_env(launch: Launch) -> tuple[str, ...]:
    """``--export`` has no way to quote a comma; ``env`` on the node needs none."""
    pairs = sorted(launch.environment.items())
    awkward = tuple(f"{name}={value}" for name, value in pairs if not _is_plain(value))
    return ("env", *awkward) if awkward else ()


def _is_plain(value: str) -> bool:
    return not any(character in value for character in ", '\"\\")
