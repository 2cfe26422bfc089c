"""Carrying on an interrupted run: what it was, and what of it is taken over.

The new run has a folder of its own; those of the earlier ones are read and never written. What was
measured there is taken over case by case and judged again. A case that ended because a node could
not be reached told nothing of the hardware: its good repeats count, the others are made now.
Whatever else went wrong is evidence, and no reason to measure again until it passes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from railgauge.config.hostfile import cluster_from_json
from railgauge.core import chain
from railgauge.core.errors import BadInput, CommandTimedOut, TransportError, from_json
from railgauge.core.model import Case, Cluster
from railgauge.core.plain import from_plain, to_plain
from railgauge.core.question import CaseResult
from railgauge.facts import boot
from railgauge.facts.boot import Reboot
from railgauge.judging.confirmation import FOLDER as AGAIN
from railgauge.judging.record import MEASUREMENTS
from railgauge.leases.files import is_held
from railgauge.run.prepare import JOURNAL
from railgauge.run.store import MANIFEST, VOUCHED, Store
from railgauge.run.survey import FILE as SURVEY
from railgauge.verdict.decision import FILE as PLAN
from railgauge.verdict.unanswered import is_of_a_test

FILE = "invocation.json"
SCHEMA_VERSION = 1
# What was taken from where, and what is no longer as it was: a line each.
LOG = "resumed.jsonl"

CLUSTER = "cluster.json"
_MOST_CHANGES = 8
_TRANSCRIPTS = "transcripts/*.json"
_READ = (FILE, PLAN, SURVEY, MEASUREMENTS, boot.FILE)
_AS_LEFT = "put it back as the run left it, or start a new run"


@dataclass(frozen=True, slots=True)
class Invocation:
    """How a run was started. ``invocation.json`` is the first file in its folder.

    ``hostfile_sha256`` is that of the file without secret values. ``resumes`` is the name of the
    run that this one carries on, beside it in ``reports/``.
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


def write(store: Store, invocation: Invocation) -> None:
    store.write_json(FILE, to_plain(invocation))


def find(named: str, reports: Path, here: Path) -> Path:
    """The folder that ``RUN`` names: ``latest``, a name in ``reports``, or a path from ``here``."""
    for path in (reports / named, here / named):
        if (path / FILE).is_file():
            return path.resolve()
    raise BadInput(
        f"{named} is no run that can be carried on: it has no {FILE}",
        where="--resume",
        remedy=f"name a folder in {reports}, or latest; or start a new run",
    )


class Earlier:
    """The interrupted run, and those that it carried on itself: newest first."""

    def __init__(self, folder: Path) -> None:
        """Raises ``BadInput`` if a run is not as it was left."""
        self._folders = list(_chain(folder))
        self.name = folder.name
        self.folder = folder
        self.invocation = _read(folder)

    def refuse_unfinished(self) -> None:
        """Raise ``BadInput`` if the run goes on, or has left changes on its nodes."""
        where = f"--resume {self.name}"
        if is_held(self._folders[0] / FILE):
            raise BadInput("this run has not ended", where=where, remedy="end it, or wait for it")
        for folder in self._folders:
            journal = _json(folder / JOURNAL) or {"changes": []}
            if not all(change.get("undone") for change in journal["changes"]):
                remedy = f"railgauge undo {folder}"
                raise BadInput("what it prepared is not undone", where=where, remedy=remedy)

    def refuse_changed(self) -> None:
        """Raise ``BadInput``, naming the file, if anything is not as the run left it.

        A run that ended has a manifest of all its files; one that was cut off has written ahead
        what its transcripts hold. A file that is not whole is no evidence, and is not taken over.
        """
        for folder in self._folders:
            manifest = _json(folder / MANIFEST)
            if isinstance(manifest, dict):
                _refuse_other_than(folder, manifest.get("sha256", {}))
            else:
                _refuse_unvouched(folder)
                _refuse_unvouched(folder / AGAIN)
                _refuse_unbound(folder / MEASUREMENTS)

    def refuse_other_items(self, planned: Sequence[str]) -> None:
        """Raise ``BadInput`` unless just these items were planned; none were if it ended early."""
        before = _json(self._folders[0] / PLAN)
        if before is None:
            return
        collected = {item for item in before["planned"] if is_of_a_test(item)}
        if odd := sorted(collected ^ set(planned)):
            which = "a test that the run did not have" if odd[0] in planned else "not the test"
            raise BadInput(
                f"has {which} {odd[0]} ({len(odd)} such differences)",
                where=f"--resume {self.name}",
                remedy="name the same tests as then, or start a new run",
            )

    def __call__(self, case: Case, folder: str = "") -> CaseResult | None:
        """What is taken over of a case: all of it, its first repeats, or nothing.

        ``folder`` is that of confirmations; the run's own cases are in none.
        """
        for run in self._folders:
            kept = Store(run / folder).load(case)
            if kept is not None:
                return _without_lost_connections(kept)
        return None

    def reboots(self, facts: Mapping[str, Any]) -> Iterator[Reboot]:
        """Those that the run noticed, and those that happened since; from the survey's facts."""
        known = [from_plain(Reboot, line) for line in Store(self.folder).lines(boot.FILE)[0]]
        yield from known
        last = {reboot.node: reboot.now for reboot in known}
        for node, was, now in self._surveyed(facts):
            before = last.get(node) or _boot_id(was)
            after = _boot_id(now)
            if before and after and before != after:
                yield Reboot(node, before, after, after=self.name)

    def clusters(self) -> Iterator[tuple[str, Cluster]]:
        """Each run with its cluster as it was reached then; one that ended early has none."""
        for folder in self._folders:
            data = _json(folder / CLUSTER)
            if isinstance(data, dict):
                yield folder.name, cluster_from_json(data)

    def facts_changed(self, facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Node and what is other there than in the earlier survey, beside its boot id."""
        for node, was, now in self._surveyed(facts):
            if paths := list(_differing(was, now)):
                more = f" and {len(paths) - _MOST_CHANGES} more" * (len(paths) > _MOST_CHANGES)
                yield node, ", ".join(paths[:_MOST_CHANGES]) + more

    def _surveyed(self, facts: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
        """Each node that both surveys have, with what they found."""
        before = _json(self._folders[0] / SURVEY) or {"nodes": {}}
        for node, now in facts.items():
            was = before["nodes"].get(node)
            if was is not None:
                yield node, was, now


def _refuse_other_than(folder: Path, sha256: Mapping[str, str]) -> None:
    """Everything that is taken over, or tells what may be, against the run's manifest."""
    transcripts = [*folder.glob(_TRANSCRIPTS), *folder.glob(f"{AGAIN}/{_TRANSCRIPTS}")]
    for path in (*transcripts, *(folder / name for name in _READ)):
        if path.is_file() and sha256.get(path.relative_to(folder).as_posix()) != _digest(path):
            raise _changed(path, MANIFEST)


def _refuse_unvouched(folder: Path) -> None:
    _refuse_unbound(folder / VOUCHED)
    vouched = {(line.get("name"), line.get("sha256")) for line in _lines(folder / VOUCHED)}
    for path in folder.glob(_TRANSCRIPTS):
        name = path.relative_to(folder).as_posix()
        if (name, _digest(path)) not in vouched and _json(path) is not None:
            raise _changed(path, VOUCHED)


def _refuse_unbound(path: Path) -> None:
    number = chain.first_broken(_lines(path))
    if number is not None:
        raise BadInput(
            f"line {number} is not bound to those before it: it was changed, or others were",
            where=str(path),
            remedy=_AS_LEFT,
        )


def _lines(path: Path) -> list[Any]:
    return Store(path.parent).lines(path.name)[0]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _changed(path: Path, by: str) -> BadInput:
    what = f"is not what the run has measured: {by} has no such SHA-256 of it"
    return BadInput(what, where=str(path), remedy=_AS_LEFT)


def _boot_id(found: Any) -> str | None:
    """What a survey has of a node's boot id; nothing if it did not reach the node."""
    read: str | None = found.get("facts", {}).get("boot_id")
    return read


def _chain(folder: Path) -> Iterator[Path]:
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
            "is not there whole, and a later run carried it on",
            where=str(folder / FILE),
            remedy="put the folder back, or start a new run",
        )
    if data.get("schema_version") != SCHEMA_VERSION:
        raise BadInput("is of another version of railgauge", where=str(folder / FILE))
    return from_plain(Invocation, data, str(folder / FILE))


def _json(path: Path) -> Any:
    """A file's value; ``None`` if it is not there, or not whole."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _without_lost_connections(result: CaseResult) -> CaseResult:
    """A result up to where a node was lost. Good repeats before it are never measured again."""
    runs = list(result.runs)
    if runs and any(_unreached(transcript.error) for transcript in runs[-1]):
        return CaseResult(tuple(runs[:-1]))
    if result.error is not None and _unreached(result.error.kind):
        return replace(result, error=None)
    return result


def _unreached(kind: str) -> bool:
    """Whether an error is of the way to a node: a command that took too long was there."""
    error = from_json({"kind": kind, "what": "", "where": "", "remedy": ""})
    return isinstance(error, TransportError) and not isinstance(error, CommandTimedOut)


def _differing(was: Any, now: Any, path: str = "") -> Iterator[str]:
    """The paths below which two values of JSON differ, with both values where they are short."""
    if was == now:
        return
    if isinstance(was, dict) and isinstance(now, dict):
        for key in sorted({*was, *now} - {"boot_id"}):
            yield from _differing(was.get(key), now.get(key), f"{path}.{key}" if path else key)
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for index, (one, other) in enumerate(zip(was, now, strict=True)):
            yield from _differing(one, other, f"{path}.{index}")
    else:
        yield f"{path.removeprefix('facts.')}: {_short(was)} -> {_short(now)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:37]}..."  # noqa: PLR2004
