"""Preflight: all nodes of a lab probed at once, and the cost of reading their facts in a worker."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from measuring import ROOT, Row, compare, cpu_s, wall_s

from railgauge.config.hostfile import load
from railgauge.core.model import Cluster
from railgauge.facts import NodeAnswer, NodeFacts
from railgauge.run.survey import found_from_json, found_to_json, survey
from railgauge.stacks import stack
from railgauge.transport.registry import connect
from railgauge.transport.sessions import Sessions
from railgauge.transport.tag import Tag
from railgauge_lab import cluster as lab

TITLE = "Preflight"
ABOUT = """The survey before the first test: 32, 64 and 128 nodes of the lab, each connected to and
probed by one command, all by one process; seconds of wall clock. The lab's server and the probes
themselves run on the same machine, so a node costs what its probe costs in CPU. Every worker reads
the facts of all nodes once: `environment.json` of as many nodes with eight GPUs and eight NICs
each, CPU seconds."""

NODES = (32, 64, 128)
FACTS_OF = (320, 640, 1280)
# Each of 128 nodes may cost no more than each of 32, apart from the noise of one turn.
PER_NODE = 1.1


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as folder, lab_of(Path(folder)) as cluster:
        costs = {nodes: surveyed_s(first(cluster, nodes)) for nodes in NODES}
        for nodes, cost_s in costs.items():
            shown = f"{cost_s / nodes * 1e3:.0f} ms a node"
            yield Row("survey", nodes, "nodes", cost_s, "s", shown=shown)
        yield _per_node(cluster)
    facts = _facts()
    yield from (_read(nodes, facts) for nodes in FACTS_OF)


def _per_node(cluster: Cluster) -> Row:
    few, many = NODES[0], NODES[-1]
    both = compare(
        lambda: surveyed_s(first(cluster, many)) / many * 1e3,
        lambda: surveyed_s(first(cluster, few)) / few * 1e3,
    )
    return Row(
        f"survey: for each of {many}", many, "nodes", both.measured, "ms",
        compared_with=f"each of {few}", baseline=both.baseline, ratio=both.ratio, target=PER_NODE,
    )  # fmt: skip


def first(cluster: Cluster, nodes: int) -> Cluster:
    return replace(cluster, nodes=cluster.nodes[:nodes])


def surveyed_s(cluster: Cluster) -> float:
    """Seconds to connect to all nodes and probe them; all must answer."""
    answers: list[NodeAnswer] = []
    with contextlib.closing(sessions_of(cluster)) as sessions:
        took = wall_s(lambda: survey(cluster, sessions, None, answers.append))
    assert len(answers) == len(cluster.nodes)
    assert all(isinstance(answer, NodeFacts) for answer in answers)
    return took


def sessions_of(cluster: Cluster) -> Sessions:
    return Sessions(cluster, lambda node: connect("ssh", node, Tag("bench", "main")))


@contextlib.contextmanager
def lab_of(
    folder: Path, name: str = "connectx4-homelab", nodes: int = NODES[-1]
) -> Iterator[Cluster]:
    root = ROOT / "hostfiles"
    cluster = load(root / f"lab-{name}.yaml", schema_file=root / "schema.json", platform=None)
    with lab.start(cluster, nodes=nodes, seed=0, faults=(), folder=folder / "lab") as started:
        yield started.cluster


def _facts() -> object:
    """The probe's result for one H200 node, as in ``environment.json``."""
    with (
        TemporaryDirectory() as folder,
        lab_of(Path(folder), "h200", 1) as cluster,
        contextlib.closing(sessions_of(cluster)) as sessions,
    ):
        found = survey(cluster, sessions, stack("nvidia"), lambda _: None)
    (facts,) = found_to_json(found).values()
    return facts


def _read(nodes: int, facts: object) -> Row:
    text = json.dumps({f"n{number}": facts for number in range(nodes)})
    took = cpu_s(lambda: found_from_json(json.loads(text)))
    shown = f"{len(text) / 1e6:.1f} MB"
    return Row("facts, read by a worker", nodes, "nodes", took, "s", shown=shown)
