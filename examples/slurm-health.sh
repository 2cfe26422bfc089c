#!/bin/bash
# HealthCheckProgram of Slurm: drains a node that has a fault, with cause and part as the reason.
#
#   HealthCheckProgram=/opt/site/examples/slurm-health.sh    # in slurm.conf
#   HealthCheckInterval=300
#
# Nothing is printed and nothing done for a good node. A node that is drained already keeps its reason,
# unless that is the one of a failed prolog or epilog, which does not say why. A setting that is wrong,
# and a fault that cannot be seen, drain no node; the second is in the log of slurmd. With
# HealthCheckNodeState=IDLE the option --busy may go: then other programs on the GPUs are a fault too.
#
# The hostfile is hostfiles/mine.yaml of the site that this script is in, or $RAILGAUGE_HOSTFILE.
set -uo pipefail

site=$(realpath -- "$0") && site=${site%/*/*}
node=${SLURMD_NODENAME:-$(hostname -s)}
# Slurm ends a health check after 60 s.
reason=$("${RAILGAUGE:-$site/.venv/bin/railgauge}" node --root "$site" --name "$node" --format slurm \
    --busy --budget 45 --hostfile "${RAILGAUGE_HOSTFILE:-$site/hostfiles/mine.yaml}")
code=$?
if [ "$code" -ne 1 ]; then
    if [ "$code" -ne 0 ]; then echo "node check ($code): $reason" >&2; fi
    exit 0
fi
case $(sinfo --noheader --nodes="$node" --format='%T %E') in
    *drain*" Prolog error"* | *drain*" Epilog error"*) ;;
    *drain*) exit 0 ;;
esac
exec scontrol update "nodename=$node" state=drain "reason=$reason"
