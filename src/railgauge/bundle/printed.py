"""What identifies each output in the evidence of a run, in every folder of transcripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import PurePosixPath
from typing import Protocol

from railgauge.config.thresholds import Platform
from railgauge.core.terms import Role
from railgauge.judging.own_output import PrintedOutput, RepeatedOutput, repeated
from railgauge.run.store import EARLIER, Kept
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

    Only those that show what identifies their run, in the order of the names of their files. What a
    run has taken over from one that it carries on may be kept with that one too: it is one output.
    """
    seen = dict[tuple[str, ...], str]()
    for name in sorted(filter(_is_of_a_case, files.names()), key=lambda n: (_is_kept(n), n)):
        kept = files.kept_in(name)
        measured = platform.measurements.get(kept.case.key.partition("[")[0])
        if measured is None:  # read at the end of the run, or not limited here
            continue
        for number, run in enumerate(kept.runs, 1):
            place = name if len(kept.runs) == 1 else f"{name} (run {number})"
            for said in run:
                shows = run_identity(measured.tool, said.stdout) if said.role == Role.CLIENT else ""
                measurement = (kept.case.key, said.started_at, str(said.duration_s), shows)
                place_of = seen.setdefault(measurement, name) if shows else ""
                if shows and (place_of == name or not _is_kept(name)):
                    yield PrintedOutput(place, said.node, shows)


def _is_of_a_case(name: str) -> bool:
    path = PurePosixPath(name)
    return path.parent.name == _FOLDER and path.suffix == ".json"


def _is_kept(name: str) -> bool:
    """Whether a file is one of those that are kept of a run which this one carries on."""
    return EARLIER in PurePosixPath(name).parts[:-2]
