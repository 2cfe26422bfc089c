"""Error messages of the tools, the launchers and the scheduler.

Each has a problem kind, and the first line with it is the message. The texts are from recorded
failures and from the print statements of nccl-tests, Open MPI, Hydra and Slurm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from railgauge.core.problems import Problem, ProblemKind
from railgauge.launchers.failures import find_failures
from railgauge.tools.collector import problem
from railgauge.tools.text import LONGEST_MESSAGE, first_line_with, line_at

# Causes come before their effects, because the first error is the one that people read.
_ERRORS: tuple[tuple[ProblemKind, tuple[str, ...]], ...] = (
    (
        ProblemKind.JOB_TIME_LIMIT,
        ("DUE TO TIME LIMIT", "time limit for job execution has been reached", "Test timeout ("),
    ),
    (
        ProblemKind.JOB_CANCELLED,
        ("DUE TO NODE FAILURE", "DUE TO PREEMPTION", "CANCELLED AT", "*** JOB ", "*** STEP ",
         "Job has been cancelled"),
    ),
    (
        ProblemKind.OUT_OF_MEMORY,
        ("oom-kill", "oom_kill", "Out Of Memory", "OUT_OF_MEMORY", "out of memory",
         "Cannot allocate memory"),
    ),
    (ProblemKind.GPU_MEMORY_ERRORS, ("uncorrectable ECC error",)),
    (
        ProblemKind.GPU_MISSING,
        ("Invalid number of GPUs", "invalid device ordinal", "no CUDA-capable device",
         "No HIP GPUs are available", "no ROCm-capable device"),
    ),
    (
        ProblemKind.INVALID_ARGUMENT,
        ("invalid size specified for", "invalid size specified", "Usage: all_reduce_perf",
         "invalid option --", "unrecognized option", "Please specify a positive value"),
    ),
    (
        ProblemKind.VERSION_MISMATCH,
        ("version mismatch", "Mismatched NCCL version", "driver version is insufficient",
         "undefined symbol"),
    ),
    (
        ProblemKind.CONNECTION_LOST,
        ("Connection reset by peer", "No route to host", "Connection timed out",
         "Connection refused", "Connection closed by remote host"),
    ),
    (ProblemKind.TOOL_CRASHED, ("Segmentation fault", "core dumped", "Bus error")),
    (
        ProblemKind.COLLECTIVE_FAILED,
        ("Test NCCL failure", "Test MCCL failure", "Test RCCL failure"),
    ),
    (ProblemKind.GPU_FAILED, ("Test CUDA failure", "Test HIP failure", "Test MACA failure")),
    (ProblemKind.MPI_FAILED, ("Test MPI failure", "MPI_ABORT was invoked", "MPI_Init")),
    (
        ProblemKind.RANK_DIED,
        ("exited on signal", "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
         "KILLED BY SIGNAL", "returned\na non-zero exit code", "exited with non-zero status",
         ": Killed", ": Terminated", ": Exited with exit code", ": Aborted"),
    ),
    (ProblemKind.TOOL_FAILED, (": Test failure", "# error:")),
)  # fmt: skip
_TOOL_MISSING = re.compile(
    r"(?:_perf|_perf_mpi|mpirun|mpiexec|srun|nccom-test)['’\"`]?:[ \t]{0,4}"
    r"(?:command not found|not found|No such file or directory|Permission denied)[^\n]{0,80}"
    r"|error while loading shared libraries:[^\n]{0,160}"
    r"|could not find an executable[^\n]{0,80}"
    r"|unable to find the specified executable file[^\n]{0,80}"
    r"|execv(?:e|p)\b[^\n]{0,160}?No such file or directory"
    r"|execvp error on file[^\n]{0,120}"
    r"|cannot execute binary file[^\n]{0,80}"
)
_UNKIND = re.compile(
    r"^[ \t]{0,8}(?:s(?:run|lurmstepd): error:|ERROR:|Error:|FATAL:)[^\n]{0,160}", re.M
)


def find_problems(text: str) -> list[Problem]:
    """Return one problem for each kind, causes first. ``text`` is without the library's log."""
    launch = {failure.kind: failure.message for failure in find_failures(text)}
    missing = _TOOL_MISSING.search(text)
    if missing:
        launch.setdefault(ProblemKind.TOOL_MISSING, line_at(text, missing.start()))
    own = {kind: launch.get(kind, line) for kind, line in _own_errors(text)}
    kinds = [*filter(launch.__contains__, _FIRST), *filter(own.__contains__, _BEFORE_LAUNCH)]
    lines = {**own, **launch}
    found = {kind: lines[kind] for kind in (*kinds, *_others(launch), *own, *launch)}
    unkind = None if found else _UNKIND.search(text)
    if unkind:
        found[ProblemKind.TOOL_FAILED] = unkind[0]
    return [problem(kind, line[:LONGEST_MESSAGE]) for kind, line in found.items()]


_FIRST = (
    ProblemKind.TOOL_MISSING,
    ProblemKind.JOB_TIME_LIMIT,
    ProblemKind.NODE_FAILED,
    ProblemKind.JOB_CANCELLED,
    ProblemKind.OUT_OF_MEMORY,
)
# Failures of the tool before its ranks connect; the others may result from a failed launch.
_BEFORE_LAUNCH = (
    ProblemKind.JOB_TIME_LIMIT,
    ProblemKind.JOB_CANCELLED,
    ProblemKind.OUT_OF_MEMORY,
    ProblemKind.GPU_MEMORY_ERRORS,
    ProblemKind.GPU_MISSING,
    ProblemKind.INVALID_ARGUMENT,
    ProblemKind.VERSION_MISMATCH,
)


def _others(launch: Mapping[ProblemKind, str]) -> Iterator[ProblemKind]:
    """Return all kinds but ``RANK_DIED``, which comes last: mostly another kind is its cause."""
    return (kind for kind in launch if kind != ProblemKind.RANK_DIED)


def _own_errors(text: str) -> Iterator[tuple[ProblemKind, str]]:
    """Yield the kind and the line of each error that the tool itself prints."""
    for kind, signs in _ERRORS:
        if (line := first_line_with(text, signs)) is not None:
            yield kind, line
