#!/bin/bash
# Prolog and Epilog of Slurm: a node with a fault gets no job, and Slurm drains it.
#
#   Prolog=/opt/site/examples/slurm-prolog.sh    # in slurm.conf
#   Epilog=/opt/site/examples/slurm-prolog.sh
#   PrologFlags=Alloc
#
# It runs no command of Slurm, which would wait for slurmctld in each job. A good result that is younger
# than ten minutes, such as that of slurm-health.sh, is told again, so that most jobs wait 0.2 s; with
# RAILGAUGE_CACHE=0 the node is checked before and after each job, which waits for it. Slurm gives
# the reason "Prolog error"; the next slurm-health.sh puts the cause in its place, and the log of slurmd
# has it too. A fault that cannot be seen keeps no job away.
#
# The hostfile is hostfiles/mine.yaml of the site that this script is in, or $RAILGAUGE_HOSTFILE.
set -uo pipefail

site=$(realpath -- "$0") && site=${site%/*/*}
reason=$("${RAILGAUGE:-$site/.venv/bin/railgauge}" node --root "$site" --format slurm --busy \
    --name "${SLURMD_NODENAME:-$(hostname -s)}" --cache "${RAILGAUGE_CACHE:-10}" --budget 30 \
    --hostfile "${RAILGAUGE_HOSTFILE:-$site/hostfiles/mine.yaml}")
code=$?
[ "$code" -eq 0 ] || echo "node check ($code): $reason" >&2
[ "$code" -ne 1 ]
