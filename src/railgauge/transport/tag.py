"""The name that every process of a run carries on a node, in its environment.

What a run leaves behind is found by it, whoever started it and whatever it is called. It is no part
of a command: it differs from run to run, and transcripts say what would run again.
"""

from __future__ import annotations

from dataclasses import dataclass

VARIABLE = "RAILGAUGE_RUN"


@dataclass(frozen=True, slots=True)
class Tag:
    """``run`` names one run and no other; ``part`` who of it: ``main``, a worker, ``lease``.

    Neither holds a slash. Every value ends in one, so that the name of a whole is never the
    beginning of another name.
    """

    run: str
    part: str

    def on(self, node: str) -> str:
        """The value of the variable on ``node``."""
        return f"{run_on(self.run, node)}{self.part}/"


def run_on(run: str, node: str) -> str:
    """How the values of all parts of a run begin on ``node``.

    The node is part of the name because two nodes of a hostfile may share one machine.
    """
    return f"{run}/{node}/"
