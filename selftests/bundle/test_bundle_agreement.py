"""Files of a run that hold the same facts agree."""

from __future__ import annotations

import pytest
from testing.core_values import cluster, item, judgement

from railgauge.bundle.agreement import (
    refuse_other_inventory,
    refuse_other_lists,
    refuse_other_measurements,
    refuse_other_stamp,
    refuse_other_survey,
)
from railgauge.core.codec import to_plain
from railgauge.core.errors import NodeUnreachable, NotVerified
from railgauge.core.model import Outcome
from railgauge.facts import NodeFacts
from railgauge.judging import record
from railgauge.judging.inventory import inventory
from railgauge.judging.stamp import Evidence
from railgauge.run.untrusted import SurveyHeader
from railgauge.verdict.decision import RunPlan

FOUND = {"n1": NodeFacts("n1"), "n2": NodeUnreachable("no", where="n2")}
DECLARED = cluster("n1", "n2")
HEAD = SurveyHeader("hardware", DECLARED.name, "bench")


def plan(*planned, evidence=Evidence.HARDWARE):
    return RunPlan(2, "r1", evidence, "smoke", None, planned, "1")


def refused(refuse, *words):
    with pytest.raises(NotVerified) as raised:
        refuse(*words)
    return f"{raised.value.where}: {raised.value.what}"


def test_the_evidence_is_that_of_the_nodes():
    refuse_other_stamp(plan(), DECLARED, FOUND)
    message = refused(refuse_other_stamp, plan(evidence=Evidence.SIMULATED), DECLARED, FOUND)
    assert message.startswith("run/run.json: ")


def test_the_survey_is_of_the_run_and_of_its_nodes():
    refuse_other_survey(plan(), DECLARED, "bench", HEAD, FOUND)


@pytest.mark.parametrize(
    ("head", "found", "why"),
    [
        (("simulated", "bench-cluster", "bench"), FOUND,
         "has evidence 'simulated', but the run has 'hardware'"),
        (("hardware", "other", "bench"), FOUND, "has cluster 'other', but the run has 'bench-clus"),
        (("hardware", "bench-cluster", "x" * 99), FOUND,
         f"has platform '{'x' * 80}', but the run has 'bench'"),
        (None, {"n1": FOUND["n1"]}, "lacks a node of the cluster: 'n2'"),
        (None, {**FOUND, "n3": NodeFacts("n3")}, "has a node outside the cluster: 'n3'"),
        (None, {**FOUND, "n0" * 50: NodeFacts("n3")},
         f"has a node outside the cluster: '{'n0' * 40}'"),
        (None, {**FOUND, "n1": NodeFacts("n9" * 50)},
         f"has the facts of '{'n9' * 40}' under the name 'n1'"),
    ],
)  # fmt: skip
def test_a_survey_of_another_run_or_cluster_is_refused(head, found, why):
    header = SurveyHeader(*head) if head else HEAD
    message = refused(refuse_other_survey, plan(), DECLARED, "bench", header, found)
    assert message.startswith(f"run/environment.json: {why}")


def test_the_inventory_is_that_of_the_facts():
    refuse_other_inventory(inventory(FOUND).csv().encode(), FOUND)
    message = refused(refuse_other_inventory, b"x", FOUND)
    assert message == "run/inventory.csv: differs from the parts that the survey found"


# --- measurements ---


def lines(*items, **more):
    """The lines of these items, as a run writes them."""
    found = {}
    for one in items:
        for judged in one.judgements:
            line = to_plain({**record.measurement(one, judged), "evidence": "hardware"})
            found.setdefault(one.id, []).append({**line, "chain": "0", **more})
    return found


MEASURED = item("a", judgements=(judgement(), judgement(metric="bw_peak")))
SILENT = item("b", Outcome.ERROR)


def test_each_judgement_has_its_line():
    refuse_other_measurements(plan("a", "b"), [MEASURED, SILENT], lines(MEASURED))
    twice = {"a": lines(MEASURED)["a"] * 2}
    refuse_other_measurements(plan("a"), [MEASURED, MEASURED], twice)


@pytest.mark.parametrize(
    ("items", "kept", "why"),
    [
        ([MEASURED], {"a": lines(MEASURED)["a"][:1]}, "has lines that differ from the record of a"),
        ([MEASURED], {"a": lines(MEASURED)["a"][::-1]}, "has lines that differ from the record of"),
        ([MEASURED], lines(MEASURED, value=1), "has lines that differ from the record of a"),
        ([MEASURED], {}, "has no line of a, which has a record"),
        ([SILENT], {"b": lines(MEASURED)["a"]}, "has lines that differ from the record of b"),
        ([], {"c" * 300: []}, f"has lines of {'c' * 200}, which was not planned"),
    ],
)
def test_lines_and_judgements_without_each_other_are_refused(items, kept, why):
    message = refused(refuse_other_measurements, plan("a", "b"), items, kept)
    assert message.startswith(f"run/measurements.jsonl: {why}")


def test_lines_of_an_interrupted_item_are_accepted():
    """An interrupted item has no record, or is not run."""
    kept = lines(MEASURED)
    refuse_other_measurements(plan("a"), [], kept)
    refuse_other_measurements(plan("a"), [item("a", Outcome.NOT_RUN)], kept)
    late = item("a", Outcome.NOT_RUN, judgements=(judgement(),))
    refuse_other_measurements(plan("a"), [late], {})


# --- in-toto ---


MADE = {
    "result": "PASSED", "configuration": [1], "passedTests": ["a"], "warnedTests": [],
    "failedTests": [],
}  # fmt: skip


def test_the_lists_are_those_of_the_records():
    refuse_other_lists(MADE, MADE)
    for name in MADE:
        message = refused(refuse_other_lists, MADE | {name: "x"}, MADE)
        assert message.endswith(f"has a {name} that differs from the records")
    message = refused(refuse_other_lists, MADE | {"z": 1, "y" * 90: 1}, MADE)
    assert message.endswith(f"has the unknown field '{'y' * 80}'")
