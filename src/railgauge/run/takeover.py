"""What a resumed run takes over from the earlier one, and its record of that."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from railgauge.core.codec import to_plain
from railgauge.core.errors import BadInput
from railgauge.core.model import Case, Cluster, Outcome
from railgauge.core.question import CaseResult
from railgauge.core.run_files import CLUSTER, EARLIER, FACTS, MANIFEST, TRANSCRIPTS
from railgauge.facts import NodeAnswer, NodeFacts, boot
from railgauge.facts.identity import exchanged
from railgauge.judging import record
from railgauge.run import invocation, reboots, resume
from railgauge.run.invocation import ELSEWHERE, Invocation, addresses
from railgauge.run.resume import Earlier
from railgauge.run.run_folder import RunFolder
from railgauge.run.runner import EarlierResult
from railgauge.run.store import Store, lines_text, objects, write_whole
from railgauge.verdict.at_end import KINDS


def refuse_other_input(before: Earlier, now: Invocation, thresholds: str) -> None:
    """Raise ``BadInput`` if the hostfile or the limits have changed.

    ``thresholds`` is the path of the platform file.
    """
    for name, path in (("hostfile", now.hostfile), ("thresholds", thresholds)):
        field = f"{name}_sha256"
        if getattr(before.invocation, field) != getattr(now, field):
            raise BadInput(
                f"{path} differs from the {name} of the run",
                where=f"--resume {before.name}",
                remedy=f"compare it with {before.folder} and restore it, or start a new run",
            )


def refuse_other_machines(before: Earlier, found: Mapping[str, NodeAnswer]) -> None:
    """Raise ``BadInput`` if a node of the run has become another machine, or has other parts."""
    for run, surveyed in before.surveys():
        for node, was in surveyed.items():
            now = found.get(node)
            if not isinstance(was, NodeFacts) or not isinstance(now, NodeFacts):
                continue
            if others := exchanged(was, now):
                what = reboots.other_machine(node, others).what
                remedy = "put back what was exchanged, or start a new run"
                raise BadInput(f"{node}: {what}", where=f"--resume {run}", remedy=remedy)


def log_changes(
    store: Store,
    before: Earlier,
    cluster: Cluster,
    found: Mapping[str, NodeAnswer],
    tell: Callable[[str], None],
) -> None:
    """Print and record the facts that differ from the earlier survey, and the rebooted nodes."""
    rebooted = boot.once(before.reboots(found))
    reboots.keep(store, rebooted)
    for reboot in rebooted:
        if reboot.after == before.name:
            tell(f"resume: {reboot.node} was rebooted since that run")
    _log_addresses(store, before, cluster)
    reboots.keep_marks(store, before.kernel_marks())
    for node, changes in before.facts_changed(found):
        store.append(resume.LOG, {"node": node, "changed": changes})
        tell(f"resume: {node} has changed since that run: {changes}")


def _log_addresses(store: Store, before: Earlier, cluster: Cluster) -> None:
    """Record earlier addresses: recorded commands name them, and a lab's change with every run."""
    now = addresses("", cluster).nodes
    for run, reached in before.clusters():
        then = addresses(run, reached)
        if then.nodes != now:
            store.append(ELSEWHERE, to_plain(then))


def keep_earlier(store: Store, before: Earlier) -> None:
    """Keep the files of each earlier run that this run reads anew: both readings count."""
    for run in before.runs:
        _keep(store, run.folder.name, run, filter(is_read_anew, run.names()))
        if lines := list(_wrong(run.folder / record.FILE)):
            write_whole(store.folder / EARLIER / run.folder.name / record.FILE, lines_text(lines))


def _keep(store: Store, name: str, run: RunFolder, files: Iterable[str]) -> None:
    for file in files:
        text = run.bytes(file).decode("utf-8", "replace")
        write_whole(store.folder / EARLIER / name / file, text)


def is_read_anew(name: str) -> bool:
    """Whether a run that resumes another one reads the contents of this file again itself."""
    return name in _READ_ANEW or bool(_READING.fullmatch(name))


_READ_ANEW = (invocation.FILE, CLUSTER, FACTS, boot.FILE, boot.MARKS, MANIFEST)
_SUBJECTS = "|".join(kind.items.subject for kind in KINDS if kind.items.is_read)
_READING = re.compile(rf"{TRANSCRIPTS}/(?:{_SUBJECTS})_[^/]*\.json")


def keep_recorded(store: Store, earlier: Mapping[str, RunFolder]) -> None:
    """Keep the same files in a replay, from those that the recorded run has kept."""
    for name, run in earlier.items():
        _keep(store, name, run, run.names())


def _wrong(records: Path) -> Iterator[dict[str, Any]]:
    """The run's own records of items that failed or ran twice, without those of runs before it."""
    counts = Counter(line.get("id") for line in objects(records))
    for line in objects(records):
        is_own = line.get("by_evidence") or not line.get("earlier")
        is_wrong = line.get("outcome") == Outcome.FAILED and is_own
        if is_wrong or counts[line.get("id")] > 1:
            yield line


def taking_over(before: Earlier | None, store: Store, folder: str = "") -> EarlierResult:
    """Return the function that gives the runner a case's earlier result, and records its use.

    Measurements that are not taken over are kept in the folder ``earlier`` of the run.
    """

    def take(case: Case) -> CaseResult | None:
        found = before(case, folder) if before else None
        if before and not folder:
            for run, left in before.left(case, found):
                place = store.folder / EARLIER / run
                Store(place, run=store.folder).keep(case, left)
        if before and found:
            key = f"{folder}/{case.key}" if folder else case.key
            taken = {"case": key, "run": before.name, "repeats": len(found.runs)}
            store.append(resume.LOG, {**taken, "of": case.repeats})
        return found

    return take
