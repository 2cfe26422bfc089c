"""Rung 0: network devices of a fabric that is Ethernet without RDMA."""

import pytest


@pytest.mark.expects("netdev")
def test_netdev(node, nic, facts, expect):
    """The fabric's network device is up."""
    expect(facts(node)[f"netdevs.{nic}.state"])


@pytest.mark.expects("netdev_numa")
def test_netdev_numa(node, nic, facts, expect, platform):
    """The fabric's network device hangs on the declared NUMA node."""
    expect(facts(node)[f"netdevs.{nic}.numa_node"], declared=platform.nic(nic).numa_node)
