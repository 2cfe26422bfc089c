"""What is judged just at a limit, and what a judgement keeps of that."""

import math
from dataclasses import replace

import pytest
from test_judge import SIZE, judged
from testing.core_values import dispersed, limit, samples

from railgauge.core.errors import Implausible
from railgauge.core.model import Outcome
from railgauge.judging.dispersion import spread
from railgauge.judging.judge import judge
from railgauge.tools import declared_metric


def test_the_tolerance_of_the_ceiling_belongs_to_it():
    most = 400.0 * (1 + 0.0005)
    assert judged(samples(most), physical=400.0).outcome is Outcome.PASSED
    with pytest.raises(Implausible):
        judged(samples(math.nextafter(most, 500)), physical=400.0)


def test_a_judgement_keeps_what_it_compared():
    against = limit(ceiling=500.0, pointer="/measurements/x/limits/0")
    made = judged(samples(390.0), against, physical=400.0)
    assert (made.unit, made.floor, made.ceiling, made.physical_ceiling) == (
        "Gb/s", 100.0, 500.0, 400.0,
    )  # fmt: skip
    assert (made.pointer, made.size_bytes, made.margin) == (against.pointer, SIZE, 2.9)


def test_one_sample_is_reported_as_it_is_and_several_by_their_worst():
    measured = {n: judged(samples(*(390.0 - i for i in range(n)))).measured for n in (1, 2, 3)}
    assert measured == {
        1: "390 Gb/s", 2: "389 Gb/s (worst of 2)", 3: "388 Gb/s (worst of 3)",
    }  # fmt: skip


def test_two_samples_are_dispersed_too():
    assert judged(samples(150.0, 300.0), dispersed(cv_max=0.1)).outcome is Outcome.FAILED


def test_exactly_the_limit_of_a_dispersion_passes():
    values = (150.0, 170.0, 190.0)
    found = spread(values)
    for against, less in (
        (dispersed(cv_max=found.cv), dispersed(cv_max=found.cv * 0.999)),
        (
            dispersed(worst=found.worst_over_median),
            dispersed(worst=found.worst_over_median * 1.001),
        ),
    ):
        assert judged(samples(*values), against).outcome is Outcome.PASSED
        assert judged(samples(*values), less).outcome is Outcome.FAILED


def test_values_that_may_be_zero_have_no_dispersion_without_a_limit_on_it():
    zeros, metric = samples(0.0, 0.0), declared_metric("perftest", "bw_average")
    free = limit(record_only=False, floor=0.001)
    made = judge(zeros, free, replace(metric, may_be_zero=True), SIZE, None)
    assert (made.outcome, made.worst) == (Outcome.FAILED, 0.0)
    strict = replace(free, dispersion=dispersed(cv_max=0.1).dispersion)
    one = judge(zeros[:1], strict, replace(metric, may_be_zero=True), SIZE, None)
    assert one.outcome is Outcome.FAILED
    with pytest.raises(Implausible, match="no data was moved"):
        judge(zeros, free, metric, SIZE, None)
