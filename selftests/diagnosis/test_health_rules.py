"""Causes from GPU diagnostics and health checks, by node and GPU."""

from dataclasses import replace

import pytest
from testing.diagnose_scenes import causes, fact, names, platform, record

from railgauge.config.thresholds.model import Results
from railgauge.core.model import Outcome
from railgauge.judging.results import judge_results


def failing(node, subject, *tests, gpus=(), names=("GPU Memory", "Memtest", "EUD Test", "PCIe")):
    """An item of a diagnostic whose tests ``names`` failed."""
    measured = platform().measurements[subject]
    rows = [
        {"name": name, "status": "fail" if name in tests else "pass", "printed": "Fail",
         "gpus": gpus if name in tests else (), "says": "it said so"}
        for name in names
    ]  # fmt: skip
    spec = Results(tuple(names), measured.results.basis)
    parsed = type("Parsed", (), {"summary": {"tests": rows}, "tool": measured.tool})()
    judgements, _ = judge_results(parsed, spec, 0, node)
    wrong = [one for one in judgements if one.outcome is Outcome.FAILED]
    reason = "; ".join(one.reason for one in wrong)
    item = record(3, subject, node)
    return replace(item, outcome=Outcome.FAILED, judgements=judgements, reason=reason)


def summary(found):
    return [(cause.cause, str(cause.where), cause.confidence) for cause in found]


@pytest.mark.parametrize(
    ("test", "cause"),
    [("Memtest", "gpu-memory-errors"), ("GPU Memory", "gpu-memory-errors"),
     ("EUD Test", "gpu-diagnostic-failed"), ("PCIe", "gpu-diagnostic-failed")],
)  # fmt: skip
def test_a_failing_test_is_named_with_its_node_and_gpu(test, cause):
    found = causes(failing("n2", "gpu_diagnostic_full", test, gpus=(3,)), nodes=names(2))
    assert summary(found) == [(cause, "n2, gpu3", "certain")]
    assert "it said so" in found[0].says


def test_several_tests_and_diagnostics_of_one_gpu_are_one_cause():
    both = (
        failing("n1", "gpu_diagnostic_full", "GPU Memory", "Memtest", "PCIe", gpus=(3,)),
        failing("n1", "gpu_diagnostic_extended", "EUD Test", gpus=(3,)),
    )
    (found,) = causes(*both, nodes=names(2))
    assert summary([found]) == [("gpu-memory-errors", "n1, gpu3", "certain")]
    assert set(found.evidence) == {one.id for one in both}


def test_each_gpu_is_a_cause_and_a_test_without_a_gpu_blames_the_node():
    two = causes(failing("n1", "gpu_diagnostic_full", "PCIe", gpus=(1, 6)), nodes=names(2))
    assert {str(cause.where) for cause in two} == {"n1, gpu1", "n1, gpu6"}
    node = causes(failing("n1", "gpu_diagnostic_quick", "PCIe"), nodes=names(2))
    assert summary(node) == [("gpu-diagnostic-failed", "n1", "certain")]


def test_a_failing_health_check_is_named_with_its_node():
    item = failing("n2", "node_health_check", "check_hw_topology", names=("check_hw_topology",))
    assert summary(causes(item, nodes=names(2))) == [("health-check-failed", "n2", "certain")]


# --- rung 0 ---


def test_unlocked_clocks_are_one_cause_per_node_with_prepare_as_remedy():
    items = [fact("n1", "gpu_clock", f"gpu{index}", "345") for index in range(8)]
    (found,) = causes(*items, nodes=names(2))
    assert summary([found]) == [("gpu-clock-unlocked", "n1", "certain")]
    assert "--prepare" in found.remedy


def test_a_limited_clock_is_not_called_unlocked():
    items = (fact("n1", "gpu_clock", "gpu2", "1770"), fact("n1", "gpu_clock_max", "gpu2", "1770"))
    (found,) = causes(*items, nodes=names(2))
    assert summary([found]) == [("gpu-clock-limited", "n1, gpu2", "certain")]


@pytest.mark.parametrize("fact_name", ["nvme_health", "nvme_link", "nvme_wear"])
def test_a_degraded_disk_is_named_with_its_node(fact_name):
    found = causes(fact("n2", fact_name, "", "nvme3: 12 media errors"), nodes=names(2))
    assert summary(found) == [("nvme-degraded", "n2", "certain")]


def test_a_missing_disk_is_named_with_its_node():
    found = causes(fact("n2", "nvme_count", "", "7"), nodes=names(2))
    assert summary(found) == [("nvme-missing", "n2", "certain")]
