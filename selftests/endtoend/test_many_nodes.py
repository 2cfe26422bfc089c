"""Many nodes: faulty ones are named, and no node is in two measurements at the same time.

``make scale`` does the same with 64 nodes, with workers and without, has them accepted without a
fault, and measures collectives over the GPUs of all of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from testing.acceptance import (
    BARE_SMOKE,
    H200,
    HOMELAB,
    TCPX,
    Project,
    Run,
    Runs,
    Scenario,
    assert_sound,
)
from testing.fewer import measuring

from railgauge.core.terms import WATCHING_ROLES

NODES = int(os.environ.get("RAILGAUGE_SCALE_NODES", "8"))
FEW = 8
# Not partners: with two rounds, two slow nodes of one pair cannot be distinguished from others.
SLOW = ("node05", "node08")
FAULTS = tuple(word for node in SLOW for word in ("--lab-fault", f"slow-node@{node}"))
# Without the rounds, smoke would measure a sample of so many nodes.
MANY = (*HOMELAB, *BARE_SMOKE, "--lab-nodes", str(NODES), "--rounds", "2")
AT_ONCE = ("--at-once", "4" if NODES <= FEW else str(NODES // 2))
WAYS = {"one process": AT_ONCE, "workers": ("-n", "2", *AT_ONCE)}
SOME = measuring(
    "connectx4-homelab", "host_write_bandwidth", "host_send_bandwidth", "host_send_latency"
)


def not_many(project: Project) -> None:
    if NODES <= FEW:
        SOME(project)


SCENARIOS = {name: Scenario((*MANY, *way, *FAULTS), not_many) for name, way in WAYS.items()}


@pytest.fixture(params=list(WAYS))
def run(runs: Runs, request: pytest.FixtureRequest) -> Run:
    return runs[request.param]


def test_both_slow_nodes_are_named_and_no_other(run: Run) -> None:
    assert_sound(run)
    found = [(cause["cause"], cause["where"]["node"]) for cause in run.verdict["causes"]]
    assert sorted(found) == [("slow-node", node) for node in SLOW]
    assert run.counts["failed"] > 0
    assert set(run.counts) == {"passed", "failed"}
    assert run.code == 1


def uses(run: Run) -> Iterator[tuple[str, datetime, datetime, str]]:
    """Node, begin, end and case of every command of a measurement, without those beside it."""
    for key, data in run.transcripts.items():
        every = (one for repeat in data["runs"] for one in repeat)
        for one in (one for one in every if one["role"] not in WATCHING_ROLES):
            begun = datetime.fromisoformat(one["started_at"])
            yield one["node"], begun, begun + timedelta(seconds=one["duration_s"]), key


def clashes(run: Run) -> list[tuple[str, str, str]]:
    """Each node with two cases that ran on it at the same time."""
    found = list(uses(run))
    return [
        (node, case, other)
        for node, begun, ended, case in found
        for at, begin, _, other in found
        if node == at and case != other and begun < begin < ended
    ]


def test_no_node_was_in_two_measurements_at_a_time(run: Run) -> None:
    assert len({node for node, *_ in uses(run)}) == NODES
    assert clashes(run) == []


def test_nodes_were_measured_at_the_same_time(run: Run) -> None:
    """Measurements do overlap, or the test above would prove little."""
    found = sorted(uses(run), key=lambda use: use[1])
    assert any(
        later[1] < earlier[2] and later[3] != earlier[3] for earlier, later in pairwise(found)
    )


def at_a_time(run: Run) -> int:
    """The most measurements that ran at one time."""
    spans: dict[str, tuple[datetime, datetime]] = {}
    for _, begun, ended, case in uses(run):
        first, last = spans.get(case, (begun, ended))
        spans[case] = (min(first, begun), max(last, ended))
    return max(
        sum(other <= begun < end for other, end in spans.values()) for begun, _ in spans.values()
    )


def test_as_many_are_measured_at_once_as_were_asked_for_and_no_more(run: Run) -> None:
    assert 2 < at_a_time(run) <= int(AT_ONCE[1])


def test_workers_and_one_process_judge_alike(runs: Runs) -> None:
    """The same items, outcomes, numbers of measurements and verdict."""
    one, other = (runs[way] for way in WAYS)
    assert other.outcomes == one.outcomes
    assert other.transcripts.keys() == one.transcripts.keys()
    assert other.verdict["verdict"] == one.verdict["verdict"]
    assert other.verdict["counts"] == one.verdict["counts"]
    named = [
        [(each["cause"], each["where"]) for each in run.verdict["causes"]] for run in (one, other)
    ]
    assert named[0] == named[1]


if NODES > FEW:  # fewer healthy nodes are tested elsewhere

    @pytest.mark.parametrize("way", list(WAYS))
    def test_many_healthy_nodes_are_accepted(project: Project, way: str) -> None:
        run = project.run(*MANY, *WAYS[way])
        assert_sound(run)
        assert run.verdict["verdict"] == "accepted"

    @pytest.mark.parametrize("platform", [H200, TCPX], ids=["h200", "h100-tcpx"])
    def test_collectives_run_over_the_gpus_of_all_nodes(project: Project, platform) -> None:
        """Only this rung; the lower ones are tested with fewer nodes elsewhere."""
        wanted = ("--lab-nodes", str(NODES), "--no-gates", "tests/collective")
        run = project.run(*platform, *BARE_SMOKE, *wanted)
        assert set(run.outcomes.values()) <= {"passed", "marginal"}, run.output
        (whole,) = [data for data in run.transcripts.values() if len(nodes_of(data)) == NODES]
        assert whole["error"] is None
        assert max(len(path.name) for path in (run.latest / "transcripts").iterdir()) <= 160


def nodes_of(data: dict[str, Any]) -> list[str]:
    """The nodes of a case, from its key."""
    return str(data["case"]["key"]).partition("[")[2].rstrip("]").split(":")
