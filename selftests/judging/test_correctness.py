"""Results behind a gate are right only where the tool counted the wrong ones at every size."""

from dataclasses import replace

import pytest
from testing.core_values import item, judgement

from railgauge.core.errors import DataCorrupted, MetricMissing
from railgauge.core.model import Outcome, Parsed, Sample
from railgauge.judging.correctness import (
    CORRUPTION,
    checks_results,
    has_right_results,
    is_corrupt,
    judge_correct,
    judge_corruption,
)


def run(*samples):
    return Parsed("ccl-tests", "2.13", tuple(samples), {}, ())


def sample(metric, size, value=0.0):
    return Sample(metric, "count", value, size)


def test_counts_at_every_size_are_proof():
    sizes = (8, 1024)
    found = judge_correct(run(*(sample(m, s) for s in sizes for m in ("busbw", CORRUPTION))))
    assert (found.outcome, found.measured) == (Outcome.PASSED, "0 wrong in 2 counts")
    assert has_right_results(item("a", Outcome.BLOCKED, judgements=(found,)))


@pytest.mark.parametrize(
    "samples",
    [
        (),
        (sample("busbw", 8),),
        (sample("zebra", 8),),  # a metric behind the counts in the alphabet
        (sample("busbw", 8), sample("busbw", 16), sample(CORRUPTION, 8)),
        (sample("busbw", 8), sample(CORRUPTION, 8), sample("zebra", 16)),
    ],
)
def test_a_size_without_a_count_is_no_proof(samples):
    with pytest.raises(MetricMissing, match="counted no wrong results"):
        judge_correct(run(*samples))


def test_only_a_passed_count_shows_right_results():
    right = judge_correct(run(sample("busbw", 8), sample(CORRUPTION, 8)))
    for metric in ("busbw", "zebra"):
        assert not has_right_results(item("a", judgements=(replace(right, metric=metric),)))
    wrong = replace(right, outcome=Outcome.FAILED)
    assert not has_right_results(item("a", judgements=(wrong,)))
    other = replace(right, metric="busbw")
    assert has_right_results(item("a", judgements=(other, right, other)))
    assert not has_right_results(item("a", judgements=()))


def test_a_wrong_result_fails_and_is_reported():
    error = DataCorrupted("3 wrong values at 8 B", where="n1", remedy="ask the vendor")
    found = judge_corruption(error)
    assert (found.metric, found.outcome) == (CORRUPTION, Outcome.FAILED)
    assert (found.measured, found.limit) == ("3 wrong values at 8 B", "no wrong result")
    assert found.reason == str(error)
    assert found.basis.startswith("derived: ")


def test_the_tools_that_check_results_are_known():
    assert checks_results("ccl-tests")
    assert checks_results("mpi-bench")
    assert checks_results("gemm-bench")
    assert not any(map(checks_results, ("perftest", "nvbandwidth", "vllm-bench", "no tool")))


@pytest.mark.parametrize("metric", ["busbw", CORRUPTION, "zebra"])  # before and after it
@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_run_is_stopped_by_wrong_results_alone(metric, outcome):
    is_wrong = metric == CORRUPTION and outcome is Outcome.FAILED
    one = item("a", judgements=(judgement(outcome, metric=metric),))
    right = item("b", judgements=(judgement(metric=CORRUPTION),))
    for items in ([one], [right, one], [one, right]):
        assert is_corrupt(items) is is_wrong
    assert not is_corrupt([])
