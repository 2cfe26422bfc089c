"""Reports: verdict, diagnosis and HTML page of a large run."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from measuring import ROOT, Row, cpu_s, python

sys.path.append(str(ROOT / "selftests"))

from testing.diagnose_scenes import cluster, names, pairs_of, paths, planned, run_results

from railgauge.config.hostfile import cluster_to_json
from railgauge.core.codec import to_plain
from railgauge.diagnosis import RunResults
from railgauge.judging.record import SCHEMA_VERSION
from railgauge.run.survey import found_to_json
from railgauge.verdict import decision

TITLE = "Reports"
ABOUT = """The records of RDMA writes between H200 nodes, two rounds of pairs x 8 rails: 10,000
items for 1,250 nodes, of which one is slow on all its rails; the other required checks, 536,000
judgements, counts as not run. The verdict is diagnosis, counts and coverage, in this process; on a
bad night every item misses its limit. The page is `report.html` with its plots, made by a process
of its own from the run's folder: all that it takes to start, to read the records, to decide and to
write. CPU seconds; memory is the peak of that process."""

NODES = (312, 626, 1250)
RAILS = tuple(f"mlx5_{rail}" for rail in range(8))


def rows() -> Iterator[Row]:
    yield from (_verdict("verdict", nodes, {"n7": 200.0}) for nodes in NODES)
    yield from (
        _verdict("verdict of a bad night", nodes, dict.fromkeys(names(nodes), 200.0))
        for nodes in NODES
    )
    for nodes in NODES:
        yield from _page(night(nodes, {"n7": 200.0}))


def night(nodes: int, capacity: dict[str, float]) -> RunResults:
    """A run in which the nodes of ``capacity`` reach exactly that, in Gb/s."""
    of = names(nodes)
    return run_results(paths(pairs_of(of, 2), RAILS, capacity), nodes=of)


def _verdict(what: str, nodes: int, capacity: dict[str, float]) -> Row:
    found = night(nodes, capacity)
    took = cpu_s(lambda: decision.decide(planned(found), found))
    return Row(what, len(found.records), "items", took, "s")


def _page(found: RunResults) -> Iterator[Row]:
    with TemporaryDirectory() as name:
        write_run(Path(name), found)
        out = Path(name, "report.html")
        made = python(str(ROOT / "selftests" / "testing" / "render_page.py"), name, str(out))
        size = f"{out.stat().st_size / 1e6:.1f} MB"
    items = len(found.records)
    is_large = len(found.cluster.nodes) == NODES[-1]
    yield Row(
        "page", items, "items", made.cpu_s, "s", shown=size, target=60.0 if is_large else None
    )
    yield Row(
        "page, memory", items, "items", made.peak_rss_mib, "MiB",
        target=500.0 if is_large else None,
    )  # fmt: skip


def write_run(folder: Path, found: RunResults) -> None:
    """The contents of that run's folder."""
    lines = [{"schema_version": SCHEMA_VERSION, **r.to_json()} for r in found.records.values()]
    _write(folder / "records.jsonl", lines)
    facts = {"schema_version": 1, "nodes": found_to_json(found.found)}
    for name, value in {
        "run.json": to_plain(planned(found)),
        "cluster.json": cluster_to_json(cluster(names(len(found.cluster.nodes)))),
        "environment.json": facts,
        "thresholds.json": json.loads(found.platform.text),
    }.items():
        _write(folder / name, [value])


def _write(path: Path, values: Sequence[object]) -> None:
    text = "".join(f"{json.dumps(value)}\n" for value in values)
    path.write_text(text, encoding="utf-8")
