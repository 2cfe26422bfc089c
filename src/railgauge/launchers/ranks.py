"""The shell code that all starters of ranks share, and the beginning of a rank's line."""

from __future__ import annotations

# Open MPI's, MPICH's and Slurm's number of the rank on its node.
NUMBER = "n=${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-${SLURM_LOCALID:-0}}};"
AT = 'at="railgauge: rank $n of $(uname -n):";'
# A missing program is reported as the launcher would.
INSTALLED = 'command -v "$1" >/dev/null || { echo "$at $1: not found" >&2; exit 127; };'
# The CPUs that the rank may use.
ALLOWED = (
    "mine=; while read -r key value; do "
    '[ "$key" != Cpus_allowed_list: ] || mine=$value; done </proc/self/status;'
)
BEGINS = "railgauge: rank "
LINE = rf"{BEGINS}([0-9]{{1,4}}) of (\S{{1,255}}): "
CPUS = r"[0-9,-]{1,1000}"
