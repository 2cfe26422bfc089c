"""A dump of ibnetdiscover as a topology: cables, owners, leaves, names. No program is run."""

import pytest
from testing.places import ROOT
from testing.simulated_subnet import host_guid, net_file, switch_guid

from railgauge.cli import main
from railgauge.config import hostfile
from railgauge.core.errors import HostfileError
from railgauge.subnet import leaf_groups, topology
from railgauge.subnet.declared import read_topology

SCHEMA = ROOT / "hostfiles" / "schema.json"
NET = net_file(2, 4, 2)


def test_every_cable_is_listed_once_and_has_one_owner():
    subnet = topology(NET)
    assert len(subnet.cables) == 8 + 4
    assert subnet.owners == ("leaf01", "leaf02")
    assert sum(len(cables) for cables in subnet.by_owner.values()) == 12
    assert {cable.speed for cable in subnet.cables} == {"4xHDR"}


def test_ports_have_readable_names():
    subnet = topology(NET)
    cable = next(c for c in subnet.cables if subnet.nodes[c.far.guid].host == "node0003")
    assert subnet.label(cable.near) == "leaf01 port 3"
    assert subnet.label(cable.far) == "node0003 mlx5_0"
    assert subnet.part(cable.far) == ("node0003", "mlx5_0")


@pytest.mark.parametrize(
    ("description", "name"),
    [
        ("MF0;leaf07:MQM9701/U1", "leaf07"),
        ("MF0;sw01:MCS8500/L02/U1", "sw01-L02"),
        ("spine 7", "spine-7"),
        ("$(reboot)", "reboot"),
    ],
)
def test_switches_have_short_names_that_fit_test_ids(description, name):
    subnet = topology(NET.replace('"leaf02"', f'"{description}"'))
    assert {"leaf01", name} <= set(subnet.owners)


def test_two_switches_of_one_name_are_distinguished():
    subnet = topology(NET.replace('"leaf02"', '"leaf01"'))
    assert len(subnet.owners) == 2
    assert all(name.startswith("leaf01-") for name in subnet.owners)


def test_nodes_on_one_leaf_are_a_group():
    nodes = [f"node{n:04d}" for n in range(1, 9)]
    groups = leaf_groups(topology(NET), nodes)
    assert groups == {"leaf01": tuple(nodes[:4]), "leaf02": tuple(nodes[4:])}


def test_nodes_that_share_the_leaves_of_all_rails_are_a_group():
    """Two rails: one node's adapters on two leaves. Groups must not overlap."""
    rows = "\n\n".join(
        f'Switch\t40 "S-{leaf:016x}"\t\t# "{unit}-rail{rail}" enhanced port 0 lid 0 lmc 0\n'
        + "\n".join(
            f'[{n}]\t"H-{(16 * leaf + n):016x}"[1]({n:x})\t# "{unit}{n} mlx5_{rail}" lid 0 4xNDR'
            for n in (1, 2)
        )
        for leaf, (unit, rail) in enumerate([("a", 0), ("a", 1), ("b", 0), ("b", 1)], 1)
    )
    groups = leaf_groups(topology(rows), ["a1", "a2", "b1", "b2"])
    assert groups == {"a-rail0": ("a1", "a2"), "b-rail0": ("b1", "b2")}


def test_nodes_that_share_only_some_leaves_are_no_group():
    def record(leaf, *hosts):
        rows = (
            f'[{n}]\t"H-{16 * leaf + n:016x}"[1]({n:x})\t# "{host} mlx5_{leaf}" lid 0 4xNDR'
            for n, host in enumerate(hosts, 1)
        )
        head = f'Switch\t40 "S-{leaf:016x}"\t\t# "leaf{leaf}" enhanced port 0 lid 0 lmc 0'
        return "\n".join([head, *rows, ""])

    subnet = topology("\n".join([record(1, "a", "b"), record(2, "a"), record(3, "b")]))
    assert leaf_groups(subnet, ["a", "b"]) == {"leaf1_leaf2": ("a",), "leaf1_leaf3": ("b",)}


def test_adapters_without_a_host_s_name_are_no_hosts():
    text = NET.replace('"node0001 mlx5_0"', '"MT4129 ConnectX7   Mellanox Technologies"')
    assert "MT4129" not in topology(text).hosts()
    assert len(topology(text).hosts()) == 7


def test_a_dump_that_lacks_a_node_s_record_is_not_whole():
    head, _, _ = NET.rpartition("vendid=")
    what = "1 nodes have no record of their own, first node0008 mlx5_0"
    assert topology(head).problem == what


def test_a_dump_with_a_torn_line_is_not_whole():
    torn = NET.replace('# "spine02" lid 0 4xHDR', '# "spi', 1)
    assert topology(torn).problem.startswith("a port that cannot be read: [6]")


# --- in a hostfile ---


def declare(folder, net=NET, **changes):
    (folder / "fabric.topo").write_text(net, encoding="utf-8")
    fabric = {"node": "node0001", "topology": "fabric.topo", **changes}
    inner = ", ".join(f"{key}: {value}" for key, value in fabric.items())
    path = folder / "cluster.yaml"
    path.write_text(
        f"cluster: c\nplatform: h200\nnodes: node[0001-0008]\nfabric: {{{inner}}}\n",
        encoding="utf-8",
    )
    return path


def test_groups_come_from_the_declared_subnet_if_the_hostfile_has_none(tmp_path):
    cluster = hostfile.load(declare(tmp_path), schema_file=SCHEMA)
    assert list(cluster.groups) == ["leaf01", "leaf02"]
    assert cluster.groups["leaf02"] == tuple(f"node{n:04d}" for n in range(5, 9))
    again = hostfile.cluster_from_json(hostfile.cluster_to_json(cluster))
    assert again == cluster


def test_groups_of_the_hostfile_take_precedence(tmp_path):
    path = declare(tmp_path)
    path.write_text(path.read_text() + 'groups: {row1: "node[0001-0008]"}\n')
    assert list(hostfile.load(path, schema_file=SCHEMA).groups) == ["row1"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"node": "node0099"}, "fabric: node0099 is not listed under 'nodes'"),
        ({"topology": "absent.topo"}, "absent.topo: cannot be read"),
        ({"net": "hello\n"}, "lists no node"),
        ({"net": NET.replace("node0003", "other")}, "does not contain the hosts node0003"),
        ({"net": NET[: NET.rindex("[1](")]}, "no port of"),
    ],
)
def test_a_subnet_that_cannot_be_used_is_reported_in_one_line(tmp_path, changes, says):
    with pytest.raises(HostfileError) as caught:
        hostfile.load(declare(tmp_path, **changes), schema_file=SCHEMA)
    assert says in str(caught.value)
    assert caught.value.remedy


def test_a_topology_file_is_read_whole_or_not_at_all(tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(HostfileError, match="not text in UTF-8"):
        read_topology(tmp_path / "bytes")


# --- railgauge leaves ---


def test_leaves_prints_groups_for_a_hostfile(tmp_path, capsys):
    (tmp_path / "dump").write_text(NET, encoding="utf-8")
    assert main(["leaves", str(tmp_path / "dump")]) == 0
    out = capsys.readouterr().out
    assert out == 'groups:\n  leaf01: "node[0001-0004]"\n  leaf02: "node[0005-0008]"\n'


def test_leaves_of_a_hostfile_names_only_its_nodes(tmp_path, capsys):
    path = declare(tmp_path)
    path.write_text(path.read_text().replace("[0001-0008]", "[0001-0002,0008]"))
    assert main(["leaves", "--hostfile", str(path), "--root", str(ROOT)]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        '  leaf01: "node[0001-0002]"',
        '  leaf02: "node0008"',
    ]


@pytest.mark.parametrize("text", ["", "nonsense\n", NET[:300]])
def test_the_command_leaves_ends_with_2_for_what_is_no_dump(tmp_path, capsys, text):
    (tmp_path / "dump").write_text(text, encoding="utf-8")
    assert main(["leaves", str(tmp_path / "dump")]) == 2
    assert "ibnetdiscover >FILE" in capsys.readouterr().err


def test_guids_of_the_bench_are_those_that_the_topology_reads():
    nodes = topology(NET).nodes
    assert int(host_guid(1)[2:], 16) in nodes
    assert int(switch_guid(1, spine=True)[2:], 16) in nodes
