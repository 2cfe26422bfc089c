"""The tag that every process of a run on a node carries in its environment.

Processes that a run left behind are found by it, whatever their parent and their name. The tag is
not part of a ``Command``, because it differs from run to run and a transcript's command must be
repeatable.

On node ``n1``, the main process of the run ``r42`` starts processes with
``RAILGAUGE_RUN=r42/n1/main/``.
"""

from __future__ import annotations

from dataclasses import dataclass

VARIABLE = "RAILGAUGE_RUN"


@dataclass(frozen=True, slots=True)
class Tag:
    """A part of a run: ``run`` is unique to the run, ``part`` is ``main``, a worker, or ``lease``.

    Neither contains a slash. Every value of the variable ends with one, so that the value of one
    part is never a prefix of another's.
    """

    run: str
    part: str

    def on(self, node: str) -> str:
        """Return the value of the variable on ``node``."""
        return f"{run_on(self.run, node)}{self.part}/"


def run_on(run: str, node: str) -> str:
    """Return the prefix that the values of all parts of a run share on ``node``.

    The node is part of it because two nodes of a hostfile may be the same machine.
    """
    return f"{run}/{node}/"
