"""A forger changes what a step of the scaling ladder is compared with."""

from __future__ import annotations

from dataclasses import replace

import pytest
from testing.core_values import ROOT, cluster

from railgauge.bundle.binding import refuse_other_items
from railgauge.bundle.completeness import refuse_other_confirmations
from railgauge.config import thresholds
from railgauge.core.errors import NotVerified
from railgauge.core.model import Outcome
from railgauge.core.question import RATIO, READ, Question
from railgauge.judging.confirmation import Remeasurement
from railgauge.judging.record import ItemRecord
from railgauge.planning import plan
from railgauge.run.case_files import case_file

H200 = thresholds.load("h200", ROOT / "thresholds")
NODES = ("a1", "a2", "b1", "b2")
CLUSTER = replace(cluster(*NODES), groups={"a": NODES[:2], "b": NODES[2:]})
LEVEL = plan.level(H200, CLUSTER, "signoff")
STEP = LEVEL.ladder.steps["across-4"]


RING, TREE = "scaling_all_reduce", "scaling_all_reduce_tree"


def case(*nodes: str, of: str = RING):
    return plan.case_on(H200.measurements[of], "signoff", nodes, None)


def compared(other, first=None):
    return Question(RATIO, first or case(*STEP), other=other, metric="busbw")


def item(other, of: str = RING) -> ItemRecord:
    own = case(*STEP, of=of)
    questions = (Question(READ, own), Question(READ, other), compared(other, own))
    return ItemRecord(
        f"tests/collective/test_scaling.py::test_scaling[{of}-across-4]",
        H200.measurements[of].rung, of, "scales",
        Outcome.PASSED, STEP, questions=questions,
    )  # fmt: skip


def test_a_step_is_compared_with_the_smallest_one():
    refuse_other_items([item(case("a1", "a2"))], H200, LEVEL)
    for other in (case(*STEP), case(*LEVEL.ladder.steps["across-2"]), case("b1", "b2")):
        with pytest.raises(NotVerified):
            refuse_other_items([item(other)], H200, LEVEL)


def test_a_step_of_a_tree_is_compared_with_a_ring_over_two_nodes():
    refuse_other_items([item(case("a1", "a2"), of=TREE)], H200, LEVEL)
    for other in (case("a1", "a2", of=TREE), case("b1", "b2")):
        with pytest.raises(NotVerified):
            refuse_other_items([item(other, of=TREE)], H200, LEVEL)


class _Plan:
    level = "signoff"


def confirmed(question):
    made = Remeasurement(("a1",), question)
    files = {f"confirm/{case_file(one)}" for one in (question.case, question.other) if one}
    refuse_other_confirmations(_Plan, CLUSTER, H200, [made], files)


def test_a_half_is_compared_with_the_same_measurement():
    confirmed(compared(case("a1", "a2"), case("a1", "b1")))
    confirmed(compared(case("a1", "a2"), case("a1", "b1", of=TREE)))
    for question in (
        compared(None, case("a1", "b1")),
        compared(case("a1", "a2", of=TREE), case("a1", "b1", of=TREE)),
        compared(case("a1", "z9"), case("a1", "b1")),
        compared(replace(case("a1", "a2"), sizes=(8,)), case("a1", "b1")),
        replace(compared(case("a1", "a2")), kind="facts"),
    ):
        with pytest.raises(NotVerified):
            confirmed(question)
