"""``railgauge node`` on the nodes of labs: its verdict, its causes and what it cannot judge."""

from __future__ import annotations

import pytest
from testing.lab_bench import NAMES
from testing.node_checks import checked, reported
from testing.programs import node_path

from railgauge.cli import main


@pytest.mark.parametrize("platform", NAMES)
def test_a_healthy_node_is_accepted(start_lab, platform):
    bench = start_lab(platform)
    done = checked(bench)
    assert (done.returncode, done.stderr) == (0, "")
    first, *rest = done.stdout.splitlines()
    assert first.startswith(f"{bench.nodes[0].name}: accepted (simulated): ")
    assert first.endswith(f" items as {platform} expects")
    assert all(line.startswith("  not judged ") for line in rest)


@pytest.mark.parametrize(
    ("platform", "fault", "named", "drains"),
    [
        ("h200", "ecc@h200-01:3", ("gpu-memory-errors", "gpu3"), True),
        ("h200", "gpu-missing@h200-01:5", ("gpu-missing", ""), True),
        ("h200", "port-down@h200-01:mlx5_3", ("link-down", "mlx5_3"), True),
        ("h200", "logged-before@h200-01", ("gpu-xid", "gpu0"), True),
        ("h200", "governor@h200-01", ("cpu-governor", ""), False),
        ("metax-c500", "gdr-disabled@mx01", ("gpudirect-rdma-disabled", ""), False),
    ],
)
def test_a_fault_is_named_with_its_part(start_lab, platform, fault, named, drains):
    found = reported(start_lab(platform, fault))
    assert (found["verdict"], found["evidence"]) == ("rejected", "simulated")
    assert [(c["cause"], c["where"]["device"]) for c in found["causes"]] == [named]
    assert found["drain"] is drains


def test_a_fault_of_another_node_is_none_of_this_one(start_lab):
    assert reported(start_lab("h200", "ecc@h200-02:3"))["verdict"] == "accepted"


def test_what_cannot_be_seen_is_said_and_nothing_is_accepted(start_lab):
    bench = start_lab("h200", "kernel-log-denied@h200-01", "tool-missing@h200-01:nvidia-smi")
    done = checked(bench)
    assert done.returncode == 10
    assert done.stdout.startswith(f"{bench.nodes[0].name}: incomplete (simulated): ")
    assert "  tool-missing nvidia-smi: nvidia-smi was not found\n" in done.stdout
    assert "  kernel-log-unread: " in done.stdout
    assert "become: sudo -n" in done.stdout


def test_jobs_on_the_gpus_are_a_fault_unless_the_node_may_run_jobs(start_lab):
    bench = start_lab("h200", "background-diagnostics@h200-01")
    assert [c["cause"] for c in reported(bench)["causes"]] == ["background-gpu-diagnostics"]
    assert reported(bench, "--busy")["verdict"] == "accepted"


def test_expectations_that_hold_nodes_against_each_other_are_listed(start_lab):
    found = reported(start_lab("h200"))
    assert {"clock", "boot_id", "kernel", "gpu_driver"} <= {*found["not_judged_alone"]}
    assert "gpu_vbios" not in found["not_judged_alone"]  # alike among the GPUs of one model


def test_a_node_that_the_hostfile_does_not_name_is_refused(tmp_path, capsys):
    (tmp_path / "hosts").write_text("n01\nn02\n")
    options = ("--hostfile", str(tmp_path / "hosts"), "--platform", "h200", "--name", "n03")
    state = ("--state", str(tmp_path / "state"))
    assert main(["node", *options, *state]) == 2
    assert "names no node n03; say which one: --name NODE" in capsys.readouterr().err
    assert main(["node", "--name", "n01", *state]) == 2
    assert "neither a hostfile nor a platform" in capsys.readouterr().err


def test_a_node_without_a_hostfile_has_a_platform(tmp_path, capsys, monkeypatch):
    """It has no program that tells of GPUs and NICs, so that they are not known."""
    monkeypatch.setenv("PATH", node_path(tmp_path / "none", tmp_path / "programs"))
    options = ("--platform", "h100-tcpx", "--name", "n01", "--state", str(tmp_path / "state"))
    assert main(["node", *options, "--json"]) in (1, 10)
    assert '"platform": "h100-tcpx"' in capsys.readouterr().out
