"""What the end of a run needs of each case: noted when it is measured, so no file is read again.

A sign-off of a large cluster has hundreds of thousands of files of transcripts. Of the cases that
this process has not measured, and of any run that is read, the notes are made of the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

from railgauge.config.thresholds import Platform
from railgauge.core.model import Case, Transcript
from railgauge.core.question import CaseResult
from railgauge.core.run_files import EARLIER, TRANSCRIPTS
from railgauge.core.terms import Role
from railgauge.judging.own_output import PrintedOutput, RepeatedOutput, repeated
from railgauge.run.case_files import case_file
from railgauge.run.store import Kept
from railgauge.tools import run_identity

Runs = Sequence[Sequence[Transcript]]


@dataclass(frozen=True, slots=True)
class ShownRun:
    """An output with an identity that no other run of its tool shows.

    ``number`` is that of the repeat, from 1; empty if the case is made once.
    """

    number: str
    node: str
    started_at: str
    duration_s: float
    shows: str


@dataclass(frozen=True, slots=True)
class CaseNote:
    """When each repeat of a case was started, and the outputs that identify their runs."""

    key: str
    starts: tuple[str, ...]
    shown: tuple[ShownRun, ...]


def note_of(platform: Platform, kept: Kept) -> CaseNote:
    """The note of a case as its file of transcripts has it."""
    return _note(platform, kept.case.key, kept.runs)


def starts_of(runs: Runs) -> tuple[str, ...]:
    """When the first command of each repeat was started."""
    return tuple(run[0].started_at for run in runs if run)


def _note(platform: Platform, key: str, runs: Runs) -> CaseNote:
    measured = platform.measurements.get(key.partition("[")[0])
    # A case without a measurement here is read at the end of the run, or has no limit.
    return CaseNote(key, starts_of(runs), tuple(_shown(measured.tool, runs)) if measured else ())


def _shown(tool: str, runs: Runs) -> Iterator[ShownRun]:
    for number, run in enumerate(runs, 1):
        for output in run:
            shows = run_identity(tool, output.stdout) if output.role == Role.CLIENT else ""
            if shows:
                repeat = "" if len(runs) == 1 else str(number)
                yield ShownRun(repeat, output.node, output.started_at, output.duration_s, shows)


class CaseNotes:
    """The notes of the cases that this process has measured, by the names of their files."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._notes: dict[str, CaseNote] = {}

    def take(self, case: Case, result: CaseResult) -> CaseResult:
        """Note a case as it was stored, and return its result."""
        self._notes[case_file(case)] = _note(self._platform, case.key, result.runs)
        return result

    def of(self, name: str) -> CaseNote | None:
        """The note of a file of transcripts; ``None`` if another process has measured its case."""
        return self._notes.get(name)

    def starts(self, case: Case) -> tuple[str, ...] | None:
        """When each repeat of a case was started; ``None`` if another process has measured it."""
        note = self.of(case_file(case))
        return note.starts if note else None


# --- outputs that stand more than once in a run ---


def printed_twice(
    names: Callable[[], Iterable[str]],
    kept_in: Callable[[str], Kept],
    platform: Platform,
    noted: Callable[[str], CaseNote | None] = lambda _: None,
) -> Callable[[], tuple[RepeatedOutput, ...]]:
    """Return the function that gives the outputs that are in the run's files more than once.

    ``names`` are those of the run's files, ``kept_in`` gives the content of one with transcripts.
    The function reads the files at its first call only, and skips files for which ``noted`` has a
    note.
    """

    def note(name: str) -> CaseNote:
        return noted(name) or note_of(platform, kept_in(name))

    return cache(lambda: repeated(_printed(names(), note)))


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
    return path.parent.name == TRANSCRIPTS and path.suffix == ".json"


def _is_kept(name: str) -> bool:
    """Whether a file is one of those that are kept of a run which this one carries on."""
    return EARLIER in PurePosixPath(name).parts[:-2]
