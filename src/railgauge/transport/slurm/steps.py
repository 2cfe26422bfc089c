"""How Slurm is called: the argv of ``srun``, and the environment of whatever is called."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from railgauge.core.errors import BadInput, TransportError
from railgauge.core.model import SlurmSettings

_ANSWER_LIMIT_S = 60.0
# srun takes orders from its environment: those of a surrounding batch job or step are not ours.
_KEPT = ("SLURM_CONF", "SLURM_CLUSTERS", "SLURM_MPI_TYPE")


def environment() -> Mapping[str, str]:
    """This process's environment without what a surrounding job or step says to ``srun``."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or not name.startswith(("SLURM_", "SRUN_"))
    }


def folder() -> Path:
    """Where commands run, as over ssh: the user's home; srun takes its own folder for theirs."""
    home = Path.home()
    return home if home.is_dir() else Path("/")


def step_argv(
    settings: SlurmSettings, names: Sequence[str], argv: Sequence[str], *options: str
) -> tuple[str, ...]:
    """The ``srun`` that runs ``argv`` once on each node.

    The step shares its nodes with every other one of the run (``--overlap``) and gets all that
    the allocation has of them: Slurm is to get out of the way, not to divide a node up.
    """
    return (
        *("srun", f"--jobid={settings.job}", "--overlap", "--quiet"),
        *(f"--nodes={len(names)}", f"--ntasks={len(names)}", "--ntasks-per-node=1"),
        *(f"--nodelist={folded(names)}", "--mem=0", "--export=ALL"),
        *(() if settings.gres is None else (f"--gres={settings.gres}",)),
        *options,
        *settings.step_options,
        *argv,
    )


def folded(names: Sequence[str]) -> str:
    """``n[01-03]``: a list of thousands has no room on a command line."""
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet  # noqa: PLC0415

    return str(NodeSet.fromlist(list(names), resolver=RESOLVER_NOGROUP))


def unfolded(text: str) -> frozenset[str]:
    """The names of ``n[08-101]``, as only Slurm itself reads it: to others the widths differ."""
    return frozenset(ask("scontrol", "show", "hostnames", text).split()) if text else frozenset()


def ask(*argv: str) -> str:
    """What a Slurm command printed. Raises ``TransportError`` with Slurm's own words."""
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env=environment(),
            timeout=_ANSWER_LIMIT_S,
            check=False,
        )
    except FileNotFoundError:
        raise BadInput(
            f"{argv[0]} is not installed here",
            where="transport: slurm",
            remedy="start the run where Slurm's commands are: a login node, or within sbatch",
        ) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TransportError(f"Slurm does not answer: {error}", where=argv[0]) from None
    if done.returncode != 0:
        raise TransportError(f"Slurm says: {last_word(done.stderr)}", where=argv[0])
    return done.stdout


def last_word(stderr: str) -> str:
    """The last line of a complaint, which is the one that tells why."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return lines[-1] if lines else "nothing"
