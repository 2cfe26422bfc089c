"""NICs that have other names on some nodes: matched by the PCI address of their slot. Pure.

A name does not identify hardware, so the names of most nodes are declared, or those of the node
that the user names; ``devices`` of the hostfile then gives the names on the other nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from railgauge.core.devices import OTHER, DeviceNames
from railgauge.describing.hardware import hardware_of
from railgauge.facts import NodeFacts

Names = Mapping[str, Mapping[str, str]]
"""Node -> declared name -> name on that node."""


def differing(facts: Mapping[str, NodeFacts], like: str = "") -> Names:
    """Return the NICs of each node whose name differs from that of most nodes, or of ``like``."""
    placed = {node: _by_slot(one) for node, one in facts.items()}
    count = Counter(frozenset(names.items()) for names in placed.values())
    most = max(placed.values(), key=lambda names: count[frozenset(names.items())])
    usual = placed.get(like, most)
    found = {
        node: {usual[slot]: name for slot, name in names.items() if usual.get(slot, name) != name}
        for node, names in placed.items()
    }
    return {node: names for node, names in found.items() if names}


def _by_slot(one: NodeFacts) -> dict[tuple[str, bool], str]:
    """Return the names of NICs by address and kind; an address of two NICs is left out."""
    nics = hardware_of(one).nics
    count = Counter(nic.pci_address for nic in nics)
    return {
        (nic.pci_address, nic.is_rdma): nic.name
        for nic in nics
        if nic.pci_address and count[nic.pci_address] == 1
    }


def joined(given: Names, found: Names, declared: Collection[str]) -> dict[str, dict[str, str]]:
    """Return the section ``devices``: that of the hostfile, completed by what was found.

    The names in ``found`` are those after the hostfile's renaming. ``declared`` are the names that
    the platform file has; only these are named.
    """
    both = {node: dict(names) for node, names in given.items()}
    for node, names in found.items():
        old = DeviceNames(given)
        own = {name: _own(old, node, there) for name, there in names.items() if name in declared}
        kept = {
            name: there for name, there in given.get(node, {}).items() if name not in names.values()
        }
        if own:
            both[node] = {**kept, **own}
    return both


def _own(given: DeviceNames, node: str, name: str) -> str:
    """The NIC's own name on the node; the hostfile renames it to ``name``."""
    return name.removeprefix(OTHER) if name.startswith(OTHER) else given.on(node, name)
