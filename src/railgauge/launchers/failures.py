"""What a launcher's output says about ranks that could not be started, or did not survive. Pure.

``find_failures`` names each kind of failure; ``culprit`` says on which of the launch's hosts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from railgauge.launchers import mpi_failures, slurm_failures

_LONGEST_MESSAGE = 300


@dataclass(frozen=True, slots=True)
class Failure:
    """One complaint: its kind, and the words that show it."""

    kind: str
    message: str


# What a launcher could not do: the ranks never ran together.
NOT_STARTED: Mapping[str, str] = {
    "version-mismatch": "install the same version of MPI on every node",
    "host-key": "put the node's host key into known_hosts of the first node's user",
    "login-refused": "let the first node's user log in on the other nodes by key",
    "unknown-host": "give addresses that the nodes themselves can resolve",
    "host-unreachable": "log in from the first node by hand: ssh ADDRESS true",
    "run-as-root": "set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, "
    "or log in as another user",
    "not-enough-slots": "ask for fewer ranks on a node, or let the launcher have more slots",
    "launcher-daemon-missing": "install the same MPI on that node, or put its folder on the PATH "
    "of logins without a terminal",
    "launcher-daemon-lost": "see that the same version of MPICH is on every node",
    "launcher-daemon": "log in from the first node to every other one by hand: ssh ADDRESS true",
}
# What happened to ranks that ran.
DIED: Mapping[str, str] = {
    "tool-crashed": "look at the tool's own stack above, and for a core file on that node",
    "rank-died": "see the kernel's log of that node: dmesg, for signal 9 the out-of-memory killer",
}
# Complaints of the first host about another one.
_OF_ANOTHER = frozenset(NOT_STARTED) - {"run-as-root", "not-enough-slots", "version-mismatch"}
_HOST_OPTIONS = ("--host", "-host", "-H", "-hosts", "--hosts")


def find_failures(text: str) -> list[Failure]:
    """One failure a kind, the most telling first."""
    found = {kind: message[:_LONGEST_MESSAGE] for kind, message in mpi_failures.find(text)}
    for kind, position in slurm_failures.find(text):
        found.setdefault(kind, _line_at(text, position))
    return [Failure(kind, message) for kind, message in found.items()]


def _line_at(text: str, position: int) -> str:
    start = text.rfind("\n", max(0, position - _LONGEST_MESSAGE), position) + 1
    line = text[start : start + 2 * _LONGEST_MESSAGE].partition("\n")[0]
    return " ".join(line.split())[:_LONGEST_MESSAGE]


def launched_on(argv: Sequence[str]) -> tuple[str, ...]:
    """The hosts of an ``mpirun`` or ``mpiexec`` command, in its order; none in any other."""
    if not argv or not re.search(r"(?:^|/)(?:mpirun|mpiexec|prterun)[^/]*$", argv[0]):
        return ()
    for index, option in enumerate(argv[:-1]):
        if option in _HOST_OPTIONS:
            return tuple(re.sub(r":\d+$", "", host) for host in argv[index + 1].split(","))
    return ()


def culprit(kind: str, message: str, argv: Sequence[str], nodes: Sequence[str]) -> str:
    """The node that a failure is about; empty if that cannot be told.

    ``nodes`` are the names of the hosts of ``argv``, in its order. A node is named in the message
    by its name or address, or is the only one that the first host had to reach.
    """
    hosts = launched_on(argv)
    if len(hosts) != len(nodes):
        return ""
    others = nodes[1:] if kind in _OF_ANOTHER else nodes
    said = {node for node, host in zip(nodes, hosts, strict=True) if _says(message, node, host)}
    named = [node for node in others if node in said]
    if len(named) == 1:
        return named[0]
    is_plain = kind in _OF_ANOTHER and not named and len(others) == 1
    return others[0] if is_plain else ""


def _says(message: str, *names: str) -> bool:
    signs = (rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)" for name in names)
    return any(re.search(sign, message) for sign in signs)
