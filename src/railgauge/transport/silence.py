"""When a connection counts as lost: nothing has come from its other end for too long.

A node that works sends something every ``BEAT_S``, however long its tools print nothing: sshd
answers a keep-alive, and a command that another program runs there prints a marker (``shell``).
A connection is lost after three missing ones, so that a node under load may answer late.
"""

from __future__ import annotations

from dataclasses import dataclass

BEAT_S = 15.0
LIMIT_S = 45.0


@dataclass
class Silence:
    """Counts looks of ``look_s`` that found nothing.

    It reads no clock: if this process was stopped for a minute, that is not the node's silence.
    """

    look_s: float
    _looks: int = 0

    def heard(self) -> None:
        self._looks = 0

    def looked(self) -> None:
        """A look of ``look_s`` has found nothing."""
        self._looks += 1

    @property
    def has_missed_an_answer(self) -> bool:
        """Whether one beat has passed, and half of another, in which the answer was due."""
        return self._looks * self.look_s >= 1.5 * BEAT_S

    @property
    def is_too_long(self) -> bool:
        return self._looks * self.look_s >= LIMIT_S
