"""A slow GPU at one of two nodes: each is measured by itself, which decides."""

from dataclasses import replace

import pytest
from testing.core_values import judgement
from testing.diagnose_scenes import asking, blocked, findings, names, pairs_of, paths, record

from railgauge.core.model import Case, Outcome
from railgauge.core.question import CORRECT, LIMITS, Question
from railgauge.core.terms import Rung
from railgauge.diagnosis import diagnose
from railgauge.diagnosis.confirm import follow_ups
from railgauge.judging.confirmation import Confirmed

RAILS = [f"gpu{number}-mlx5_{number}" for number in range(8)]
NICS = [f"mlx5_{number}" for number in range(8)]
TFLOPS = "gpu_matrix_bf16"
FAST, SLOW, FLOOR = 236.0, 142.0, 182.0


def of_gpu(node, gpu, by):
    """The blocked item of one GPU; its results were checked, as those of all GPUs of the node."""
    item = record(Rung.INTRANODE, TFLOPS, node, part=f"gpu{gpu}")
    asked = Question(CORRECT, Case(TFLOPS, (node,), None, ()))
    return replace(blocked(item, by), questions=(asked,))


def scene(nodes=2, *, with_gpus=True):
    pairs = list(pairs_of(names(nodes), 2))
    slow = [asking(item) for item in paths(pairs, RAILS, {("n2", "gpu3-mlx5_3"): 231.0})]
    wrong = next(item for item in slow if item.outcome is Outcome.FAILED)
    alone = [of_gpu(node, gpu, wrong) for node in names(nodes) for gpu in range(8)]
    fine = [asking(item) for item in paths(pairs, NICS, {})]
    return findings([*fine, *slow, *(alone if with_gpus else [])])


def answers(found, **tflops):
    """The results of the requests: ``n1`` and ``n2`` by node, ``None`` for an error."""
    for one in follow_ups(found, diagnose(found)):
        if (value := tflops[one.suspects[0]]) is None:
            yield Confirmed(one, (), "the tool is missing")
        else:
            outcome = Outcome.PASSED if value >= FLOOR else Outcome.FAILED
            judged = judgement(outcome, unit="TFLOP/s", worst=value, floor=FLOOR, values=(value,))
            yield Confirmed(one, (judged,))


def after(**tflops):
    found = scene()
    return diagnose(replace(found, confirmed=tuple(answers(found, **tflops))))


def test_without_a_third_node_the_suspected_gpu_of_both_is_asked_for():
    (cause,) = diagnose(scene())
    assert (cause.where.node, cause.confidence) == ("n1|n2", "open")
    asked = follow_ups(scene(), (cause,))
    assert [one.suspects for one in asked] == [("n1",), ("n2",)]
    assert [(q.kind, q.placement, q.case.nodes) for q in (one.question for one in asked)] == [
        (LIMITS, "gpu3", ("n1",)), (LIMITS, "gpu3", ("n2",)),
    ]  # fmt: skip


def test_nothing_is_asked_for_where_no_test_measures_single_gpus():
    found = scene(with_gpus=False)
    assert follow_ups(found, diagnose(found)) == ()


@pytest.mark.parametrize(("slow", "other"), [("n1", "n2"), ("n2", "n1")])
def test_the_node_whose_gpu_is_slow_by_itself_is_named(slow, other):
    (cause,) = after(**{slow: SLOW, other: FAST})
    where = (cause.cause, cause.where.node, cause.where.device, cause.confidence)
    assert where == ("slow-gpu", slow, "gpu3", "likely")
    assert f"by itself gpu3 of {slow} is slow" in cause.says
    assert len(cause.confirmation.seen) == 2
    assert cause.would_decide == ""


@pytest.mark.parametrize("values", [(FAST, FAST), (SLOW, SLOW), (SLOW, None), (None, FAST)])
def test_what_does_not_tell_them_apart_decides_nothing(values):
    """A GPU that is fine alone may have a slow path, and one that was not measured may be slow."""
    (cause,) = after(n1=values[0], n2=values[1])
    assert (cause.where.node, cause.where.device) == ("n1|n2", "gpu3,gpu3-mlx5_3")
    assert cause.confidence == "open"
    assert "intermittent" not in cause.would_decide


def test_another_gpu_that_is_slow_alone_decides_nothing():
    found = scene()
    others = [
        replace(r, asked=replace(r.asked, question=replace(r.asked.question, placement="gpu5")))
        for r in answers(found, n1=FAST, n2=SLOW)
    ]
    (cause,) = diagnose(replace(found, confirmed=tuple(others)))
    assert cause.where.node == "n1|n2"
