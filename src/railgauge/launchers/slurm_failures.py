"""The messages of Slurm when a job step did not start, or died. Pure.

The texts are those that Slurm 22.05 printed; those about a job's own limits are from the source
code of slurmstepd.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# Causes come before their consequences.
_SIGNS: tuple[tuple[str, str], ...] = (
    ("job-time-limit", r"DUE TO TIME LIMIT"),
    ("node-failed", r"DUE TO NODE FAILURE|error: Node failure on "),
    ("job-cancelled", r"DUE TO PREEMPTION|Job has been cancelled|allocation \d+ has been revoked"),
    ("out-of-memory", r"oom[-_]kill|[Oo]ut [Oo]f [Mm]emory|OUT_OF_MEMORY"),
    ("tool-missing", r"slurmstepd\S*: error: execve\(\): [^\n]{0,200}: No such file"),
    (
        "mpi-unsupported",
        r"Invalid MPI type|not built with SLURM's PMI support|can not load PMIx library",
    ),
    ("unknown-host", r"Invalid node name specified"),
    (
        "allocation-over",
        r"Unable to confirm allocation|Invalid job id specified|already completing or completed",
    ),
    (
        "not-enough-slots",
        r"More processors requested than permitted|Memory specification can not be satisfied",
    ),
    (
        "node-outside-allocation",
        r"Unable to create step[^\n]{0,80}Requested node configuration is not available"
        r"|Only allocated \d+ nodes asked for",
    ),
    ("node-unavailable", r"Requested nodes are busy|Requested node configuration is not available"),
    ("launcher-daemon", r"Task launch for \S+ failed on node |Unable to contact slurm controller"),
)
# With --kill-on-bad-exit the first rank that fails ends the others: Slurm reports them as
# terminated, and the step as cancelled, as if a user had cancelled it.
_DIED = re.compile(
    r"^srun: error: \S+: tasks? [\d,-]+: (?:Killed|Aborted|Segmentation fault|Bus error|"
    r"Exited with exit code \d+)",
    re.MULTILINE,
)
_CANCELLED = re.compile(r"\*\*\* (?:STEP|JOB) [^\n]{0,80} CANCELLED AT ")


def find(text: str) -> Iterator[tuple[str, int]]:
    """Yield each kind of failure in ``text`` and its position, the most specific first."""
    for kind, sign in _SIGNS:
        if found := re.search(sign, text):
            yield kind, found.start()
    died, cancelled = _DIED.search(text), _CANCELLED.search(text)
    if died and (cancelled is None or died.start() < cancelled.start()):
        yield "rank-died", died.start()
    elif cancelled and not re.search("DUE TO ", text):
        yield "job-cancelled", cancelled.start()
