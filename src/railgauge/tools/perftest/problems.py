"""What perftest, the shell before it and the libraries below it complain about.

Each complaint has a kind of its own; the first line that shows it is the message. Texts from the
print statements of perftest 5 and 6, and from recorded failures.
"""

from __future__ import annotations

import re

from railgauge.core.model import Problem

_LONGEST_MESSAGE = 200

# The more telling kind comes first: the first error is the one that people read.
_ERRORS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "unknown-flag",
        ("unrecognized option", "invalid option --", "Invalid Command or flag", "option requires"),
    ),
    ("version-mismatch", ("not compatible with versions older", "version mismatch")),
    (
        "device-not-found",
        (" not found\n Unable to find", "Unable to find the Infiniband/RoCE device",
         "No IB devices found", "Did not detect devices"),
    ),
    ("port-down", ("Couldn't set the link layer",)),
    (
        "port-in-use",
        ("Couldn't listen to port", "Address already in use", "rdma_bind_addr failed"),
    ),
    (
        "unknown-host",
        ("Name or service not known", "Temporary failure in name resolution",
         "nodename nor servname"),
    ),
    ("connection-refused", ("Couldn't connect to", "Connection refused", "Unable to connect (")),
    (
        "memory-registration",
        ("Couldn't allocate MR", "Failed to create MR", "failed to create mr",
         "Couldn't register MR"),
    ),
    (
        "qp-transition",
        ("Failed to modify QP", "Failed to modify UC QP", "Failed to modify RC QP",
         "Unable to Connect the HCA's through the link", "Unable to create QP",
         "Couldn't create QP"),
    ),
    ("completion-error", ("Failed status ", "Completion with error", "Bad wc status")),
    (
        "peer-gone",
        ("Couldn't read remote address", "Couldn't send local address",
         "Unable to read to socket", "Unable to read from socket", "Unable to write to socket",
         "Unable to write from socket", "Couldn't read reports", "Couldn't send reports",
         "Failed to exchange", "Connection reset by peer", "Broken pipe"),
    ),
    (
        "socket-failed",
        ("Unable to init the socket connection", "Unable to open file descriptor for socket",
         "accept() failed", "Problem in resolving basic adress"),
    ),
    ("tool-crashed", ("Segmentation fault", "core dumped", "double free or corruption")),
)  # fmt: skip
_WARNINGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("cpu-frequency", ("Conflicting CPU frequency values", "CPU Frequency is not max")),
    ("relaxed-ordering", ("not PCIe relaxed ordering compliant",)),
    ("peak-not-measured", ("BW peak won't be measured",)),
)

_PORT_STATE = re.compile(r"Port number [0-9]{1,3} state is (?!Active)[^\n]{0,40}")
_COMPLETION = re.compile(r"Failed status ([0-9]{1,4})[^\n]{0,60}?syndrom (0x[0-9a-fA-F]{1,8})")
_TOOL_MISSING = re.compile(
    r"ib_(?:write|read|send|atomic)_(?:bw|lat)['’\"`]?:[ \t]{0,4}"
    r"(?:command not found|not found|No such file or directory|Permission denied)[^\n]{0,80}"
    r"|error while loading shared libraries:[^\n]{0,160}"
    r"|cannot execute binary file[^\n]{0,80}"
)
# A complaint without a kind of its own is an error all the same.
_COMPLAINT = re.compile(
    r"^[ \t]{0,8}(?:Couldn't|Could not|Cannot|Can't|Failed|Unable|Error|ERROR|Fatal"
    r"|Parser function exited|CUDA error|ibv_[a-z_]{1,40} failed)\b[^\n]{0,160}",
    re.MULTILINE,
)
_STATUS_MEANS = {
    "5": "work request flushed",
    "9": "remote invalid request: the two sides run different tests",
    "10": "remote access error: the other side lacks -a or has another size",
    "11": "remote operation error",
    "12": "transport retries exceeded: no answer from the other side",
    "13": "receiver-not-ready retries exceeded",
}


def find_problems(text: str) -> list[Problem]:
    """One problem a kind, errors first. ``text`` has plain line ends."""
    errors = [*_missing_tool(text), *_errors(text)]
    return [*(errors or _unkind_complaints(text)), *_listed(text, _WARNINGS, "warning")]


def _errors(text: str) -> list[Problem]:
    found = [_explained(problem, text) for problem in _listed(text, _ERRORS, "error")]
    state = _PORT_STATE.search(text)
    if state is None:
        return found
    return [_problem("port-down", state[0]), *(p for p in found if p.kind != "port-down")]


def _listed(
    text: str, complaints: tuple[tuple[str, tuple[str, ...]], ...], severity: str
) -> list[Problem]:
    problems = []
    for kind, needles in complaints:
        needle = next((needle for needle in needles if needle in text), None)
        if needle is not None:
            problems.append(_problem(kind, _line_at(text, text.index(needle)), severity))
    return problems


def _explained(problem: Problem, text: str) -> Problem:
    match = _COMPLETION.search(text) if problem.kind == "completion-error" else None
    if match is None:
        return problem
    means = _STATUS_MEANS.get(match[1], "see ibv_wc_status")
    return _problem(problem.kind, f"completion status {match[1]} syndrom {match[2]} ({means})")


def _missing_tool(text: str) -> list[Problem]:
    match = _TOOL_MISSING.search(text)
    return [_problem("tool-missing", _line_at(text, match.start()))] if match else []


def _unkind_complaints(text: str) -> list[Problem]:
    match = _COMPLAINT.search(text)
    return [_problem("tool-failed", match[0])] if match else []


def _line_at(text: str, position: int) -> str:
    start = text.rfind("\n", max(0, position - _LONGEST_MESSAGE), position) + 1
    start = max(start, position - _LONGEST_MESSAGE)
    return text[start : start + 2 * _LONGEST_MESSAGE].partition("\n")[0]


def _problem(kind: str, message: str, severity: str = "error") -> Problem:
    return Problem(kind, severity, " ".join(message.split())[:_LONGEST_MESSAGE])
