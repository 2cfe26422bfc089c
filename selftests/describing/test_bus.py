"""A GPU or NIC on the PCI bus that no tool and no driver shows is asked back, never left out."""

from dataclasses import replace

import pytest
from testing.surveyed import NIC, PORT, alike, node, seen

from railgauge.core.errors import BadInput
from railgauge.describing.bus import likely_vendors, parsed
from railgauge.describing.choice import SiteAnswers, chosen
from railgauge.facts import NodeFacts

H100S = tuple(f"0000:{0x1A + i:02x}:00.0 0x10de 0x030200" for i in range(8))
MI300X, C500 = "0000:0c:00.0 0x1002 0x120000", "0000:08:00.0 0x9999 0x038000"
CONNECTX, GVNIC = "0000:1b:00.0 0x15b3 0x020700", "0000:06:00.0 0x1ae0 0x020000"
NOT_THERE = {"nvidia": "nvidia-smi: command not found", "amd": "amd-smi: command not found"}
# The audio function of a GPU, an NVSwitch, and the screen of the management controller.
NO_GPUS = (
    "0000:1a:00.1 0x10de 0x040300", "0000:05:00.0 0x10de 0x068000", "0000:02:00.0 0x1a03 0x030000",
)  # fmt: skip


def questions(facts, *on_bus, answers=None, **saw):
    with pytest.raises(BadInput) as asked:
        chosen(facts, seen(facts, *on_bus, **saw), answers or SiteAnswers())
    return str(asked.value)


def kind(facts, *on_bus, answers=None, **saw):
    return chosen(facts, seen(facts, *on_bus, **saw), answers or SiteAnswers())


@pytest.mark.parametrize(
    ("vendor", "on_bus", "says"),
    [
        ("nvidia", H100S, "8 of nvidia are on the PCI bus, and nvidia-smi: command not found"),
        ("amd", (MI300X,), "1 of amd is on the PCI bus, and amd-smi: command not found"),
        ("metax", (C500,), "1 of metax is on the PCI bus, and mx-smi: command not found"),
    ],
)
def test_gpus_on_the_bus_without_their_tool_are_asked_back(vendor, on_bus, says):
    facts = alike("n1", "n2", gpus=0)
    tool = {"nvidia": "nvidia-smi", "amd": "amd-smi", "metax": "mx-smi"}[vendor]
    silent = {vendor: dict.fromkeys(facts, f"{tool}: command not found")}
    asked = questions(facts, *on_bus, silent=silent)
    assert f"GPUs of n[1-2] are not listed: {says}" in asked
    assert "--no-gpus" in asked
    assert kind(facts, *on_bus, silent=silent, answers=SiteAnswers(gpus="none")).fabric


def test_a_tool_that_is_missing_where_no_gpu_is_on_the_bus_is_no_question():
    facts = alike("n1", gpus=0)
    silent = {name: {"n1": why} for name, why in NOT_THERE.items()}
    assert kind(facts, *NO_GPUS, silent=silent).hardware.gpus is None


def test_gpus_that_their_tool_does_not_list_are_asked_back():
    facts = alike("n1", gpus=7)
    assert "8 of nvidia are on the PCI bus, and its tools list 7" in questions(
        facts, *H100S, vendor="nvidia"
    )
    listed = SiteAnswers(gpus="nvidia")
    assert kind(facts, *H100S, vendor="nvidia", answers=listed).hardware.gpus.count == 7
    assert kind(alike("n1"), *H100S, vendor="nvidia").hardware.gpus.count == 8


def test_gpus_of_another_vendor_than_those_listed_are_asked_back():
    facts = alike("n1")
    asked = questions(facts, *H100S, MI300X, vendor="nvidia")
    assert "1 of amd is on the PCI bus, and its tools were not asked" in asked
    assert kind(facts, *H100S, MI300X, vendor="nvidia", answers=SiteAnswers(gpus="nvidia")).fabric


def test_the_vendor_with_the_most_gpus_on_the_bus_is_asked_first():
    assert likely_vendors({"n1": parsed("\n".join((MI300X, *H100S)))})[0] == "nvidia"
    assert set(likely_vendors({})) == {"amd", "metax", "nvidia"}


def test_a_bus_that_could_not_be_read_is_asked_back():
    facts = alike("n1", "n2")
    saw = replace(seen(facts), bus={"n1": ()})
    with pytest.raises(BadInput, match="the PCI bus of n2 could not be read"):
        chosen(facts, saw, SiteAnswers())


@pytest.mark.parametrize("on_bus", [CONNECTX, GVNIC])
def test_a_nic_that_no_driver_shows_is_asked_back(on_bus):
    facts = {"n1": NodeFacts("n1", netdevs=(PORT,))}
    assert f"no driver shows {on_bus[:12]}" in questions(facts, on_bus)
    assert kind(facts, on_bus, answers=SiteAnswers(fabric=("eth0",))).fabric
    assert kind(facts, f"{PORT.pci_address} 0x14e4 0x020000").fabric


def test_a_card_that_can_do_rdma_and_has_no_rdma_device_is_asked_back():
    ports = tuple(
        replace(PORT, name=f"ens{i}", pci_address=f"0000:0{i}:00.0", driver="mlx5_core")
        for i in range(2)
    )
    facts = {"n1": NodeFacts("n1", netdevs=ports)}
    asked = questions(facts)
    assert "ens[0-1] (mlx5_core) can do RDMA and has no RDMA device; load mlx5_ib" in asked
    assert "--fabric ens[0-1]" in asked
    assert kind(facts, answers=SiteAnswers(fabric=("ens0", "ens1"))).fabric


def test_one_of_several_fast_cards_without_its_rdma_device_is_asked_back():
    one = node("n1")
    lost = replace(
        PORT, name="ens9", pci_address="0000:99:00.0", driver="mlx5_core", rate_gbps=400.0
    )
    assert "ens9 (mlx5_core)" in questions({"n1": replace(one, netdevs=(lost,))})


def test_slow_ports_and_those_of_an_rdma_device_are_no_question():
    """The onboard port of a card that can do RDMA, and the second function of a bond."""
    one = node("n1")
    onboard = replace(PORT, name="eno1", driver="ice", rate_gbps=25.0)
    second = replace(PORT, name="ens1", pci_address=NIC.pci_address.replace(".0", ".1"))
    ports = (onboard, replace(second, driver="mlx5_core", rate_gbps=400.0))
    assert kind({"n1": replace(one, netdevs=ports)}).fabric


def test_containers_of_one_machine_see_the_bus_of_all():
    facts = {"n1": NodeFacts("n1", netdevs=(PORT,))}
    assert kind(facts, CONNECTX, GVNIC, answers=SiteAnswers(one_kernel=True)).fabric
