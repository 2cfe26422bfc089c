"""Error messages of perftest, of the shell that starts it and of the libraries below it.

Each has a problem kind, and the first line with it is the message. The texts are from the print
statements of perftest 5 and 6, and from recorded failures.
"""

from __future__ import annotations

import re

from railgauge.core.problems import Problem, ProblemKind
from railgauge.core.terms import Severity
from railgauge.tools.collector import missing_program, problem
from railgauge.tools.text import first_line_with

# The most likely cause comes first, because the first error is the one that people read.
_ERRORS: tuple[tuple[ProblemKind, tuple[str, ...]], ...] = (
    (
        ProblemKind.UNKNOWN_FLAG,
        ("unrecognized option", "invalid option --", "Invalid Command or flag", "option requires"),
    ),
    (ProblemKind.VERSION_MISMATCH, ("not compatible with versions older", "version mismatch")),
    (
        ProblemKind.DEVICE_NOT_FOUND,
        (" not found\n Unable to find", "Unable to find the Infiniband/RoCE device",
         "No IB devices found", "Did not detect devices"),
    ),
    (ProblemKind.PORT_DOWN, ("Couldn't set the link layer",)),
    (
        ProblemKind.PORT_IN_USE,
        ("Couldn't listen to port", "Address already in use", "rdma_bind_addr failed"),
    ),
    (
        ProblemKind.NAME_NOT_RESOLVED,
        ("Name or service not known", "Temporary failure in name resolution",
         "nodename nor servname", "No address associated with hostname", "Name does not resolve"),
    ),
    (
        ProblemKind.CONNECTION_REFUSED,
        ("Couldn't connect to", "Connection refused", "Unable to connect ("),
    ),
    (
        ProblemKind.MEMORY_REGISTRATION,
        ("Couldn't allocate MR", "Failed to create MR", "failed to create mr",
         "Couldn't register MR"),
    ),
    (
        ProblemKind.QP_TRANSITION,
        ("Failed to modify QP", "Failed to modify UC QP", "Failed to modify RC QP",
         "Unable to Connect the HCA's through the link", "Unable to create QP",
         "Couldn't create QP"),
    ),
    (ProblemKind.COMPLETION_ERROR, ("Failed status ", "Completion with error", "Bad wc status")),
    (
        ProblemKind.PEER_GONE,
        ("Couldn't read remote address", "Couldn't send local address",
         "Unable to read to socket", "Unable to read from socket", "Unable to write to socket",
         "Unable to write from socket", "Couldn't read reports", "Couldn't send reports",
         "Failed to exchange", "Connection reset by peer", "Broken pipe"),
    ),
    (
        ProblemKind.SOCKET_FAILED,
        ("Unable to init the socket connection", "Unable to open file descriptor for socket",
         "accept() failed", "Problem in resolving basic ad"),
    ),
    (ProblemKind.TOOL_CRASHED, ("Segmentation fault", "core dumped", "double free or corruption")),
)  # fmt: skip
_WARNINGS: tuple[tuple[ProblemKind, tuple[str, ...]], ...] = (
    (ProblemKind.CPU_FREQUENCY, ("Conflicting CPU frequency values", "CPU Frequency is not max")),
    (ProblemKind.RELAXED_ORDERING, ("not PCIe relaxed ordering compliant",)),
    (ProblemKind.PEAK_NOT_MEASURED, ("BW peak won't be measured",)),
)

_PORT_STATE = re.compile(r"Port number [0-9]{1,3} state is (?!Active)[^\n]{0,40}")
_COMPLETION = re.compile(r"Failed status ([0-9]{1,4})[^\n]{0,60}?syndrom (0x[0-9a-fA-F]{1,8})")
_PROGRAMS = tuple(
    f"ib_{verb}_{kind}" for verb in ("write", "read", "send", "atomic") for kind in ("bw", "lat")
)
# Error messages without a kind of their own are errors too.
_COMPLAINT = re.compile(
    r"^[ \t]{0,8}(?:Couldn't|Could not|Cannot|Can't|Failed|Unable|Error|ERROR|Fatal"
    r"|Parser function exited|CUDA error|ibv_[a-z_]{1,40} failed)\b[^\n]{0,160}",
    re.MULTILINE,
)
_STATUS_MEANS = {
    "5": "work request flushed",
    "9": "remote invalid request: the two sides run different tests",
    "10": "remote access error: the other side has no -a or another size",
    "11": "remote operation error",
    "12": "transport retries exceeded: no answer from the other side",
    "13": "receiver-not-ready retries exceeded",
}


def find_problems(text: str) -> list[Problem]:
    """Return one problem for each kind, errors first. ``text`` comes from ``clean``."""
    missing = missing_program(text, _PROGRAMS)
    errors = [*([missing] if missing else []), *_errors(text)]
    return [*(errors or _unkind_complaints(text)), *_listed(text, _WARNINGS, Severity.WARNING)]


def _errors(text: str) -> list[Problem]:
    found = [_explained(one, text) for one in _listed(text, _ERRORS, Severity.ERROR)]
    state = _PORT_STATE.search(text)
    if state is None:
        return found
    return [
        problem(ProblemKind.PORT_DOWN, state[0]),
        *(p for p in found if p.kind != ProblemKind.PORT_DOWN),
    ]


def _listed(
    text: str, complaints: tuple[tuple[ProblemKind, tuple[str, ...]], ...], severity: Severity
) -> list[Problem]:
    found = ((kind, first_line_with(text, signs)) for kind, signs in complaints)
    return [problem(kind, line, severity) for kind, line in found if line is not None]


def _explained(found: Problem, text: str) -> Problem:
    match = _COMPLETION.search(text) if found.kind is ProblemKind.COMPLETION_ERROR else None
    if match is None:
        return found
    means = _STATUS_MEANS.get(match[1], "see ibv_wc_status")
    return problem(found.kind, f"completion status {match[1]} syndrom {match[2]} ({means})")


def _unkind_complaints(text: str) -> list[Problem]:
    match = _COMPLAINT.search(text)
    return [problem(ProblemKind.TOOL_FAILED, match[0])] if match else []
