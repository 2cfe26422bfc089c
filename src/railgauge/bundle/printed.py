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

    The function reads the files at its first call only, and skips files for which ``noted`` has a
    note.
    """

    def note(name: str) -> CaseNote:
        return noted(name) or note_of(platform, files.kept_in(name))

    return cache(lambda: repeated(_printed(files.names(), note)))


def _printed(names: Iterable[str], note: Callable[[str], CaseNote]) -> Iterator[PrintedOutput]:
    """Yield the outputs of the run, its confirmations, its soak, and the runs it was merged from.

    Only outputs with text that identifies their run are listed, in the order of their files'
    names. Output that a run took over from one that it carries on may be kept with both: it is one
    output.
    """
    seen = dict[tuple[str, ...], str]()
    for name in sorted(filter(_is_of_a_case, names), key=lambda n: (_is_kept(n), n)):
        noted = note(name)
        for output in noted.shown:
            measurement = (noted.key, output.started_at, str(output.duration_s), output.shows)
            if seen.setdefault(measurement, name) == name or not _is_kept(name):
                place = f"{name} (run {output.number})" if output.number else name
                yield PrintedOutput(place, output.node, output.shows)


def _is_of_a_case(name: str) -> bool:
    path = PurePosixPath(name)
    return path.parent.name == _FOLDER and path.suffix == ".json"


def _is_kept(name: str) -> bool:
    """Whether a file is one of those that are kept of a run which this one carries on."""
    return EARLIER in PurePosixPath(name).parts[:-2]
