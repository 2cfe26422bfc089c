"""How Slurm's commands are called: the argv of ``srun``, and the environment for all of them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from railgauge.core.errors import BadInput, TransportError
from railgauge.core.model import SlurmSettings

_ANSWER_LIMIT_S = 60.0
# srun takes options from its environment. Those of a surrounding batch job or step must not apply;
# only these three are kept.
_KEPT = ("SLURM_CONF", "SLURM_CLUSTERS", "SLURM_MPI_TYPE")


def environment() -> Mapping[str, str]:
    """Return this process's environment without the variables of a surrounding job or step."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or not name.startswith(("SLURM_", "SRUN_"))
    }


def folder() -> Path:
    """Return the folder in which ``srun`` starts, and hence its commands: the user's home.

    The same as over ssh; ``/`` if there is no home.
    """
    home = Path.home()
    return home if home.is_dir() else Path("/")


def step_argv(
    settings: SlurmSettings, names: Sequence[str], argv: Sequence[str], *options: str
) -> tuple[str, ...]:
    """Return the ``srun`` command that runs ``argv`` once on each node.

    The step shares its nodes with the other steps of the run (``--overlap``) and may use all that
    the allocation has of each node.
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
    """Fold names as in ``n[01-03]``: a list of thousands does not fit on a command line."""
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet  # noqa: PLC0415

    return str(NodeSet.fromlist(list(names), resolver=RESOLVER_NOGROUP))


def unfolded(text: str) -> frozenset[str]:
    """Return the names in ``n[08-101]``. Slurm expands them: others may pad the numbers
    differently."""
    return frozenset(ask("scontrol", "show", "hostnames", text).split()) if text else frozenset()


def ask(*argv: str) -> str:
    """Run a Slurm command and return its stdout.

    Raises ``TransportError`` with Slurm's own message, ``BadInput`` if Slurm is not installed here.
    """
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
            remedy="start the run where Slurm's commands are installed: on a login node, or in a "
            "batch job",
        ) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TransportError(f"Slurm does not answer: {error}", where=argv[0]) from None
    if done.returncode != 0:
        raise TransportError(f"Slurm reports: {last_word(done.stderr)}", where=argv[0])
    return done.stdout


def last_word(stderr: str) -> str:
    """Return the last line of an error output, which holds the reason."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return lines[-1] if lines else "nothing"
