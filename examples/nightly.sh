#!/usr/bin/env bash
# The nightly run for any scheduler: measures a cluster, saves the evidence, and exits with the
# verdict's code: 0 accepted, 1 rejected, 10 incomplete, 11 accepted with deviations; any other
# code means no verdict.
#
#   examples/nightly.sh HOSTFILE [options of pytest]
#
# RAILGAUGE_KEY names the key that signs the evidence. The newest 14 runs of each cluster stay whole
# in reports/ (RAILGAUGE_KEEP: another number, or all); older ones become a bundle each. SIGTERM and Ctrl-C reach the run, which
# cleans up the nodes before it ends.
set -euo pipefail

refuse() {
    echo "nightly.sh: $2" >&2
    exit "$1"
}

[ "$#" -ge 1 ] || refuse 2 "usage: nightly.sh HOSTFILE [options of pytest]"
[ -r "$1" ] || refuse 2 "$1: no such hostfile"
hostfile=$(realpath -- "$1")
shift
# The site is the folder above this script, also if a link led here.
script=$(realpath -- "${BASH_SOURCE[0]}")
cd -- "${script%/*}/.."

# The run inherits both locks. They are released when it ends, even if this shell ended earlier.
exec 8<reports 9<"$hostfile"
flock --nonblock 8 || refuse 75 "another night is running in $PWD"
flock --nonblock 9 || refuse 75 "another run is measuring the cluster of $hostfile"

# A checkout sets up its own environment; railgauge init links a site to the one that it came from.
[ ! -e Makefile ] || make --silent .venv/.ready
[ -x .venv/bin/python ] || refuse 2 "$PWD has no .venv: railgauge init $PWD links the installed one"
# The run writes its id there. reports/latest may be another one, such as a replay.
id_file=$(mktemp)
trap 'rm -f -- "$id_file"' EXIT

run=
trap '[ -z "$run" ] || kill -TERM "$run" 2>/dev/null || true' TERM INT HUP
.venv/bin/python -m pytest --hostfile "$hostfile" "$@" --run-id-file "$id_file" &
run=$!
# A signal ends "wait" before the run has ended.
while kill -0 "$run" 2>/dev/null; do wait "$run" || true; done
code=0
wait "$run" || code=$?

id=$(cat "$id_file")
if [ -n "$id" ] && [ -e "reports/$id/verdict.json" ]; then
    bundle="evidence/$id.railgauge"
    signature=(--unsigned)
    [ -z "${RAILGAUGE_KEY:-}" ] || signature=(--key "$RAILGAUGE_KEY")
    mkdir -p evidence
    .venv/bin/railgauge bundle "reports/$id" "${signature[@]}" -o "$bundle" ||
        refuse 74 "exit code $code, but the evidence could not be kept"
    # Old runs that cannot be pruned do not change the verdict of this one.
    [ "${RAILGAUGE_KEEP:-14}" = all ] ||
        .venv/bin/railgauge prune --keep "${RAILGAUGE_KEEP:-14}" --yes \
            ${RAILGAUGE_KEY:+--key "$RAILGAUGE_KEY"} ||
        echo "nightly.sh: not all old runs were pruned" >&2
else
    # Python itself ends with 1 if a package is broken, before anything is measured.
    case $code in
        0 | 1 | 10 | 11) refuse 74 "exit code $code, but the run left no verdict.json: no verdict" ;;
    esac
fi
exit "$code"
