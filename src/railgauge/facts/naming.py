"""The facts of a node under the declared names of its devices. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from railgauge.core.devices import DeviceNames, gpu_number
from railgauge.facts.infiniband import natural
from railgauge.facts.model import GpuFacts, NetdevFacts, NicFacts, NodeFacts

_BY_NAME = ("nics", "netdevs")


def _by_name(device: NicFacts | NetdevFacts) -> list[tuple[int, str]]:
    return natural(device.name)


def declared(facts: NodeFacts, names: DeviceNames) -> NodeFacts:
    """Return the facts with every NIC and GPU under its declared name, in the order of these."""
    node = facts.node
    if node not in names.of:
        return facts

    def named(name: str) -> str:
        return names.declared(node, name)

    nics = (
        replace(nic, name=named(nic.name), netdev=nic.netdev and named(nic.netdev))
        for nic in facts.nics
    )
    gpus = (replace(gpu, index=_index(gpu, names, node)) for gpu in facts.gpus)
    return replace(
        facts,
        nics=tuple(sorted(nics, key=_by_name)),
        netdevs=tuple(
            sorted((replace(one, name=named(one.name)) for one in facts.netdevs), key=_by_name)
        ),
        irqs=tuple(replace(one, name=named(one.name)) for one in facts.irqs),
        parts=tuple(replace(one, name=named(one.name)) for one in facts.parts),
        gpus=tuple(sorted(gpus, key=lambda gpu: gpu.index)),
        topology={
            named(name): {named(other): link for other, link in links.items()}
            for name, links in facts.topology.items()
        },
        missing=_paths(facts.missing, names, node),
    )


def _index(gpu: GpuFacts, names: DeviceNames, node: str) -> int:
    """Return the declared number of a GPU; undeclared ones come after all others."""
    number = gpu_number(names.declared(node, f"gpu{gpu.index}"))
    return gpu.index + _UNDECLARED if number is None else number


_UNDECLARED = 1000


def _paths(missing: Mapping[str, str], names: DeviceNames, node: str) -> dict[str, Any]:
    found = {}
    for path, reason in missing.items():
        kind, dot, rest = path.partition(".")
        name, more, field = rest.partition(".")
        if kind == "gpus" and name.isdecimal():
            name = names.declared(node, f"gpu{name}").removeprefix("gpu")
        elif kind in _BY_NAME or kind == "topology":
            name = names.declared(node, name)
        found[f"{kind}{dot}{name}{more}{field}"] = reason
    return found
