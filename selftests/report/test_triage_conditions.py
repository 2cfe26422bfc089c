"""Triage as conditions of Kubernetes nodes: which node gets which status, and which none."""

from __future__ import annotations

from test_triage_sheet import SUSPECT, cause, sheet_of, unknown
from testing.node_conditions import conditions
from testing.places import ROOT

from railgauge.report.triage import commands


def test_each_node_of_the_run_gets_one_condition(tmp_path):
    made = sheet_of(
        tmp_path,
        cause("cpu-governor", "n[1-2]"),
        cause("link-down", "n1", "mlx5_3"),
        cause("slow-nic", "n3|n4", "mlx5_0", confidence="open"),
        open_=(unknown("n[5-6]", "a measurement of it was not run"),),
        nodes=("n1", "n2", "n3", "n4", "n5", "n6", "n7"),
        suspects=True,
    )
    found = conditions(made)
    status = {node: (one["status"], one["reason"]) for node, one in found.items()}
    unknown_, fine = ("Unknown", "NotKnown"), ("False", "NoFault")
    assert status == {
        "n1": ("True", "LinkDown"), "n2": fine, "n3": unknown_, "n4": unknown_, "n5": unknown_,
        "n6": unknown_, "n7": fine,
    }  # fmt: skip
    assert {one["type"] for one in found.values()} == {commands.CONDITION}
    assert found["n1"]["message"] == ("railgauge: link-down mlx5_3, run 20260131-020000-prod")
    assert found["n5"]["message"].startswith("railgauge: not known: ")


def test_an_unlisted_suspect_is_not_reported_as_without_a_fault(tmp_path):
    made = sheet_of(tmp_path, SUSPECT, nodes=("n1", "n2", "n3"))
    assert list(conditions(made)) == ["n3"]


def test_a_verdict_without_the_nodes_of_its_cluster_clears_no_condition_of_others(tmp_path):
    assert list(conditions(sheet_of(tmp_path, cause("link-down", "n1")))) == ["n1"]


def test_the_condition_is_none_that_the_detector_itself_sets():
    example = (ROOT / "examples" / "node-problem-detector.json").read_text(encoding="utf-8")
    assert commands.CONDITION not in example
