"""Makes the folder of a merged run: the evidence of its parts, and the record that follows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from railgauge.bundle import merged, recorded
from railgauge.bundle.again import judged_again
from railgauge.bundle.run_check import checked, decided_run
from railgauge.config import deviations
from railgauge.config.hostfile import cluster_to_json
from railgauge.core import chain, run_files
from railgauge.core.codec import to_plain
from railgauge.core.errors import BadBundle, BadInput, NotVerified
from railgauge.core.model import Cluster
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.core.run_files import (
    CLUSTER,
    EARLIER,
    FACTS,
    MEASUREMENTS,
    PARTS,
    PLATFORM,
    TRANSCRIPTS,
)
from railgauge.facts import boot
from railgauge.judging import confirmation, inventory, record
from railgauge.judging.confirmation import FOLDER as AGAIN
from railgauge.judging.record import ItemRecord
from railgauge.run import invocation
from railgauge.run.invocation import ELSEWHERE
from railgauge.run.run_folder import RunFolder
from railgauge.run.store import Store, lines_text, write_whole
from railgauge.run.survey import found_to_json
from railgauge.verdict import decision
from railgauge.verdict.decision import RunPlan
from railgauge.verdict.known_good import DecidedRun, refuse_doubtful_partners
from railgauge.verdict.merged import assemble, began

# The evidence of a part, and what it is judged by; the merged run gets reports of its own.
_FILES = (
    decision.FILE,
    record.FILE,
    PLATFORM,
    CLUSTER,
    FACTS,
    invocation.FILE,
    deviations.FILE,
    boot.FILE,
    boot.MARKS,
    confirmation.FILE,
    ELSEWHERE,
)
_FOLDERS = (TRANSCRIPTS, f"{AGAIN}/{TRANSCRIPTS}")
_ENDED = "carry it on with pytest --resume, and merge the run that ended"


@contextmanager
def opened(paths: Sequence[Path]) -> Iterator[list[RunFolder]]:
    """Open unchanged runs, each a folder or a bundle. Raises ``BadInput``."""
    with ExitStack() as stack:
        runs = PROGRESS_OF_PROCESS.counted("run", paths)
        yield [stack.enter_context(recorded.opened(path, _ENDED)) for path in runs]


def write(sources: Sequence[RunFolder], folder: Path) -> None:
    """Write the merged run into an empty folder, without its reports. Raises ``BadInput``."""
    parts = _parts(sources)
    merged.refuse_apart(parts)
    merged_parts = assemble([part.as_part() for part in parts]).parts
    refuse_doubtful_partners(_decided(parts))
    for part in parts:
        _copy(part, folder / PARTS / part.plan().run_id)
    _write_input(sources[0], folder)
    _write_survey(parts, folder)
    store = Store(folder)
    store.write_json(decision.FILE, to_plain(merged.plan_of(folder.name, parts, merged_parts)))
    _write_record(RunFolder(folder), store)


def sound_parts(sources: Sequence[RunFolder]) -> list[RunFolder]:
    """Return the runs to merge, oldest first. Raises ``BadInput`` unless each verifies."""
    parts = _parts(sources)
    _decided(parts)
    return parts


def _parts(sources: Sequence[RunFolder]) -> list[RunFolder]:
    """The runs to merge, oldest first; for a merged run its parts. Raises ``BadInput``."""
    every = [part for source in sources for part in (source.parts or (source,))]
    for plan in (part.plan() for part in every):
        if plan.evidence.is_of_another_run:
            raise BadInput("is a replay: merge the runs that measured", where=plan.run_id)
        if plan.soak is not None:
            raise BadInput("has a soak, which cannot be merged", where=plan.run_id)
    return sorted(every, key=lambda part: began(part.as_part()))


def _decided(parts: Sequence[RunFolder]) -> list[DecidedRun]:
    return [_checked(part) for part in PROGRESS_OF_PROCESS.counted("run", parts)]


def _checked(part: RunFolder) -> DecidedRun:
    """The part, judged anew. Raises ``BadInput``, naming it, unless it verifies by itself."""
    try:
        return decided_run(part, checked(part, part.platform()))
    except (BadBundle, NotVerified) as error:
        run_id = part.plan().run_id
        raise BadInput(error.what, where=f"{run_id}: {error.where}") from None


def _copy(part: RunFolder, folder: Path) -> None:
    for name in part.names():
        is_earlier = name.startswith(f"{EARLIER}/")
        if name in _FILES or is_earlier or name.rpartition("/")[0] in _FOLDERS:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(part.bytes(name))


def _write_input(first: RunFolder, folder: Path) -> None:
    for name in (*first.hostfiles(), PLATFORM, deviations.FILE):
        if name in first:
            (folder / name).write_bytes(first.bytes(name))


def _write_survey(parts: Sequence[RunFolder], folder: Path) -> None:
    cluster, store = merged.cluster_of(parts), Store(folder)
    found = merged.found_of(cluster, parts)
    store.write_json(CLUSTER, cluster_to_json(cluster))
    head = {"evidence": parts[0].plan().evidence, **_named(cluster, parts[0])}
    store.write_json(FACTS, {**head, "nodes": found_to_json(found)})
    write_whole(folder / inventory.FILE, inventory.inventory(found).csv())


def _named(cluster: Cluster, part: RunFolder) -> dict[str, str]:
    return {"cluster": cluster.name, "platform": part.platform().name}


def _write_record(contents: RunFolder, store: Store) -> None:
    """Judge all items anew, and write plan, records and judgements."""
    platform, run = contents.platform(), contents.plan()
    made = merged.remade(contents, run, platform, judged_again)
    run = replace(run, planned=tuple(made.records))
    store.write_json(decision.FILE, to_plain(run))
    items = made.records.values()
    lines = (record.line(item.to_json()) for item in items)
    write_whole(store.folder / record.FILE, lines_text(lines))
    write_whole(store.folder / MEASUREMENTS, lines_text(chain.rebound(_judged(items, run))))


def _judged(items: Iterable[ItemRecord], run: RunPlan) -> Iterator[dict[str, Any]]:
    for item in items:
        for one in item.judgements:
            line = to_plain({**record.measurement(item, one), "evidence": run.evidence})
            yield run_files.stamped(MEASUREMENTS, line)
