"""What ``sh`` runs in a step: a line of ``shell``, handed over as an argument and so never quoted.

``srun`` gives its arguments to the node as they are; no shell reads them on the way.
"""

from __future__ import annotations

# Slurm reads what a step prints even when nobody wants it any more, so that a command would never
# notice that its run is dead. What ends then is srun's input, and with it that of the step: the
# output breaks, as over ssh, and the step is ended whole. What Slurm says of this step would bind
# an srun of the command to its one node; the number of the job is enough for it. The exit code is
# that of the line.
_ATTENDED = """
step=$SLURM_JOB_ID.$SLURM_STEP_ID
for name in $(env | grep -o '^SLURM_[A-Z0-9_]*'); do
  case $name in
    SLURM_CONF | SLURM_CLUSTERS | SLURM_MPI_TYPE | SLURM_JOB_ID) ;;
    *) unset "$name" ;;
  esac
done
exec 3<&0 4>&1 </dev/null
code=$({
  { (eval "$1") 3<&- 4>&- 5>&-; echo $? >&5; } | {
    exec 6<&0 </dev/null 5>&-
    cat <&6 >&4 &
    reader=$!
    exec 6<&-
    {
      while read -r _ <&3; do :; done
      kill "$reader"
      sleep 1
      scancel --quiet --signal=KILL "$step"
    } >/dev/null 2>&1 &
    watch=$!
    wait "$reader" && kill "$watch" 2>/dev/null
  }
} 5>&1)
exit "${code:-1}"
"""

# srun does not say which label is which node.
_GATHERED = """
printf '%s\\n' "$SLURMD_NODENAME"
(eval "$1") 2>/dev/null </dev/null | base64
echo .
"""


def attended(line: str) -> tuple[str, ...]:
    """The argv that runs ``line`` and stops its output when nobody waits for it any more."""
    return ("sh", "-c", _ATTENDED, "railgauge", line)


def gathered(line: str) -> tuple[str, ...]:
    """The argv that runs ``line`` and prints the node's name, the output as base64, and a dot."""
    return ("sh", "-c", _GATHERED, "railgauge", line)
