"""The options of the cluster, and the ip and tc commands that follow from them."""

import json

import pytest
from testing.places import ROOT

from railgauge.cli import main
from railgauge.core.errors import BadInput
from railgauge_lab.netlab import network, settings
from railgauge_lab.netlab.settings import LINE_RATE_MBIT, LinkSettings


def asked(count=3, **faults):
    return settings(count, {kind: [word] for kind, word in faults.items()})


def test_a_healthy_cluster_has_nothing_to_say_about_links():
    found = asked()
    assert found.nodes == ("tcp01", "tcp02", "tcp03")
    assert found.links == {}
    assert found.link("tcp02") == LinkSettings()
    assert network.drops(found) == ""


@pytest.mark.parametrize(
    ("kind", "word", "link"),
    [
        ("limit", "tcp02=50mbit", LinkSettings(rate_mbit=50)),
        ("limit", "tcp02=0.1Gbit", LinkSettings(rate_mbit=100)),
        ("loss", "tcp02=5%", LinkSettings(loss=0.05)),
        ("loss", "tcp02=0.5%", LinkSettings(loss=0.005)),
        ("partition", "tcp02", LinkSettings(cut="all")),
        ("partition", "tcp02:data", LinkSettings(cut="data")),
        ("mtu", "tcp02=1300", LinkSettings(mtu_bytes=1300)),
    ],
)
def test_a_fault_is_on_one_link(kind, word, link):
    found = asked(**{kind: word})
    assert found.links == {"tcp02": link}
    assert found.link("tcp01") == LinkSettings()


def test_faults_of_one_node_add_up():
    found = asked(limit="tcp02=50mbit", mtu="tcp02=1300")
    assert found.link("tcp02") == LinkSettings(rate_mbit=50, mtu_bytes=1300)


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("limit", "tcp04=50mbit"), ("limit", "tcp02"), ("limit", "tcp02=50"),
        ("limit", "tcp02=0mbit"), ("limit", "tcp02=201mbit"), ("limit", "tcp02=-5mbit"),
        ("loss", "tcp02=5"), ("loss", "tcp02=0%"), ("loss", "tcp02=100%"),
        ("partition", "tcp02:ssh"), ("partition", ""), ("mtu", "tcp02=500"), ("mtu", "tcp02=9000"),
    ],
)  # fmt: skip
def test_what_is_no_fault_is_one_line(kind, word, capsys):
    with pytest.raises(BadInput):
        asked(**{kind: word})
    assert main(["tcp-lab", f"--{kind}", word, "--", "true"]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("railgauge: ")
    assert printed.count("\n") == 1


@pytest.mark.parametrize("count", [0, 1, 129])
def test_so_many_nodes_are_no_cluster(count):
    with pytest.raises(BadInput, match="--nodes"):
        asked(count)


def test_without_a_command_nothing_is_built(capsys):
    assert main(["tcp-lab"]) == 2
    assert "no command to run" in capsys.readouterr().err


def test_links_are_shaped_to_the_rate_that_the_platform_file_declares():
    text = (ROOT / "thresholds" / "tcp-lab.json").read_text(encoding="utf-8")
    (nic,) = json.loads(text)["hardware"]["nics"]
    assert nic["rate_gbps"] * 1000 == LINE_RATE_MBIT
    assert nic["name"] == network.DEVICE
    assert f"rate {LINE_RATE_MBIT * 1000:.0f}kbit " in network.shaper("eth0", LinkSettings())
    assert "rate 50000kbit " in network.shaper("eth0", LinkSettings(rate_mbit=50))


def test_a_partition_of_the_data_path_leaves_ssh_alone():
    rules = network.drops(asked(partition="tcp02:data"))
    assert rules.count('"tcp02" drop') == 2
    assert rules.index("tcp dport 22 accept") < rules.index('"tcp02" drop')
    assert "accept\n" not in network.drops(asked(partition="tcp02")).replace("policy accept;\n", "")
    assert "mod 1000 < 50 drop" in network.drops(asked(loss="tcp02=5%"))
