"""The ``sh`` scripts that a step runs around a line of ``shell``.

The line is passed as an argument and needs no quoting: ``srun`` sends its arguments to the node
unchanged, and no shell reads them on the way. Its script comes by the input of ``srun``.
"""

from __future__ import annotations

from railgauge.transport import silence
from railgauge.transport.shell import Sent

# Slurm reads a step's output even after the run has died, so a command would not notice the death
# of its run. But the input of srun, and with it the step's, ends then. This script watches the
# input: at its end it closes the output, as ssh would do, and kills the step. It also unsets
# Slurm's variables of this step, which would bind an srun within the command to this one node;
# the job's number is enough for it. The exit code is that of the line.
_ATTENDED = """
step=$SLURM_JOB_ID.$SLURM_STEP_ID
for name in $(env | grep -o '^SLURM_[A-Z0-9_]*'); do
  case $name in
    SLURM_CONF | SLURM_CLUSTERS | SLURM_MPI_TYPE | SLURM_JOB_ID) ;;
    *) unset "$name" ;;
  esac
done
script=$(head -c "$2")
exec 3<&0 4>&1 </dev/null
code=$({
  { (printf '%s\\n' "$script" | eval "$1") 3<&- 4>&- 5>&-; echo $? >&5; } | {
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

# The node prints its name, because srun does not report which label belongs to which node. The
# nonce comes first, because a TaskProlog may print lines of its own before it. Until the line has
# ended the node shows that it runs; later, this could be in the middle of the output.
RUNS = b"!"
_GATHERED = """
printf '%s %s\\n' "$2" "$SLURMD_NODENAME"
(trap 'kill $!; wait $!; exit' TERM; while sleep "$3" >/dev/null & wait $!; do
  echo '!'
done) 2>/dev/null &
text=$( (eval "$1") 2>/dev/null | base64)
{ kill $!; wait $!; } 2>/dev/null
printf '%s\\n' "$text"
echo .
"""


def attended(sent: Sent) -> tuple[str, ...]:
    """Return the argv that runs the line and kills the step when the run has died.

    It reads as much of the input as the script is long; the rest, and its end, is watched for.
    """
    size = len(sent.script.encode("utf-8", "surrogateescape"))
    return ("sh", "-c", _ATTENDED, "railgauge", sent.line, str(size))


def gathered(line: str, nonce: str) -> tuple[str, ...]:
    """Return the argv that prints ``nonce`` and the node's name, runs ``line`` with the input of
    the step, and prints its output as base64 and a dot; until then ``RUNS`` now and then."""
    return ("sh", "-c", _GATHERED, "railgauge", line, nonce, f"{silence.BEAT_S:g}")
