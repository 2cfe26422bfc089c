"""What the tools, the launchers and the scheduler complain about.

Each complaint has a kind of its own; the first line that shows it is the message. Texts from
recorded failures and from the print statements of nccl-tests, Open MPI, Hydra and Slurm.
"""

from __future__ import annotations

import re

from railgauge.model import Problem

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
         "undefined symbol", "a different version of Open MPI", "different versions of Open MPI",
         "mismatched versions"),
    ),
    ("host-key", ("Host key verification failed", "REMOTE HOST IDENTIFICATION HAS CHANGED")),
    ("login-refused", ("Permission denied (publickey", "Too many authentication failures")),
    ("unknown-host", ("Could not resolve hostname", "Name or service not known",
                      "Temporary failure in name resolution", "Invalid node name specified",
                      "HYDU_getfullhostname", "getaddrinfo")),
    ("run-as-root", ("attempt to run as root",)),
    (
        "not-enough-slots",
        ("not enough slots available", "requested more processes than the ppr",
         "More processors requested than permitted", "binding more processes than the number",
         "More tasks than", "Requested node configuration is not available",
         "Unable to allocate resources", "Unable to create step"),
    ),
    (
        "launcher-daemon",
        ("was unable to reliably start one or more daemons", "An ORTE daemon has unexpectedly",
         "ORTE has lost communication", "PRTE has lost communication", "A daemon (pid",
         "unable to reach one or more", "tcp_peer_send_blocking", "HYDU_sock_connect",
         "unable to connect from", "Unable to contact slurm controller",
         "failed to start a daemon", "orted: command not found", "prted: command not found"),
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
    missing = _TOOL_MISSING.search(text)
    found = [_problem("tool-missing", _line_at(text, missing.start()))] if missing else []
    for kind, needles in _ERRORS:
        needle = next((needle for needle in needles if needle in text), None)
        if needle is not None:
            found.append(_problem(kind, _line_at(text, text.index(needle))))
    unkind = None if found else _UNKIND.search(text)
    return [_problem("tool-failed", unkind[0])] if unkind else found


def _line_at(text: str, position: int) -> str:
    start = text.rfind("\n", max(0, position - _LONGEST_MESSAGE), position) + 1
    start = max(start, position - _LONGEST_MESSAGE)
    return text[start : start + 2 * _LONGEST_MESSAGE].partition("\n")[0]


def _problem(kind: str, message: str) -> Problem:
    return Problem(kind, "error", " ".join(message.split())[:_LONGEST_MESSAGE])
