"""Programs that the survey runs on every node; their output in a file is read by the same readers.

``gpus`` has the tools of the GPU vendors, ``hosts`` those of NICs and PCIe, ``program`` their
common code.
"""

from __future__ import annotations

from railgauge.tools.probed import gpus, hosts
from railgauge.tools.probed.program import ProbedProgram

_PROGRAMS = (*gpus.PROGRAMS, *hosts.PROGRAMS)


def named(name: str) -> ProbedProgram:
    """Return the program that the registry calls ``name``."""
    return next(program for program in _PROGRAMS if program.name == name)
