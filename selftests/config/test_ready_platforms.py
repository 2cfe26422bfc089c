"""The platform files that are made from data sheets, for systems that nobody measured."""

import json
from dataclasses import replace

import pytest
from testing.core_values import ROOT, cluster

from railgauge.config import thresholds
from railgauge.config.thresholds.limits import uncovered
from railgauge.planning import plan
from railgauge.planning.required import LevelScope, count
from railgauge.run import inputs
from railgauge.verdict.decision import limit_notes

READY = ("b200", "h100-roce", "l40s-pcie", "mi325x")
NODES = ("n1", "n2", "n3", "n4")


def load(name):
    return thresholds.load(name, ROOT / "thresholds")


@pytest.mark.parametrize("level", thresholds.LEVELS)
@pytest.mark.parametrize("name", READY)
def test_four_nodes_are_planned_at_every_level(name, level):
    platform, nodes = load(name), cluster(*NODES, no_fabric="a made-up cluster")
    inputs.check(platform, ROOT, nodes)
    assert list(uncovered(platform)) == []
    wanted = plan.level(platform, nodes, level)
    made = {case.measurement for _, case in plan.cases(platform, wanted)}
    assert {"host_write_bandwidth", "gpu_write_bandwidth", "node_all_reduce"} <= made
    assert {"pair_all_reduce", "group_all_reduce"} <= made
    assert count(LevelScope(platform, nodes, wanted)) > 100


@pytest.mark.parametrize("name", READY)
def test_its_notes_call_it_a_starting_point_from_data_sheets(name):
    platform = load(name)
    assert platform.title.endswith(": a starting point from data sheets")
    (note,) = limit_notes(platform)
    assert note.startswith("LIMITS NOT CALIBRATED")


@pytest.mark.parametrize("name", READY)
def test_every_limit_is_derived_and_every_device_has_its_data_sheet(name):
    document = json.loads(load(name).text)
    limits = [one for made in document["measurements"].values() for one in made.get("limits", ())]
    assert {one["basis"]["source"] for one in limits} == {"derived"}
    hardware = document["hardware"]
    assert {nic["basis"]["source"] for nic in hardware["nics"]} == {"datasheet"}
    assert hardware["gpus"]["link"]["basis"]["source"] == "datasheet"


@pytest.mark.parametrize(
    ("name", "measurement", "floor"),
    [
        ("b200", "pair_all_reduce", 240.0),  # 60 % of eight NICs of 50 GB/s
        ("h100-roce", "host_write_bandwidth", 340.0),  # 85 % of 400 Gb/s
        ("l40s-pcie", "host_write_bandwidth", 170.0),
        ("l40s-pcie", "gpu_write_bandwidth", 80.0),  # 40 % of 200 Gb/s: no GPU is near
        ("l40s-pcie", "node_all_reduce", 11.025),  # 35 % of a slot of 31.5 GB/s
        ("b200", "node_all_reduce", 450.0),  # half of NVLink 5
        ("mi325x", "node_all_reduce", 224.0),  # half of seven links of 64 GB/s
        ("mi325x", "gpu_link_bandwidth", 38.4),  # of one link
    ],
)
def test_a_floor_is_the_stated_share_of_what_the_hardware_carries(name, measurement, floor):
    platform = load(name)
    one = platform.measurements[measurement]
    pairing = platform.pairings(one.memory)[0] if one.scope == "path" else None
    limit = one.limits[0]
    found = thresholds.whole(platform, one, pairing, limit)
    assert thresholds.in_its_unit(limit, found).floor == pytest.approx(floor)


def test_limits_of_a_document_or_of_a_run_have_no_such_note():
    assert limit_notes(load("h200")) == ()
    derived = load("b200")
    measured = {name: calibrated(one) for name, one in derived.measurements.items()}
    assert limit_notes(replace(derived, measurements=measured)) == ()
    measured["host_write_bandwidth"] = derived.measurements["host_write_bandwidth"]
    (note,) = limit_notes(replace(derived, measurements=measured))
    assert " 1 of " in note


def calibrated(measurement):
    limits = (replace(one, basis=replace(one.basis, source="calibration")) for one in
              measurement.limits)  # fmt: skip
    return replace(measurement, limits=tuple(limits))
