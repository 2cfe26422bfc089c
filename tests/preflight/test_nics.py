"""Rung 0: the declared NICs are there, their ports are up, their slots are wide enough."""

import pytest

pytestmark = pytest.mark.needs("rdma")


@pytest.mark.expects("nic_present")
def test_nic_present(node, adapter, expect):
    """Every declared NIC is in its slot, whatever it is used for.

    Pass: The RDMA device is there, with the declared bus id.
    Fail: The NIC is missing or in another slot.
    Remedy: Look for it with lspci; reseat the card; check the slot's bifurcation in the BIOS.
    """
    expect(node, adapter=adapter)


@pytest.mark.expects("nic_model")
def test_nic_model(node, adapter, expect):
    """Every NIC is of the declared model, whatever it is used for.

    Pass: The device id is the declared one.
    Fail: The NIC is of another model.
    Remedy: Correct the platform file, or replace the card.
    """
    expect(node, adapter=adapter)


@pytest.mark.expects("port_state")
def test_port_state(node, nic, expect):
    """The port is active.

    Pass: The port's state is ACTIVE.
    Fail: The port is down, initialising or armed.
    Remedy: Check cable, switch port and subnet manager.
    """
    expect(node, nic=nic)


@pytest.mark.expects("physical_state")
def test_physical_state(node, nic, expect):
    """The port's physical link is up.

    Pass: The physical state is LinkUp.
    Fail: The physical link is polling or disabled.
    Remedy: Check the cable and both transceivers; replace the cable.
    """
    expect(node, nic=nic)


@pytest.mark.expects("link_rate")
def test_link_rate(node, nic, expect):
    """The link was trained to its full rate, in Gb/s.

    Pass: The rate is the declared one.
    Fail: The link was trained to a lower rate or fewer lanes.
    Remedy: Clean or replace the cable; check the speed setting of the switch port.
    """
    expect(node, nic=nic)


@pytest.mark.expects("link_layer")
def test_link_layer(node, nic, expect):
    """The port has the link layer of the fabric, InfiniBand or Ethernet.

    Pass: The link layer is the declared one.
    Fail: The port has the other link layer.
    Remedy: Set the port's type with mlxconfig and reset the card.
    """
    expect(node, nic=nic)


@pytest.mark.expects("active_mtu")
def test_active_mtu(node, nic, expect):
    """The port has the expected active MTU, in bytes.

    Pass: The active MTU is the expected one.
    Fail: The active MTU differs.
    Remedy: Set the MTU in the subnet manager's partition, or on device and switches for RoCE.
    """
    expect(node, nic=nic)


@pytest.mark.expects("lid")
@pytest.mark.needs("infiniband")
def test_lid(node, nic, expect):
    """The subnet manager has given the port a LID.

    Pass: The LID is set.
    Fail: The LID is 0.
    Remedy: Check that a subnet manager runs and reaches the port.
    """
    expect(node, nic=nic)


@pytest.mark.expects("subnet_manager")
@pytest.mark.needs("infiniband")
def test_subnet_manager(node, nic, expect):
    """The port knows the LID of its subnet manager.

    Pass: The subnet manager's LID is set.
    Fail: The port knows no subnet manager.
    Remedy: Start a subnet manager, or mend the path to it.
    """
    expect(node, nic=nic)


@pytest.mark.expects("gid")
def test_gid(node, nic, expect):
    """The port has a GID.

    Pass: The port's GID table has an entry that is not zero.
    Fail: There is no GID: RDMA connections cannot be made.
    Remedy: Check the address of the network device (RoCE) or the subnet prefix (InfiniBand).
    """
    expect(node, nic=nic)


@pytest.mark.expects("ipoib")
@pytest.mark.needs("infiniband")
def test_ipoib(node, nic, expect):
    """The NIC's network device for IP over InfiniBand is up.

    Pass: The device is there, and up.
    Fail: It is down.
    Remedy: Load ib_ipoib and bring the device up (ip link set ib0 up).
    """
    expect(node, nic=nic)


@pytest.mark.expects("port_address")
@pytest.mark.needs("two nodes")
def test_port_address(node, nic, expect):
    """No other port of the subnet has the port's LID or GID.

    Pass: The LID and the GIDs are the port's own. LIDs and addresses of RoCE are compared between
        NICs of one name, because one rail is one subnet.
    Fail: Another port has the same LID or GID: payload goes to the wrong port.
    Remedy: Restart the subnet manager if a LID is there twice; give the port its own GUID or IP
        address if a GID is.
    """
    expect(node, nic=nic)


@pytest.mark.expects("node_guid")
@pytest.mark.needs("infiniband")
def test_node_guid(node, nic, expect):
    """The adapter has a GUID, which no other adapter has.

    Pass: ibv_devices and sysfs show one GUID of the adapter. It is not zero, and no other adapter
        of any node has it.
    Fail: The GUID is zero, or another adapter has it: the subnet manager takes two for one.
    Remedy: Give the adapter its own GUID (flint -d DEVICE sg), and reset it.
    """
    expect(node, nic=nic)


@pytest.mark.expects("pcie_link")
def test_pcie_link(node, nic, expect):
    """The NIC's slot runs at its full speed (GT/s) and width (lanes).

    Pass: Speed and width are the declared ones.
    Fail: The slot was trained lower.
    Remedy: Reseat the card; check slot, riser and BIOS.
    """
    expect(node, nic=nic)


@pytest.mark.expects("nic_numa")
def test_nic_numa(node, nic, expect):
    """The NIC is attached to the same NUMA node as on the other nodes.

    Pass: The NUMA node is the declared one, or that of the same NIC on the other nodes.
    Fail: The NIC is attached to another NUMA node.
    Remedy: Check slot and BIOS against a node that passes.
    """
    expect(node, nic=nic)
