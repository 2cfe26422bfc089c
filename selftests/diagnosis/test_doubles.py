"""Identities that several nodes or ports share, offline CPUs, and wrong clocks."""

from dataclasses import replace

import pytest
from testing.diagnose_scenes import (
    causes,
    cluster,
    fact,
    healthy,
    named,
    names,
    run_results,
    unknown,
)

from railgauge.diagnosis import notes


def twice(subject, *places):
    """One item for each place; each item points at all places."""
    made = []
    for node, device in places:
        item = fact(node, subject, device)
        judgements = tuple(replace(judged, points_at=tuple(places)) for judged in item.judgements)
        made.append(replace(item, judgements=judgements))
    return made


N2_N3 = (("n2", ""), ("n3", ""))


def test_two_names_of_one_machine_are_one_cause_with_its_machine_id():
    found = causes(twice("boot_id", *N2_N3), twice("machine_id", *N2_N3), nodes=names(4))
    assert named(found) == [("one-machine", "n[2-3]")]
    assert len(found[0].evidence) == 4


def test_a_machine_id_that_further_nodes_have_is_a_second_cause():
    """Two names of one machine count once beside the machine with its image."""
    more = (*N2_N3, ("n4", ""))
    found = causes(twice("boot_id", *N2_N3), twice("machine_id", *more), nodes=names(4))
    assert named(found) == [("one-machine", "n[2-3]"), ("cloned-image", "n[2,4]")]
    assert len(found[1].evidence) == 3


def test_each_machine_is_a_cause_of_its_own():
    found = causes(twice("boot_id", *N2_N3), twice("boot_id", ("n1", ""), ("n4", "")))
    assert sorted(named(found)) == [("one-machine", "n[1,4]"), ("one-machine", "n[2-3]")]


def test_a_duplicate_address_names_its_ports():
    found = causes(twice("port_address", ("n2", "mlx5_0"), ("n3", "mlx5_0")), nodes=names(3))
    assert named(found) == [("duplicate-address", "n[2-3], mlx5_0")]
    found = causes(twice("port_address", ("n2", "mlx5_0"), ("n3", "mlx5_4")), nodes=names(3))
    assert named(found) == [("duplicate-address", "n[2-3], mlx5_0,mlx5_4")]


def test_a_guid_that_two_adapters_have_is_one_cause_with_the_gids_made_of_it():
    places = (("n2", "mlx5_0"), ("n3", "mlx5_0"))
    found = causes(twice("node_guid", *places), twice("port_address", *places), nodes=names(3))
    assert named(found) == [("duplicate-address", "n[2-3], mlx5_0")]
    assert len(found[0].evidence) == 4
    found = causes(twice("node_guid", ("n2", "mlx5_0"), ("n2", "mlx5_1")), nodes=names(3))
    assert named(found) == [("duplicate-address", "n2, mlx5_0,mlx5_1")]


def test_a_guid_of_zeros_is_no_duplicate():
    unset = [fact("n2", "node_guid", "mlx5_0"), fact("n3", "node_guid", "mlx5_0")]
    assert named(causes(unset, nodes=names(3))) == [
        ("guid-unset", "n2, mlx5_0"), ("guid-unset", "n3, mlx5_0"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "subject", ["boot_id", "machine_id", "port_address", "node_guid", "cpus_online"]
)
def test_an_unknown_fact_is_not_a_duplicate(subject):
    assert [one.cause for one in causes(unknown("n2", subject))] == ["undiagnosed"]


def test_a_judgement_without_places_names_its_node():
    assert named(causes(fact("n2", "boot_id"))) == [("one-machine", "n2")]


def test_of_two_nodes_the_other_one_differs_because_of_the_offline_cpus():
    items = [fact("n2", s, measured="0-31") for s in ("cpus", "cpus_online", "numa_cpus")]
    others = [fact("n1", s, measured="0-63") for s in ("cpus", "numa_cpus")]
    (found,) = causes(*items, *others, nodes=names(2))
    assert (found.cause, str(found.where)) == ("cpus-offline", "n2")
    assert len(found.evidence) == 5


def test_offline_cpus_and_the_facts_they_change_are_one_cause():
    items = [fact("n2", subject) for subject in ("cpus", "cpus_online", "numa_cpus")]
    others = [fact(node, "cpus", measured=f"of {node}") for node in ("n3", "n4")]
    found = causes(*items, *others, nodes=names(4))
    assert named(found) == [("cpus-offline", "n2"), ("nodes-differ", "n[2-4], cpus")]
    assert len(found[0].evidence) == 3


@pytest.mark.parametrize(
    ("subject", "part", "cause", "device"),
    [
        ("clock", "", "clock-off", ""),
        ("cpu_model", "", "nodes-differ", "cpu_model"),
        ("memory", "", "hardware-differs", "memory"),
        ("bios", "", "nodes-differ", "bios"),
        ("nic_numa", "mlx5_3", "nodes-differ", "mlx5_3"),
        ("netdev_numa", "eth1", "wrong-numa-node", "eth1"),
        ("gpu_numa", "gpu3", "nodes-differ", "gpu3"),
    ],
)
def test_each_of_these_facts_has_its_cause(subject, part, cause, device):
    """Declared and bounded facts name a fault; facts compared between nodes name a difference."""
    (found,) = causes(fact("n2", subject, part), nodes=names(3))
    assert (found.cause, found.where.node, found.where.device) == (cause, "n2", device)


# --- the controller's clock ---


def clock_notes(*offsets):
    known = [
        replace(healthy(f"n{i}"), clock_offset_s=offset) for i, offset in enumerate(offsets, 1)
    ]
    found = run_results([], *known, nodes=names(len(offsets)))
    return [line for line in notes(replace(found, cluster=cluster(found.found))) if "clock" in line]


def test_the_controllers_clock_is_noted_if_the_nodes_agree():
    (line,) = clock_notes(7200.0, 7199.0, 7200.0)
    assert "agree with each other and are 7200 s ahead of that of the machine that runs" in line
    assert "behind" in clock_notes(-400.0, -400.0)[0]


@pytest.mark.parametrize(
    "offsets",
    [(0.0, 0.0), (0.0, 7200.0, 0.0), (7200.0,), (0.0, 7200.0), (None, None), (7200.0, None)],
)
def test_the_controllers_clock_is_not_noted_otherwise(offsets):
    assert clock_notes(*offsets) == []


def test_a_port_that_shares_addresses_with_two_ports_is_in_two_causes():
    """It shares the LID of one port and the GID of the other."""
    one, middle, other = ("n1", "mlx5_0"), ("n2", "mlx5_0"), ("n3", "mlx5_0")
    items = [
        *twice("port_address", one, middle)[:1],
        *twice("port_address", middle, one, other)[:1],
        *twice("port_address", other, middle)[:1],
    ]
    places = [tuple(sorted(judged.points_at)) for item in items for judged in item.judgements]
    assert len(set(places)) == 3
    found = causes(items, nodes=names(3))
    assert named(found) == [
        ("duplicate-address", "n[1-2], mlx5_0"),
        ("duplicate-address", "n[2-3], mlx5_0"),
    ]
