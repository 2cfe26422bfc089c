"""The way of a node through its faults: Slurm's examples, an acceptance, and requalify.

A real Slurm and a run of the acceptance use the same nodes of a lab: what is broken there keeps the
next job away, drains the node with the cause, rejects the cluster, and is seen to be repaired.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest
from testing import commands
from testing.acceptance import BARE, SMOKE, Project, make_project
from testing.fewer import measuring
from testing.lab_bench import Bench, laid_out
from testing.node_checks import entered, put
from testing.slurm_cluster import PATH, UP_LIMIT_S, Slurm, missing, slurm_cluster
from testing.waiting import wait_until

NAMES = ("n01", "n02", "n03", "n04", "n05")
ACCEPTED = NAMES[:4]
PORT = "sys/class/infiniband/mlx5_0/ports/1"
DOWN = {"state": "1: DOWN\n", "phys_state": "2: Polling\n"}
REASON = "railgauge: link-down mlx5_0"
HEALTH_CHECK_S = 4
Railgauge = Callable[..., tuple[object, str, str]]


@dataclass(frozen=True)
class Watched:
    """A Slurm whose prolog checks the nodes of a lab, and a site that accepts these nodes."""

    slurm: Slurm
    bench: Bench
    site: Project

    def reported(self, node: str) -> tuple[str, str]:
        """The state of a node in Slurm, and its reason."""
        printed = self.slurm.call("sinfo", "-h", "-N", f"--nodes={node}", "-o", "%T|%E")
        state, _, reason = printed.splitlines()[0].partition("|")
        return state, reason

    def is_drained(self, node: str, reason: str) -> bool:
        state, why = self.reported(node)
        return "drain" in state and why.startswith(reason)

    def is_idle(self, node: str) -> bool:
        return node in self.slurm.idle()

    def ran(self, node: str) -> bool:
        """Whether a job that asks for the node has run there."""
        argv = ("sbatch", "--parsable", f"--nodelist={node}", "--no-requeue", "--output=/dev/null")
        done = self.slurm.folder / f"ran-{node}"
        job = self.slurm.call(*argv, "--wrap", f"echo $SLURMD_NODENAME >{done}").strip()
        held = ("PREPROLOG", "CONFIGURING", "PENDING", "RUNNING", "COMPLETING")

        def ended() -> bool:
            state = self.slurm.call("squeue", "-h", "-t", "all", "-j", job, "-o", "%T").strip()
            return state not in held or "drain" in self.reported(node)[0]

        wait_until(ended, UP_LIMIT_S, f"the end of the job on {node}")
        if "drain" in self.reported(node)[0]:
            self.slurm.call("scancel", job)
        self.slurm.wait_until_free()
        found = done.exists() and done.read_text() == f"{node}\n"
        done.unlink(missing_ok=True)
        return found

    def break_port(self, node: str) -> dict[str, str]:
        """Break the port of a node; return what its files held."""
        index = NAMES.index(node)
        before = {name: self.bench.read(index, f"{PORT}/{name}") for name in DOWN}
        self.set_port(node, DOWN)
        return before

    def set_port(self, node: str, files: dict[str, str]) -> None:
        for name, text in files.items():
            put(self.bench, f"{PORT}/{name}", text, NAMES.index(node))

    @contextmanager
    def health_checks(self) -> Iterator[None]:
        """Slurm runs the health check until the block ends: each one costs the machine a second."""
        conf = self.slurm.folder / "slurm.conf"
        before = conf.read_text()
        conf.write_text(before.replace("Interval=0", f"Interval={HEALTH_CHECK_S}"))
        self.slurm.call("scontrol", "reconfigure")
        yield
        conf.write_text(before)
        self.slurm.call("scontrol", "reconfigure")


@pytest.fixture
def watched(tmp_path: Path, cannot_run: Callable[[str], NoReturn]) -> Iterator[Watched]:
    if lacking := missing():
        cannot_run(f"no Slurm on this machine: {', '.join(lacking)}")
    lab = tmp_path / "lab"
    with laid_out(lab, "connectx4-homelab", nodes=len(NAMES), names=NAMES) as bench:
        conf = str(tmp_path / "slurm.conf")
        scripts = [
            entered(bench, tmp_path, f"slurm-{name}.sh", PATH, SLURM_CONF=conf, RAILGAUGE_CACHE="0")
            for name in ("health", "prolog")
        ]
        more = (
            f"HealthCheckProgram={scripts[0]}\nHealthCheckInterval=0\n"
            f"Prolog={scripts[1]}\nEpilog={scripts[1]}\nPrologFlags=Alloc\n"
        )
        with slurm_cluster(tmp_path, more) as slurm:
            yield Watched(slurm, bench, _site(tmp_path / "site", bench))


def _site(folder: Path, bench: Bench) -> Project:
    """A site whose cluster are the nodes of the lab, as they are when a command begins."""
    site = make_project(folder)
    measuring("connectx4-homelab", "host_write_bandwidth")(site)
    enter = site.write(
        "enter",
        f'#!/bin/sh\ncd "{bench.folder}/nodes/$1" || exit 9\nshift\n'
        f'export HOME="$PWD" PATH="$PWD/bin:{PATH}"\nexec "$@"\n',
    )
    enter.chmod(0o755)
    document: dict[str, Any] = {
        "cluster": "mine",
        "platform": "connectx4-homelab",
        "transport": "exec",
        "exec": [str(enter), "{address}"],
        "rootfs": "root",
        "fabric": {"none": "a lab simulates no switches that could be asked"},
        "nodes": [
            {"name": node.name, "data_address": node.data_address}
            for node in bench.nodes
            if node.name in ACCEPTED
        ],
    }
    site.write("hostfiles/mine.yaml", json.dumps(document))
    return site


def test_a_fault_between_two_jobs_drains_its_node_until_it_is_repaired_and_requalified(
    watched: Watched, railgauge: Railgauge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("railgauge.cli.pytest_session.ended", commands.session)
    at_site = ("--root", watched.site.folder)
    assert watched.ran("n02")
    before = watched.break_port("n02")

    # The next job does not run there: its prolog has failed.
    assert not watched.ran("n02")
    assert watched.is_drained("n02", "Prolog error")
    assert watched.ran("n01")

    # The health check tells the cause, and drains a node that no job has asked for.
    watched.break_port("n03")
    with watched.health_checks():
        for node in ("n02", "n03"):
            wait_until(partial(watched.is_drained, node, REASON), UP_LIMIT_S, f"why {node} is")
    assert watched.reported("n04")[0] in ("idle", "allocated", "completing")

    # The acceptance says the same of both, and that a repair of one is not enough.
    run = watched.site.run("--hostfile=hostfiles/mine.yaml", *SMOKE, *BARE)
    assert run.code == 1, run.output
    code, lines, _ = railgauge("triage", *at_site, "--format", "slurm")
    drained = [line for line in lines.splitlines() if line.startswith("scontrol ")]
    assert (code, len(drained)) == (1, 2)
    assert all(
        f"nodename=n0{at} state=drain" in line for at, line in zip("23", drained, strict=True)
    )
    signed = run.latest.resolve().name
    watched.set_port("n02", before)
    assert railgauge("requalify", *at_site, signed, "n02,n03", "--json")[0] == 1

    # Both repaired, the sign-off stands, and Slurm gives jobs to them again.
    watched.set_port("n03", before)
    code, printed, error = railgauge("requalify", *at_site, signed, "n[02-03]", "--json")
    assert code == 0, error
    reported = json.loads(printed)
    assert (reported["was"], reported["verdict"]) == ("rejected", "accepted")
    watched.slurm.call("scontrol", "update", "nodename=n[02-03]", "state=resume")
    for node in ("n02", "n03"):
        wait_until(partial(watched.is_idle, node), UP_LIMIT_S, f"{node} to be idle")
        assert watched.ran(node)
