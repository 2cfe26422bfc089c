"""Find in a launcher's output why ranks did not start, or died. Pure.

``find_failures`` finds each kind of failure; ``culprit`` finds the host on which it happened.
``ssh: connect to host n02 port 22: No route to host`` is ``host-unreachable``, on n02.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from railgauge.core.errors import LaunchFailed, NameNotResolved, RankDied
from railgauge.core.problems import ProblemKind
from railgauge.launchers import mpi_failures, slurm_failures

_LONGEST_MESSAGE = 300


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure: its kind, and the text in the output that shows it."""

    kind: ProblemKind
    message: str


# Failures of the launcher: the ranks never ran together.
NOT_STARTED = frozenset(
    kind for kind in ProblemKind if kind.error in (LaunchFailed, NameNotResolved)
)
# Failures of ranks that ran.
DIED = frozenset(kind for kind in ProblemKind if kind.error is RankDied)
# Failures that the first host reports about another host.
_OF_ANOTHER = frozenset(NOT_STARTED) - {
    ProblemKind.RUN_AS_ROOT,
    ProblemKind.NOT_ENOUGH_SLOTS,
    ProblemKind.BINDING_OVERLOAD,
    ProblemKind.VERSION_MISMATCH,
}
_HOST_OPTIONS = ("--host", "-host", "-H", "-hosts", "--hosts")


def find_failures(text: str) -> list[Failure]:
    """Return at most one failure of each kind, the most specific first."""
    found = {kind: message[:_LONGEST_MESSAGE] for kind, message in mpi_failures.find(text)}
    for kind, position in slurm_failures.find(text):
        found.setdefault(kind, _line_at(text, position))
    return [Failure(kind, message) for kind, message in found.items()]


def _line_at(text: str, position: int) -> str:
    start = text.rfind("\n", max(0, position - _LONGEST_MESSAGE), position) + 1
    line = text[start : start + 2 * _LONGEST_MESSAGE].partition("\n")[0]
    return " ".join(line.split())[:_LONGEST_MESSAGE]


def launched_on(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the hosts of an ``mpirun`` or ``mpiexec`` command in order; empty for any other."""
    if not argv or not re.search(r"(?:^|/)(?:mpirun|mpiexec|prterun)[^/]*$", argv[0]):
        return ()
    for index, option in enumerate(argv[:-1]):
        if option in _HOST_OPTIONS:
            return tuple(re.sub(r":\d+$", "", host) for host in argv[index + 1].split(","))
    return ()


def culprit(kind: ProblemKind, message: str, argv: Sequence[str], nodes: Sequence[str]) -> str:
    """Return the node that a failure is about; empty if that is not known.

    ``nodes`` are the names of the hosts of ``argv``, in the same order. It is the node whose name
    or address is in the message, or the only one that the first host had to reach.
    """
    hosts = launched_on(argv)
    if len(hosts) != len(nodes):
        return ""
    others = nodes[1:] if kind in _OF_ANOTHER else nodes
    pairs = zip(nodes, hosts, strict=True)
    mentioned = {node for node, host in pairs if _mentions(message, node, host)}
    named = [node for node in others if node in mentioned]
    if len(named) == 1:
        return named[0]
    is_plain = kind in _OF_ANOTHER and not named and len(others) == 1
    return others[0] if is_plain else ""


def _mentions(message: str, *names: str) -> bool:
    signs = (rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)" for name in names)
    return any(re.search(sign, message) for sign in signs)
