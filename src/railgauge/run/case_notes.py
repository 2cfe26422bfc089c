"""What the end of a run needs of each case: noted when it is measured, so no file is read again.

A sign-off of a large cluster has hundreds of thousands of files of transcripts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from railgauge.config.thresholds import Platform
from railgauge.core.model import Case, Transcript
from railgauge.core.question import CaseResult
from railgauge.core.terms import Role
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
