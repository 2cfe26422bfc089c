"""Whole runs of a sign-off: what judging, recording and reporting cost, without measuring."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from measuring import ROOT, Child, Row, python

from railgauge.core.model import Outcome
from railgauge.run.run_folder import RunFolder

TITLE = "Sign-off to its end"
ABOUT = """`pytest --level signoff --most-items 0` of H200 nodes of the lab to the end of the run,
with all reports: survey, leases, judging, records, plots, report.html, junit.xml, Allure and
verdict. Only the measuring is replaced: outputs, counters and telemetry were recorded on two nodes
before, and are stored, parsed and judged anew for every pair (`bench/recorded_measurements.py`).
Processor time and peak memory of the process, divided by the judgements; the lab's server, and what
giving an output to other nodes takes, are not in it. The targets are those of a sign-off of 64
nodes: 0.5 ms a judgement, so that 815,372 take less than ten minutes, and 1 GiB.
`railgauge verify` reads the unsigned bundles of runs that were measured on the lab: it parses and
judges every transcript anew. Its target is 120 s for 500,000 judgements, that of verdict and
reports, from the end of the last item to that of the process, 60 s."""

MEASURED = (2, 3, 4)
NODES = (2, 4, 8, 16)
_AIM = 815_372
_COSTS = "costs"
_VERIFY_MS, _PAGE_MS = 120_000 / 500_000, 60_000 / 500_000
_TARGET_MS, _TARGET_KIB = 0.5, round(2**20 / _AIM, 1)
_SKELETON = ("conftest.py", "tox.ini", "tests", "thresholds", "hostfiles")
_SLOW = (
    "a case is measured for two to three judgements, and its outputs, 50 KB with counters, are "
    "masked, stored, parsed and compared with its command, each once. By samples of the stack "
    "while pairs of 64 nodes were judged, reading outputs takes 41 % of the time, masking and "
    "storing 23 %, counters of NICs 13 %"
)
_VERIFIED = (
    "by a profile of 1,523 judgements, parsing and judging each output anew takes 48 % (the text "
    "of the outputs alone 21 %), reading and checking the JSON of transcripts and records 22 %, "
    "planning each command anew 7 %, the start 18 %"
)
_END_IS = (
    "by samples of the stack before reports were masked line by line, two fifths went to masking "
    "them, a quarter to verdict with causes, the rest to digests, plots and pytest-html"
)
_LARGE = (
    "the run's start is in it: 100 MiB, with recordings that the benchmark itself keeps. A further "
    "judgement takes 4 KiB: 2.7 KiB while items run, for its record, its id in plan and gates, and "
    "known texts of masks, and 1.5 KiB while verdict and reports are made of all records"
)


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "reports").mkdir()
        for part in _SKELETON:
            _copy(ROOT / part, folder / part)
        recorded = _measured(folder, 2)
        for nodes in MEASURED:
            yield _verified(folder, nodes, recorded if nodes == 2 else _measured(folder, nodes))
        for nodes in NODES:
            yield from _of(folder, nodes, recorded)


def _copy(of: Path, to: Path) -> None:
    (shutil.copytree if of.is_dir() else shutil.copyfile)(of, to)  # type: ignore[operator]


def _of(folder: Path, nodes: int, recorded: Path) -> Iterator[Row]:
    made = _run(folder, nodes, recorded)
    records = RunFolder((folder / "reports" / "latest").resolve()).records()
    # Or gates closed, and what was measured is the cost of items that were not judged.
    assert not any(one.outcome in (Outcome.FAILED, Outcome.BLOCKED) for one in records.values())
    items = len(records)
    end_s, renaming_s = map(float, (folder / _COSTS).read_text(encoding="utf-8").split())
    cpu_s = made.cpu_s - renaming_s
    yield Row(
        "processor time of a judgement", items, "judgements", 1000 * cpu_s / items, "ms",
        target=_TARGET_MS if nodes == NODES[-1] else None, why=_SLOW,
        shown=f"{cpu_s:.0f} s in all",
    )  # fmt: skip
    yield Row(
        "of it verdict and all reports", items, "judgements", 1000 * end_s / items, "ms",
        target=_PAGE_MS if nodes == NODES[-1] else None, why=_END_IS,
        shown=f"{end_s:.1f} s in all",
    )  # fmt: skip
    yield Row(
        "memory of a judgement", items, "judgements", 1024 * made.peak_rss_mib / items, "KiB",
        target=_TARGET_KIB if nodes == NODES[-1] else None, why=_LARGE,
        shown=f"{made.peak_rss_mib:.0f} MiB in all",
    )  # fmt: skip


def _measured(folder: Path, nodes: int) -> Path:
    """The folder of a run that was measured on the lab."""
    _run(folder, nodes)
    return (folder / "reports" / "latest").resolve()


def _verified(folder: Path, nodes: int, run: Path) -> Row:
    suite, bundle = str(Path(sys.executable).with_name("railgauge")), f"{nodes}.railgauge"
    python(suite, "bundle", str(run), "--unsigned", "-o", bundle, cwd=folder)
    made = python(suite, "verify", bundle, "--unsigned", cwd=folder)
    items = len(RunFolder(run).records())
    return Row(
        "verifying a judgement", items, "judgements", 1000 * made.cpu_s / items, "ms",
        target=_VERIFY_MS if nodes == MEASURED[-1] else None, why=_VERIFIED,
        shown=f"{made.cpu_s:.0f} s and {made.peak_rss_mib:.0f} MiB in all",
    )  # fmt: skip


def _run(folder: Path, nodes: int, recorded: Path | None = None) -> Child:
    """Run a sign-off; without a recording it is measured on the lab."""
    plugin = ("-p", "recorded_measurements") if recorded else ()
    known = {
        "RAILGAUGE_RECORDED": str(recorded),
        "RAILGAUGE_COSTS": str(folder / _COSTS),
        "PYTHONPATH": str(ROOT / "selftests" / "bench"),
    }
    cluster = ("--hostfile", "hostfiles/lab-h200.yaml", "--lab-nodes", str(nodes))
    options = ("--level", "signoff", "--most-items", "0", "--at-once", "1", "-q")
    # Collectives of more than two nodes were not recorded: with more, the verdict is incomplete.
    codes = (0, 10) if recorded else (0,)
    return python("-m", "pytest", *plugin, *cluster, *options, cwd=folder, codes=codes, **known)
