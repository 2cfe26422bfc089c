"""What identifies each output in the evidence of a run, in every folder of transcripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import PurePosixPath
from typing import Protocol

from railgauge.config.thresholds import Platform
from railgauge.judging.own_output import PrintedOutput, RepeatedOutput, repeated
from railgauge.run.case_notes import CaseNote, note_of
from railgauge.run.store import EARLIER, Kept

_FOLDER = "transcripts"


class KeptFiles(Protocol):
    """The files of a run."""

    def names(self) -> Iterable[str]: ...

    def kept_in(self, name: str) -> Kept: ...


def printed_twice(
    files: KeptFiles, platform: Platform, noted: Callable[[str], CaseNote | None] = lambda _: None
) -> Callable[[], tuple[RepeatedOutput, ...]]:
    """Return the function that gives the outputs that are in the run's files more than once.

    It reads the files when it is called first, and not again; not those that were ``noted``.
    """

    def note(name: str) -> CaseNote:
        return noted(name) or note_of(platform, files.kept_in(name))

    return cache(lambda: repeated(_printed(files.names(), note)))


def _printed(names: Iterable[str], note: Callable[[str], CaseNote]) -> Iterator[PrintedOutput]:
    """Yield the outputs of the run, its confirmations, its soak, and of the runs it was merged of.

    Only those that show what identifies their run, in the order of the names of their files. What a
    run has taken over from one that it carries on may be kept with that one too: it is one output.
    """
    seen = dict[tuple[str, ...], str]()
    for name in sorted(filter(_is_of_a_case, names), key=lambda n: (_is_kept(n), n)):
        noted = note(name)
        for said in noted.shown:
            measurement = (noted.key, said.started_at, str(said.duration_s), said.shows)
            if seen.setdefault(measurement, name) == name or not _is_kept(name):
                place = f"{name} (run {said.number})" if said.number else name
                yield PrintedOutput(place, said.node, said.shows)


def _is_of_a_case(name: str) -> bool:
    path = PurePosixPath(name)
    return path.parent.name == _FOLDER and path.suffix == ".json"


def _is_kept(name: str) -> bool:
    """Whether a file is one of those that are kept of a run which this one carries on."""
    return EARLIER in PurePosixPath(name).parts[:-2]
