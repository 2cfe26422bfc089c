"""Each number has exactly one limit, and a physical ceiling above it."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from testing.core_values import (
    PLATFORMS,
    ROOT,
    document,
    limit,
    limit_of,
    measurement_of,
    put,
    with_gpus,
)

from railgauge.config import thresholds
from railgauge.config.thresholds import limit_for, physical_ceiling, uncovered
from railgauge.config.thresholds.limits import bound_at, curve_value
from railgauge.config.thresholds.physics import nic_ceiling_gbps, pcie_gbps
from railgauge.core.errors import Uncovered
from railgauge.core.limits import Curve
from railgauge.core.model import Pairing
from railgauge.planning import plan

CURVE = Curve(((65536, 100.0), (1048576, 200.0), (8388608, 400.0)))
BASIS = {"source": "derived", "says": "made up for a test"}


def load(tmp_path, doc):
    return thresholds.load("bench", put(tmp_path / "thresholds", doc))


def complaints(tmp_path, doc):
    return list(plan.complaints(load(tmp_path, doc)))


# --- curves ---


@pytest.mark.parametrize("point", CURVE.points)
def test_a_curve_is_exact_at_its_points(point):
    assert curve_value(CURVE, point[0]) == point[1]


def test_between_two_points_a_curve_is_straight_on_log_log_axes():
    middle = math.isqrt(65536 * 1048576)
    assert curve_value(CURVE, middle) == pytest.approx(math.sqrt(100.0 * 200.0))


@pytest.mark.parametrize("size", [1, 65535, 8388609, 2**40])
def test_a_curve_has_no_value_beyond_its_ends(size):
    assert curve_value(CURVE, size) is None


@given(st.integers(65536, 8388608))
def test_a_rising_curve_stays_between_its_neighbours(size):
    value = curve_value(CURVE, size)
    lower = max(v for s, v in CURVE.points if s <= size)
    upper = min(v for s, v in CURVE.points if s >= size)
    assert lower * (1 - 1e-12) <= value <= upper * (1 + 1e-12)


@given(st.integers(65536, 8388608), st.integers(65536, 8388608))
def test_a_rising_curve_rises_everywhere(left, right):
    low, high = sorted((left, right))
    assert curve_value(CURVE, low) <= curve_value(CURVE, high) * (1 + 1e-12)


def test_a_plain_number_holds_at_every_size_and_a_curve_needs_one():
    assert bound_at(5.0, None) == bound_at(5.0, 8) == 5.0
    assert bound_at(CURVE, None) is None
    assert bound_at(None, 8) is None


# --- physics ---


@pytest.mark.parametrize(
    ("generation", "width", "gbps"),
    [(5, 16, 504.1), (3, 8, 63.0), (4, 16, 252.1), (1, 16, 32.0), (2, 8, 32.0), (6, 16, 968.0)],
)
def test_rates_of_pcie_links_are_exact(generation, width, gbps):
    assert pcie_gbps(generation, width) == pytest.approx(gbps, abs=0.05)


def test_the_homelab_s_link_is_its_ceiling():
    platform = thresholds.load("connectx4-homelab", ROOT / "thresholds")
    measurement = platform.measurements["host_send_bandwidth"]
    ceiling = physical_ceiling(platform, measurement, Pairing("mlx5_0"), limit(unit="MiB/s"))
    assert ceiling == pytest.approx(3814.7, abs=0.05)
    assert physical_ceiling(platform, measurement, Pairing("mlx5_0"), limit(unit="Gb/s")) == 32.0


def test_the_narrower_of_link_and_slot_is_the_ceiling(tmp_path):
    nic = load(tmp_path, document()).nics[0]
    assert nic_ceiling_gbps(nic) == 400
    assert nic_ceiling_gbps(replace(nic, pcie_width=8)) == pytest.approx(252.06, abs=0.01)
    assert nic_ceiling_gbps(replace(nic, data_rate_gbps=32)) == 32


def test_both_directions_have_twice_the_ceiling(tmp_path):
    doc = document()
    measurement_of(doc)["options"] = {"bidirectional": True}
    platform = load(tmp_path, doc)
    measurement = platform.measurements["host_write_bandwidth"]
    assert physical_ceiling(platform, measurement, Pairing("mlx5_0"), limit(unit="GB/s")) == 100.0


ETHERNET = [
    (name, limit.floor, platform.nics[0].data_rate_gbps or platform.nics[0].rate_gbps)
    for name in PLATFORMS
    for platform in [thresholds.load(name, ROOT / "thresholds")]
    for limit in getattr(platform.measurements.get("host_tcp_bandwidth"), "limits", ())
    if limit.metric == "bw_received"
]


@pytest.mark.parametrize(("name", "floor", "rate"), ETHERNET)
def test_tcp_over_a_nic_is_asked_for_most_of_its_rate(name, floor, rate):
    assert 0.6 * rate < floor < rate


@pytest.mark.parametrize("unit", ["us", "Mpps", "1/s"])
def test_metrics_that_are_no_bandwidth_have_no_physical_ceiling(tmp_path, unit):
    platform = load(tmp_path, document())
    measurement = platform.measurements["host_write_bandwidth"]
    assert physical_ceiling(platform, measurement, Pairing("mlx5_0"), limit(unit=unit)) is None


# --- exactly one limit (rule 1: a missing one is an error before a node is touched) ---


@pytest.mark.parametrize("name", PLATFORMS)
def test_every_level_of_the_real_platforms_is_covered(name):
    platform = thresholds.load(name, ROOT / "thresholds")
    assert list(uncovered(platform)) == []
    for level in thresholds.LEVELS:
        assert list(uncovered(platform, (level,))) == []


@pytest.mark.parametrize("name", PLATFORMS)
def test_each_limit_that_is_removed_from_a_real_platform_is_missed(name):
    platform = thresholds.load(name, ROOT / "thresholds")
    for key, measurement in platform.measurements.items():
        for gone in measurement.limits:
            rest = tuple(one for one in measurement.limits if one is not gone)
            holed = replace(measurement, limits=rest)
            broken = replace(platform, measurements={**platform.measurements, key: holed})
            assert list(uncovered(broken)), gone.pointer


def test_a_platform_without_limits_is_not_covered(tmp_path):
    doc = document()
    measurement_of(doc)["limits"] = []
    assert complaints(tmp_path, doc) == [
        f"host_write_bandwidth: bw_average at {size} host has no limit"
        for size in ("64KiB", "1MiB", "8MiB")
    ]


def test_a_metric_without_a_limit_is_named(tmp_path):
    doc = document()
    measurement_of(doc)["asserts"] = ["bw_average", "msg_rate"]
    assert {line.split(" at ")[0] for line in complaints(tmp_path, doc)} == {
        "host_write_bandwidth: msg_rate"
    }


def test_a_size_between_the_spans_of_two_limits_is_named(tmp_path):
    doc = document()
    low, high = dict(limit_of(doc)), dict(limit_of(doc))
    low["sizes"], high["sizes"] = ["2B", "64KiB"], ["2MiB", "8MiB"]
    measurement_of(doc)["limits"] = [low, high]
    assert complaints(tmp_path, doc) == [
        "host_write_bandwidth: bw_average at 1MiB host has no limit"
    ]


def test_two_limits_for_one_number_are_named(tmp_path):
    doc = document()
    measurement_of(doc)["limits"] = [limit_of(doc), dict(limit_of(doc), floor=300)]
    lines = complaints(tmp_path, doc)
    assert len(lines) == 3
    assert "has 2 limits: /measurements/host_write_bandwidth/limits/0, /meas" in lines[0]


@pytest.mark.parametrize(("count", "says"), [(0, "has no limit"), (2, "has 2 limits: /a, /b")])
def test_a_number_without_a_limit_or_with_several_raises(tmp_path, count, says):
    platform = load(tmp_path, document())
    several = tuple(limit(pointer=pointer) for pointer in ("/a", "/b"))[:count]
    measurement = replace(platform.measurements["host_write_bandwidth"], limits=several)
    with pytest.raises(Uncovered, match=says):
        limit_for(measurement, "bw_average", Pairing("mlx5_0"), 8388608)


def test_only_the_bound_that_decides_is_a_limit(tmp_path):
    """A ceiling alone does not limit a bandwidth, and a floor alone does not limit a latency."""
    where = "/measurements/host_write_bandwidth/limits/0"
    doc = document()
    limit_of(doc)["ceiling"] = limit_of(doc).pop("floor")
    assert complaints(tmp_path, doc) == [
        f"{where}: bw_average has only a ceiling, which a bad value cannot miss; "
        "higher is better: give it a floor"
    ]
    doc = document()
    limit_of(doc).update(metric="lat_avg", unit="us", floor=0.5)
    measurement_of(doc)["asserts"] = ["lat_avg"]
    assert complaints(tmp_path, doc) == [
        f"{where}: lat_avg has only a floor, which a bad value cannot miss; "
        "lower is better: give it a ceiling"
    ]


def test_a_curve_that_ends_too_early_is_named(tmp_path):
    doc = document()
    limit_of(doc)["floor"] = {"curve": {"64KiB": 300, "1MiB": 350}}
    assert complaints(tmp_path, doc) == [
        "host_write_bandwidth: bw_average at 8MiB host has no limit"
    ]


def test_a_floor_above_the_ceiling_of_the_hardware_is_named(tmp_path):
    doc = document()
    limit_of(doc)["floor"] = 401
    lines = complaints(tmp_path, doc)
    assert "floor 401 Gb/s at 64KiB is above what mlx5_0 can carry (400.00 Gb/s)" in lines[0]


def test_a_floor_above_its_own_ceiling_is_named(tmp_path):
    doc = document()
    limit_of(doc).update(floor=300, ceiling=200)
    assert (
        "floor 300 Gb/s at 64KiB is above its own ceiling of 200 Gb/s"
        in (complaints(tmp_path, doc)[0])
    )


@pytest.mark.parametrize(
    ("unit", "says"), [("Gbps", "unknown unit 'Gbps'"), ("us", "cannot be measured in us")]
)
def test_a_limit_in_a_unit_of_another_kind_is_named(tmp_path, unit, says):
    doc = document()
    limit_of(doc)["unit"] = unit
    assert any(says in line for line in complaints(tmp_path, doc))


def test_gpu_measurements_need_gpus(tmp_path):
    """Without GPUs the same paths would be measured in host memory, under the GPU's name."""
    doc = document()
    measurement_of(doc)["memory"] = "gpu"
    assert any("declares no GPU" in line for line in complaints(tmp_path, doc))


def test_a_platform_whose_every_nic_is_for_management_measures_nothing(tmp_path):
    doc = document()
    doc["hardware"]["nics"][0]["fabric"] = False
    assert any("no path" in line for line in complaints(tmp_path, doc))


def test_a_choice_of_pairings_that_leaves_none_is_named(tmp_path):
    doc = with_gpus(document())
    doc["hardware"]["affinity"]["0"]["mlx5_0"] = "SYS"
    for extent in measurement_of(doc)["levels"].values():
        extent["pairings"] = "near"
    assert any("no path" in line for line in complaints(tmp_path, doc))


# --- selectors ---


def test_pairings_select_by_distance(tmp_path):
    doc = with_gpus(document())
    near, far = dict(limit_of(doc), pairings=["near"]), dict(limit_of(doc), pairings=["far"])
    measurement_of(doc)["limits"] = [near, dict(far, floor=200)]
    platform = load(tmp_path, doc)
    assert list(uncovered(platform)) == []
    measurement = platform.measurements["host_write_bandwidth"]
    by_distance = {
        str(pairing): limit_for(measurement, "bw_average", pairing, 8388608).floor
        for pairing in platform.pairings("gpu")
    }
    assert by_distance == {"gpu0-mlx5_0": 300.0, "gpu1-mlx5_0": 200.0}


def test_a_distance_without_a_limit_is_named(tmp_path):
    doc = with_gpus(document())
    limit_of(doc)["pairings"] = ["near"]
    assert all("far has no limit" in line for line in complaints(tmp_path, doc))


@pytest.mark.parametrize(
    ("size", "found"), [(65535, False), (65536, True), (8388608, True), (8388609, False)]
)
def test_sizes_include_both_ends(tmp_path, size, found):
    platform = load(tmp_path, document())
    measurement = platform.measurements["host_write_bandwidth"]
    spanned = replace(measurement, limits=(limit(sizes=(65536, 8388608)),))
    if found:
        assert limit_for(spanned, "bw_average", Pairing("mlx5_0"), size).floor == 100.0
    else:
        with pytest.raises(Uncovered, match="has no limit"):
            limit_for(spanned, "bw_average", Pairing("mlx5_0"), size)
