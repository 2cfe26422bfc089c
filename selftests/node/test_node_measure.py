"""``railgauge node --measure``: what a node measures alone, with the limits of the acceptance."""

from __future__ import annotations

import time

import pytest
from testing.node_checks import checked, reported

BUDGET = ("--budget", "120")
PRODUCTS = ("--measure", "gpu_matrix_bf16")


@pytest.mark.parametrize("name", ["gpu_matrix_bf16", "gpu_copy_bandwidth", "node_all_reduce"])
def test_a_healthy_node_keeps_the_limits_of_what_it_measures(start_lab, name):
    bench = start_lab("h200")
    without = reported(bench)
    found = reported(bench, *BUDGET, "--measure", name)
    assert (found["verdict"], found["causes"]) == ("accepted", [])
    assert found["items"] > without["items"]


def test_a_slow_gpu_is_named_by_the_other_gpus_of_its_node(start_lab):
    """With one node there is no other node that tells what healthy GPUs reach."""
    found = reported(start_lab("h200", "slow-gpu@h200-01:2"), *BUDGET, *PRODUCTS)
    (cause,) = found["causes"]
    assert (cause["cause"], cause["where"]["device"]) == ("slow-gpu", "gpu2")
    assert cause["probability"] > 0.99
    assert found["drain"]


def test_a_result_without_a_measurement_is_not_told_in_place_of_one_with_it(start_lab):
    bench = start_lab("h200")
    fewer = reported(bench)["items"]
    assert reported(bench, "--cache", "5", *BUDGET, *PRODUCTS)["items"] > fewer + 7


def test_a_tool_that_is_missing_is_an_error_and_not_a_pass(start_lab):
    bench = start_lab("h200", "tool-missing@h200-01:nvbandwidth")
    found = reported(bench, *BUDGET, "--measure", "gpu_copy_bandwidth")
    assert found["verdict"] == "incomplete"
    assert [c["where"]["device"] for c in found["causes"]] == ["nvbandwidth"]


@pytest.mark.parametrize(
    ("platform", "name"),
    [("h200", "host_read_bandwidth"), ("connectx4-homelab", "host_write_bandwidth")],
)
def test_a_measurement_that_needs_other_nodes_is_refused(start_lab, platform, name):
    """Also one whose limits are not declared to hold in loopback."""
    done = checked(start_lab(platform), "--measure", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{platform} has no measurement {name} of a single node; known: " in done.stderr
    assert ("gpu_matrix_bf16" in done.stderr) is (platform == "h200")


# --- in loopback: from each NIC to itself ---

HOST, GPU = ("--measure", "host_write_bandwidth"), ("--measure", "gpu_write_bandwidth")


def loopbacks(found, *names):
    """The NICs whose loopback is among the evidence of a cause, or not known."""
    reported = [item for one in found["causes"] for item in one["evidence"]]
    reported += [one["item"] for one in found["unknown"]]
    return sorted({item for item in reported if item.startswith(names or "host_write_bandwidth")})


@pytest.mark.parametrize(("platform", "nics"), [("h200", 8), ("metax-c500", 2), ("mi300x", 8)])
def test_healthy_nics_keep_the_limits_of_pairs_in_loopback(start_lab, platform, nics):
    bench = start_lab(platform)
    without = reported(bench)
    found = reported(bench, *BUDGET, *HOST)
    assert (found["verdict"], found["causes"]) == ("accepted", [])
    growth = 1  # the second check judges the counters too
    assert found["items"] - without["items"] in (nics, nics + growth)


def test_each_gpu_reaches_its_nic_in_loopback_through_gpu_memory(start_lab):
    found = reported(start_lab("h200", "slow-pcie-path@h200-01:gpu2-mlx5_2"), *BUDGET, *HOST, *GPU)
    assert found["verdict"] == "rejected"
    assert loopbacks(found, "host", "gpu") == [
        "gpu_write_bandwidth::size[h200-01:h200-01-gpu2-mlx5_2-8MiB]"
    ]


def test_a_slow_nic_is_found_by_its_node_alone(start_lab):
    found = reported(start_lab("h200", "slow-nic@h200-01:mlx5_2"), *BUDGET, *HOST)
    assert found["verdict"] == "rejected"
    assert {one["where"]["device"] for one in found["causes"]} == {"mlx5_2"}
    assert loopbacks(found) == ["host_write_bandwidth::size[h200-01:h200-01-mlx5_2-8MiB]"]
    assert reported(start_lab("h200", "slow-nic@h200-02:mlx5_2"), *BUDGET, *HOST)["causes"] == []


def test_what_is_not_measured_in_loopback_is_not_known(start_lab):
    found = reported(start_lab("h200", "tool-missing@h200-01:ib_write_bw"), *BUDGET, *HOST)
    assert found["verdict"] == "incomplete"
    assert len(loopbacks(found)) == 8


def test_a_fact_that_is_wrong_closes_the_gate_of_the_node(start_lab):
    """As in an acceptance: nothing is measured on a node whose port is down."""
    found = reported(start_lab("h200", "port-down@h200-01:mlx5_1"), *BUDGET, *HOST)
    assert found["verdict"] == "rejected"
    assert len(loopbacks(found)) == 8
    reasons = {one["why"] for one in found["unknown"] if "host_write" in one["item"]}
    assert {reason.partition(" preflight::")[0] for reason in reasons} == {"blocked by"}


def test_a_loopback_that_hangs_costs_the_budget(start_lab):
    bench = start_lab("h200")
    path = bench.home(0) / "bin" / "ib_write_bw"
    path.unlink()
    path.write_text("#!/bin/sh\nexec sleep 300\n")
    path.chmod(0o755)
    began = time.monotonic()
    found = reported(bench, "--budget", "15", *HOST)
    assert time.monotonic() - began < 60
    assert (found["verdict"], len(loopbacks(found))) == ("incomplete", 8)
