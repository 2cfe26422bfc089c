"""NICs that have other names on some nodes are matched by their PCI address."""

from dataclasses import replace

from testing.surveyed import PORT, node, seen

from railgauge.core.devices import DeviceNames
from railgauge.describing.choice import SiteAnswers, chosen
from railgauge.describing.names import differing, joined
from railgauge.facts import NodeFacts
from railgauge.facts.naming import declared


def placed(name, names=None, first=0x20, **changes):
    """A node with eight NICs, each in a slot of its own, under these names."""
    one = node(name, **changes)
    names = names or [nic.name for nic in one.nics]
    nics = tuple(
        replace(nic, name=own, pci_address=f"0000:{first + i:02x}:00.0")
        for i, (nic, own) in enumerate(zip(one.nics, names, strict=True))
    )
    renamed = dict(zip((nic.name for nic in one.nics), names, strict=True))
    topology = {
        gpu: {renamed[nic]: far for nic, far in row.items()} for gpu, row in one.topology.items()
    }
    by_name = tuple(sorted(nics, key=lambda nic: nic.name))
    return replace(one, nics=by_name, topology=topology)


BONDS = [f"mlx5_bond_{i}" for i in range(8)]
SWAPPED = ["mlx5_1", "mlx5_0", *(f"mlx5_{i}" for i in range(2, 8))]


def alike_after(facts, names):
    facts = {name: declared(one, DeviceNames(names)) for name, one in facts.items()}
    return chosen(facts, seen(facts), SiteAnswers())


def test_nics_of_other_names_leave_no_question():
    facts = {name: placed(name) for name in ("n1", "n2")} | {"n3": placed("n3", BONDS)}
    names = differing(facts)
    assert names == {"n3": {f"mlx5_{i}": f"mlx5_bond_{i}" for i in range(8)}}
    assert len(alike_after(facts, names).fabric) == 8


def test_exchanged_names_are_distinguished_by_their_slots():
    facts = {name: placed(name) for name in ("n1", "n2")} | {"n3": placed("n3", SWAPPED)}
    names = differing(facts)
    assert names == {"n3": {"mlx5_0": "mlx5_1", "mlx5_1": "mlx5_0"}}
    assert [nic.name for nic in alike_after(facts, names).fabric] == [f"mlx5_{i}" for i in range(8)]


def test_the_names_of_most_nodes_are_declared_or_those_of_the_node_that_is_named():
    facts = {"n1": placed("n1", BONDS), "n2": placed("n2"), "n3": placed("n3")}
    assert list(differing(facts)) == ["n1"]
    assert differing(facts, like="n1")["n2"]["mlx5_bond_0"] == "mlx5_0"


def test_the_same_names_in_other_slots_are_no_other_names():
    """Two makes of a server: their slots are not comparable."""
    facts = {"n1": placed("n1"), "n2": placed("n2", first=0x80)}
    assert differing(facts) == {}


def test_ports_without_rdma_are_matched_too_and_never_with_an_rdma_device():
    def bare(name, port):
        own = replace(PORT, name=port, pci_address="0000:20:00.0")
        return NodeFacts(name, netdevs=(own,))

    facts = {"n1": bare("n1", "eth0"), "n2": bare("n2", "ens1"), "n3": bare("n3", "eth0")}
    assert differing(facts) == {"n2": {"eth0": "ens1"}}
    facts = {"n1": placed("n1"), "n2": bare("n2", "ens1"), "n3": placed("n3")}
    assert differing(facts) == {}


def test_the_proposal_is_joined_with_the_names_that_the_hostfile_has():
    declared = {"n1": {"mlx5_0": "mlx5_bond_0", "gpu0": "gpu1", "gpu1": "gpu0"}}
    assert joined(declared, {}, ()) == declared
    found = {"n1": {"mlx5_2": "mlx5_0"}, "n2": {"mlx5_9": "mlx5_8"}}
    assert joined(declared, found, {"mlx5_0", "mlx5_2"}) == {
        "n1": {"gpu0": "gpu1", "gpu1": "gpu0", "mlx5_2": "mlx5_bond_0"}
    }


def test_devices_of_the_hostfile_leave_no_difference_of_order():
    """Facts under declared names come in the order of these, as those of every other node."""
    usual, odd = placed("n1"), placed("n2", BONDS[::-1])
    shown = {"n2": {f"mlx5_{i}": name for i, name in enumerate(BONDS[::-1])}}
    facts = {"n1": usual, "n2": declared(odd, DeviceNames(shown))}
    assert [nic.name for nic in facts["n2"].nics] == [nic.name for nic in usual.nics]
    assert chosen(facts, seen(facts), SiteAnswers()).fabric
