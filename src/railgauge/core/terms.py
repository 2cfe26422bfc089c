"""Enumerations of the fixed terms in platform files, transcripts and verdicts.

A member compares, formats and serialises as its plain string or number, so that files and reports
hold ``"client"`` or ``4`` and never the name of a type::

    >>> f"{Role.CLIENT} on rung {Rung.COLLECTIVE}"
    'client on rung 4'
"""

from __future__ import annotations

from enum import Enum, IntEnum


class Term(str, Enum):
    """A text term of an enumeration. All versions of Python format it as its value."""

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(str(self.value), spec)


class Rung(IntEnum):
    """A rung of the ladder, lowest first; its items are in the folder ``folder`` of the tests."""

    PREFLIGHT = 0
    NETWORK = 1
    GPUDIRECT = 2
    INTRANODE = 3
    COLLECTIVE = 4
    APPLICATION = 5

    @property
    def folder(self) -> str:
        return self.name.lower()

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)


class Scope(Term):
    """Where a measurement is made.

    ``PATH`` is a pair of nodes with a pairing; ``FABRIC`` is the node that scans the subnet.
    """

    PATH = "path"
    PAIR = "pair"
    NODE = "node"
    GROUP = "group"
    FABRIC = "fabric"


class Flow(Term):
    """Which way a test between two nodes moves its payload.

    ``FORWARD`` is from the first node to the second. ``UNSET`` is for tests whose result does not
    depend on what the nodes can send or receive, such as latency, and for unknown tests.
    """

    FORWARD = "forward"
    BACKWARD = "backward"
    BOTH = "both"
    UNSET = ""


class Role(Term):
    """What a command does in a run.

    ``CLIENT`` prints the results, also in a run without a server. ``SERVICE`` is a server that runs
    until it is stopped, so that its exit code is not judged. ``COUNTERS_BEFORE`` and
    ``COUNTERS_AFTER`` read the NICs' counters before and after the run, ``COUNTERS_BETWEEN`` those
    of a node between the rounds of a soak. ``TELEMETRY`` samples a node's GPUs during the run,
    until it is stopped. ``CONTROL_HOST`` is the load of the machine that runs the suite,
    ``LOAD_BEFORE`` and ``LOAD_AFTER`` that of a virtual node before and after the run.
    """

    CLIENT = "client"
    SERVER = "server"
    SERVICE = "service"
    COUNTERS_BEFORE = "counters-before"
    COUNTERS_BETWEEN = "counters-between"
    COUNTERS_AFTER = "counters-after"
    TELEMETRY = "telemetry"
    CONTROL_HOST = "control-host"
    LOAD_BEFORE = "load-before"
    LOAD_AFTER = "load-after"


class RankPlace(Term):
    """Which CPUs the ranks of a collective use: ``ranks`` of the hostfile.

    ``UNSET`` is what earlier runs and the lab have: the launcher binds ranks to NUMA nodes.
    """

    BESIDE_GPU = "beside-gpu"
    LAUNCHER = "launcher"
    UNSET = ""


class LaunchWay(Term):
    """How a launcher's daemons get to the other nodes: ``launch`` of the hostfile.

    ``UNSET`` leaves it to the launcher: Slurm, and the lab, whose launcher has no daemons.
    """

    THROUGH_SUITE = "through-suite"
    SSH = "ssh"
    UNSET = ""


COUNTER_ROLES = (Role.COUNTERS_BEFORE, Role.COUNTERS_AFTER)
LOAD_ROLES = (Role.LOAD_BEFORE, Role.LOAD_AFTER)
# Commands of the suite itself beside those of a tool.
BESIDE_ROLES = (
    *(*COUNTER_ROLES, *LOAD_ROLES),
    *(Role.COUNTERS_BETWEEN, Role.TELEMETRY, Role.CONTROL_HOST),
)
# Transcripts that last as long as something is watched, and not as long as a measurement.
WATCHING_ROLES = (Role.TELEMETRY, Role.CONTROL_HOST)


class Severity(Term):
    """An error makes all values of the output invalid; a warning leaves them valid."""

    ERROR = "error"
    WARNING = "warning"


class Verdict(Term):
    """The decision about a run, or about one recorded output."""

    ACCEPTED = "accepted"
    WITH_DEVIATIONS = "accepted with deviations"
    REJECTED = "rejected"
    INCOMPLETE = "incomplete"
    # About some nodes only, not about their cluster.
    QUALIFIED = "qualified"
    QUALIFIED_WITH_DEVIATIONS = "qualified with deviations"
    NOT_QUALIFIED = "not qualified"

    @property
    def exit_code(self) -> int:
        """The exit code of the programs; 10 and 11 differ from all exit codes of pytest."""
        return _EXIT_CODES[self]

    @property
    def is_accepted(self) -> bool:
        """Whether all required checks were made, and every miss is accepted."""
        return self in (Verdict.ACCEPTED, Verdict.WITH_DEVIATIONS)

    @property
    def is_of_nodes(self) -> bool:
        """Whether it is a verdict of some nodes alone."""
        return self in _OF_NODES.values()

    @property
    def of_nodes(self) -> Verdict:
        """The verdict of a run that measured some nodes alone, in place of that of a cluster."""
        return _OF_NODES.get(self, self)


_OF_NODES = {
    Verdict.ACCEPTED: Verdict.QUALIFIED,
    Verdict.WITH_DEVIATIONS: Verdict.QUALIFIED_WITH_DEVIATIONS,
    Verdict.REJECTED: Verdict.NOT_QUALIFIED,
}
_OF_CLUSTERS = {
    Verdict.ACCEPTED: 0,
    Verdict.REJECTED: 1,
    Verdict.INCOMPLETE: 10,
    Verdict.WITH_DEVIATIONS: 11,
}
_EXIT_CODES = {**_OF_CLUSTERS, **{_OF_NODES.get(v, v): code for v, code in _OF_CLUSTERS.items()}}
EXIT_CODES_IN_WORDS = ", ".join(f"{code} {verdict}" for verdict, code in _OF_CLUSTERS.items())
"""``0 accepted, 1 rejected, …``, for the help of commands."""
