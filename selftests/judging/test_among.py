"""A fact beside that of the other nodes: distinct, or near them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from railgauge.config.thresholds.model import Expectation
from railgauge.core.errors import FactMissing, NodeUnreachable
from railgauge.core.limits import Basis
from railgauge.core.model import Outcome
from railgauge.core.question import FactAt
from railgauge.facts import NodeFacts
from railgauge.facts.model import GidFacts, GpuFacts, NicFacts
from railgauge.judging.among import RULES, judge_among

PASSED, FAILED = Outcome.PASSED, Outcome.FAILED


def judged(nodes, path, rule, value, node="n1"):
    expectation = Expectation("subject", rule, value, Basis("derived", "made up"), "/expected/x")
    found = {getattr(one, "node", "") or one.where: one for one in nodes}
    return judge_among(FactAt(node, (path,)), expectation, found)


def nodes(field, *values):
    return [NodeFacts(f"n{i}", **{field: value}) for i, value in enumerate(values, 1)]


# --- ids ---


def test_distinct_ids_pass():
    found = nodes("boot_id", "a", "b", "c")
    assert judged(found, "boot_id", "distinct", "nodes").outcome is PASSED


def test_an_id_that_two_have_points_at_both():
    found = nodes("boot_id", "a", "b", "a")
    first, second, third = (
        judged(found, "boot_id", "distinct", "nodes", f"n{i}") for i in (1, 2, 3)
    )
    assert (first.outcome, second.outcome, third.outcome) == (FAILED, PASSED, FAILED)
    assert first.points_at == third.points_at == (("n1", ""), ("n3", ""))
    assert first.reason == "boot_id is also that of n3"
    assert (first.measured, second.measured) == ("boot_id also at n3", "its own")
    assert "a" not in first.measured.split(), "the id itself is not shown"


def test_an_id_that_is_not_known_is_an_error_and_shared_with_nobody():
    found = nodes("machine_id", "a", None, None)
    assert judged(found, "machine_id", "distinct", "nodes").outcome is PASSED
    with pytest.raises(FactMissing, match="n2: machine_id is not known"):
        judged(found, "machine_id", "distinct", "nodes", "n2")


def test_an_id_is_found_behind_a_node_whose_id_is_not_known():
    found = nodes("machine_id", "a", None, "a")
    assert (
        judged(found, "machine_id", "distinct", "nodes").reason == "machine_id is also that of n3"
    )


def test_a_fact_that_is_no_fact_of_a_nic_points_only_at_nodes():
    found = nodes("gpus", *[(GpuFacts(0, "C500", "", None, vbios="7"),)] * 2)
    shared = judged(found, "gpus.0.vbios", "distinct", "nodes")
    assert shared.points_at == (("n1", ""), ("n2", ""))
    found = nodes("numa_cpus", *[{"0": "0-7"}] * 2)
    assert judged(found, "numa_cpus.0", "distinct", "nodes").points_at == shared.points_at


def test_a_node_that_did_not_answer_is_left_out():
    found = [*nodes("machine_id", "a"), NodeUnreachable("no route", where="n2")]
    assert judged(found, "machine_id", "distinct", "nodes").outcome is PASSED


# --- GUIDs of adapters ---


def guids(*values, **fields):
    """Nodes with one adapter each; a value of several GUIDs is a node with several."""
    made = [v if isinstance(v, tuple) else (v,) for v in values]
    return [
        NodeFacts(
            f"n{i}",
            nics=tuple(NicFacts(f"mlx5_{k}", node_guid=guid) for k, guid in enumerate(each)),
            **fields,
        )
        for i, each in enumerate(made, 1)
    ]


GUID_A, GUID_B = "0x248a070300ac5414", "0x248a070300ac5610"
GUID = ("nics.mlx5_0.node_guid", "distinct", "devices")


def test_distinct_guids_pass():
    found = guids(GUID_A, GUID_B)
    assert judged(found, *GUID).outcome is PASSED
    assert judged(found, *GUID).measured == "its own"


def test_a_guid_that_two_adapters_have_points_at_both():
    first, second, third = (
        judged(guids(GUID_A, GUID_B, GUID_A), *GUID, f"n{i}") for i in (1, 2, 3)
    )
    assert (first.outcome, second.outcome, third.outcome) == (FAILED, PASSED, FAILED)
    assert first.points_at == third.points_at == (("n1", "mlx5_0"), ("n3", "mlx5_0"))
    assert first.reason == f"GUID {GUID_A} is also that of n3 mlx5_0"


def test_a_guid_that_two_adapters_of_one_node_have_fails():
    found = judged(guids((GUID_A, GUID_A), GUID_B), *GUID)
    assert (found.outcome, found.points_at) == (FAILED, (("n1", "mlx5_0"), ("n1", "mlx5_1")))


def test_names_of_one_running_kernel_may_share_an_adapter():
    assert judged(guids(GUID_A, GUID_A, boot_id="b"), *GUID).outcome is PASSED


@pytest.mark.parametrize("others", [(GUID_B,), (f"0x{0:016x}",), ()])
def test_a_guid_of_zeros_fails_and_is_no_other_adapter_s(others):
    found = judged(guids(f"0x{0:016x}", *others), *GUID)
    assert (found.outcome, found.points_at) == (FAILED, ())
    assert found.reason == "the node GUID is zero: the adapter was given none"


def test_a_guid_that_is_not_known_is_an_error():
    with pytest.raises(FactMissing, match=r"n2: nics\.mlx5_0\.node_guid is not known"):
        judged(guids(GUID_A, None), *GUID, "n2")
    assert judged(guids(GUID_A, None), *GUID).outcome is PASSED


# --- addresses ---

GID = "fe80:0000:0000:0000:248a:0703:00ac:52{:02x}"


def port(number, name="mlx5_0", lid=None, **more):
    gids = (GidFacts(0, GID.format(number), None, "v1"),)
    known = {"link_layer": "InfiniBand", "lid": lid or number, "sm_lid": 1, "gids": gids} | more
    return NicFacts(name, **known)


def roce(address, name="mlx5_0", gid="fe80::1"):
    both = (GidFacts(0, gid, None, "v2"), GidFacts(1, f"::ffff:{address}", address, "v2"))
    return NicFacts(name, link_layer="Ethernet", lid=0, gids=both)


def ports(*rows, boots=("a", "b", "c")):
    found = [
        NodeFacts(f"n{i}", boot_id=boot, nics=tuple(row))
        for i, (row, boot) in enumerate(zip(rows, boots, strict=False), 1)
    ]
    return judged(found, "nics.mlx5_0.gids", "distinct", "ports")


def test_ports_with_distinct_addresses_pass():
    assert ports([port(1), port(2, "mlx5_1")], [port(3), port(4, "mlx5_1")]).outcome is PASSED


def test_a_lid_that_two_ports_of_one_rail_have_fails():
    found = ports([port(1)], [port(2, lid=1)], [port(3)])
    assert found.outcome is FAILED
    assert found.reason == "LID 1 is also that of n2 mlx5_0"
    assert found.points_at == (("n1", "mlx5_0"), ("n2", "mlx5_0"))


def test_a_gid_that_any_two_ports_have_fails():
    for others in ([port(1, lid=9)], [port(2), port(1, "mlx5_7", lid=9)]):
        found = ports([port(1)], others)
        assert found.outcome is FAILED
        assert f"GID {GID.format(1)} is also that of n2 mlx5_" in found.reason
    assert ports([port(1), port(1, "mlx5_1", lid=9)]).outcome is FAILED, "in one node"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([port(2)], [port(1)]),
        # another rail may be another subnet, which counts its LIDs from 1 too
        ([port(1)], [port(2), port(3, "mlx5_1", lid=1)]),
        ([port(1), port(3, "mlx5_1", lid=1)], [port(2)]),
        # another subnet manager is another subnet
        ([port(1)], [port(2, lid=1, sm_lid=7)]),
        # virtual functions may have the LID of their port
        ([port(1, hca_type="MT4126")], [port(2, lid=1, hca_type="MT4126")]),
        # a port that is down has no LID
        ([port(1, lid=0)], [port(2, lid=0)]),
        ([replace(port(1), lid=None)], [replace(port(2), lid=None)]),
        # a link-local GID is unique on its link only; rails may have equal addresses
        ([roce("10.0.0.1")], [roce("10.0.0.2")]),
        ([roce("10.0.0.1")], [roce("10.0.0.2"), roce("10.0.0.1", "mlx5_1")]),
        ([roce("10.0.0.1")], [roce("10.0.0.2"), roce("10.0.0.1", "mlx4_0")]),
        # the GIDs of other links are not known to be unique
        ([port(1, link_layer="Unspecified")], [port(1, link_layer="Unspecified")]),
        # InfiniBand beside Ethernet
        ([roce("10.0.0.1")], [replace(roce("10.0.0.1"), link_layer="InfiniBand")]),
        ([port(1)], [roce("10.0.0.1", gid=GID.format(1))]),
    ],
)
def test_addresses_that_only_look_alike_pass(one, other):
    assert ports(one, other).outcome is PASSED


@pytest.mark.parametrize("beside", ["a0", "mlx5_1", "z0"])
def test_the_port_is_found_among_others_by_its_name(beside):
    found = ports([port(9, beside), port(1)], [port(2, lid=1)])
    assert found.reason == "LID 1 is also that of n2 mlx5_0"
    assert ports([port(9, beside), port(1)], [port(2, lid=9)]).outcome is PASSED
    within = ports([port(1, beside, lid=9), port(1)], [port(2)])
    assert within.points_at == tuple(sorted((("n1", "mlx5_0"), ("n1", beside))))


@pytest.mark.parametrize("kind", [4116, 4118, 4120, 4122, 4124, 4126, 41683])
def test_virtual_functions_may_have_the_lid_of_their_port(kind):
    known = {"lid": 1, "hca_type": f"MT{kind}"}
    assert ports([port(1, **known)], [port(2, **known)]).outcome is PASSED
    known["hca_type"] = "MT4129"
    assert ports([port(1, **known)], [port(2, **known)]).outcome is FAILED


def test_an_address_of_roce_that_two_nodes_have_fails():
    found = ports([roce("10.0.0.1")], [roce("10.0.0.1")])
    assert (found.outcome, found.reason) == (FAILED, "GID 10.0.0.1 is also that of n2 mlx5_0")


def test_names_of_one_kernel_may_share_a_nic():
    """Their boot id is what fails."""
    assert ports([port(1)], [port(1)], boots=("a", "a")).outcome is PASSED
    both = [NodeFacts(name, boot_id="a", nics=(port(1),)) for name in ("n1", "n2")]
    assert judged(both, "nics.mlx5_0.gids", "distinct", "ports", "n2").outcome is PASSED
    assert ports([port(1)], [port(1)], boots=("b", "a")).outcome is FAILED
    assert ports([port(1)], [port(1)], [port(1)], boots=("a", "a", "c")).outcome is FAILED


def test_a_nic_that_is_not_there_is_an_error():
    with pytest.raises(FactMissing, match=r"nics.mlx5_0.gids is not known"):
        ports([port(1, "mlx5_7")], [port(2)])


# --- numbers ---


def clock(*offsets):
    found = nodes("clock_offset_s", *offsets)
    return [
        judged(found, "clock_offset_s", "within", 300, one.node).outcome is PASSED for one in found
    ]


@pytest.mark.parametrize(
    ("offsets", "right"),
    [
        ((0.0, 0.0, 0.0), [True] * 3),
        ((0.0, 7200.0, 0.0), [True, False, True]),
        ((0.0, -301.0, 0.0), [True, False, True]),
        ((0.0, 300.0, -300.0), [True] * 3),
        ((0.0, 7200.0), [True, False]),  # the controller tells which of two
        ((7200.0, 7200.0), [True, True]),  # the controller itself is off
        ((7200.0, 7200.0, 7200.0), [True] * 3),
        ((7200.0,), [False]),  # the node or the controller
        ((400.0,), [False]),
        ((0.0,), [True]),
        ((0.0, 7200.0, 7200.0), [False] * 3),  # two opinions of two each
    ],
)
def test_clocks_are_compared_with_the_median(offsets, right):
    assert clock(*offsets) == right


def memory(*sizes):
    found = nodes("memory_mib", *sizes)
    return [
        judged(found, "memory_mib", "within", 4096, one.node).outcome is PASSED for one in found
    ]


def test_memory_is_compared_between_nodes_alone():
    assert memory(1031875, 1031700, 1023000) == [True, True, False]
    assert memory(1031875) == [True]
    assert memory(1031875, 966339) == [False, False], "which of two is not known"


def test_a_number_is_reported_with_its_required_range():
    found = judged(nodes("clock_offset_s", 0.0, 7200.0), "clock_offset_s", "within", 300, "n2")
    assert found.measured == "7200"
    assert found.reason == "clock_offset_s is 7200, should be within 300 of 0"


def test_a_fact_that_is_no_number_is_an_error():
    with pytest.raises(FactMissing, match="n1: kernel is not a number"):
        judged(nodes("kernel", "6.1"), "kernel", "within", 300)
    found = nodes("memory_mib", 1031875, "much", 1031875)
    assert judged(found, "memory_mib", "within", 4096).outcome is PASSED


def test_each_rule_gives_its_basis():
    assert RULES == ("distinct", "within")
    for field, rule, value in (("boot_id", "distinct", "nodes"), ("memory_mib", "within", 1)):
        assert judged(nodes(field, 1, 1), field, rule, value).pointer == "/expected/x"
