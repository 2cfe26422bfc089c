"""The messages of Slurm when a job step did not start, or died. Pure.

The texts are those that Slurm 22.05 printed; those about a job's own limits are from the source
code of slurmstepd.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from railgauge.core.problems import ProblemKind

# Causes come before their consequences.
_SIGNS: tuple[tuple[ProblemKind, str], ...] = (
    (ProblemKind.JOB_TIME_LIMIT, r"DUE TO TIME LIMIT"),
    (ProblemKind.NODE_FAILED, r"DUE TO NODE FAILURE|error: Node failure on "),
    (
        ProblemKind.JOB_CANCELLED,
        r"DUE TO PREEMPTION|Job has been cancelled"
        r"|allocation \d{1,12} has been revoked",
    ),
    (ProblemKind.OUT_OF_MEMORY, r"oom[-_]kill|[Oo]ut [Oo]f [Mm]emory|OUT_OF_MEMORY"),
    (
        ProblemKind.TOOL_MISSING,
        r"slurmstepd\S{0,100}: error: execve\(\): [^\n]{0,200}: No such file",
    ),
    (
        ProblemKind.MPI_UNSUPPORTED,
        r"Invalid MPI type|not built with SLURM's PMI support|can not load PMIx library",
    ),
    (ProblemKind.UNKNOWN_HOST, r"Invalid node name specified"),
    (
        ProblemKind.ALLOCATION_OVER,
        r"Unable to confirm allocation|Invalid job id specified|already completing or completed",
    ),
    (
        ProblemKind.NOT_ENOUGH_SLOTS,
        r"More processors requested than permitted|Memory specification can not be satisfied",
    ),
    (
        ProblemKind.NODE_OUTSIDE_ALLOCATION,
        r"Unable to create step[^\n]{0,80}Requested node configuration is not available"
        r"|Only allocated \d{1,9} nodes asked for",
    ),
    (
        ProblemKind.NODE_UNAVAILABLE,
        r"Requested nodes are busy|Requested node configuration is not available",
    ),
    (
        ProblemKind.LAUNCHER_DAEMON,
        r"Task launch for \S{1,255} failed on node |Unable to contact slurm controller",
    ),
)
# Each alternative of a sign has one of these; a healthy output has none of them.
_WORDS = (
    "DUE TO ", "error: Node failure", "been cancelled", "been revoked", "oom", "ut of ", "ut Of ",
    "OUT_OF_MEMORY", "slurmstepd", "Invalid MPI type", "PMI support", "PMIx library",
    "Invalid node name", "confirm allocation", "Invalid job id", "already completing", "permitted",
    "can not be satisfied", "Requested node", "Only allocated", "Task launch for", "contact slurm",
)  # fmt: skip
# With --kill-on-bad-exit the first rank that fails ends the others: Slurm reports them as
# terminated, and the step as cancelled, as if a user had cancelled it.
_DIED = re.compile(
    r"^srun: error: \S{1,255}: tasks? [\d,-]{1,400}: (?:Killed|Aborted|Segmentation fault|"
    r"Bus error|Exited with exit code \d{1,9})",
    re.MULTILINE,
)
_CANCELLED = re.compile(r"\*\*\* (?:STEP|JOB) [^\n]{0,80} CANCELLED AT ")


def find(text: str) -> Iterator[tuple[ProblemKind, int]]:
    """Yield each kind of failure in ``text`` and its position, the most specific first."""
    for kind, sign in _SIGNS if any(word in text for word in _WORDS) else ():
        if found := re.search(sign, text):
            yield kind, found.start()
    died, cancelled = _DIED.search(text), _CANCELLED.search(text)
    if died and (cancelled is None or died.start() < cancelled.start()):
        yield ProblemKind.RANK_DIED, died.start()
    elif cancelled and not re.search("DUE TO ", text):
        yield ProblemKind.JOB_CANCELLED, cancelled.start()
