"""Ranks that a launcher should bind to one core each: each prints its core. Pure.

A launcher may ignore the option, or bind two ranks to one core (``--cpu-set``), and the test still
prints its table. So each rank is started by a line of shell, which binds nothing, prints where the
rank runs, and then executes the program::

    railgauge: rank 3 of gpu01: core 4,60, CPUs 4,60

``core`` are the hardware threads of the core to which the rank's first CPU belongs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from railgauge.launchers import ranks

NAME = "railgauge-core"
BEGINS = ranks.BEGINS
_SIBLINGS = "/sys/devices/system/cpu/cpu${mine%%[-,]*}/topology/thread_siblings_list"
_SCRIPT = " ".join(
    (
        *(ranks.NUMBER, ranks.AT, ranks.INSTALLED, ranks.ALLOWED),
        # By cat: the kernel does not give this file byte by byte, as the shell's read wants it.
        f'core=$(cat "{_SIBLINGS}" 2>/dev/null);',
        'echo "$at core ${core:-none}, CPUs $mine"; exec "$@"',
    )
)
_LINE = re.compile(rf"{ranks.LINE}core (none|{ranks.CPUS}), CPUs ({ranks.CPUS})")

_BINDS = ("--bind-to", "-bind-to", "--cpu-bind", "--cpu_bind")
# MPICH's core:1 is one core. Open MPI's core:overload-allowed may put several ranks on one core.
_ONE_CORE = ("core", "core:1", "cores")
# Slurm's --cpu-bind=verbose,cores also prints the binding.
_ALSO = frozenset({"verbose", "v", "quiet", "q"})
# Options by which a rank is given several cores, or a core several ranks.
_OTHERWISE = re.compile(
    r"--?cpus-per-(?:proc|rank)|--cpus-per-task(?:=.*)?|--ntasks-per-core(?:=.*)?|-c\d*"
    r"|[\w:=-]*:pe=\d+\b.*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class RankOnCore:
    """Where a rank runs: its number on its ``host``, its core's hardware threads, its CPUs.

    ``core`` is empty if the node does not show it.
    """

    rank: int
    host: str
    core: str
    cpus: str


def is_asked(options: Sequence[str]) -> bool:
    """Whether a launcher's options bind each rank to one core of its own.

    The last option of a kind counts, as for every launcher.
    """
    bound = ""
    for at, word in enumerate(options):
        name, equals, value = word.partition("=")
        if name in _BINDS:
            bound = value if equals else "".join(options[at + 1 : at + 2])
    kinds = [kind for kind in bound.lower().split(",") if kind not in _ALSO]
    return kinds in [[one] for one in _ONE_CORE] and not any(map(_OTHERWISE.fullmatch, options))


def on_core(program: Sequence[str]) -> tuple[str, ...]:
    """Return the command of a rank that prints where it runs, and then executes the program."""
    return ("sh", "-c", _SCRIPT, NAME, *program)


def read(line: str) -> RankOnCore | None:
    """Return the core that a rank's line reports; ``None`` for any other line."""
    match = _LINE.match(line)
    if match is None:
        return None
    return RankOnCore(int(match[1]), match[2], "" if match[3] == "none" else match[3], match[4])
