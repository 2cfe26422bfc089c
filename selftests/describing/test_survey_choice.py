"""What differs between nodes is asked back, with the nodes; nothing is chosen by majority."""

from dataclasses import replace

import pytest
from testing.surveyed import NIC, PORT, alike, made_of, node, seen

from railgauge.core.errors import BadInput
from railgauge.describing.choice import SiteAnswers, chosen
from railgauge.facts import NodeFacts

NAMES = ("gpu01", "gpu02", "gpu03", "gpu04")


def questions(facts, also=None, **answers):
    with pytest.raises(BadInput) as asked:
        chosen(facts, also or seen(facts), SiteAnswers(**answers))
    return str(asked.value)


def port(name, **changes):
    return replace(PORT, name=name, **changes)


def bare(*ports, name="n1"):
    return {name: NodeFacts(name, boot_id=name, netdevs=ports)}


def test_nodes_that_are_alike_leave_no_question():
    kind = chosen(alike(*NAMES), seen(NAMES), SiteAnswers())
    assert [nic.name for nic in kind.fabric] == [f"mlx5_{i}" for i in range(8)]
    assert kind.hardware.gpus.count == 8


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"gpus": 7}, "GPUs: 8x NVIDIA H100 80GB HBM3 (81559 MiB) on gpu[01-03]; 7x"),
        ({"nics": 7}, "mlx5_7: MT4129, 400 Gb/s InfiniBand, MTU 4096, PCIe 5.0 x16 on gpu[01-03]"),
    ],
)
def test_a_part_that_one_node_lacks_is_asked_back(changes, says):
    asked = questions(alike(*NAMES) | {"gpu04": node("gpu04", **changes)})
    assert says in asked
    assert "on gpu04" in asked
    assert "--like NODE" in asked
    assert "nothing was written" in asked


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"rate_gbps": 200.0}, "200 Gb/s InfiniBand"),
        ({"pcie_width": 8}, "PCIe 5.0 x8"),
        ({"port_state": "DOWN"}, "no link"),
        ({"hca_type": "MT4123"}, "MT4123"),
        ({"link_layer": "Ethernet"}, "400 Gb/s Ethernet"),
        ({"active_mtu_bytes": 2048}, "MTU 2048"),
    ],
)
def test_a_port_that_differs_is_asked_back_with_its_node(change, says):
    odd = node("gpu02")
    odd = replace(odd, nics=(replace(odd.nics[0], **change), *odd.nics[1:]))
    asked = questions(alike(*NAMES) | {"gpu02": odd})
    (line,) = (line for line in asked.splitlines() if "mlx5_0" in line)
    assert "on gpu[01,03-04]" in line
    assert says in line
    assert line.endswith("on gpu02")


def test_gpus_beside_other_nics_are_asked_back():
    odd = replace(node("gpu02"), topology={**node("x").topology, "gpu3": {"mlx5_0": "PIX"}})
    assert "gpu3 to its NICs: " in questions(alike(*NAMES) | {"gpu02": odd})


def test_the_majority_does_not_decide_but_the_user_does():
    facts = alike(*NAMES) | {"gpu04": node("gpu04", gpus=7)}
    assert chosen(facts, seen(facts), SiteAnswers(like="gpu04")).hardware.gpus.count == 7
    assert "no such node" in questions(facts, like="gpu09")


def test_two_names_of_one_kernel_are_asked_back():
    facts = {name: node(name, boot_id="one") for name in NAMES}
    asked = questions(facts)
    assert "gpu[01-04] have one boot id" in asked
    assert "--one-kernel" in asked
    assert chosen(facts, seen(facts), SiteAnswers(one_kernel=True)).fabric


def test_tools_of_gpus_that_fail_are_asked_back():
    facts = alike("n1", gpus=0)
    failing = seen(facts, silent={"nvidia": {"n1": "nvidia-smi: no devices (exit 9)"}})
    assert "GPUs of n1 are not listed: nvidia-smi: no devices" in questions(facts, failing)
    assert chosen(facts, failing, SiteAnswers(gpus="none")).hardware.gpus is None


def test_gpus_of_two_models_in_a_node_are_asked_back():
    odd = node("n1")
    odd = replace(odd, gpus=(*odd.gpus[:7], replace(odd.gpus[7], model="NVIDIA H200")))
    assert "NVIDIA H100 80GB HBM3 and NVIDIA H200" in questions({"n1": odd})


# --- which NICs carry the payload ---


def test_the_fastest_nics_are_the_fabric_and_the_others_are_listed():
    one = node("n1")
    slow = replace(NIC, name="mlx5_8", rate_gbps=200.0, link_layer="Ethernet")
    facts = {"n1": replace(one, nics=(*one.nics, slow))}
    kind = chosen(facts, seen(facts), SiteAnswers())
    assert [nic.name for nic in kind.others] == ["mlx5_8"]
    asked = chosen(facts, seen(facts), SiteAnswers(fabric=("mlx5_8",)))
    assert [nic.name for nic in asked.fabric] == ["mlx5_8"]


def test_two_kinds_of_nics_that_are_equally_fast_are_asked_back():
    one = node("n1")
    other = replace(NIC, name="mlx5_8", link_layer="Ethernet")
    asked = questions({"n1": replace(one, nics=(*one.nics, other))})
    assert "NICs of 2 kinds are equally fast" in asked
    assert "--fabric NICS" in asked


def test_a_port_without_a_link_on_any_node_is_left_out_with_a_note():
    one = node("n1")
    dead = replace(NIC, name="mlx5_8", port_state="DOWN", rate_gbps=10.0)
    facts = {"n1": replace(one, nics=(*one.nics, dead))}
    kind = chosen(facts, seen(facts), SiteAnswers())
    assert "mlx5_8" not in {nic.name for nic in (*kind.fabric, *kind.others)}
    assert kind.notes == ("mlx5_8: no link, left out",)
    assert "no such NIC with a link" in questions(facts, fabric=("mlx5_8",))


def test_the_rate_of_a_virtual_device_is_not_believed():
    facts = bare(port("eth0", pci_address=None, rate_gbps=10.0))
    assert "eth0 is virtual" in questions(facts)
    assert "--rate eth0=GBPS" in questions(facts)
    (nic,) = chosen(facts, seen(facts), SiteAnswers(rates={"eth0": 0.2})).fabric
    assert nic.rate_gbps == 0.2


def test_a_port_that_does_not_report_its_rate_is_asked_back_beside_others_that_do():
    facts = bare(port("eth0"), port("eth1", rate_gbps=None))
    assert "eth1 does not report its rate" in questions(facts)
    assert [
        nic.name for nic in chosen(facts, seen(facts), SiteAnswers(fabric=("eth0",))).fabric
    ] == ["eth0"]


def test_network_devices_count_only_where_no_rdma_device_has_a_link():
    facts = {"n1": replace(node("n1"), netdevs=(port("eth0", rate_gbps=800.0),))}
    assert all(nic.is_rdma for nic in chosen(facts, seen(facts), SiteAnswers()).fabric)


def test_all_questions_come_at_once():
    facts = bare(port("eth0", pci_address=None), name="n1")
    facts |= bare(port("eth0", pci_address=None, mtu_bytes=1500), name="n2")
    facts = {name: replace(one, boot_id="one") for name, one in facts.items()}
    asked = questions(facts)
    assert all(words in asked for words in ("MTU 1500", "--like", "--one-kernel", "--rate"))


def test_a_file_like_one_node_names_it():
    facts = alike(*NAMES) | {"gpu04": node("gpu04", gpus=7)}
    found = made_of(facts, SiteAnswers(like="gpu04"))
    assert found.document["bases"]["survey"] == "derived: As gpu04 showed it in the survey."
