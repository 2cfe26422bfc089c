"""Triage of real runs of the lab: a broken port, a node out of reach, and a healthy cluster."""

from __future__ import annotations

import shlex

import pytest
from testing.acceptance import BARE_SMOKE, HOMELAB, Runs, Scenario
from testing.fewer import measuring

from railgauge.cli import main

FAULTS = ("--lab-fault", "port-down@viper", "--lab-fault", "governor@columbia")
FEW = measuring("connectx4-homelab", "host_write_bandwidth", "host_send_latency")
SCENARIOS = {
    "broken": Scenario((*HOMELAB, *BARE_SMOKE, *FAULTS), FEW),
    "healthy": Scenario((*HOMELAB, *BARE_SMOKE), FEW),
}


@pytest.fixture
def triage(runs: Runs, capsys: pytest.CaptureFixture[str]):
    """``triage(scenario, *options)``: what it prints; its exit code is that of the run."""

    def run(name: str, *options: str) -> str:
        code = main(["triage", str(runs[name].latest), *options])
        assert code == runs[name].code
        return capsys.readouterr().out

    return run


def test_the_broken_port_is_repaired_first_and_its_node_drained(triage) -> None:
    lines = triage("broken").splitlines()
    rows = [line.split() for line in lines if line.startswith(("viper", "columbia"))]
    assert [row[:2] for row in rows[:2]] == [["viper", "critical"], ["columbia", "minor"]]
    out = triage("broken", "--format", "slurm")
    assert [shlex.split(line)[2] for line in out.splitlines() if line[0] != "#"] == [
        "nodename=viper"
    ]
    assert "# The nodes are simulated: there is nothing to drain." in out


def test_nodes_behind_the_gate_are_not_said_to_be_free_of_causes(triage) -> None:
    out = triage("broken")
    assert "not known:" in out
    assert "\ncolumbia,prometheus\n    host memory paths over 1 NIC; blocked by " in out
    assert "no cause at prometheus" not in out


def test_a_healthy_cluster_has_nothing_to_do(triage) -> None:
    out = triage("healthy")
    assert "no cause at a single node" in out
    assert "no cause at columbia,prometheus,viper" in out
    assert "\nnot known:" not in out
