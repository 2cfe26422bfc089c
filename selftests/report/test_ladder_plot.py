"""The curve of a scaling ladder: its steps, its floor, and what misses it."""

import pytest
from test_plots import cluster, drawn, judged, record, words
from testing.places import ROOT

from railgauge.config import thresholds
from railgauge.report.plots import plots

NODES = tuple(f"n{number:04d}" for number in range(1, 17))


def step(name, count, value):
    about = {"metric": "scaling", "unit": "1", "physical_ceiling": None, "size_bytes": None}
    return record(
        judged(value, floor=0.92, **about),
        nodes=NODES[:count],
        id=f"tests/collective/test_scaling.py::test_scaling[scaling_all_reduce-{name}-{count}]",
        subject="scaling_all_reduce",
        rung=4,
        pairing="",
        size_bytes=None,
    )


STEPS = [
    step("within", 4, 0.99), step("across", 2, 0.98), step("across", 8, 0.97),
    step("across", 16, 0.6),
]  # fmt: skip


def test_each_step_is_a_point_of_its_curve():
    plot = drawn(STEPS, 16)["rung4-scaling-scaling_all_reduce"]
    shown = words(plot.svg)
    assert {"2", "4", "8", "16", "nodes", "within", "across", "floor 0.92"} <= {*shown}
    assert plot.caption == "4 steps; crosses: 1 beyond the limit."
    assert (plot.svg.count("<circle"), plot.svg.count("across 16: 0.6")) == (3, 1)


@pytest.mark.parametrize("records", [[], STEPS[:1], [record(judged(391.0))]])
def test_without_steps_there_is_no_curve(records):
    shown = [name for name in drawn(records, 16) if "-scaling-" in name]
    assert len(shown) == len([one for one in records if one.subject == "scaling_all_reduce"])


def test_a_platform_without_a_ladder_has_none():
    other = thresholds.load("b200", ROOT / "thresholds")
    assert not [p for p in plots(STEPS, other, cluster(16), "hardware") if "scaling-" in p.name]
