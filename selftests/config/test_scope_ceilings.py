"""The physical ceiling of a limit in its scope: path, pair, node, group; GPU and its links."""

import pytest
from testing.core_values import limit
from testing.scoped_limits import (
    bus,
    collective,
    complaints,
    load,
)

from railgauge.config.thresholds import physical_ceiling
from railgauge.core.model import Pairing

MIB = 2**20
PATH = Pairing("mlx5_0")


def two_nics(doc):
    second = dict(doc["hardware"]["nics"][0], name="mlx5_1", rate_gbps=200)
    managing = dict(doc["hardware"]["nics"][0], name="mlx5_9", fabric=False)
    doc["hardware"]["nics"] += [second, managing]
    for links in doc["hardware"].get("affinity", {}).values():
        links["mlx5_1"] = "SYS"
    return doc


def ceiling(tmp_path, scope, metric="busbw", unit="GB/s", pairing=None, **changes):
    platform = load(tmp_path, two_nics(collective(["busbw"], [bus()], scope, **changes)))
    found = platform.measurements["host_write_bandwidth"]
    return physical_ceiling(platform, found, pairing, limit(metric=metric, unit=unit))


@pytest.mark.parametrize("scope", ["pair", "group"])
def test_between_nodes_all_fabric_nics_carry_together(tmp_path, scope):
    """400 and 200 Gb/s are 75 GB/s; the management NIC does not count."""
    assert ceiling(tmp_path, scope, "bw_received") == pytest.approx(75.0)
    assert ceiling(tmp_path, scope, "bw_received", "Gb/s") == pytest.approx(600.0)


@pytest.mark.parametrize(
    ("metric", "gb_per_s"),
    [("busbw", 112.5), ("busbw/in_place", 112.5), ("algbw", 75), ("avg_busbw", 112.5)],
)
def test_collectives_may_count_more_often_what_crosses_the_network_once(tmp_path, metric, gb_per_s):
    """A tree over two nodes, or a reduction in the switch, sends less than a ring does.

    Of two GPUs on each of two nodes the bus bandwidth counts 2 x 3/4 of the message.
    """
    assert ceiling(tmp_path, "pair", metric) == pytest.approx(gb_per_s)


def test_a_nic_in_a_narrow_slot_counts_as_what_the_slot_carries(tmp_path):
    doc = collective(["busbw"], [bus(floor=1)], "pair")
    doc["hardware"]["nics"][0]["pcie"]["width"] = 8
    platform = load(tmp_path, doc)
    found = platform.measurements["host_write_bandwidth"]
    together = physical_ceiling(platform, found, None, limit(metric="bw", unit="Gb/s"))
    assert together == pytest.approx(252.06, abs=0.01)


def test_collectives_inside_a_node_have_no_sure_ceiling(tmp_path):
    assert ceiling(tmp_path, "node") is None
    assert ceiling(tmp_path, "node", "avg_busbw") is None


@pytest.mark.parametrize(
    ("metric", "gb_per_s"), [("link_bw", 64), ("average_bw", 64), ("gpu_actual", 64)]
)
def test_gpu_links_have_their_raw_rate(tmp_path, metric, gb_per_s):
    """Two GPUs have one link each."""
    assert ceiling(tmp_path, "node", metric) == gb_per_s


def test_a_gpu_reaches_all_others_at_once(tmp_path):
    doc = collective(["busbw"], [bus()])
    doc["hardware"]["gpus"]["count"] = 8
    doc["hardware"]["affinity"] = {str(gpu): {"mlx5_0": "SYS"} for gpu in range(8)}
    platform = load(tmp_path, doc)
    found = platform.measurements["host_write_bandwidth"]
    both = {
        metric: physical_ceiling(platform, found, None, limit(metric=metric, unit="GB/s"))
        for metric in ("link_bw", "gpu_actual")
    }
    assert both == {"link_bw": 64, "gpu_actual": 7 * 64}


def test_links_of_unknown_rate_have_no_ceiling(tmp_path):
    doc = collective(["busbw"], [bus()])
    del doc["hardware"]["gpus"]["link"]
    platform = load(tmp_path, doc)
    found = platform.measurements["host_write_bandwidth"]
    assert physical_ceiling(platform, found, None, limit(metric="link_bw", unit="GB/s")) is None


@pytest.mark.parametrize("unit", ["us", "1/s", "1", "count"])
@pytest.mark.parametrize("scope", ["pair", "group", "node"])
def test_metrics_that_are_no_bandwidth_have_no_ceiling(tmp_path, scope, unit):
    assert ceiling(tmp_path, scope, "completed", unit) is None


@pytest.mark.parametrize(("floor", "sound"), [(64, True), (65, False)])
def test_a_floor_that_no_link_can_carry_is_named(tmp_path, floor, sound):
    one = {"metric": "link_bw", "unit": "GB/s", "floor": floor}
    asserts = [{"metric": "link_bw", "per": "link"}]
    lines = complaints(tmp_path, collective(asserts, [one], tool="transferbench"))
    assert (lines == []) is sound
    if not sound:
        assert "floor 65 GB/s is above what the hardware can carry (64.00 GB/s)" in lines[0]


@pytest.mark.parametrize(("floor", "sound"), [(75, True), (76, False)])
def test_a_floor_that_no_fabric_can_carry_is_named(tmp_path, floor, sound):
    """One NIC of 400 Gb/s, of which two GPUs on each of two nodes count 2 x 3/4."""
    lines = complaints(tmp_path, collective(["busbw"], [bus(floor=floor)], "pair"))
    assert (lines == []) is sound
