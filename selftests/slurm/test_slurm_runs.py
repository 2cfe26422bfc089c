"""Whole runs through a real Slurm: in their own allocation, and within a job of sbatch.

All nodes are this machine, so TCP goes over its loopback interface: what is tested is the way
there, and the numbers are those of a memory copy.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import pytest
from testing.acceptance import ROOT, TIME_LIMIT_S, Project, Run, environment, make_project
from testing.core_values import long_form
from testing.slurm_cluster import UP_LIMIT_S, Slurm
from testing.waiting import wait_until

TICKET = "fan 3 fails, ticket 21"
LOOPBACK = "All nodes are this machine: what passes between them is its loopback interface."
SBATCH = ROOT / "examples" / "acceptance.sbatch"
PYTEST = f'#!/bin/sh\nexec "{sys.executable}" -m pytest "$@"\n'

_MAIN = "import sys; from railgauge.cli import main; sys.exit(main())"
RAILGAUGE = f"#!/bin/sh\nexec '{sys.executable}' -c '{_MAIN}' \"$@\"\n"


def loopback(document: dict[str, Any]) -> None:
    """A platform of real TCP nodes that uses the loopback interface."""
    document["platform"] = "loopback"
    document["hardware"]["nics"][0] |= {"name": "lo", "rate_gbps": 10000}
    kept = {"kernel": document["expected"].pop("kernel")}
    tcp = document["measurements"]["host_tcp_bandwidth"]
    del tcp["traffic"]
    tcp["options"] = {"duration_s": 1, "streams": 1}
    measured = "What a machine that does much else carries over it, in Gb/s."
    tcp["limits"][0] |= {
        "floor": 0.01,
        "basis": {"source": "calibration", "says": measured, "measured": 0.01},
    }
    left_out = [*document["expected"], *document["measurements"]]
    document["not_applicable"] |= {name: LOOPBACK for name in left_out if name not in KEPT}
    document["expected"] = kept
    document["measurements"] = {"host_tcp_bandwidth": tcp}


KEPT = ("host_tcp_bandwidth",)


@dataclass(frozen=True)
class Site:
    """A project with the nodes of Slurm, and the options of its runs."""

    project: Project
    slurm: Slurm

    def hostfile(self, *names: str) -> tuple[str, str]:
        nodes = [{"name": name} for name in names]  # addresses that only Slurm knows
        document = {
            "cluster": "loopback",
            "platform": "loopback",
            "transport": "slurm",
            "launcher": "slurm",
            "nodes": nodes,
            "slurm": {"partition": "main", "wait_s": 60},
        }
        self.project.write("mine.yaml", json.dumps(document))
        return ("--hostfile", "mine.yaml")

    def begin(self, *command: str) -> subprocess.Popen[str]:
        own = {"RAILGAUGE_PYTEST": "./pytest", "RAILGAUGE": "./railgauge", "SBATCH_WAIT": "1"}
        return subprocess.Popen(
            command,
            cwd=self.project.folder,
            env=environment() | dict(self.slurm.environment) | own,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            stdin=subprocess.DEVNULL,
        )

    def carry_out(self, *command: str) -> Run:
        with self.begin(*command) as process:
            stdout, stderr = process.communicate(timeout=TIME_LIMIT_S)
        return Run(self.project, process.returncode, stdout, stderr, 0.0)


@pytest.fixture(scope="module")
def new_site(
    running_slurm: Slurm,
    tmp_path_factory: pytest.TempPathFactory,
    cannot_run: Callable[[str], NoReturn],
) -> Callable[[], Site]:
    if shutil.which("iperf3") is None:
        cannot_run("iperf3 is not installed")

    def make() -> Site:
        project = make_project(tmp_path_factory.mktemp("site") / "project")
        document = long_form("tcp-lab")
        loopback(document)
        project.write("thresholds/loopback.json", json.dumps(document))
        project.write("pytest", PYTEST)
        project.write("railgauge", RAILGAUGE)
        for name in ("pytest", "railgauge"):
            (project.folder / name).chmod(0o755)
        return Site(project, running_slurm)

    return make


@pytest.fixture(scope="module")
def with_a_drained_node(new_site: Callable[[], Site]) -> Run:
    site = new_site()
    with site.slurm.marked("n03", "drain", TICKET):
        options = (*site.hostfile("n01", "n02", "n03"), "--level", "smoke", "-n", "2")
        run = site.carry_out("./pytest", *options)
    site.slurm.wait_until_free()
    return run


@pytest.fixture(scope="module")
def within_a_job(new_site: Callable[[], Site]) -> Run:
    site = new_site()
    options = (*site.hostfile("n01", "n02"), "--level", "smoke")
    submit = ("sbatch", "--wait", "--nodelist=n[01-02]", str(SBATCH), options[1], *options[2:])
    return site.carry_out(*submit)


def test_a_drained_node_is_an_error_with_slurms_reason(with_a_drained_node: Run) -> None:
    run = with_a_drained_node
    assert run.code == 10, run.output
    assert f"its Slurm state is drained: {TICKET}" in run.words
    assert run.verdict["evidence"] == "hardware"
    causes = {(cause["cause"], cause["where"]["node"]) for cause in run.verdict["causes"]}
    assert causes == {("node-unreachable", "n03")}


def test_a_job_started_by_hand_does_not_wait_for_a_drained_node(
    new_site: Callable[[], Site],
) -> None:
    site = new_site()
    with site.slurm.marked("n03", "drain", TICKET):
        _, hostfile = site.hostfile("n01", "n03")
        run = site.carry_out(str(SBATCH), hostfile, "--level", "smoke", "--collect-only", "-q")
    assert f"left out n03: its Slurm state is drained: {TICKET}" in run.stderr
    assert run.code == 74, f"a list of tests is no verdict: {run.output}"
    (log,) = site.project.folder.glob("railgauge-*.out")
    assert "n03" in log.read_text(encoding="utf-8"), "the run itself tells of it"


def test_the_other_nodes_are_measured(with_a_drained_node: Run) -> None:
    run = with_a_drained_node
    assert "tests/network/test_tcp.py::test_tcp_bandwidth[n01:n02-lo]" in run.with_outcome("passed")
    assert all("n03" in name for name in run.with_outcome("error") | run.with_outcome("blocked"))


def test_the_nodes_are_free_again(with_a_drained_node: Run, running_slurm: Slurm) -> None:
    assert running_slurm.jobs() == []


def test_a_batch_job_ends_with_the_verdict(within_a_job: Run) -> None:
    run = within_a_job
    printed = "".join(p.read_text() for p in run.project.folder.glob("railgauge-*.out"))
    assert run.code == 0, run.output + printed
    assert run.verdict["verdict"] == "accepted"
    (job,) = [p.stem.partition("-")[2] for p in run.project.folder.glob("railgauge-*.out")]
    reached = json.loads((run.latest / "cluster.json").read_text(encoding="utf-8"))
    assert {node["slurm"]["job"] for node in reached["nodes"]} == {job}


def test_shards_are_jobs_of_their_own_and_the_merge_depends_on_them(
    new_site: Callable[[], Site],
) -> None:
    site = new_site()
    _, hostfile = site.hostfile("n01", "n02", "n03", "n04")
    path = site.project.folder / hostfile
    groups = {"leaf1": "n[01-02]", "leaf2": "n[03-04]"}
    path.write_text(json.dumps({**json.loads(path.read_text()), "groups": groups}))
    shutil.copytree(ROOT / "examples", site.project.folder / "examples")
    run = site.carry_out("examples/shards.sh", "3", "smoke", hostfile)
    logs = {p.stem: p.read_text() for p in site.project.folder.glob("railgauge-*.out")}
    assert run.code == 0, run.output + "".join(logs.values())
    assert len(logs) == 4
    reports = site.project.folder / "reports"
    reported = [
        json.loads(p.read_text()) for p in reports.glob("*/verdict.json") if not p.is_symlink()
    ]
    runs = {one["run_id"]: one for one in reported}
    parts = sorted(one["part"]["shard"] for one in runs.values() if "part" in one)
    assert parts == ["1/3", "2/3", "3/3"]
    (merged,) = [one for one in runs.values() if "part" not in one]
    assert merged["verdict"] == "accepted"
    assert merged["coverage"]["nodes"] == {"tested": 4, "declared": 4}
    used = json.loads((reports / merged["run_id"] / "run.json").read_text())["parts"]
    assert len(used) == 3


def test_the_nodes_of_a_shard(new_site: Callable[[], Site]) -> None:
    site = new_site()
    _, hostfile = site.hostfile("n01", "n02", "n03", "n04")
    path = site.project.folder / hostfile
    groups = {"leaf1": "n[01-02]", "leaf2": "n[03-04]"}
    path.write_text(json.dumps({**json.loads(path.read_text()), "groups": groups}))
    for shard, nodes in (("1/3", "n[01-02]"), ("2/3", "n[03-04]"), ("3/3", "n[01-04]")):
        run = site.carry_out("./railgauge", "slurm-nodes", "--shard", shard, hostfile)
        assert run.stdout.strip() == nodes, run.output


def test_a_run_that_gets_no_nodes_says_so_and_measures_nothing(
    new_site: Callable[[], Site],
) -> None:
    site = new_site()
    options = site.hostfile("n01", "n02")
    path = site.project.folder / "mine.yaml"
    path.write_text(path.read_text().replace('"wait_s": 60', '"gres": "gpu:8"'))
    run = site.carry_out("./pytest", *options)
    assert run.code == 4
    assert "no allocation of n[01-02]: salloc: error: Invalid generic resource" in run.words


def test_a_run_that_is_told_to_end_while_it_waits_leaves_nothing_in_the_queue(
    new_site: Callable[[], Site],
) -> None:
    site = new_site()
    with site.slurm.job("n01") as other:
        process = site.begin("./pytest", *site.hostfile("n01", "n02"))
        wait_until(lambda: len(site.slurm.jobs()) == 2, UP_LIMIT_S, "both jobs")
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=TIME_LIMIT_S)
        assert site.slurm.jobs() == [other]
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    verdict = json.loads((site.project.folder / "reports/latest/verdict.json").read_text())
    assert (verdict["verdict"], verdict["counts"]["asserted"]) == ("incomplete", 0)
