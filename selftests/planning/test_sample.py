"""Above four nodes smoke measures as many as half an hour allows, and names them; it never drops
questions silently."""

from __future__ import annotations

from dataclasses import replace

import pytest
from testing.core_values import PLATFORMS, ROOT, cluster

from railgauge.config import thresholds
from railgauge.diagnosis.left_open.unplanned import unplanned
from railgauge.planning import forecast, plan, required, sample
from railgauge.planning.pairing import BOTH_WAYS
from railgauge.planning.required import LevelScope
from railgauge.verdict.decision import RunPlan

SIZES = (5, 6, 8, 9, 10, 16, 64, 625)


def nodes(count, **changes):
    return cluster(*(f"n{number:03}" for number in range(1, count + 1)), model="m", **changes)


@pytest.fixture(scope="module")
def h200():
    return thresholds.load("h200", ROOT / "thresholds")


@pytest.fixture(scope="module", params=[name for name in PLATFORMS if name != "localhost-gpu"])
def platform(request):
    of = nodes(3)
    return thresholds.on_site(thresholds.load(request.param, ROOT / "thresholds"), of, of.source)


def takes_s(platform, level):
    return forecast.takes_s(forecast.work(platform, level))


@pytest.mark.parametrize("count", SIZES)
def test_smoke_ends_in_half_an_hour_at_any_size(platform, count):
    level = sample.level(platform, nodes(count), "smoke")
    assert takes_s(platform, level) <= forecast.MEANT_S["smoke"]
    assert 2 <= len(level.measured) <= count


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_up_to_four_nodes_every_one_is_measured(platform, count):
    assert sample.level(platform, nodes(count), "smoke") == plan.level(
        platform, nodes(count), "smoke"
    )


@pytest.mark.parametrize("count", SIZES)
def test_the_sample_is_the_largest_that_fits(platform, count):
    of = nodes(count)
    level = sample.level(platform, of, "smoke")
    if level.sample:
        size = len(level.sample)
        more = plan.level(
            platform, of, "smoke", sample=sample.spread(level.nodes, size + 2 - size % 2)
        )
        assert takes_s(platform, more) > forecast.MEANT_S["smoke"]
    else:
        assert takes_s(platform, level) <= forecast.MEANT_S["smoke"]


@pytest.mark.parametrize(("name", "count"), [("nightly", None), ("signoff", None), ("smoke", 2)])
def test_rounds_and_other_levels_measure_all_nodes(h200, name, count):
    of = nodes(16)
    assert sample.level(h200, of, name, count) == plan.level(h200, of, name, count)


def test_no_node_is_left_out_of_rung_0_and_of_the_collective_over_all(h200):
    of = nodes(64, groups={"leaf01": ("n001", "n002", "n003"), "leaf02": ("n004", "n005", "n006")})
    level = sample.level(h200, of, "smoke")
    assert level.sample == ("n001", "n022", "n043")
    assert {node for pair in level.pairs for node in (pair.source, pair.target)} == {*level.sample}
    asked = list(required.required_checks(LevelScope(h200, of, level)))
    facts = {each.place for each in asked if each.rung == 0}
    assert facts == {node.name for node in of.nodes}
    (group,) = {each.key.nodes for each in asked if len(each.key.nodes) > 2}
    assert group == tuple(node.name for node in of.nodes)
    alone = {each.place for each in asked if each.rung == 3}
    assert alone == {*level.sample}
    assert required.count(LevelScope(h200, of, level)) == len(asked)


def test_the_sample_is_over_the_whole_hostfile():
    names = [f"n{number}" for number in range(10)]
    assert sample.spread(names, 4) == ("n0", "n2", "n5", "n7")
    assert sample.spread(names, 10) == tuple(names)


def test_the_nodes_that_are_left_out_are_listed(h200):
    of = nodes(16)
    level = sample.level(h200, of, "smoke")
    (note,) = sample.notes(level)
    assert note.startswith("SAMPLE, 3 of 16 nodes by themselves and in pairs")
    assert sample.notes(plan.level(h200, of, "smoke")) == ()
    lines = [line for line in map(str, unplanned(h200, level)) if "all but rung 0" in line]
    assert len(lines) == 1
    assert "n[002-005,007-010,012-016]" in lines[0]
    assert str(forecast.coverage(h200, level)["nodes"]) == "3 of 16"


def test_a_run_of_an_earlier_version_must_measure_every_node(h200):
    of = nodes(16)
    now = RunPlan(2, "run", "hardware", "smoke", None, (), "0", directions=BOTH_WAYS, sampled=True)
    assert now.level_of(h200, of) == sample.level(h200, of, "smoke")
    earlier = replace(now, sampled=False)
    assert earlier.level_of(h200, of) == plan.level(h200, of, "smoke")
