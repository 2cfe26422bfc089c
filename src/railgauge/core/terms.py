"""The closed sets of words in platform files, transcripts and verdicts, each a type of its own.

A member is its word: it compares, formats and is written down as the plain string (or number), so
files and reports hold ``"client"`` or ``4`` and never the name of a type.
"""

from __future__ import annotations

from enum import Enum, IntEnum


class Term(str, Enum):
    """A word of a closed set. It is formatted alike by all versions of Python."""

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(str(self.value), spec)


class Rung(IntEnum):
    """A rung of the ladder, from the lowest up; its items are in the folder ``folder`` of tests."""

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

    ``PATH`` is a pair of nodes and a pairing; ``FABRIC`` is the node that scans the subnet.
    """

    PATH = "path"
    PAIR = "pair"
    NODE = "node"
    GROUP = "group"
    FABRIC = "fabric"


class Role(Term):
    """What a command does in a run.

    ``CLIENT`` reports, also where the run has no server; a ``SERVICE`` is a server that goes on
    until it is stopped: how it ended says nothing. The others read the NICs' counters before and
    after.
    """

    CLIENT = "client"
    SERVER = "server"
    SERVICE = "service"
    COUNTERS_BEFORE = "counters-before"
    COUNTERS_AFTER = "counters-after"


COUNTER_ROLES = (Role.COUNTERS_BEFORE, Role.COUNTERS_AFTER)


class Verdict(Term):
    """What is decided of a run, or of one recorded output."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    INCOMPLETE = "incomplete"

    @property
    def exit_code(self) -> int:
        """What the programs end with; 10 lies apart from the codes of pytest."""
        return {Verdict.ACCEPTED: 0, Verdict.REJECTED: 1}.get(self, 10)
