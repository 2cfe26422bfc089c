"""Rung 0: the nodes of one cluster are alike."""

import pytest


def nic_firmware(facts):
    return sorted(f"{nic.name} {nic.firmware}" for nic in facts["nics"])


@pytest.mark.expects("nodes_alike")
def test_nodes_are_alike(node, fact, facts, peers, expect):
    """A node has the same kernel, drivers and firmware as most others."""

    def read(facts):
        return nic_firmware(facts) if fact == "nic_firmware" else facts[fact]

    expect(read(facts(node)), peers=peers(read))
