"""``railgauge node --measure``: what a node measures alone, with the limits of the acceptance."""

from __future__ import annotations

import pytest
from testing.node_checks import checked, told

BUDGET = ("--budget", "120")
PRODUCTS = ("--measure", "gpu_matrix_bf16")


@pytest.mark.parametrize("name", ["gpu_matrix_bf16", "gpu_copy_bandwidth", "node_all_reduce"])
def test_a_healthy_node_keeps_the_limits_of_what_it_measures(start_lab, name):
    bench = start_lab("h200")
    without = told(bench)
    found = told(bench, *BUDGET, "--measure", name)
    assert (found["verdict"], found["causes"]) == ("accepted", [])
    assert found["items"] > without["items"]


def test_a_slow_gpu_is_named_by_the_other_gpus_of_its_node(start_lab):
    """With one node there is no other node that tells what healthy GPUs reach."""
    found = told(start_lab("h200", "slow-gpu@h200-01:2"), *BUDGET, *PRODUCTS)
    (cause,) = found["causes"]
    assert (cause["cause"], cause["where"]["device"]) == ("slow-gpu", "gpu2")
    assert cause["probability"] > 0.99
    assert found["drain"]


def test_a_result_without_a_measurement_is_not_told_in_place_of_one_with_it(start_lab):
    bench = start_lab("h200")
    fewer = told(bench)["items"]
    assert told(bench, "--cache", "5", *BUDGET, *PRODUCTS)["items"] > fewer + 7


def test_a_tool_that_is_missing_is_an_error_and_not_a_pass(start_lab):
    bench = start_lab("h200", "tool-missing@h200-01:nvbandwidth")
    found = told(bench, *BUDGET, "--measure", "gpu_copy_bandwidth")
    assert found["verdict"] == "incomplete"
    assert [c["where"]["device"] for c in found["causes"]] == ["nvbandwidth"]


def test_a_measurement_that_needs_other_nodes_is_refused(start_lab):
    done = checked(start_lab("h200"), "--measure", "host_write_bandwidth")
    assert (done.returncode, done.stdout) == (2, "")
    assert "h200 has no measurement host_write_bandwidth of a single node" in done.stderr
    assert "gpu_matrix_bf16" in done.stderr
