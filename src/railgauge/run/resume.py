"""Resuming an interrupted run: how it was started, and what is taken over from it.

The new run has its own folder; the folders of earlier runs are read and never written. Their
measurements are taken over case by case and judged again. A case that ended because a node could
not be reached shows nothing about the hardware: its good repeats count, and the others are measured
now. Any other failure is evidence. It is not measured again, so that no case is repeated until it
passes.

Example: a run is interrupted in repeat 3 of 5 of ``write-bandwidth[a:b]``. ``--resume`` takes over
repeats 1 and 2 and measures three more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from railgauge.config import deviations
from railgauge.config.deviations import Deviation
from railgauge.core.codec import from_plain
from railgauge.core.errors import BadInput, CommandTimedOut, TransportError, from_json
from railgauge.core.model import Case, Cluster, Transcript
from railgauge.core.question import CaseResult
from railgauge.core.run_files import CLUSTER, EARLIER, FACTS, MANIFEST
from railgauge.facts import NodeAnswer, NodeFacts
from railgauge.facts.boot import KernelMark, Reboot
from railgauge.leases.files import is_held
from railgauge.planning.soak import is_of_soak
from railgauge.run import invocation, unchanged
from railgauge.run.case_files import case_file
from railgauge.run.invocation import Invocation
from railgauge.run.newer import refuse_newer
from railgauge.run.prepare import JOURNAL
from railgauge.run.run_folder import RunFolder, json_left
from railgauge.run.store import kept_in
from railgauge.run.survey import found_to_json
from railgauge.verdict.decision import FILE as PLAN
from railgauge.verdict.unanswered import is_of_a_test

# A line for each case that was taken over, with its source, and for each node that has changed.
LOG = "resumed.jsonl"
_MOST_CHANGES = 8
_OTHER_EACH_TIME = frozenset({"boot_id", "clock_offset_s", "kernel_log", "kernel_faults"})
_AS_LEFT = "restore it as the run left it, or start a new run"


def find(named: str, reports: Path, here: Path) -> Path:
    """Return the folder of a run: ``latest``, a name in ``reports``, or a path from ``here``.

    Raises ``BadInput`` if there is no such run.
    """
    for path in (reports / named, here / named):
        if (path / invocation.FILE).is_file():
            return path.resolve()
    raise BadInput(
        f"{named} is not a run that can be carried on: it has no {invocation.FILE}",
        where="--resume",
        remedy=f"name a folder in {reports}, or latest, or start a new run",
    )


class Earlier:
    """The interrupted run, and the runs that it resumed itself: ``runs``, newest first."""

    def __init__(self, folder: Path) -> None:
        """Raises ``BadInput`` if the invocation of a run is missing or has another version."""
        self.runs = tuple(RunFolder(run, f"{run}/") for run in earlier(folder))
        self._unfinished = [unchanged.unfinished(run.folder) for run in self.runs]
        self.name = folder.name
        self.folder = folder
        self.invocation = _read(folder)

    def refuse_unfinished(self) -> None:
        """Raise ``BadInput`` if the run is in progress, or its preparations are not undone.

        Or if a newer version of the package made it.
        """
        where = f"--resume {self.name}"
        for run in self.runs:
            refuse_newer(run.folder)
        if is_held(self.folder / invocation.FILE):
            remedy = "wait until it ends, or interrupt it"
            raise BadInput("this run has not ended", where=where, remedy=remedy)
        for folder in (run.folder for run in self.runs):
            changes = _changes(folder / JOURNAL)
            if not all(isinstance(one, dict) and one.get("undone") for one in changes):
                remedy = f"railgauge undo {folder}"
                raise BadInput("its preparations are not undone", where=where, remedy=remedy)

    def refuse_changed(self) -> None:
        """Raise ``BadInput``, naming the file, unless the folder of each run is as the run left it.

        Also if the folder is not that of the run of which a later run has kept files.
        """
        for number, run in enumerate(self.runs):
            unchanged.refuse_changed(run.folder)
            for later in self.runs[:number]:
                _refuse_another(run.folder, later.folder / EARLIER / run.folder.name)

    def refuse_other_items(self, planned: Sequence[str]) -> None:
        """Raise ``BadInput`` unless the run planned the same items, or ended before its plan."""
        if PLAN not in self.runs[0]:
            return
        collected = {item for item in self.runs[0].plan().planned if is_of_a_test(item)}
        if odd := sorted(collected ^ set(planned)):
            what = "has a test that the run did not have" if odd[0] in planned else "lacks a test"
            raise BadInput(
                f"{what}: {odd[0]} (tests that differ: {len(odd)})",
                where=f"--resume {self.name}",
                remedy="name the same tests as in that run, or start a new run",
            )

    def __call__(self, case: Case, folder: str = "") -> CaseResult | None:
        """Return what is taken over of a case: all repeats, the first ones, or ``None``.

        ``folder`` is the folder of confirmations or of a round of a soak, or empty for the run's
        own cases. A case that failed in a soak is not measured again.
        """
        for kept in self._kept(case, folder):
            if kept is not None:
                return kept if is_of_soak(folder) else _without_lost_connections(kept)
        return None

    def left(self, case: Case, taken: CaseResult | None) -> Iterator[tuple[str, CaseResult]]:
        """What each run has measured of a case beyond the repeats in ``taken``."""
        runs = taken.runs if taken else ()
        for run, kept in zip(self.runs, self._kept(case), strict=True):
            if kept and kept.runs != runs[: len(kept.runs)]:
                yield run.folder.name, kept

    def _kept(self, case: Case, folder: str = "") -> Iterator[CaseResult | None]:
        """What each run has stored of a case, also if it was killed while it did."""
        name = case_file(case, folder)
        for run, unfinished in zip(self.runs, self._unfinished, strict=True):
            yield kept_in(unfinished.get(name, run.folder / name), case)

    def readings(self, case: Case) -> tuple[tuple[Transcript, ...], ...]:
        """The readings of a node (the case of an end-of-run check) in each run, oldest first.

        A run of which nothing is kept, such as one of an earlier version, has an empty entry. A
        reading that failed is left out, and so are those after it.
        """
        found: list[tuple[Transcript, ...]] = []
        for kept in reversed(list(self._kept(case))):
            last = kept.runs[-1] if kept and kept.runs else ()
            found.append(tuple(takewhile(lambda reading: not reading.error, last)))
        return tuple(found)

    def reboots(self, found: Mapping[str, NodeAnswer]) -> Iterator[Reboot]:
        """The reboots that the run recorded, and those since, from ``found``, the new survey."""
        before = self.runs[0].found
        known = self.runs[0].reboots()
        yield from known
        last = {reboot.node: reboot.now for reboot in known}
        for node, now in found.items():
            was = last.get(node) or _boot_id(before.get(node))
            after = _boot_id(now)
            if node in before and was and after and was != after:
                yield Reboot(node, was, after, after=self.name)

    def deviations(self) -> tuple[Deviation, ...]:
        """The accepted deviations of the run. Raises ``BadInput`` if their file is incomplete."""
        kept = deviations.FILE in self.runs[0]
        return deviations.from_json(self.runs[0].json(deviations.FILE)) if kept else ()

    def kernel_marks(self) -> Iterator[KernelMark]:
        """Where the kernels' logs stood when the run began, and the runs that it resumed."""
        for run, found in reversed(list(self.surveys())):
            for node, facts in found.items():
                if isinstance(facts, NodeFacts) and facts.boot_id and facts.kernel_log:
                    yield KernelMark(node, run, facts.boot_id, facts.kernel_log)

    def clusters(self) -> Iterator[tuple[str, Cluster]]:
        """Each run with its cluster as reached then; a run that ended early is left out."""
        for run in self.runs:
            if CLUSTER in run:
                yield run.folder.name, run.cluster()

    def facts_changed(self, found: Mapping[str, NodeAnswer]) -> Iterator[tuple[str, str]]:
        """Each node whose facts differ from the earlier survey, and how.

        Its boot id, its clock and the length of its kernel's log are left out.
        """
        before = found_to_json(self.runs[0].found)
        for node, now in found_to_json(found).items():
            if paths := list(differing(before.get(node, now), now)):
                more = f" and {len(paths) - _MOST_CHANGES} more" * (len(paths) > _MOST_CHANGES)
                yield node, ", ".join(paths[:_MOST_CHANGES]) + more

    def surveys(self) -> Iterator[tuple[str, Mapping[str, NodeAnswer]]]:
        """Each run, and what its survey found; nothing if the run ended before."""
        for run in self.runs:
            yield run.folder.name, run.found


def _refuse_another(run: Path, kept: Path) -> None:
    """Raise ``BadInput`` unless the files that a later run has kept of a run are those of it."""
    for path in (one for name in _OF_ONE_RUN if (one := kept / name).is_file()):
        own = run / path.name
        if not own.is_file() or own.read_bytes() != path.read_bytes():
            what = f"differs from what {kept.parent.parent.name} has kept of it"
            raise BadInput(what, where=str(own), remedy=_AS_LEFT)


_OF_ONE_RUN = (invocation.FILE, CLUSTER, FACTS, MANIFEST)


def _boot_id(answer: NodeAnswer | None) -> str | None:
    """A node's boot id in a survey; ``None`` if the survey did not reach the node."""
    return answer.boot_id if isinstance(answer, NodeFacts) else None


def earlier(folder: Path) -> Iterator[Path]:
    """Yield the run and those that it resumes, newest first. Raises ``BadInput``."""
    seen = set[Path]()
    while folder not in seen:
        seen.add(folder)
        yield folder
        before = _read(folder).resumes
        if not before:
            return
        folder = folder.parent / Path(before).name


def _read(folder: Path) -> Invocation:
    data = json_left(folder / invocation.FILE)
    if not isinstance(data, dict):
        raise BadInput(
            "is missing or incomplete, and a later run carries this run on",
            where=str(folder / invocation.FILE),
            remedy="restore the folder, or start a new run",
        )
    if data.get("schema_version") != invocation.SCHEMA_VERSION:
        raise BadInput("is of another version of railgauge", where=str(folder / invocation.FILE))
    return from_plain(Invocation, data, str(folder / invocation.FILE))


def _changes(journal: Path) -> list[Any]:
    """What a run changed on its nodes, by its journal. Raises ``BadInput`` for another file."""
    data = json_left(journal) or {"changes": []}
    found = data.get("changes") if isinstance(data, dict) else None
    if not isinstance(found, list):
        what = "is no file of a run: it has no changes"
        raise BadInput(what, where=str(journal), remedy=_AS_LEFT)
    return found


def differing(was: Any, now: Any, path: str = "") -> Iterator[str]:
    """The paths at which two JSON values differ, each with both values, shortened."""
    if was == now:
        return
    if isinstance(was, dict) and isinstance(now, dict):
        for key in sorted({*was, *now} - _OTHER_EACH_TIME):
            yield from differing(was.get(key), now.get(key), f"{path}.{key}" if path else key)
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for index, (one, other) in enumerate(zip(was, now, strict=True)):
            yield from differing(one, other, f"{path}.{index}")
    else:
        yield f"{path.removeprefix('facts.')}: {_short(was)} -> {_short(now)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:37]}..."  # noqa: PLR2004


def _without_lost_connections(result: CaseResult) -> CaseResult:
    """The result without a last repeat or an error that is due to an unreachable node."""
    runs = list(result.runs)
    if runs and any(_unreached(transcript.error) for transcript in runs[-1]):
        return CaseResult(tuple(runs[:-1]))
    if result.error is not None and _unreached(result.error.kind):
        return replace(result, error=None)
    return result


def _unreached(kind: str) -> bool:
    """Whether an error means that no command ran; a command that timed out did run."""
    error = from_json({"kind": kind, "what": "", "where": "", "remedy": ""})
    return isinstance(error, TransportError) and kind != CommandTimedOut.kind
