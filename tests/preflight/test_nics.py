"""Rung 0: the declared NICs are there, their ports are up, their slots are wide enough."""

import pytest


@pytest.mark.expects("nic_present")
def test_nic_present(node, nic, facts, expect, platform):
    """Every declared NIC is there, in its slot."""
    declared = platform.nic(nic).pci_address
    found = {present.name: present.pci_address for present in facts(node)["nics"]}
    slot = found.get(nic, "absent")
    expect(slot if declared or nic not in found else "present", declared=declared or "present")


@pytest.mark.expects("nic_model")
def test_nic_model(node, nic, facts, expect, platform):
    """Every NIC is of the declared model."""
    expect(facts(node)[f"nics.{nic}.hca_type"], declared=platform.nic(nic).model)


@pytest.mark.expects("port_state")
def test_port_state(node, nic, facts, expect):
    """The port is active: it may carry payload."""
    expect(facts(node)[f"nics.{nic}.port_state"])


@pytest.mark.expects("physical_state")
def test_physical_state(node, nic, facts, expect):
    """The cable and both of its ends are alive."""
    expect(facts(node)[f"nics.{nic}.physical_state"])


@pytest.mark.expects("link_rate")
def test_link_rate(node, nic, facts, expect, platform):
    """The link was trained to its full rate, in Gb/s."""
    expect(facts(node)[f"nics.{nic}.rate_gbps"], declared=platform.nic(nic).rate_gbps)


@pytest.mark.expects("link_layer")
def test_link_layer(node, nic, facts, expect, platform):
    """The port speaks the protocol of the fabric."""
    expect(facts(node)[f"nics.{nic}.link_layer"], declared=platform.nic(nic).link_layer)


@pytest.mark.expects("active_mtu")
def test_active_mtu(node, nic, facts, expect):
    """Packets are as large as the fabric allows, in bytes."""
    expect(facts(node)[f"nics.{nic}.active_mtu_bytes"])


@pytest.mark.expects("lid")
def test_lid(node, nic, facts, expect):
    """A subnet manager has given the port an address."""
    expect(facts(node)[f"nics.{nic}.lid"])


@pytest.mark.expects("subnet_manager")
def test_subnet_manager(node, nic, facts, expect):
    """The port knows its subnet manager."""
    expect(facts(node)[f"nics.{nic}.sm_lid"])


@pytest.mark.expects("gid")
def test_gid(node, nic, facts, expect):
    """The port has a global address."""
    expect(len(facts(node)[f"nics.{nic}.gids"]))


@pytest.mark.expects("pcie_link")
def test_pcie_link(node, nic, facts, expect, platform):
    """The slot runs at its full speed (GT/s) and width (lanes)."""
    here = facts(node)
    link = [here[f"nics.{nic}.pcie_speed_gts"], here[f"nics.{nic}.pcie_width"]]
    expect(link, declared=platform.nic(nic).pcie_link)
