"""What the GPUs did, compared with each limit: which sample decides, and how it is reported."""

import pytest
from testing.gpu_samples import nvidia, output
from testing.judged_gpus import failed, of

from railgauge.core.errors import TelemetryUnread
from railgauge.core.model import Outcome
from railgauge.judging.telemetry.judged import ITEMS

FINE = output(40)


def changed(seconds=5, gpu=5, at=None, **changes):
    """Samples in which one GPU differs, always or in the seconds ``at``."""

    def row(one, second):
        return nvidia(one, **(changes if one == gpu and (at is None or second in at) else {}))

    return output(seconds, row=row)


def passed(*texts):
    """Metric -> judgement of GPUs that keep all limits."""
    judgements, error = of(*texts)
    assert error is None
    assert {one.outcome for one in judgements} == {Outcome.PASSED}
    return {one.metric: one for one in judgements}


def test_the_item_of_a_node_has_a_name_of_its_own():
    assert ITEMS.item_id("n1") == "gpus::telemetry[n1]"


@pytest.mark.parametrize(
    ("changes", "metric", "limit"),
    [
        (
            {"reasons": "0x0000000000000008"},
            "throttling",
            "never hardware-slowdown, hardware-thermal-slowdown, software-thermal-slowdown,"
            " power-brake",
        ),
        ({"mhz": 900}, "clock", "at least 990 MHz in 95% of them"),
        ({"heat": 88}, "temperature", "at most 87 C"),
        ({"watt": 771}, "power", "at most 770 W"),
    ],
)
def test_each_limit_is_reported_and_pointed_at(changes, metric, limit):
    (one,) = failed(changed(**changes))
    kept = passed(FINE)[metric]
    assert one.metric == metric
    assert (one.limit, one.pointer) == (kept.limit, kept.pointer) == (limit, f"/telemetry/{metric}")
    assert one.basis == kept.basis


@pytest.mark.parametrize(
    ("changes", "metric", "measured"),
    [
        ({"heat": 80}, "temperature", "80 C (440 samples of 2 measurements)"),
        ({"watt": 750}, "power", "750 W (440 samples of 2 measurements)"),
        (
            {"mhz": 900, "at": (3,)},
            "clock",
            "98% of its samples under load reach it, the lowest is 900 MHz"
            " (640 samples of 2 measurements)",
        ),
    ],
)
@pytest.mark.parametrize("is_last", [False, True])
def test_a_pass_names_the_worst_gpu_of_all_measurements(changes, metric, measured, is_last):
    seconds = 40 if metric == "clock" else 15
    texts = (FINE, changed(seconds, **changes))
    found = passed(*(texts if is_last else texts[::-1]))
    assert found[metric].measured == measured


@pytest.mark.parametrize("is_last", [False, True])
def test_a_failure_names_the_measurement_with_the_highest_value(is_last):
    texts = (changed(heat=88), changed(heat=91, at=(2,)))
    (one,) = failed(*(texts if is_last else texts[::-1]))
    assert one.reason == f"gpu5 of n1: temperature 91 C at 2 s of case{1 + is_last}"


def test_a_sample_from_just_before_a_measurement_is_of_its_start():
    (one,) = failed(changed(heat=88, at=(0,)))
    assert one.reason == "gpu5 of n1: temperature 88 C at 0 s of case1"


# --- the clock ---


@pytest.mark.parametrize(("low", "good"), [(1, True), (2, False)])
def test_the_share_with_the_clock_may_be_just_that_of_the_limit(low, good):
    """Of 20 samples 19 are 95 %."""
    assert (failed(changed(20, mhz=900, at=range(low))) == []) is good


@pytest.mark.parametrize(("samples", "good"), [(9, True), (10, False)])
def test_a_measurement_of_ten_samples_is_judged_by_itself(samples, good):
    found = failed(*[FINE] * 10, changed(samples, mhz=900))
    assert (found == []) is good
    if not good:
        assert found[0].reason.endswith("in case11")


def test_the_share_of_the_slowest_measurement_is_reported():
    (one,) = failed(FINE, changed(20, mhz=900, at=range(10)), changed(20, mhz=910, at=range(5)))
    measured = "50% of its samples under load reach it, the lowest is 900 MHz"
    assert one.measured == f"gpu5: {measured}"
    assert one.reason == f"gpu5 of n1: {measured}, in case2"


def test_the_share_of_short_measurements_is_that_of_all_together():
    (one,) = failed(changed(8, mhz=900, at=(1, 2, 3)), changed(8, mhz=950, at=(0,)))
    assert one.reason == (
        "gpu5 of n1: 75% of its samples under load reach it, the lowest is 900 MHz,"
        " in all its measurements"
    )


def test_a_gpu_that_was_loaded_in_one_measurement_is_judged_by_that():
    idle = changed(load=0, mhz=345)
    assert passed(idle, FINE)["clock"].measured.startswith("100% of its samples")
    (one,) = failed(idle, changed(20, mhz=900))
    assert one.reason.startswith("gpu5 of n1: 0% of its samples under load reach it")


def test_a_gpu_that_was_never_loaded_is_an_error_with_a_remedy():
    judgements, error = of(changed(gpu=0, load=0), changed(gpu=0, load=89))
    assert isinstance(error, TelemetryUnread)
    assert error.what == (
        "no sample of gpu0 was under load (a utilisation of at least 90 %),"
        " so that the clock is not judged"
    )
    assert error.where == "n1"
    assert "interval_ms of the section telemetry" in error.remedy
    assert "clock" not in {one.metric for one in judgements}, "the other GPUs prove nothing"


# --- throttling ---


def test_an_unknown_reason_points_at_the_limit_that_does_not_list_it():
    judgements, _ = of(changed(reasons="0x400"))
    (one,) = [one for one in judgements if one.outcome is Outcome.MARGINAL]
    assert (one.pointer, one.points_at) == ("/telemetry/throttling", ())
