"""What is unlike the documents in a study: noise, and physics that the diagnosis does not model.

Most of the physics is the lab's (``railgauge_lab.sim.physics``). Losses that differ from execution
to execution are the study's own, which plays the timing of each fault.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from dataclasses import dataclass, replace

from blind_draw import DrawnRun

from railgauge_lab.sim import physics

VARYING = "varying"
PHYSICS = (*physics.NAMES, VARYING)
_LEAST = 0.4


@dataclass(frozen=True)
class Conditions:
    """A multiple of the documents' noise, and names of ``PHYSICS``."""

    noise: float = 1.0
    physics: tuple[str, ...] = ()

    def of(self, run: DrawnRun) -> DrawnRun:
        """The run under these conditions: of a varying fault at least ``_LEAST`` is lost."""
        injected = run.injected
        if VARYING in self.physics:
            injected = tuple(replace(one, fault=f"{one.fault},least={_LEAST}") for one in injected)
        return replace(run, injected=injected, noise=self.noise, physics=self.physics)


AS_DOCUMENTED = Conditions()


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--noise", type=float, default=1.0, help="multiple of the documents' (1)")
    says = f"NAME[,NAME] of {', '.join(PHYSICS)}"
    parser.add_argument("--physics", type=_physics, default=(), help=says)


def _physics(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if unknown := sorted(set(names) - set(PHYSICS)):
        raise ArgumentTypeError(f"{', '.join(unknown)}; known: {', '.join(PHYSICS)}")
    return names
