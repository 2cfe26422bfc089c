"""Causes of the subnet: one for each cable, one for a dead switch, one for a missing manager."""

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


def test_a_host_s_cable_is_the_host_s_and_says_where_it_goes():
    found = causes(scanned("links", port("link_state", HOST)))
    assert named(found) == [("link-down", "n2, mlx5_0")]
    assert "leaf01 port 1 to n2 mlx5_0" in found[0].says


def test_a_cable_between_switches_names_both():
    found = causes(scanned("errors", port("port_error_counters", UPLINK, "PortRcvErrors 400")))
    assert named(found) == [("link-error-rate", "leaf01 and spine01, port 33")]


def test_what_the_node_says_of_the_same_port_is_the_same_cause():
    found = causes(
        preflight("port_state", "n2", "mlx5_0"),
        preflight("physical_state", "n2", "mlx5_0", "Polling"),
        scanned("cabling", port("cabling", HOST, "missing")),
        scanned("links", port("link_state", HOST)),
    )
    assert named(found) == [("link-down", "n2, mlx5_0")]
    assert len(found[0].evidence) == 4


def test_a_dead_switch_is_one_cause_and_another_cable_its_own():
    ends = [((f"leaf{n:02d}", "port 33"), ("spine01", f"port {n}")) for n in range(1, 6)]
    items = [
        scanned("cabling", port("cabling", each, "missing"), switch=each[0][0]) for each in ends
    ]
    other = scanned("links", port("link_state", (("leaf09", "port 2"), ("n3", "mlx5_1"))))
    found = causes(*items, other)
    assert named(found) == [("link-down", "spine01"), ("link-down", "n3, mlx5_1")]
    assert found[0].says.startswith("5 cables of spine01 are down")


def test_a_cable_that_goes_elsewhere_is_miscabled():
    found = causes(scanned("cabling", port("cabling", HOST, "goes to n7 mlx5_0")))
    assert named(found) == [("miscabled", "n2, mlx5_0")]


def test_a_link_that_went_down_during_the_run_is_down_whatever_else_it_counted():
    flapped = port("port_error_growth", HOST, "LinkDownedCounter grew by 2 in 60 s")
    errors = port("bit_error_rate", HOST, "bit error rate 3e-09")
    found = causes(scanned("errors_growth", flapped, errors, rung=5))
    assert named(found) == [("link-down", "n2, mlx5_0")]
    assert "bit error rate" in found[0].says


def test_one_item_tells_of_several_cables():
    found = causes(
        scanned("links", port("link_state", HOST), port("link_width_and_speed", UPLINK, "1xHDR"))
    )
    assert sorted(named(found)) == [
        ("link-down", "n2, mlx5_0"),
        ("link-rate-degraded", "leaf01 and spine01, port 33"),
    ]


WAITING = "Initialize/LinkUp"


def test_a_missing_manager_explains_every_port_that_waits_and_no_dead_one():
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


def test_one_port_that_waits_is_that_port_s_trouble():
    found = causes(scanned("links", port("link_state", HOST, WAITING)))
    assert named(found) == [("subnet-manager-missing", "n2, mlx5_0")]


@pytest.mark.parametrize("word", ["node[1", "a,b", "x" * 180, "$(id)", "@all", "n/../..", "-", ""])
def test_whatever_an_adapter_calls_itself_a_cause_can_be_named(word):
    """Descriptions are set by whoever is root on any host of the subnet."""
    subnet = topology(
        'Switch\t40 "S-0000000000000001"\t\t# "leaf01" enhanced port 0 lid 0 lmc 0\n'
        f'[1]\t"H-0000000000000002"[1](3)\t\t# "{word} mlx5_0" lid 0 4xHDR\n'
    )
    (cable,) = subnet.cables
    ends = (subnet.part(cable.near), subnet.part(cable.far))
    (found,) = causes(scanned("links", port("link_state", ends)))
    assert found.cause == "link-down"
