"""A limit applies in its scope: path, pair, node, group; size, link, GPU, run."""

import pytest
from testing.scoped_limits import (
    AVERAGE,
    NIGHTLY,
    average,
    bus,
    collective,
    complaints,
    load,
    measurement,
)

from railgauge.config import thresholds
from railgauge.config.thresholds import limit_for, uncovered
from railgauge.config.thresholds.limits import matching
from railgauge.config.thresholds.model import Assertion
from railgauge.core.errors import ThresholdError, Uncovered
from railgauge.core.model import Pairing
from railgauge.tools import declared_metric as declared

MIB = 2**20
PATH = Pairing("mlx5_0")


# --- what is asserted where ---


@pytest.mark.parametrize(
    ("size", "there"),
    [(None, True), (MIB - 1, False), (MIB, True), (4 * MIB, True), (4 * MIB + 1, False)],
)
def test_an_assertion_may_hold_for_a_span_of_sizes(size, there):
    assert Assertion("busbw", "size", (MIB, 4 * MIB)).at(size) is there
    assert Assertion("busbw").at(size)


def test_metrics_are_asserted_per_size_link_gpu_or_run(tmp_path):
    asserts = [
        "busbw",
        {"metric": "time_us", "sizes": ["64KiB", "1MiB"]},
        {"metric": "link_bw", "per": "link"},
        {"metric": "gpu_actual", "per": "gpu"},
        {"metric": "avg_busbw", "per": "run"},
        {"metric": "scaling", "per": "ratio", "of": "busbw", "over": "another"},
    ]
    found = measurement(tmp_path, collective(asserts, [bus()]))
    assert found.asserted("size", MIB) == ("busbw", "time_us")
    assert found.asserted("size", 8 * MIB) == ("busbw",)
    others = {per: found.asserted(per) for per in ("link", "gpu", "run", "ratio")}
    assert others == {
        "link": ("link_bw",), "gpu": ("gpu_actual",), "run": ("avg_busbw",), "ratio": ("scaling",),
    }  # fmt: skip


@pytest.mark.parametrize(
    "broken",
    [
        {"metric": "busbw", "per": "rack"},
        {"metric": "scaling", "per": "ratio"},
        {"per": "run"},
        {"metric": "busbw", "sizes": ["1MiB"]},
        {"metric": "Bus Bandwidth"},
        {"metric": "busbw/Out"},
        {"metric": "busbw", "at": "run"},
        7,
    ],
)
def test_an_invalid_assertion_is_refused(tmp_path, broken):
    with pytest.raises(ThresholdError, match="asserts"):
        load(tmp_path, collective([broken], [bus()]))


@pytest.mark.parametrize("scope", ["rack", "", None])
def test_an_unknown_scope_is_refused(tmp_path, scope):
    with pytest.raises(ThresholdError, match="scope"):
        load(tmp_path, collective(["busbw"], [bus()], scope))


# --- the one limit ---


@pytest.mark.parametrize("scope", ["node", "pair", "group"])
def test_off_a_path_a_limit_needs_no_pairing(tmp_path, scope):
    found = measurement(tmp_path, collective(["busbw"], [bus()], scope))
    assert limit_for(found, "busbw", None, MIB).floor == 30


def test_a_limit_for_a_distance_does_not_apply_off_a_path(tmp_path):
    doc = collective(["busbw"], [bus(pairings=["near"])])
    assert "has no limit" in complaints(tmp_path, doc)[0]
    with pytest.raises(Uncovered):
        limit_for(measurement(tmp_path, doc), "busbw", None, MIB)


def test_a_placement_has_limits_of_its_own(tmp_path):
    limits = [bus(metric="busbw/out_of_place", floor=40), bus(metric="busbw/in_place", floor=30)]
    doc = collective(["busbw/out_of_place", "busbw/in_place"], limits)
    assert complaints(tmp_path, doc) == []
    found = measurement(tmp_path, doc)
    assert limit_for(found, "busbw/out_of_place", None, MIB).floor == 40
    with pytest.raises(Uncovered):
        limit_for(found, "busbw", None, MIB)


@pytest.mark.parametrize(
    ("tool", "metric"),
    [("ccl-tests", "time_us/in_place"), ("ccl-tests", "time_us"), ("vllm-bench", "ttft_p99"),
     ("vllm-bench", "failed"), ("iperf3", "retransmits")],
)  # fmt: skip
def test_a_placement_does_not_change_which_way_is_better(tool, metric):
    assert declared(tool, metric).lower_is_better
    assert not declared("ccl-tests", "busbw/in_place").lower_is_better


@pytest.mark.parametrize(("spanned", "size", "found"), [
    (True, None, 0), (False, None, 1), (True, MIB, 1), (False, MIB, 1), (True, 64 * MIB, 0),
])  # fmt: skip
def test_a_value_without_a_size_has_the_limit_of_all_sizes(spanned, size, found, tmp_path):
    span = {"sizes": ["64KiB", "8MiB"]} if spanned else {}
    doc = collective(["busbw"], [bus(**span)])
    assert len(matching(measurement(tmp_path, doc), "busbw", None, size)) == found


def test_a_curve_does_not_apply_to_a_value_without_a_size(tmp_path):
    curve = bus(floor={"curve": {"64KiB": 10, "8MiB": 30}})
    doc = collective([{"metric": "busbw", "per": "run"}], [curve])
    assert complaints(tmp_path, doc) == ["host_write_bandwidth: busbw has no limit"]


# --- exactly one limit for everything that is asserted ---


@pytest.mark.parametrize(
    ("tool", "metric", "unit", "per"),
    [
        ("transferbench", "link_bw", "GB/s", "link"),
        ("transferbench", "gpu_actual", "GB/s", "gpu"),
        ("iperf3", "bw_received", "Gb/s", "run"),
        ("vllm-bench", "scaling", "1", "ratio"),
    ],
)
def test_what_is_asserted_per_link_gpu_run_or_ratio_needs_a_limit(
    tmp_path, tool, metric, unit, per
):
    of = {"of": "busbw", "over": "another"} if per == "ratio" else {}
    asserts = [{"metric": metric, "per": per, **of}]
    one = {"metric": metric, "unit": unit, "floor": 60}
    assert complaints(tmp_path, collective(asserts, [one], tool=tool)) == []
    assert complaints(tmp_path, collective(asserts, [], tool=tool)) == [
        f"host_write_bandwidth: {metric} has no limit"
    ]
    twice = complaints(tmp_path, collective(asserts, [one, one], tool=tool))
    assert len(twice) == 1
    assert "has 2 limits" in twice[0]


def test_a_measurement_without_sizes_is_covered_by_its_run(tmp_path):
    levels = {"smoke": {}, "nightly": {}, "signoff": {}}
    whole = {"metric": "bw_received", "per": "run"}
    limits = [{"metric": "bw_received", "unit": "Gb/s", "floor": 200}]
    run = {"levels": levels, "tool": "iperf3"}
    assert complaints(tmp_path, collective([whole], limits, **run)) == []
    bare = complaints(tmp_path, collective(["bw_received"], limits, **run))
    assert bare == ["host_write_bandwidth: bw_received is asserted at no size of any level"]


# --- an average is one of certain sizes ---


def test_an_average_is_asked_for_where_a_level_measures_its_sizes_and_nowhere_else(tmp_path):
    """An average over fewer, larger sizes is higher and would always pass."""
    doc = collective(["busbw", AVERAGE], [bus(), average()])
    assert complaints(tmp_path, doc) == []
    found = measurement(tmp_path, doc)
    asked = {level: found.asserted("run", swept=e.sizes) for level, e in found.extents.items()}
    assert asked == {"smoke": (), "nightly": ("avg_busbw",), "signoff": ()}


@pytest.mark.parametrize(
    ("limit_has", "says"),
    [
        ({"over": {**NIGHTLY, "from": "1MiB", "factor": 8}}, "no level of host_write_bandwidth"),
        ({"over": None}, 'give the sizes: "over"'),
        ({"metric": "busbw"}, "is not an average over sizes"),
    ],
)
def test_an_average_without_sizes_that_some_level_measures_is_refused(tmp_path, limit_has, says):
    one = {name: value for name, value in average(**limit_has).items() if value is not None}
    asserts = ["busbw"] if one["metric"] == "busbw" else [AVERAGE]
    (line,) = complaints(tmp_path, collective(asserts, [one]))
    assert line.startswith("/measurements/host_write_bandwidth/limits/0: ")
    assert says in line


def test_an_average_is_not_asserted_for_each_size(tmp_path):
    lines = complaints(tmp_path, collective(["avg_busbw"], [average()]))
    assert "avg_busbw is printed once for all sizes; assert it per run, not per size" in lines[0]


@pytest.mark.parametrize(
    "broken",
    [{"from": "64KiB", "to": "8MiB"}, {**NIGHTLY, "factor": 1}, {**NIGHTLY, "factor": 3},
     {**NIGHTLY, "from": "16MiB"}, {**NIGHTLY, "step": 2}, "64KiB"],
)  # fmt: skip
def test_invalid_sizes_of_an_average_are_refused(tmp_path, broken):
    with pytest.raises(ThresholdError, match="over"):
        load(tmp_path, collective([AVERAGE], [average(over=broken)]))


# --- what a tool declares ---


def test_a_latency_with_a_floor_alone_would_pass_whatever_the_hardware_does(tmp_path):
    """A new metric with a floor of 5 us passed 1000 us: its name was taken for a rate."""
    invented = {"metric": "latency_us", "unit": "us", "floor": 5}
    (line,) = complaints(tmp_path, collective(["latency_us"], [invented]))
    place = "/measurements/host_write_bandwidth/limits/0"
    assert line.startswith(f"{place}: ccl-tests prints no latency_us; its metrics: time_us, ")


@pytest.mark.parametrize(
    ("one", "says"),
    [
        ({"metric": "time_us", "unit": "us", "floor": 5}, "time_us has only a floor"),
        ({"metric": "busbw", "unit": "GB/s", "ceiling": 5}, "busbw has only a ceiling"),
        ({"metric": "wrong", "unit": "count", "floor": 1}, "wrong has only a floor"),
        ({"metric": "busbw", "unit": "us", "floor": 5}, "busbw cannot be measured in us"),
        ({"metric": "busbw", "unit": "count", "floor": 5}, "busbw cannot be measured in count"),
        ({"metric": "wrong", "unit": "GB/s", "ceiling": 5}, "wrong cannot be measured in GB/s"),
        ({"metric": "busbw", "unit": "Gbps", "floor": 5}, "unknown unit 'Gbps'"),
        ({"metric": "gemm_tflops", "unit": "1", "floor": 5}, "ccl-tests prints no gemm_tflops"),
    ],
)
def test_a_limit_that_contradicts_the_tool_s_declaration_is_named(tmp_path, one, says):
    (line,) = complaints(tmp_path, collective([one["metric"]], [one]))
    assert says in line
    assert line.startswith("/measurements/host_write_bandwidth/limits/0: ")


def test_a_metric_under_calibration_needs_no_side_and_must_still_be_declared(tmp_path):
    one = {"metric": "busbw", "unit": "GB/s", "record_only": True}
    assert complaints(tmp_path, collective(["busbw"], [one])) == []
    assert complaints(tmp_path, collective(["busy"], [{**one, "metric": "busy"}]))


@pytest.mark.parametrize(("metric", "per"), [("scaling", "run"), ("busbw", "ratio")])
def test_only_a_ratio_of_two_runs_is_one(tmp_path, metric, per):
    one = {"metric": metric, "unit": declared("ccl-tests", metric).units[0], "floor": 1}
    of = {"of": "busbw", "over": "another"} if per == "ratio" else {}
    lines = complaints(tmp_path, collective([{"metric": metric, "per": per, **of}], [one]))
    assert any("a ratio of two runs is scaling" in line for line in lines)


def test_an_assertion_that_no_level_reaches_would_assert_nothing(tmp_path):
    asserts = ["busbw", {"metric": "algbw", "sizes": ["1GiB", "8GiB"]}]
    limits = [bus(), bus(metric="algbw")]
    assert complaints(tmp_path, collective(asserts, limits)) == [
        "host_write_bandwidth: algbw is asserted at no size of any level"
    ]


def test_a_level_need_not_reach_what_another_one_does(tmp_path):
    """smoke measures only 8 MiB; the assertions below are for the higher levels."""
    asserts = ["busbw", {"metric": "algbw", "sizes": ["64KiB", "1MiB"]}]
    platform = load(tmp_path, collective(asserts, [bus(), bus(metric="algbw")]))
    for levels in (("smoke",), ("nightly",), thresholds.LEVELS):
        assert list(uncovered(platform, levels)) == []


def test_only_asserted_sizes_need_a_limit(tmp_path):
    limits = [bus(sizes=["1MiB", "8MiB"])]
    narrow = {"metric": "busbw", "sizes": ["1MiB", "8MiB"]}
    assert complaints(tmp_path, collective([narrow], limits)) == []
    assert complaints(tmp_path, collective(["busbw"], limits)) == [
        "host_write_bandwidth: busbw at 64KiB has no limit"
    ]
