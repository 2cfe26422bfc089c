"""Rung 0: network devices of a fabric that is Ethernet without RDMA."""

import pytest

pytestmark = pytest.mark.needs("ethernet")


@pytest.mark.expects("netdev_present")
def test_netdev_present(node, nic, expect):
    """Every declared network device of the fabric is there, in its slot."""
    expect(node, nic=nic)


@pytest.mark.expects("netdev")
def test_netdev(node, nic, expect):
    """The fabric's network device is up."""
    expect(node, nic=nic)


@pytest.mark.expects("netdev_rate")
def test_netdev_rate(node, nic, expect):
    """The fabric's network device runs at its full rate, in Gb/s."""
    expect(node, nic=nic)


@pytest.mark.expects("netdev_mtu")
def test_netdev_mtu(node, nic, expect):
    """Packets are as large as the payload for GPU memory needs, in bytes."""
    expect(node, nic=nic)


@pytest.mark.expects("netdev_numa")
def test_netdev_numa(node, nic, expect):
    """The fabric's network device hangs on the declared NUMA node."""
    expect(node, nic=nic)


@pytest.mark.expects("netdev_driver")
def test_netdev_driver(node, nic, expect):
    """The fabric's network device has the driver that it has on the other nodes."""
    expect(node, nic=nic)
