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
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeVar

from railgauge.config import deviations
from railgauge.config.deviations import Deviation
from railgauge.config.hostfile import cluster_from_json
from railgauge.core import versions
from railgauge.core.codec import from_plain, to_plain
from railgauge.core.errors import BadInput, CommandTimedOut, TransportError, from_json
from railgauge.core.model import Case, Cluster, Transcript
from railgauge.core.question import CaseResult
from railgauge.facts import NodeAnswer, boot
from railgauge.facts.boot import KernelMark, Reboot
from railgauge.leases.files import is_held
from railgauge.planning.pairing import ALTERNATING
from railgauge.planning.soak import is_of_soak
from railgauge.run import unchanged
from railgauge.run.case_files import case_file
from railgauge.run.changed_facts import differing
from railgauge.run.newer import refuse_newer
from railgauge.run.prepare import JOURNAL
from railgauge.run.store import EARLIER, MANIFEST, Store, kept_in
from railgauge.run.survey import FILE as SURVEY
from railgauge.run.survey import found_from_json
from railgauge.verdict.decision import FILE as PLAN
from railgauge.verdict.unanswered import is_of_a_test

FILE = "invocation.json"
SCHEMA_VERSION = 1
# A line for each case that was taken over, with its source, and for each node that has changed.
LOG = "resumed.jsonl"

CLUSTER = "cluster.json"
_MOST_CHANGES = 8
_AS_LEFT = "restore it as the run left it, or start a new run"


@dataclass(frozen=True, slots=True)
class Invocation:
    """How a run was started. ``invocation.json`` is the first file in its folder.

    ``hostfile_sha256`` is computed over the file with secret values masked. ``resumes`` is the name
    of the run in ``reports/`` that this one resumes, or empty. ``directions`` is the
    scheme that decided which node of a pair sends; runs that did not keep it used the first.
    ``sampled`` is false for runs of versions that measured every node at smoke.
    """

    schema_version: int
    hostfile: str
    hostfile_sha256: str
    thresholds_sha256: str
    platform: str | None
    level: str
    rounds: int | None
    lab_nodes: int | None
    lab_seed: int | None
    lab_faults: tuple[str, ...]
    no_gates: bool
    prepare: bool
    keyword: str
    marks: str
    resumes: str = ""
    confirm: bool = False
    directions: int = ALTERNATING
    sampled: bool = False
    soak: str | None = None
    soak_below: str | None = None
    soak_seed: int | None = None
    shard: str | None = None
    only: str | None = None
    partners: str | None = None
    partners_from: str | None = None

    def hostfile_of(self, site: Path, where: str) -> str:
        """Return the run's hostfile, if it is one of this site. Raises ``BadInput``.

        A hostfile can run programs: the folder of a run may not choose any other one.
        """
        named = Path(self.hostfile).resolve()
        if named.parent == site.resolve() or named.is_relative_to((site / "hostfiles").resolve()):
            return str(named)
        raise BadInput(
            f"its hostfile {named} is not in {site} or its folder hostfiles",
            where=where,
            remedy="name it with --hostfile, if you trust it: a hostfile can run programs",
        )


OPTIONS = {
    "platform": "--platform",
    "level": "--level",
    "rounds": "--rounds",
    "lab_nodes": "--lab-nodes",
    "lab_seed": "--lab-seed",
    "lab_faults": "--lab-fault",
    "no_gates": "--no-gates",
    "prepare": "--prepare",
    "keyword": "-k",
    "marks": "-m",
    "soak": "--soak",
    "soak_below": "--soak-below",
    "soak_seed": "--soak-seed",
    "shard": "--shard",
    "only": "--only",
    "partners": "--partners",
    "partners_from": "--partners-from",
}
"""The fields of an invocation and their options."""


def write(store: Store, invocation: Invocation) -> None:
    store.write_evidence(FILE, to_plain(invocation))


def find(named: str, reports: Path, here: Path) -> Path:
    """Return the folder of a run: ``latest``, a name in ``reports``, or a path from ``here``.

    Raises ``BadInput`` if there is no such run.
    """
    for path in (reports / named, here / named):
        if (path / FILE).is_file():
            return path.resolve()
    raise BadInput(
        f"{named} is not a run that can be carried on: it has no {FILE}",
        where="--resume",
        remedy=f"name a folder in {reports}, or latest, or start a new run",
    )


class Earlier:
    """The interrupted run, and the runs that it resumed itself, newest first."""

    def __init__(self, folder: Path) -> None:
        """Raises ``BadInput`` if the invocation of a run is missing or has another version."""
        self._folders = list(earlier(folder))
        self._unfinished = {run: unchanged.unfinished(run) for run in self._folders}
        self.name = folder.name
        self.folder = folder
        self.invocation = _read(folder)

    @property
    def runs(self) -> tuple[Path, ...]:
        """The folders of the run and of those that it resumed, newest first."""
        return tuple(self._folders)

    def refuse_unfinished(self) -> None:
        """Raise ``BadInput`` if the run is in progress, or its preparations are not undone.

        Or if a newer version of the package made it.
        """
        where = f"--resume {self.name}"
        for folder in self._folders:
            refuse_newer(folder)
        if is_held(self._folders[0] / FILE):
            remedy = "wait until it ends, or interrupt it"
            raise BadInput("this run has not ended", where=where, remedy=remedy)
        for folder in self._folders:
            journal = _json(folder / JOURNAL)
            changes = _field(journal, "changes", list, folder / JOURNAL) if journal else []
            if not all(isinstance(one, dict) and one.get("undone") for one in changes):
                remedy = f"railgauge undo {folder}"
                raise BadInput("its preparations are not undone", where=where, remedy=remedy)

    def refuse_changed(self) -> None:
        """Raise ``BadInput``, naming the file, unless the folder of each run is as the run left it.

        Also if the folder is not that of the run of which a later run has kept files.
        """
        for number, folder in enumerate(self._folders):
            unchanged.refuse_changed(folder)
            for later in self._folders[:number]:
                _refuse_another(folder, later / EARLIER / folder.name)

    def refuse_other_items(self, planned: Sequence[str]) -> None:
        """Raise ``BadInput`` unless the run planned the same items, or ended before its plan."""
        path = self._folders[0] / PLAN
        before = _json(path)
        if before is None:
            return
        every = _field(before, "planned", list, path)
        collected = {item for item in map(str, every) if is_of_a_test(item)}
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
        for run in self._folders:
            kept = self._kept(run, case, folder)
            if kept is not None:
                return kept if is_of_soak(folder) else _without_lost_connections(kept)
        return None

    def left(self, case: Case, taken: CaseResult | None) -> Iterator[tuple[str, CaseResult]]:
        """What each run has measured of a case beyond the repeats in ``taken``."""
        runs = taken.runs if taken else ()
        for run in self._folders:
            kept = self._kept(run, case)
            if kept and kept.runs != runs[: len(kept.runs)]:
                yield run.name, kept

    def _kept(self, run: Path, case: Case, folder: str = "") -> CaseResult | None:
        """What a run has stored of a case, also if it was killed while it did."""
        name = (Path(folder) / case_file(case)).as_posix()
        return kept_in(self._unfinished[run].get(name, run / name), case)

    def readings(self, case: Case) -> tuple[tuple[Transcript, ...], ...]:
        """The readings of a node (the case of an end-of-run check) in each run, oldest first.

        A run of which nothing is kept, such as one of an earlier version, has an empty entry. A
        reading that failed is left out, and so are those after it.
        """
        found: list[tuple[Transcript, ...]] = []
        for run in reversed(self._folders):
            kept = self._kept(run, case)
            last = kept.runs[-1] if kept and kept.runs else ()
            found.append(tuple(takewhile(lambda reading: not reading.error, last)))
        return tuple(found)

    def reboots(self, facts: Mapping[str, Any]) -> Iterator[Reboot]:
        """The reboots that the run recorded, and those since, from ``facts``, the new survey."""
        lines = Store(self.folder).lines(boot.FILE)[0]
        known = [from_plain(Reboot, versions.unstamped(boot.FILE, line)) for line in lines]
        yield from known
        last = {reboot.node: reboot.now for reboot in known}
        for node, was, now in self._surveyed(facts):
            before = last.get(node) or _boot_id(was)
            after = _boot_id(now)
            if before and after and before != after:
                yield Reboot(node, before, after, after=self.name)

    def deviations(self) -> tuple[Deviation, ...]:
        """The accepted deviations of the run. Raises ``BadInput`` if their file is incomplete."""
        kept = self.folder / deviations.FILE
        return deviations.from_json(_json(kept)) if kept.exists() else ()

    def kernel_marks(self) -> Iterator[KernelMark]:
        """Where the kernels' logs stood when the run began, and the runs that it resumed."""
        for folder in reversed(self._folders):
            for node, found in _survey(folder).items():
                facts = found.get("facts", {})
                boot_id, record = facts.get("boot_id"), facts.get("kernel_log")
                if boot_id and record:
                    yield KernelMark(node, folder.name, str(boot_id), str(record))

    def clusters(self) -> Iterator[tuple[str, Cluster]]:
        """Each run with its cluster as reached then; a run that ended early is left out."""
        for folder in self._folders:
            data = _json(folder / CLUSTER)
            if isinstance(data, dict):
                yield folder.name, cluster_from_json(data)

    def facts_changed(self, facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Each changed node, and its facts that differ from the earlier survey.

        Its boot id, its clock and the length of its kernel's log are left out.
        """
        for node, was, now in self._surveyed(facts):
            if paths := list(differing(was, now)):
                more = f" and {len(paths) - _MOST_CHANGES} more" * (len(paths) > _MOST_CHANGES)
                yield node, ", ".join(paths[:_MOST_CHANGES]) + more

    def surveys(self) -> Iterator[tuple[str, Mapping[str, NodeAnswer]]]:
        """Each run, and what its survey found; nothing if the run ended before."""
        for folder in self._folders:
            yield folder.name, found_from_json(_survey(folder))

    def _surveyed(self, facts: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
        """Each node that both surveys have, with the earlier and the new answer."""
        before = _survey(self._folders[0])
        for node, now in facts.items():
            was = before.get(node)
            if was is not None:
                yield node, was, now


def _refuse_another(run: Path, kept: Path) -> None:
    """Raise ``BadInput`` unless the files that a later run has kept of a run are those of it."""
    for path in (one for name in _OF_ONE_RUN if (one := kept / name).is_file()):
        own = run / path.name
        if not own.is_file() or own.read_bytes() != path.read_bytes():
            what = f"differs from what {kept.parent.parent.name} has kept of it"
            raise BadInput(what, where=str(own), remedy=_AS_LEFT)


_OF_ONE_RUN = (FILE, CLUSTER, SURVEY, MANIFEST)


def _boot_id(found: Any) -> str | None:
    """A node's boot id in a survey; ``None`` if the survey did not reach the node."""
    read: str | None = found.get("facts", {}).get("boot_id")
    return read


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
    data = _json(folder / FILE)
    if not isinstance(data, dict):
        raise BadInput(
            "is missing or incomplete, and a later run carries this run on",
            where=str(folder / FILE),
            remedy="restore the folder, or start a new run",
        )
    if data.get("schema_version") != SCHEMA_VERSION:
        raise BadInput("is of another version of railgauge", where=str(folder / FILE))
    return from_plain(Invocation, data, str(folder / FILE))


def _json(path: Path) -> Any:
    """The JSON value of a file; ``None`` if the file is missing or incomplete."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _survey(folder: Path) -> dict[str, Any]:
    """What a run's survey found of each node; nothing if it ended before. Raises ``BadInput``."""
    path = folder / SURVEY
    surveyed = _json(path)
    nodes = {} if surveyed is None else _field(surveyed, "nodes", dict, path)
    for found in nodes.values():
        is_lost = isinstance(found, dict) and "error" in found
        _field(found, "error" if is_lost else "facts", dict, path)
    return nodes


_Kind = TypeVar("_Kind")


def _field(data: Any, name: str, kind: type[_Kind], path: Path) -> _Kind:
    """A field of a file's object. Raises ``BadInput``, naming the file, if it has none."""
    value = data.get(name) if isinstance(data, dict) else None
    if not isinstance(value, kind):
        raise BadInput(f"is no file of a run: it has no {name}", where=str(path), remedy=_AS_LEFT)
    return value


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
