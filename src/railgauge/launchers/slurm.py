"""Slurm's ``srun``, which starts the ranks itself."""

from __future__ import annotations

from railgauge.core.errors import BadInput
from railgauge.launchers.model import Launch

# srun's name for a NUMA domain.
_BINDINGS = {"numa": "ldoms", "none": "none"}


def argv(launch: Launch) -> tuple[str, ...]:
    """Return ``srun --nodes=2 --nodelist=a,b --ntasks=16 … program``.

    The names of the nodes must be those in Slurm. The site's kind of MPI (``--mpi``) and its GPUs
    (``--gres``) are set by ``options``. Raises ``BadInput`` if hosts have different numbers of
    ranks, which one job step cannot have, and for a network, which is set in slurm.conf.
    """
    per_host = launch.ranks_per_host
    if launch.network:
        raise BadInput(
            f"mpi_network {launch.network}: srun has no option for the network of MPI",
            where="slurm",
            remedy="remove it from the hostfile; Slurm's own network is set in slurm.conf",
        )
    if per_host is None:
        raise BadInput("srun can only start the same number of ranks on each node", where="slurm")
    return (
        "srun",
        f"--nodes={len(launch.hosts)}",
        f"--nodelist={','.join(host.name for host in launch.hosts)}",
        f"--ntasks={launch.ranks}",
        f"--ntasks-per-node={per_host}",
        *_placement(launch),
        # Without this, the other ranks would wait for a dead rank until the time limit.
        "--kill-on-bad-exit=1",
        _export(launch),
        *launch.options,
        *_by_env(launch),
        *launch.program,
    )


def through(agent: str) -> dict[str, str]:  # noqa: ARG001 - the contract of a launcher
    """Return nothing: slurmd starts the ranks."""
    return {}


def _placement(launch: Launch) -> tuple[str, ...]:
    own = () if launch.has_option("--distribution", "-m") else ("--distribution=block",)
    if launch.has_option("--cpu-bind", "--cpu_bind"):
        return own
    return (*own, f"--cpu-bind={_BINDINGS[launch.bind]}")


def _export(launch: Launch) -> str:
    plain = [f"{name}={value}" for name, value in launch.by_value.items() if _is_plain(value)]
    return f"--export={','.join(['ALL', *plain])}"


def _by_env(launch: Launch) -> tuple[str, ...]:
    """Return an ``env`` command for values that ``--export`` cannot quote, such as a comma."""
    awkward = (f"{name}={v}" for name, v in launch.by_value.items() if not _is_plain(v))
    return ("env", *words) if (words := tuple(awkward)) else ()


def _is_plain(value: str) -> bool:
    return not any(character in value for character in ", '\"\\")
