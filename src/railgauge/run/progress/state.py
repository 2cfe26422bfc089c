"""How far a process is at one moment: what is shown is made of this alone.

``Awaited`` is what is not normal: a node that does not answer, a lease of another run, a tool that
takes much longer than it usually does.
"""

from __future__ import annotations

from dataclasses import dataclass

from railgauge.core.model import Case
from railgauge.transport.waits import Wait

SOON_S = 10.0
"""How long a wait may last without a word."""
_LATE = 2


@dataclass(frozen=True, slots=True)
class RunningCase:
    """A measurement that goes on ``since_s``, monotonic; ``usual_s`` is how long one takes."""

    case: Case
    since_s: float
    usual_s: float

    def is_late(self, now_s: float) -> bool:
        return now_s - self.since_s >= _LATE * self.usual_s + SOON_S


@dataclass(frozen=True, slots=True)
class HowFar:
    """How many measurements of a ladder were decided; ``left_s`` is ``None`` before the first.

    ``following`` is the measurement that is made next.
    """

    decided: int
    of: int
    left_s: float | None = None
    following: str = ""


@dataclass(frozen=True, slots=True)
class Moment:
    """What the process ``name`` does ``now_s``; ``steps`` is its text of ``core.progress``."""

    name: str
    began_s: float
    now_s: float
    steps: str = ""
    far: HowFar | None = None
    running: tuple[RunningCase, ...] = ()
    waits: tuple[Wait, ...] = ()

    @property
    def awaited(self) -> tuple[Wait, ...]:
        """The waits that are no part of a measurement that goes its usual way."""
        usual = {
            node for one in self.running if not one.is_late(self.now_s) for node in one.case.nodes
        }
        return tuple(
            wait
            for wait in self.waits
            if self.now_s - wait.since_s >= SOON_S and not (wait.is_tool and wait.node in usual)
        )
