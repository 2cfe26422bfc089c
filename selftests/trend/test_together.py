"""One fault is one finding, and a loss that went away has the date of its recovery."""

import re

import pytest
from testing.histories import history, step

from railgauge.trend import findings
from railgauge.trend.plots import PlotLine, _Axis, chart
from railgauge.trend.sentences import headline, sentence
from railgauge.trend.values import SeriesKey

NODES = ("n01", "n02", "n03", "n04")
PAIRS = [(one, NODES[(i + 1) % 4]) for i, one in enumerate(NODES)]


def paths(nics=(0, 1), sizes=(8388608,)):
    """Eight GPUs of each pair over each NIC, at each size."""
    return [
        SeriesKey("host_write_bandwidth", "bw_average", "Gb/s", pair, f"gpu{gpu}-mlx5_{nic}", size)
        for pair in PAIRS
        for gpu in range(8)
        for nic in nics
        for size in sizes
    ]


def seen(keys, *changes, nights=20, noise=0.002):
    def change(night, key):
        factor = 1.0
        for one in changes:
            factor *= one(night, key)
        return factor

    made = history(1, nights, change, keys=keys, noise=noise)
    return findings(made[:-1], made[-1]).findings


def of(node, part="", size=None):
    return lambda key: node in key.nodes and part in key.pairing and size in (None, key.size_bytes)


def test_eight_pairings_of_one_nic_are_one_finding():
    (found,) = seen(paths(), step(14, 0.03, of("n02", "mlx5_1")))
    assert (found.scope.nodes, found.scope.pairing) == (("n02",), "mlx5_1")
    assert (len(found.series), found.of) == (16, 16)
    assert found.since.startswith("20260114")
    assert found.worse == pytest.approx(0.03, abs=0.003)


def test_one_size_of_all_pairings_is_one_finding():
    keys = paths((0,), (65536, 8388608))
    (found,) = seen(keys, step(14, 0.03, of("n02", size=8388608)))
    assert (found.scope.nodes, found.scope.size_bytes) == (("n02",), 8388608)
    assert sentence(found).endswith("16 of 16 series)")


def test_a_loss_in_one_direction_names_the_pair():
    (found,) = seen(
        paths(), step(14, 0.03, lambda key: key.nodes[0] == "n02" and "mlx5_1" in key.pairing)
    )
    assert found.scope.nodes == ("n02", "n03")


def test_faults_of_two_nodes_on_one_night_are_two():
    changes = (step(14, 0.03, of("n01", "mlx5_1")), step(14, 0.03, of("n03", "mlx5_0")))
    found = seen(paths(), *changes)
    assert {(one.scope.nodes, one.scope.pairing) for one in found} == {
        (("n01",), "mlx5_1"), (("n03",), "mlx5_0"),
    }  # fmt: skip


def test_faults_of_two_sizes_on_one_node_are_two():
    changes = (step(14, 0.03, of("n02", "mlx5_1")), step(14, 0.3, of("n02", "gpu0-mlx5_0")))
    assert len(seen(paths(), *changes)) == 2


def test_faults_of_two_nights_on_one_node_are_two():
    changes = (step(10, 0.03, of("n02", "mlx5_1")), step(16, 0.03, of("n02", "gpu0-mlx5_0")))
    assert {one.since[:8] for one in seen(paths(), *changes)} == {"20260110", "20260116"}


def test_recovered_gives_the_date_of_the_recovery():
    (found,) = seen(paths((0,)), step(8, 0.05, of("n02"), until=15))
    assert found.verdict == "recovered"
    assert (found.since[:8], found.recovered[:8]) == ("20260108", "20260115")
    text = sentence(found)
    assert text.startswith("recovered since 20260115-020000-alpha, after nights from 20260108")
    assert headline(found).endswith("recovered 20260115")


def test_a_gain_beyond_the_recovery_is_a_finding():
    half = step(8, 0.05, of("n02"), until=15)
    found = seen(paths((0,)), half, step(15, -0.1, of("n02")))
    assert {one.verdict for one in found} == {"recovered", "improvement"}


# --- the plots ---


@pytest.mark.parametrize(
    ("low", "high"), [(391.17, 392.43), (0.31, 0.33), (1.0, 1000.0), (3773.1, 3776.9), (1e-6, 3e-6)]
)
def test_ticks_are_round_and_inside(low, high):
    axis = _Axis(20, low, high)
    steps = [late - early for early, late in zip(axis.marks, axis.marks[1:], strict=False)]
    assert 2 <= len(axis.marks) <= 7
    assert all(low <= mark <= high for mark in axis.marks)
    first = float(f"{steps[0]:.6g}")
    assert f"{first:e}"[0] in "125"
    assert all(one == pytest.approx(first) for one in steps)


LINE = PlotLine("n01", {0: 391.0, 1: 392.0})


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(372.6, ">limit 372.6 Gb/s<"), (200.0, ">limit 200 Gb/s, below<"), (900.0, ", above<")],
)
def test_a_limit_is_drawn_or_named(limit, expected):
    drawn = chart("t", ("20260101", "20260102"), [LINE], "Gb/s", limit=limit)
    assert expected in drawn
    assert ('class="limit"' in drawn) == (limit == 372.6)


@pytest.mark.parametrize("limit", [372.6, 391.5, 900.0])
@pytest.mark.parametrize("since", [1, 18])
def test_no_label_overlaps_the_values_or_another_label(limit, since):
    line = PlotLine("n01", {night: 391.0 + night % 2 for night in range(20)})
    nights = [f"202601{night:02}" for night in range(1, 21)]
    drawn = chart("t", nights, [line], "Gb/s", since, limit=limit)
    values = [float(y) for y in re.findall(r'<circle cx="[\d.]+" cy="([\d.]+)"', drawn)]
    words = re.findall(r'<text x="[\d.]+" y="(\d+)"[^>]*>(?:limit|since)', drawn)
    assert len(set(words)) == 2
    assert all(int(word) < min(values) - 2 for word in words)


def test_a_chart_without_a_limit_has_no_limit_line():
    assert "limit" not in chart("t", ("20260101", "20260102"), [LINE], "Gb/s")
