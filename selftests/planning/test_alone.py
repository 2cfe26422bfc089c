"""What a node can measure by itself: the measurements of a node, and loopbacks of its NICs."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest
from testing.core_values import cluster
from testing.places import ROOT

from railgauge.config import thresholds
from railgauge.core.errors import BadInput
from railgauge.core.terms import Scope
from railgauge.planning import alone, plan

PLATFORM = thresholds.load("h200", ROOT / "thresholds")


def pairings(name, **changes):
    measurement = replace(PLATFORM.measurements[name], **changes)
    return [(c.nodes, str(c.pairing)) for c in alone.cases_of(PLATFORM, measurement, "n1")]


def test_a_measurement_of_a_node_is_made_once():
    assert pairings("gpu_matrix_bf16") == [(("n1",), "None")]


def test_each_nic_is_measured_to_itself_from_host_memory_and_from_the_gpu_beside_it():
    nics = range(8)
    assert pairings("host_write_bandwidth") == [(("n1", "n1"), f"mlx5_{n}") for n in nics]
    assert pairings("gpu_write_bandwidth") == [(("n1", "n1"), f"gpu{n}-mlx5_{n}") for n in nics]


def test_far_gpus_and_other_rails_are_no_part_of_a_loopback():
    measurement = PLATFORM.measurements["gpu_write_bandwidth"]
    every = replace(measurement.extents["signoff"], pairings="all", cross_rail=True)
    found = pairings("gpu_write_bandwidth", extents={"signoff": every})
    assert [path for _, path in found] == [f"gpu{n}-mlx5_{n}" for n in range(8)]


def test_a_loopback_listens_on_the_node_itself_and_goes_through_one_nic():
    measurement = PLATFORM.measurements["host_write_bandwidth"]
    first = next(iter(alone.cases_of(PLATFORM, measurement, "n1")))
    server, client = plan.commands(first, PLATFORM, cluster("n1"), 18515)
    assert (server.node, client.node) == ("n1", "n1")
    assert client.argv == (*server.argv, "127.0.0.1")
    assert server.argv[:3] == ("ib_write_bw", "-d", "mlx5_0")
    assert alone.is_loopback(first)


def test_every_platform_gives_the_reason_why_its_limits_hold_in_loopback():
    for path in sorted((ROOT / "thresholds").glob("*.json")):
        if path.stem == "schema":
            continue
        platform = thresholds.load(path.stem, ROOT / "thresholds")
        for one in platform.measurements.values():
            if one.loopback:
                assert one.scope == Scope.PATH
                assert "loopback" in one.loopback.says


def test_a_measurement_without_that_reason_is_refused():
    with pytest.raises(BadInput, match="no measurement host_read_bandwidth of a single node"):
        alone.measurements(PLATFORM, ["host_read_bandwidth"])
    named = ["gpu_write_bandwidth", "gpu_matrix_bf16", "gpu_write_bandwidth"]
    found = alone.measurements(PLATFORM, named)
    assert [one.name for one in found] == named[:2]


def test_a_measurement_without_nics_has_no_loopback(tmp_path):
    document = json.loads(PLATFORM.text)
    basis = {"source": "derived", "says": "so that a test can ask"}
    document["measurements"]["node_all_reduce"]["loopback"] = {"basis": basis}
    shutil.copy(ROOT / "thresholds" / "schema.json", tmp_path)
    (tmp_path / "h200.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(BadInput, match="only a measurement of paths has NICs"):
        thresholds.load("h200", tmp_path)
