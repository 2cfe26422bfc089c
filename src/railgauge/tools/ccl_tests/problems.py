"""What the tools, the launchers and the scheduler complain about.

Each complaint has a kind of its own; the first line that shows it is the message. Texts from
recorded failures and from the print statements of nccl-tests, Open MPI, Hydra and Slurm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from railgauge.core.model import Problem
from railgauge.launchers.failures import find_failures

_LONGEST_MESSAGE = 200

# The cause comes before what it brings about: the first error is the one that people read.
_ERRORS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "job-time-limit",
        ("DUE TO TIME LIMIT", "time limit for job execution has been reached", "Test timeout ("),
    ),
    ("job-cancelled", ("DUE TO NODE FAILURE", "DUE TO PREEMPTION", "CANCELLED AT", "*** JOB ",
                       "*** STEP ", "Job has been cancelled")),
    (
        "out-of-memory",
        ("oom-kill", "oom_kill", "Out Of Memory", "OUT_OF_MEMORY", "out of memory",
         "Cannot allocate memory"),
    ),
    ("gpu-memory-errors", ("uncorrectable ECC error",)),
    ("gpu-missing", ("Invalid number of GPUs", "invalid device ordinal", "no CUDA-capable device",
                     "No HIP GPUs are available", "no ROCm-capable device")),
    ("invalid-argument", ("invalid size specified for", "invalid size specified",
                          "Usage: all_reduce_perf", "invalid option --", "unrecognized option",
                          "Please specify a positive value")),
    (
        "version-mismatch",
        ("version mismatch", "Mismatched NCCL version", "driver version is insufficient",
         "undefined symbol"),
    ),
    ("connection-lost", ("Connection reset by peer", "No route to host", "Connection timed out",
                         "Connection refused", "Connection closed by remote host")),
    ("tool-crashed", ("Segmentation fault", "core dumped", "Bus error")),
    ("collective-failed", ("Test NCCL failure", "Test MCCL failure", "Test RCCL failure")),
    ("gpu-failed", ("Test CUDA failure", "Test HIP failure", "Test MACA failure")),
    ("mpi-failed", ("Test MPI failure", "MPI_ABORT was invoked", "MPI_Init")),
    (
        "rank-died",
        ("exited on signal", "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
         "KILLED BY SIGNAL", "returned\na non-zero exit code", "exited with non-zero status",
         ": Killed", ": Terminated", ": Exited with exit code", ": Aborted"),
    ),
    ("tool-failed", (": Test failure", "# error:")),
)  # fmt: skip
_TOOL_MISSING = re.compile(
    r"(?:_perf|mpirun|mpiexec|srun|nccom-test)['’\"`]?:[ \t]{0,4}"
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
    """One problem a kind, the most telling first. ``text`` is without the library's log."""
    launch = {failure.kind: failure.message for failure in find_failures(text)}
    missing = _TOOL_MISSING.search(text)
    if missing:
        launch.setdefault("tool-missing", _line_at(text, missing.start()))
    said = {kind: launch.get(kind, line) for kind, line in _told(text)}
    kinds = [*filter(launch.__contains__, _FIRST), *filter(said.__contains__, _BEFORE_LAUNCH)]
    lines = {**said, **launch}
    found = {kind: lines[kind] for kind in (*kinds, *_others(launch), *said, *launch)}
    unkind = None if found else _UNKIND.search(text)
    if unkind:
        found["tool-failed"] = unkind[0]
    return [_problem(kind, line) for kind, line in found.items()]


_FIRST = ("tool-missing", "job-time-limit", "node-failed", "job-cancelled", "out-of-memory")
# What goes wrong in the tool before its ranks meet; everything else comes of a failed launch.
_BEFORE_LAUNCH = (
    "job-time-limit", "job-cancelled", "out-of-memory", "gpu-memory-errors", "gpu-missing",
    "invalid-argument", "version-mismatch",
)  # fmt: skip


def _others(launch: Mapping[str, str]) -> Iterator[str]:
    """That a rank died is the last thing to know: mostly something else says why."""
    return (kind for kind in launch if kind != "rank-died")


def _told(text: str) -> Iterator[tuple[str, str]]:
    """Kind and line of what the tool itself complains about."""
    for kind, needles in _ERRORS:
        needle = next((needle for needle in needles if needle in text), None)
        if needle is not None:
            yield kind, _line_at(text, text.index(needle))


def _line_at(text: str, position: int) -> str:
    start = text.rfind("\n", max(0, position - _LONGEST_MESSAGE), position) + 1
    start = max(start, position - _LONGEST_MESSAGE)
    return text[start : start + 2 * _LONGEST_MESSAGE].partition("\n")[0]


def _problem(kind: str, message: str) -> Problem:
    return Problem(kind, "error", " ".join(message.split())[:_LONGEST_MESSAGE])
