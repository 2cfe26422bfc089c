"""What identifies each output in the evidence of a run, in every folder of transcripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import PurePosixPath
from typing import Protocol

from railgauge.config.thresholds import Platform
from railgauge.core.terms import Role
from railgauge.judging.own_output import PrintedOutput, RepeatedOutput, repeated
from railgauge.run.store import Kept
from railgauge.tools import run_identity

_FOLDER = "transcripts"


class KeptFiles(Protocol):
    """The files of a run."""

    def names(self) -> Iterable[str]: ...

    def kept_in(self, name: str) -> Kept: ...


def printed_twice(files: KeptFiles, platform: Platform) -> Callable[[], tuple[RepeatedOutput, ...]]:
    """Return the function that gives the outputs that are in the run's files more than once.

    It reads the files when it is called first, and not again.
    """
    return cache(lambda: repeated(_printed(files, platform)))


def _printed(files: KeptFiles, platform: Platform) -> Iterator[PrintedOutput]:
    """Yield the outputs of the run, its confirmations, its soak, and of the runs it was merged of.

    Only those that show what identifies their run, in the order of the names of their files.
    """
    for name in sorted(filter(_is_of_a_case, files.names())):
        kept = files.kept_in(name)
        measured = platform.measurements.get(kept.case.key.partition("[")[0])
        if measured is None:  # read at the end of the run, or not limited here
            continue
        for number, run in enumerate(kept.runs, 1):
            place = name if len(kept.runs) == 1 else f"{name} (run {number})"
            for said in run:
                shows = run_identity(measured.tool, said.stdout) if said.role == Role.CLIENT else ""
                if shows:
                    yield PrintedOutput(place, said.node, shows)


def _is_of_a_case(name: str) -> bool:
    path = PurePosixPath(name)
    return path.parent.name == _FOLDER and path.suffix == ".json"
