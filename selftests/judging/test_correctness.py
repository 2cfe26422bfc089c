"""Results behind a gate are right only where the tool counted the wrong ones at every size."""

import pytest
from testing.core_values import item

from railgauge.core.errors import MetricMissing
from railgauge.core.model import Outcome, Parsed, Sample
from railgauge.judging.correctness import (
    CORRUPTION,
    checks_results,
    has_right_results,
    judge_correct,
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
    [(), (sample("busbw", 8),), (sample("busbw", 8), sample("busbw", 16), sample(CORRUPTION, 8))],
)
def test_a_size_without_a_count_is_no_proof(samples):
    with pytest.raises(MetricMissing, match="counted no wrong results"):
        judge_correct(run(*samples))


def test_which_tools_check_results():
    assert checks_results("ccl-tests")
    assert checks_results("mpi-bench")
    assert not any(map(checks_results, ("perftest", "nvbandwidth", "vllm-bench", "no tool")))
