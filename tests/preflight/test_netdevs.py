"""Rung 0: network devices of a fabric that is Ethernet without RDMA."""

import pytest

pytestmark = pytest.mark.needs("ethernet")


@pytest.mark.expects("netdev_present")
def test_netdev_present(node, nic, expect):
    """Every declared network device of the fabric is in its slot.

    Pass: The device is there, with the declared bus id.
    Fail: The device is missing or in another slot.
    Remedy: Check the card and the naming rules of network devices.
    """
    expect(node, nic=nic)


@pytest.mark.expects("netdev")
def test_netdev(node, nic, expect):
    """The fabric's network device is up.

    Pass: The operational state is up.
    Fail: The device is down.
    Remedy: Check the cable and the device's configuration.
    """
    expect(node, nic=nic)


@pytest.mark.expects("netdev_rate")
def test_netdev_rate(node, nic, expect):
    """The fabric's network device runs at its declared rate, in Gb/s.

    Pass: The rate is the declared one.
    Fail: The link was negotiated to a lower rate.
    Remedy: Check cable, transceiver and the switch port's setting.
    """
    expect(node, nic=nic)


@pytest.mark.expects("netdev_mtu")
def test_netdev_mtu(node, nic, expect):
    """The MTU of the fabric's network device is large enough for GPU-memory payload, in bytes.

    Pass: The MTU reaches the expected one.
    Fail: The MTU is smaller: payload for GPU memory does not fit a packet.
    Remedy: Set the MTU on the device and on every switch between.
    """
    expect(node, nic=nic)


@pytest.mark.expects("netdev_numa")
def test_netdev_numa(node, nic, expect):
    """The fabric's network device is attached to the declared NUMA node.

    Pass: The NUMA node is the declared one.
    Fail: The device is attached to another NUMA node.
    Remedy: Check slot and BIOS against a node that passes.
    """
    expect(node, nic=nic)


@pytest.mark.expects("netdev_driver")
def test_netdev_driver(node, nic, expect):
    """The fabric's network device has the same driver as on the other nodes.

    Pass: The driver's version is the declared one, or that of the other nodes.
    Fail: The version differs.
    Remedy: Install the declared release on the node that differs, or declare another one in the
        hostfile (versions).
    """
    expect(node, nic=nic)
