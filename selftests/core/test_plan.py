"""What a run does follows from declared hardware alone (rule 2), the same every time."""

from collections import Counter

import pytest
from core_values import PLATFORMS, ROOT, case, cluster, document, put, with_gpus

from railgauge import plan, thresholds
from railgauge.errors import BadInput
from railgauge.model import Pair

NODES = ("n1", "n2", "n3", "n4")


@pytest.fixture(scope="module")
def metax():
    return thresholds.load("metax-c500", ROOT / "thresholds")


def cases(platform, name="nightly", nodes=NODES, count=None):
    return list(plan.cases(platform, plan.level(platform, cluster(*nodes), name, count)))


@pytest.mark.parametrize("name", thresholds.LEVELS)
def test_every_pair_and_declared_pairing_is_a_case(metax, name):
    level = plan.level(metax, cluster(*NODES), name)
    found = Counter((c.measurement, c.nodes, str(c.pairing)) for _, c in cases(metax, name))
    assert set(found.values()) == {1}
    per_pair = {"smoke": 2 + 2, "nightly": 2 + 16, "signoff": 2 + 16}[name]
    assert len(found) == per_pair * len(level.pairs)
    assert len(level.pairs) == {"smoke": 2, "nightly": 4, "signoff": 6}[name]


def test_a_declared_nic_is_planned_whatever_is_found(tmp_path):
    """Nothing is asked of a node: a lost NIC becomes a failure, not a smaller plan."""
    doc = document()
    doc["hardware"]["nics"].append(dict(doc["hardware"]["nics"][0], name="mlx5_9"))
    platform = thresholds.load("bench", put(tmp_path / "thresholds", doc))
    assert {str(c.pairing) for _, c in cases(platform, "smoke")} == {"mlx5_0", "mlx5_9"}


def test_a_management_nic_is_not_measured(metax):
    assert "mlx5_2" not in {c.pairing.nic for _, c in cases(metax, "signoff")}


def test_the_ladder_is_climbed_from_below_and_round_by_round(metax):
    order = [(metax.measurements[c.measurement].rung, turn) for turn, c in cases(metax)]
    assert order == sorted(order)


def test_a_case_carries_the_sizes_and_repeats_of_its_level(metax):
    for name in thresholds.LEVELS:
        for _, each in cases(metax, name):
            extent = metax.measurements[each.measurement].extents[name]
            assert (each.sizes, each.repeats) == (extent.sizes, extent.repeats)


def test_planning_twice_gives_the_same(metax):
    assert cases(metax, "signoff") == cases(metax, "signoff")


def test_case_keys_are_unique(metax):
    keys = [c.key for _, c in cases(metax, "signoff")]
    assert len(keys) == len(set(keys))


def test_one_node_has_no_pair(metax):
    assert cases(metax, nodes=("n1",)) == []


def test_rounds_are_asked_for(metax):
    assert len(plan.level(metax, cluster(*NODES), "smoke", 3).rounds) == 3


@pytest.mark.parametrize("name", PLATFORMS)
def test_every_case_has_a_server_on_the_target_and_a_client_on_the_source(name):
    platform = thresholds.load(name, ROOT / "thresholds")
    for _, each in cases(platform, "signoff", ("n1", "n2")):
        server, client = plan.commands(each, platform, cluster("n1", "n2"), 18600)
        assert (client.node, server.node) == each.nodes
        assert (server.listens_on, client.listens_on) == (18600, None)
        assert client.argv[-1] == "n2"
        assert each.pairing.nic in client.argv
        assert client.time_limit_s > 0


def test_gpu_memory_is_asked_for_on_both_sides(metax):
    level = plan.level(metax, cluster("n1", "n2"), "smoke")
    for _, each in plan.cases(metax, level):
        sides = plan.commands(each, metax, cluster("n1", "n2"), 18600)
        flags = ["--use_maca" in " ".join(side.argv) for side in sides]
        assert flags == [each.pairing.gpu is not None] * 2


def test_a_vendor_that_nobody_knows_is_refused(tmp_path):
    doc = with_gpus(document())
    doc["hardware"]["gpus"]["vendor"] = "acme"
    platform = thresholds.load("bench", put(tmp_path / "thresholds", doc))
    with pytest.raises(BadInput, match="acme"):
        plan.platform_stack(platform)


def test_a_pair_case_runs_from_source_to_target(metax):
    measurement = metax.measurements["host_write_bandwidth"]
    found = plan.pair_case(measurement, "smoke", Pair("b", "a"), case().pairing)
    assert found.nodes == ("b", "a")
    assert found.key == "host_write_bandwidth[b:a-mlx5_0]"
