"""Network devices of a container or a namespace, without hardware behind them."""

import pytest


def device(node, name, kind="1", **files):
    known = {"type": kind, "operstate": "up", "speed": "10000", "mtu": "1500", **files}
    node.write({f"sys/class/net/{name}/{file}": text for file, text in known.items()})


def names(node):
    return [netdev.name for netdev in node.facts(None).netdevs]


@pytest.fixture
def inside(bare):
    device(bare, "lo", "772")
    device(bare, "eth0")
    return bare


def test_without_hardware_ethernet_devices_count(inside):
    (netdev,) = inside.facts(None).netdevs
    assert (netdev.name, netdev.state, netdev.rate_gbps, netdev.mtu_bytes) == (
        "eth0", "up", 10.0, 1500,
    )  # fmt: skip
    assert (netdev.pci_address, netdev.driver) == (None, None)


def test_bridges_and_bonds_do_not_count(inside):
    device(inside, "br0", **{"bridge/bridge_id": "8000"})
    device(inside, "bond0", **{"bonding/mode": "802.3ad"})
    device(inside, "tun0", "65534")
    assert names(inside) == ["eth0"]


def test_beside_hardware_virtual_devices_do_not_count(inside):
    device(inside, "ens1", **{"device/uevent": "DRIVER=virtio_net"})
    assert names(inside) == ["ens1"]
