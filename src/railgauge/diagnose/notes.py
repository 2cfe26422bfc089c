"""What stands out in the facts and is nobody's fault: told, so that nobody looks for it again."""

from __future__ import annotations

from collections.abc import Iterator

from ClusterShell.NodeSet import NodeSet
from ClusterShell.RangeSet import RangeSet

from railgauge.diagnose.model import Findings
from railgauge.facts import NodeFacts


def notes(findings: Findings) -> tuple[str, ...]:
    """Lines for the reports; they change no verdict."""
    far: dict[str, list[str]] = {}
    for node, found in findings.found.items():
        if isinstance(found, NodeFacts):
            for nic in _far_interrupts(found):
                far.setdefault(nic, []).append(node)
    return tuple(
        f"interrupts of {nic} on {NodeSet(','.join(nodes))} are served on the other NUMA node: "
        "noted, not blamed (003: full bandwidth was measured beside it)"
        for nic, nodes in far.items()
    )


def _far_interrupts(facts: NodeFacts) -> Iterator[str]:
    """NICs none of whose interrupts is served where the NIC hangs."""
    homes = {netdev.name: netdev.numa_node for netdev in facts.netdevs}
    homes |= {nic.name: nic.numa_node for nic in facts.nics}
    for irq in facts.irqs:
        near = facts.numa_cpus.get(str(homes.get(irq.name)))
        if near and irq.cpus and not RangeSet(near) & RangeSet(irq.cpus):
            yield irq.name
