"""Rung 0: the declared NICs are there, their ports are up, their slots are wide enough."""

import pytest

pytestmark = pytest.mark.needs("rdma")


@pytest.mark.expects("nic_present")
def test_nic_present(node, adapter, expect):
    """Every declared NIC is there, in its slot, whatever it carries."""
    expect(node, adapter=adapter)


@pytest.mark.expects("nic_model")
def test_nic_model(node, adapter, expect):
    """Every NIC is of the declared model, whatever it carries."""
    expect(node, adapter=adapter)


@pytest.mark.expects("port_state")
def test_port_state(node, nic, expect):
    """The port is active: it may carry payload."""
    expect(node, nic=nic)


@pytest.mark.expects("physical_state")
def test_physical_state(node, nic, expect):
    """The cable and both of its ends are alive."""
    expect(node, nic=nic)


@pytest.mark.expects("link_rate")
def test_link_rate(node, nic, expect):
    """The link was trained to its full rate, in Gb/s."""
    expect(node, nic=nic)


@pytest.mark.expects("link_layer")
def test_link_layer(node, nic, expect):
    """The port speaks the protocol of the fabric."""
    expect(node, nic=nic)


@pytest.mark.expects("active_mtu")
def test_active_mtu(node, nic, expect):
    """Packets are as large as the fabric allows, in bytes."""
    expect(node, nic=nic)


@pytest.mark.expects("lid")
@pytest.mark.needs("infiniband")
def test_lid(node, nic, expect):
    """A subnet manager has given the port an address."""
    expect(node, nic=nic)


@pytest.mark.expects("subnet_manager")
@pytest.mark.needs("infiniband")
def test_subnet_manager(node, nic, expect):
    """The port knows its subnet manager."""
    expect(node, nic=nic)


@pytest.mark.expects("gid")
def test_gid(node, nic, expect):
    """The port has a global address."""
    expect(node, nic=nic)


@pytest.mark.expects("pcie_link")
def test_pcie_link(node, nic, expect):
    """The slot runs at its full speed (GT/s) and width (lanes)."""
    expect(node, nic=nic)


@pytest.mark.expects("nic_numa")
def test_nic_numa(node, nic, expect):
    """The NIC hangs on the NUMA node on which it hangs on the other nodes."""
    expect(node, nic=nic)
