"""Causes of the subnet: cables, dead switches, and a missing subnet manager."""

from dataclasses import replace

import pytest
from testing.diagnose_scenes import causes, named

from railgauge.core.model import Judgement, Outcome
from railgauge.judging.record import ItemRecord
from railgauge.subnet import topology

DOWN = "Down/Polling"


def port(metric, ends, measured=DOWN):
    reason = f"{' to '.join(' '.join(end) for end in ends)}: {measured}"
    failed = Outcome.FAILED
    return Judgement(metric, failed, measured, "limit", "basis", reason=reason, points_at=ends)


def scanned(subject, *judgements, switch="leaf01", rung=1):
    """An item of the subnet's tests, scanned from n1."""
    reason = "; ".join(judged.reason for judged in judgements)
    test = f"tests/network/test_fabric.py::test_{subject}[n1-{switch}]"
    item = ItemRecord(test, rung, f"fabric_{subject}", "", Outcome.FAILED, ("n1",), switch)
    return replace(item, judgements=tuple(judgements), reason=reason)


def preflight(subject, node, nic, measured="DOWN"):
    judged = Judgement(subject, Outcome.FAILED, measured, "x", "basis", reason=f"{subject} x")
    item = ItemRecord(
        f"tests/preflight/test_nics.py::test_{subject}[{node}-{nic}]", 0, subject, "",
        Outcome.FAILED, (node,), nic,
    )  # fmt: skip
    return replace(item, judgements=(judged,), reason=judged.reason)


HOST = (("leaf01", "port 1"), ("n2", "mlx5_0"))
UPLINK = (("leaf01", "port 33"), ("spine01", "port 1"))


def test_a_hosts_cable_is_named_with_its_node_and_far_end():
    found = causes(scanned("links", port("link_state", HOST)))
    assert named(found) == [("link-down", "n2, mlx5_0")]
    assert "leaf01 port 1 to n2 mlx5_0" in found[0].says


def test_a_cable_between_switches_names_both_switches():
    found = causes(scanned("errors", port("port_error_counters", UPLINK, "PortRcvErrors 400")))
    assert named(found) == [("link-error-rate", "leaf01 and spine01, port 33")]


def test_a_port_in_the_scan_and_in_the_nodes_facts_is_one_cause():
    found = causes(
        preflight("port_state", "n2", "mlx5_0"),
        preflight("physical_state", "n2", "mlx5_0", "Polling"),
        scanned("cabling", port("cabling", HOST, "missing")),
        scanned("links", port("link_state", HOST)),
    )
    assert named(found) == [("link-down", "n2, mlx5_0")]
    assert len(found[0].evidence) == 4


def test_a_dead_switch_is_one_cause_and_another_cable_a_second_one():
    ends = [((f"leaf{n:02d}", "port 33"), ("spine01", f"port {n}")) for n in range(1, 6)]
    items = [
        scanned("cabling", port("cabling", each, "missing"), switch=each[0][0]) for each in ends
    ]
    other = scanned("links", port("link_state", (("leaf09", "port 2"), ("n3", "mlx5_1"))))
    found = causes(*items, other)
    assert named(found) == [("link-down", "spine01"), ("link-down", "n3, mlx5_1")]
    assert found[0].says.startswith("5 cables of spine01 are down")


def test_a_cable_with_a_wrong_far_end_is_miscabled():
    found = causes(scanned("cabling", port("cabling", HOST, "goes to n7 mlx5_0")))
    assert named(found) == [("miscabled", "n2, mlx5_0")]


def test_a_link_that_went_down_during_the_run_is_down_despite_other_errors():
    flapped = port("port_error_growth", HOST, "LinkDownedCounter grew by 2 in 60 s")
    errors = port("bit_error_rate", HOST, "bit error rate 3e-09")
    found = causes(scanned("errors_growth", flapped, errors, rung=5))
    assert named(found) == [("link-down", "n2, mlx5_0")]
    assert "bit error rate" in found[0].says


def test_one_item_may_give_several_causes():
    found = causes(
        scanned("links", port("link_state", HOST), port("link_width_and_speed", UPLINK, "1xHDR"))
    )
    assert sorted(named(found)) == [
        ("link-down", "n2, mlx5_0"),
        ("link-rate-degraded", "leaf01 and spine01, port 33"),
    ]


WAITING = "Initialize/LinkUp"


def test_a_missing_subnet_manager_explains_waiting_ports_and_no_dead_one():
    manager = scanned("manager", port("subnet_managers", (), "none answers"), switch="")
    waiting = [
        port("link_state", (("leaf01", f"port {n}"), (f"n{n}", "a")), WAITING) for n in (4, 5)
    ]
    found = causes(
        manager,
        scanned("links", *waiting, port("link_state", HOST)),
        preflight("lid", "n4", "a", "0"),
    )
    assert sorted(named(found)) == [
        ("link-down", "n2, mlx5_0"),
        ("subnet-manager-missing", "the cluster"),
    ]


def test_a_single_waiting_port_is_a_cause_of_that_port():
    found = causes(scanned("links", port("link_state", HOST, WAITING)))
    assert named(found) == [("subnet-manager-missing", "n2, mlx5_0")]


@pytest.mark.parametrize("word", ["node[1", "a,b", "x" * 180, "$(id)", "@all", "n/../..", "-", ""])
def test_any_adapter_description_gives_a_valid_cause(word):
    """Any root user of a host in the subnet can set its description."""
    subnet = topology(
        'Switch\t40 "S-0000000000000001"\t\t# "leaf01" enhanced port 0 lid 0 lmc 0\n'
        f'[1]\t"H-0000000000000002"[1](3)\t\t# "{word} mlx5_0" lid 0 4xHDR\n'
    )
    (cable,) = subnet.cables
    ends = (subnet.part(cable.near), subnet.part(cable.far))
    (found,) = causes(scanned("links", port("link_state", ends)))
    assert found.cause == "link-down"
