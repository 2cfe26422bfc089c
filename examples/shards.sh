#!/bin/bash
# A run in N shards, each a Slurm job on the nodes that it uses, and their merge as a dependent job.
#
#   examples/shards.sh N LEVEL hostfiles/mine.yaml [options of pytest]
#
# Slurm starts a shard when its nodes are free: those of single leaves at once, those between leaves
# after them. The jobs are single ones, because all tasks of an array would get the same nodes. The
# merge begins when all shards have ended, whatever their verdicts: a shard ends with 10 at best. What
# a shard did not measure is "not run" in the merged run. Its exit code is that of the merged verdict.
#
# Start it in the site, with acceptance.sbatch beside it; the hostfile must have "transport: slurm".
set -euo pipefail

refuse() {
    echo "shards.sh: $1" >&2
    exit 2
}

RAILGAUGE=${RAILGAUGE:-.venv/bin/railgauge}
if [ "${1:-}" = --merge ]; then # in the dependent job: the ids of the jobs follow
    shift
    cd -- "${SLURM_SUBMIT_DIR:?this is done by the job that depends on the shards}"
    runs=()
    for job in "$@"; do
        # acceptance.sbatch has the run write its id there.
        id=$(cat "railgauge-$job.run" 2>/dev/null) || :
        if [ -n "$id" ]; then runs+=("reports/$id"); else echo "job $job has left no run" >&2; fi
    done
    [ "${#runs[@]}" -gt 0 ] || refuse "no shard has left a run"
    exec "$RAILGAUGE" merge "${runs[@]}"
fi

[ "$#" -ge 3 ] || refuse "usage: shards.sh N LEVEL HOSTFILE [options of pytest]"
[[ $1 =~ ^[1-9][0-9]{0,3}$ ]] || refuse "$1: not a number of shards"
grep -qsF railgauge.plugin conftest.py || refuse "$PWD is not a site"
count=$1 level=$2 hostfile=$3
shift 3
here=$(realpath -- "$0")
lists=()
for ((shard = 1; shard <= count; shard++)); do
    lists+=("$("$RAILGAUGE" slurm-nodes --shard "$shard/$count" --level "$level" "$hostfile")") || exit 2
done
jobs=()
for ((shard = 1; shard <= count; shard++)); do
    jobs+=("$(env -u SBATCH_WAIT sbatch --parsable --nodelist="${lists[shard - 1]}" \
        "${here%/*}/acceptance.sbatch" "$hostfile" --level "$level" --shard "$shard/$count" "$@")")
done
after=$(IFS=: && echo "${jobs[*]}")
exec sbatch --dependency="afterany:$after" --ntasks=1 --job-name=railgauge-merge \
    --output=railgauge-%j.out "$here" --merge "${jobs[@]}"
