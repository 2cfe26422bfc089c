"""Small runs in folders, as a run leaves them: one setting and the kernel's log of each node.

They are made of the suite's own values in milliseconds, so that what checks or merges runs has unit
tests. Their records follow from their evidence, so each of them verifies by itself.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from railgauge import __version__
from railgauge.bundle import merging
from railgauge.bundle.again import Judged, judged_again
from railgauge.bundle.run_check import checked
from railgauge.config import deviations
from railgauge.config.deviations import Deviation
from railgauge.config.hostfile import cluster_to_json
from railgauge.core import chain, run_files
from railgauge.core.codec import to_plain
from railgauge.core.errors import BadInput, NotVerified
from railgauge.core.model import Transcript
from railgauge.core.question import CaseResult
from railgauge.core.run_files import CLUSTER, FACTS, MEASUREMENTS, PLATFORM, VERDICT
from railgauge.facts import NodeFacts
from railgauge.facts.kernel import log
from railgauge.facts.parts import InventoryPart, PartKind
from railgauge.judging import record
from railgauge.judging.assessor import Assessor
from railgauge.judging.kernel_log import ITEMS as LOGS
from railgauge.judging.record import ItemRecord
from railgauge.judging.stamp import Evidence
from railgauge.planning.pairing import DIRECTED
from railgauge.planning.part import LevelPart, within
from railgauge.planning.required import LevelScope, required_checks
from railgauge.run import invocation
from railgauge.run.case_files import case_file
from railgauge.run.invocation import Invocation
from railgauge.run.run_folder import RunFolder
from railgauge.run.store import Store, lines_text, write_whole
from railgauge.run.survey import found_to_json
from railgauge.verdict import decision
from railgauge.verdict.decision import RunPlan
from testing.core_values import cluster, long_form

NODES = ("n1", "n2", "n3")
WHOLE = cluster(*NODES, platform="connectx4-homelab", no_fabric="nobody is asked here")
SETTING = "tests/preflight/test_host.py::test_cpu_governor[{}]"
LOG = "kernel::kernel_log[{}]"
FALLEN = "NVRM: Xid (PCI:0000:4e:00): 79, pid=1, GPU has fallen off the bus."
_END = "dd: error reading '/dev/kmsg': Resource temporarily unavailable"
_EVERY = long_form("connectx4-homelab")
_ASKED = {
    **{name: value for name, value in _EVERY.items() if name != "growth"},
    "measurements": {},
    "expected": {"cpu_governor": _EVERY["expected"]["cpu_governor"]},
}


LEAVES = {"l1": ("n1",), "l2": ("n2", "n3")}


def shard(number: int) -> LevelPart:
    """A shard of three: a leaf, the other leaf, and what is between them."""
    uses = (("n1",), ("n2", "n3"), NODES)[number - 1]
    return LevelPart(NODES, LEAVES, uses, number, 3)


def only(*nodes: str, partners: Sequence[str] = (), leaves: bool = False) -> LevelPart:
    used = (*nodes, *partners)
    return LevelPart(NODES, LEAVES if leaves else {}, used, only=nodes, partners=tuple(partners))


def made(
    folder: Path,
    hour: int,
    *,
    wrong: Collection[str] = (),
    logged: Mapping[str, str] | None = None,
    unread: Collection[str] = (),
    part: LevelPart | None = None,
    machines: Mapping[str, str] | None = None,
    given: Sequence[Deviation] = (),
    change: Mapping[str, Any] | None = None,
    asked: Mapping[str, Any] | None = None,
) -> RunFolder:
    """A run of half an hour in ``folder``, whose name is its id.

    ``wrong`` are nodes with another governor; ``logged`` is what the kernel of a node logged, and
    that of those in ``unread`` was not read. ``machines`` are serial numbers of nodes. ``change``
    are other fields of its plan, ``asked`` of how it was started.
    """
    folder.mkdir(parents=True)
    store = Store(folder)
    own = within(replace(WHOLE, groups=part.groups), part.uses) if part else WHOLE
    found = {
        node.name: _facts(node.name, node.name in wrong, (machines or {}).get(node.name, node.name))
        for node in own.nodes
    }
    (folder / PLATFORM).write_text(json.dumps(_ASKED), encoding="utf-8")
    (folder / "hostfile.yaml").write_text("cluster: bench-cluster\n", encoding="utf-8")
    store.write_json(CLUSTER, cluster_to_json(own))
    head = {"evidence": Evidence.HARDWARE, "cluster": own.name, "platform": "connectx4-homelab"}
    store.write_json(FACTS, {"schema_version": 1, **head, "nodes": found_to_json(found)})
    store.write_json(invocation.FILE, to_plain(replace(_INVOCATION, **(asked or {}))))
    if given:
        store.write_json(deviations.FILE, deviations.to_json(given))
    for node in found:
        if node not in unread and (case := LOGS.case_of(node)):
            store.save(case, _read(node, hour, (logged or {}).get(node, "the mark")))
    run = RunPlan(
        **{
            "schema_version": 2,
            "run_id": folder.name,
            "evidence": Evidence.HARDWARE,
            "level": "smoke",
            "rounds": None,
            "planned": (),
            "software": __version__,
            "directions": DIRECTED,
            "began": f"2026-11-24T{hour:02}:00:00+00:00",
            "ended": f"2026-11-24T{hour:02}:30:00+00:00",
            "part": part,
            **(change or {}),
        }
    )
    return _recorded(RunFolder(folder), run, store)


def _recorded(contents: RunFolder, run: RunPlan, store: Store) -> RunFolder:
    """Write records, plan and verdict, as they follow from the evidence."""
    platform, of = contents.platform(), contents.cluster()
    assessor = Assessor(platform, contents.found, contents.result, of.fabric)
    wanted = required_checks(LevelScope(platform, of, run.level_of(platform, of)))
    items = [
        ItemRecord(
            SETTING.format(one.place),
            one.rung,
            one.key.subject,
            "The governor is the declared one.",
            record.Outcome.ERROR,
            one.key.nodes,
            one.key.part,
            questions=(one.question,),
            ways=(one.key.way,),
            by_evidence=True,
        )
        for one in wanted
        if one.key.subject == "cpu_governor"
    ]
    records = {one.id: judged_again(one, assessor) for one in items}
    run = replace(run, planned=tuple(records))
    store.write_json(decision.FILE, to_plain(run))
    last = list(decision.closed(run, contents.results(records, platform)))
    records |= {one.id: one for one in last}
    run = replace(run, planned=tuple(records))
    store.write_json(decision.FILE, to_plain(run))
    lines = ({"schema_version": record.SCHEMA_VERSION, **one.to_json()} for one in records.values())
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (contents.folder / record.FILE).write_text(text, encoding="utf-8")
    measured = (
        to_plain({**record.measurement(one, judged), "evidence": run.evidence})
        for one in records.values()
        for judged in one.judgements
    )
    stamped = (run_files.stamped(MEASUREMENTS, line) for line in measured)
    write_whole(contents.folder / MEASUREMENTS, lines_text(chain.rebound(stamped)))
    written = RunFolder(contents.folder)
    verdict = decision.decide(run, written.results(records, platform))
    store.write_json(VERDICT, verdict.to_json())
    store.write_manifest({})
    return written


def _facts(node: str, is_wrong: bool, serial: str) -> NodeFacts:
    return NodeFacts(
        node,
        boot_id=_boot(node),
        kernel_log="10",
        governors=("powersave" if is_wrong else "performance",),
        parts=(InventoryPart(PartKind.NODE, "node", serial=f"serial-{serial}"),),
    )


def _boot(node: str) -> str:
    return f"c7d8b893-3f62-4444-9b87-401c663419{node[-1]}b"


def _read(node: str, hour: int, text: str) -> CaseResult:
    lines = (f"boot_id {_boot(node)}", "6,10,0,-;the mark", f"6,11,1000000,-;{text}", _END, _END)
    printed = "\n".join((*lines, "uptime 100.00 1.0", ""))
    argv = log.reading_argv("/", 10)
    at = f"2026-11-24T{hour:02}:29:00.000+00:00"
    return CaseResult(((Transcript(node, argv, 0, printed, "", 1.0, at),),))


_INVOCATION = Invocation(
    schema_version=1,
    hostfile="hostfile.yaml",
    hostfile_sha256="1" * 64,
    thresholds_sha256="2" * 64,
    platform=None,
    level="smoke",
    rounds=None,
    lab_nodes=None,
    lab_seed=None,
    lab_faults=(),
    no_gates=False,
    prepare=False,
    keyword="",
    marks="",
    directions=DIRECTED,
)


def log_file(run: RunFolder, node: str) -> Path:
    """The transcript of the reading of a node's kernel log."""
    case = LOGS.case_of(node)
    assert case is not None
    return run.folder / case_file(case)


def edited(run: RunFolder, file: str, **fields: Any) -> RunFolder:
    """The run with other fields in a JSON file; its manifest stays as it was."""
    path = run.folder / file
    data = json.loads(path.read_text(encoding="utf-8")) | fields
    path.write_text(json.dumps(data), encoding="utf-8")
    return RunFolder(run.folder)


def recorded(run: RunFolder, name: str, **fields: Any) -> RunFolder:
    """The run with other fields in the record of one item; without fields it has no record."""
    path, lines = run.folder / record.FILE, []
    for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        if fields or line["id"] != name:
            lines.append(line | fields if line["id"] == name else line)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return RunFolder(run.folder)


# --- merged ---


AGAIN = only("n1", partners=("n3",))


def written(folder: Path, *runs: RunFolder) -> RunFolder:
    """The run that these were merged to."""
    merging.write(runs, folder)
    return RunFolder(folder)


def printed(*runs: RunFolder, folder: Path) -> str:
    """Why these runs cannot be merged."""
    with pytest.raises(BadInput) as reported:
        merging.write(runs, folder)
    assert not folder.exists()
    return str(reported.value)


def judged(run: RunFolder) -> Judged:
    return checked(run, run.platform())


def unverified(run: RunFolder) -> str:
    """Where and why a merged run does not verify."""
    with pytest.raises(NotVerified) as reported:
        judged(run)
    return f"{reported.value.where}: {reported.value.what}"
