"""The plan of a run depends on declared hardware only (rule 2) and is always the same."""

from collections import Counter

import pytest
from testing.core_values import PLATFORMS, ROOT, case, cluster, document, put, with_gpus

from railgauge.config import thresholds
from railgauge.core.errors import BadInput
from railgauge.core.model import Pair
from railgauge.planning import plan

NODES = ("n1", "n2", "n3", "n4")


@pytest.fixture(scope="module")
def metax():
    return thresholds.with_model(thresholds.load("metax-c500", ROOT / "thresholds"), "some-model")


def cases(platform, name="nightly", nodes=NODES, count=None):
    return list(plan.cases(platform, plan.level(platform, cluster(*nodes), name, count)))


def on_paths(found):
    """The cases of rungs 1 and 2: over a NIC, perhaps from a GPU."""
    return [each for _, each in found if each.pairing is not None]


@pytest.mark.parametrize("name", thresholds.LEVELS)
def test_each_pair_and_declared_pairing_is_a_case(metax, name):
    level = plan.level(metax, cluster(*NODES), name)
    found = Counter((c.measurement, c.nodes, str(c.pairing)) for c in on_paths(cases(metax, name)))
    assert set(found.values()) == {1}
    # Two NICs: writes; reads, sends, both ways, latencies; 16 GPU/NIC pairings, two across rails.
    per_pair = {"smoke": 2 + 2, "nightly": 2 + 2 * 6 + 18, "signoff": 2 + 2 * 8 + 18}[name]
    assert len(found) == per_pair * len(level.pairs)
    assert len(level.pairs) == {"smoke": 4, "nightly": 4, "signoff": 6}[name]


@pytest.mark.parametrize("name", thresholds.LEVELS)
def test_each_node_pair_and_group_is_a_case_of_its_measurements(metax, name):
    level = plan.level(metax, cluster(*NODES), name)
    found = Counter((c.measurement, c.nodes) for _, c in cases(metax, name) if c.pairing is None)
    places = {
        "node": [(node,) for node in NODES],
        "pair": [(pair.source, pair.target) for pair in level.pairs],
        "group": [NODES],
        "fabric": [],  # the hostfile names no node that scans the subnet
    }
    wanted = Counter(
        (key, place)
        for key, measurement in metax.measurements.items()
        for place in places.get(measurement.scope, ())
        if measurement.made_at(name)
    )
    assert found == wanted
    assert {measurement.scope for measurement in metax.measurements.values()} == {
        "path", *places
    }  # fmt: skip


def test_groups_are_named_sets_of_more_than_two_nodes_and_all_nodes(metax):
    groups = {"leaf1": NODES[:3], "leaf2": NODES[2:], "everybody": NODES}
    level = plan.level(metax, cluster(*NODES, groups=groups), "smoke")
    assert level.groups == {"leaf1": NODES[:3], "all": NODES}
    found = {c.nodes for _, c in plan.cases(metax, level) if c.measurement == "group_all_reduce"}
    assert found == {NODES[:3], NODES}


@pytest.mark.parametrize("count", [1, 2])
def test_one_or_two_nodes_are_no_group(metax, count):
    found = cases(metax, nodes=NODES[:count])
    assert "group_all_reduce" not in {each.measurement for _, each in found}


def test_a_declared_nic_is_planned_even_if_it_is_missing(tmp_path):
    """Planning asks no node, so a missing NIC becomes a failure and not a smaller plan."""
    doc = document()
    doc["hardware"]["nics"].append(dict(doc["hardware"]["nics"][0], name="mlx5_9"))
    platform = thresholds.load("bench", put(tmp_path / "thresholds", doc))
    assert {str(c.pairing) for _, c in cases(platform, "smoke")} == {"mlx5_0", "mlx5_9"}


def test_a_management_nic_is_not_measured(metax):
    assert {c.pairing.nic for c in on_paths(cases(metax, "signoff"))} == {"mlx5_0", "mlx5_1"}


TURNS = {"node": {0}, "group": {0}, "fabric": set(), "pair": {1, 2}, "path": {1, 2}}


def test_cases_are_ordered_by_rung_and_then_by_round(metax):
    """Rounds are in order for each path of a measurement; nodes and groups have no round."""
    found = cases(metax)
    rungs = [metax.measurements[c.measurement].rung for _, c in found]
    assert rungs == sorted(rungs)
    assert set(rungs) == {1, 2, 3, 4, 5}
    for name, measurement in metax.measurements.items():
        turns = [turn for turn, c in found if c.measurement == name]
        over = plan.paths(metax, measurement, "nightly")
        each = len(turns) // len(over) if over else 0
        for start in range(0, len(turns), each or 1):
            assert turns[start : start + each] == sorted(turns[start : start + each])
        assert set(turns) == (TURNS[measurement.scope] if measurement.made_at("nightly") else set())


@pytest.mark.parametrize("level", ["smoke", "nightly", "signoff"])
def test_no_partner_and_no_nic_of_a_node_is_measured_only_at_the_end(metax, level):
    """Otherwise a node that slows down during the run looks like a faulty path or a faulty NIC."""
    found = [c for _, c in cases(metax, level) if c.measurement == "host_write_bandwidth"]
    for node in {name for one in found for name in one.nodes}:
        mine = [one for one in found if node in one.nodes]
        for last in range(2, len(mine) - 1):
            at_the_end, before = mine[-last:], mine[:-last]
            for part in (lambda one: one.pairing.nic, lambda one: frozenset(one.nodes)):
                kinds = set(map(part, at_the_end))
                assert len(kinds) > 1 or kinds & set(map(part, before))


def test_a_case_carries_the_sizes_and_repeats_of_its_level(metax):
    for name in thresholds.LEVELS:
        for _, each in cases(metax, name):
            extent = metax.measurements[each.measurement].extents[name]
            assert (each.sizes, each.repeats) == (extent.sizes, extent.repeats)


def test_planning_twice_gives_the_same_cases(metax):
    assert cases(metax, "signoff") == cases(metax, "signoff")


def test_case_keys_are_unique(metax):
    keys = [c.key for _, c in cases(metax, "signoff")]
    assert len(keys) == len(set(keys))


def test_one_node_has_no_pair(metax):
    found = cases(metax, nodes=("n1",))
    assert {metax.measurements[c.measurement].scope for _, c in found} == {"node"}
    assert all(c.nodes == ("n1",) for _, c in found)


def test_the_number_of_rounds_can_be_set(metax):
    assert len(plan.level(metax, cluster(*NODES), "smoke", 3).rounds) == 3


@pytest.mark.parametrize("name", PLATFORMS)
def test_each_case_has_a_server_on_the_target_and_a_client_on_the_source(name):
    platform = thresholds.load(name, ROOT / "thresholds")
    over_nics = on_paths(cases(platform, "signoff", ("n1", "n2")))
    assert bool(over_nics) == any(m.scope == "path" for m in platform.measurements.values())
    for each in over_nics:
        server, client = plan.commands(each, platform, cluster("n1", "n2"), 18600)
        assert (client.node, server.node) == each.nodes
        assert (server.listens_on, client.listens_on) == (18600, None)
        source, target = each.nodes
        assert target in client.argv
        assert not {source, target}.intersection(server.argv)
        assert each.pairing.nic in client.argv
        assert client.time_limit_s > 0


@pytest.mark.parametrize("name", PLATFORMS)
@pytest.mark.parametrize("level", thresholds.LEVELS)
def test_each_case_of_each_platform_can_be_planned(name, level):
    """Commands run on the case's nodes for a limited time; the last one prints the result."""
    platform = thresholds.with_model(thresholds.load(name, ROOT / "thresholds"), "some-model")
    nodes = cluster(*NODES, launcher="openmpi")
    for _, each in plan.cases(platform, plan.level(platform, nodes, level)):
        *servers, reporter = plan.commands(each, platform, nodes, 18600)
        assert {command.node for command in (*servers, reporter)} <= set(each.nodes)
        assert reporter.listens_on is None
        assert not reporter.endless
        assert all(command.time_limit_s > 0 and command.argv for command in (*servers, reporter))


def test_the_clusters_environment_overrides_the_platforms(metax):
    over = cluster(*NODES[:2], environment={"MCCL_CROSS_NIC": "0", "SITE": "1"})
    each = plan.case_at(metax.measurements["pair_serving"], "smoke", Pair("n1", "n2"))
    *_, reporter = plan.commands(each, metax, over, 18600)
    assert reporter.environment == {**metax.environment, "MCCL_CROSS_NIC": "0", "SITE": "1"}
    assert metax.environment["MCCL_CROSS_NIC"] == "1"


def test_one_gpu_of_a_metax_node_runs_with_the_documents_settings(metax):
    """Document 000, section 4.3: one NIC, no active wait, and a longer poll."""
    each = plan.case_at(metax.measurements["pair_all_reduce_one_gpu"], "smoke", Pair("n1", "n2"))
    (one,) = plan.commands(each, metax, cluster("n1", "n2"), 18600)
    assert {
        "MCCL_IB_HCA": "mlx5_0", "FORCE_ACTIVE_WAIT": "0", "MCCL_IB_POLL_NUM": "10000",
        "MCCL_CROSS_NIC": "1", "MACA_VISIBLE_DEVICES": "0",
    }.items() <= one.environment.items()  # fmt: skip


def test_both_sides_use_gpu_memory(metax):
    for each in on_paths(cases(metax, "smoke", ("n1", "n2"))):
        sides = plan.commands(each, metax, cluster("n1", "n2"), 18600)
        flags = ["--use_maca" in " ".join(side.argv) for side in sides]
        assert flags == [each.pairing.gpu is not None] * 2


def test_an_unknown_vendor_is_refused(tmp_path):
    doc = with_gpus(document())
    doc["hardware"]["gpus"]["vendor"] = "acme"
    platform = thresholds.load("bench", put(tmp_path / "thresholds", doc))
    with pytest.raises(BadInput, match="acme"):
        plan.platform_stack(platform)


def test_a_pair_case_runs_from_source_to_target(metax):
    measurement = metax.measurements["host_write_bandwidth"]
    found = plan.case_at(measurement, "smoke", Pair("b", "a"), case().pairing)
    assert found.nodes == ("b", "a")
    assert found.key == "host_write_bandwidth[b:a-mlx5_0]"


@pytest.mark.parametrize(
    ("place", "nodes", "shown"),
    [
        ("n1", ("n1",), "n1"),
        (Pair("n2", "n1"), ("n2", "n1"), "n2:n1"),
        (plan.Group("leaf1", NODES), NODES, "leaf1"),
    ],
)
def test_places_have_nodes_and_short_names(metax, place, nodes, shown):
    found = plan.case_at(metax.measurements["node_all_reduce"], "smoke", place)
    assert plan.nodes_of(place) == found.nodes == nodes
    assert str(place) == shown
    assert found.key == f"node_all_reduce[{':'.join(nodes)}]"
    assert found.pairing is None
