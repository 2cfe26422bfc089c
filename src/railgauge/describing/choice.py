"""Which NICs carry the payload, and what differs between nodes. Pure.

If the survey cannot decide, one ``BadInput`` lists all questions; nothing is averaged or chosen by
majority.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from railgauge.core.errors import BadInput
from railgauge.core.naming import folded
from railgauge.describing.bus import NONE, DeviceListing, unlisted_gpus, unlisted_nics, unread
from railgauge.describing.hardware import Hardware, NicFound, hardware_of
from railgauge.facts import NodeFacts


@dataclass(frozen=True, slots=True)
class SiteAnswers:
    """The user's answers to what the survey cannot decide.

    ``like`` is the node whose hardware is right. ``fabric`` are the NICs that carry the payload.
    ``rates`` is NIC -> Gb/s. ``one_kernel``: the nodes are containers or namespaces of one machine.
    ``gpus`` is the vendor whose GPUs count as its tools list them, or ``none`` for nodes without.
    """

    like: str = ""
    fabric: tuple[str, ...] = ()
    rates: Mapping[str, float] = field(default_factory=dict)
    one_kernel: bool = False
    gpus: str = ""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The node kind that the file declares: hardware, its fabric NICs, and its other NICs."""

    hardware: Hardware
    fabric: tuple[NicFound, ...]
    others: tuple[NicFound, ...]
    notes: tuple[str, ...] = ()


def chosen(facts: Mapping[str, NodeFacts], seen: DeviceListing, answers: SiteAnswers) -> Chosen:
    """Return the hardware of the nodes. Raises ``BadInput`` with all questions that are open."""
    found = {node: hardware_of(one) for node, one in facts.items()}
    if answers.gpus == NONE:
        found = {node: replace(one, gpus=None) for node, one in found.items()}
    _refuse_unknown(found, answers)
    hardware = _rated(found[answers.like or next(iter(found))], answers)
    up = [nic for nic in hardware.nics if nic.is_up]
    questions = [] if answers.like else list(differences(found))
    questions += [] if answers.one_kernel else _shared_kernels(facts)
    questions += [] if answers.fabric else _undecided(up)
    fabric = _fabric(up, answers)
    questions += [_unrated(nic) for nic in fabric if nic.rate_gbps is None]
    questions += unread(facts, seen.bus)
    questions += unlisted_gpus(facts, seen, answers.gpus)
    # Containers and namespaces of one machine see the whole bus, but only their own NICs.
    questions += [] if answers.fabric or answers.one_kernel else unlisted_nics(facts, seen.bus)
    if hardware.gpus and len(hardware.gpus.models) > 1:
        questions.append(f"a node has GPUs of {' and '.join(hardware.gpus.models)}")
    if questions:
        what = "a platform file describes one kind of node, and the survey leaves this open"
        raise BadInput("\n  ".join([f"{what} (nothing was written):", *questions]))
    others = tuple(nic for nic in up if nic not in fabric)
    down = [nic.name for nic in hardware.nics if not nic.is_up]
    notes = (f"{folded(down)}: no link, left out",) if down else ()
    return Chosen(hardware, fabric, others, notes)


def _refuse_unknown(found: Mapping[str, Hardware], answers: SiteAnswers) -> None:
    nics = [nic for hardware in found.values() for nic in hardware.nics]
    if answers.like and answers.like not in found:
        raise BadInput(f"--like {answers.like}: the survey has no such node")
    for option, names in (("--fabric", answers.fabric), ("--rate", tuple(answers.rates))):
        known = {nic.name for nic in nics if nic.is_up or option == "--rate"}
        if absent := sorted(set(names) - known):
            remedy = f"the survey found {folded(sorted(known)) or 'none'}"
            raise BadInput(f"{option} {', '.join(absent)}: no such NIC with a link", remedy=remedy)


def _rated(hardware: Hardware, answers: SiteAnswers) -> Hardware:
    rates = answers.rates
    nics = (replace(n, rate_gbps=rates.get(n.name, n.rate_gbps)) for n in hardware.nics)
    return replace(hardware, nics=tuple(nics))


def _unrated(nic: NicFound) -> str:
    why = "is virtual: what it reports is not the rate of a wire"
    problem = why if nic.is_virtual else "does not report its rate"
    return f"{nic.name} {problem}; give it with --rate {nic.name}=GBPS"


def _fabric(up: Sequence[NicFound], answers: SiteAnswers) -> tuple[NicFound, ...]:
    """Return the NICs that the user names, else the fastest ones, else those of unknown rate."""
    if answers.fabric:
        return tuple(nic for nic in up if nic.name in answers.fabric)
    best = max((nic.rate_gbps or 0.0 for nic in up), default=0.0)
    return tuple(nic for nic in up if (nic.rate_gbps or 0.0) == best)


def _undecided(up: Sequence[NicFound]) -> list[str]:
    """Return the questions about which NICs carry the payload."""
    lines = []
    if any(nic.rate_gbps for nic in up):
        lines += [_unrated(nic) for nic in up if nic.rate_gbps is None]
    if len(kinds := {(nic.link_layer, nic.is_rdma) for nic in _fabric(up, SiteAnswers())}) > 1:
        each = (f"{nic.name} {nic.link_layer}" for nic in _fabric(up, SiteAnswers()))
        lines.append(f"NICs of {len(kinds)} kinds are equally fast: {', '.join(each)}")
    if lines:
        lines.append("or name the NICs that carry the payload: --fabric NICS")
    return lines


# --- what differs ---


def differences(found: Mapping[str, Hardware]) -> Iterator[str]:
    """Yield a line for each property that is not the same on all nodes, and how to decide."""
    names = dict.fromkeys(nic.name for hardware in found.values() for nic in hardware.nics)
    lines = list(_differing("GPUs", {node: _gpus(one) for node, one in found.items()}))
    for name in names:
        ports = {node: _port(hardware, name) for node, hardware in found.items()}
        lines += _differing(name, ports)
    gpus = max((len(hardware.distances) for hardware in found.values()), default=0)
    for gpu in range(gpus):
        rows = {node: _row(hardware, gpu) for node, hardware in found.items()}
        lines += _differing(f"gpu{gpu} to its NICs", rows)
    yield from lines
    if lines:
        yield (
            "say which node is right (--like NODE), or take the nodes of another kind out of the "
            "hostfile: they are a cluster of their own"
        )


def _differing(what: str, values: Mapping[str, str]) -> Iterator[str]:
    by_value: dict[str, list[str]] = {}
    for node, value in values.items():
        by_value.setdefault(value, []).append(node)
    if len(by_value) > 1:
        each = (f"{value} on {folded(nodes)}" for value, nodes in by_value.items())
        yield f"{what}: {'; '.join(each)}"


def _gpus(hardware: Hardware) -> str:
    gpus = hardware.gpus
    if gpus is None:
        return "none"
    memory = " and ".join(f"{mib} MiB" for mib in gpus.memories_mib) or "memory not read"
    return f"{gpus.count}x {' and '.join(gpus.models)} ({memory})"


def _port(hardware: Hardware, name: str) -> str:
    nic = next((nic for nic in hardware.nics if nic.name == name), None)
    if nic is None:
        return "absent"
    slot = f", PCIe {nic.pcie[0]}.0 x{nic.pcie[1]}" if nic.pcie else ""
    rate = f"{nic.rate_gbps:g} Gb/s " if nic.rate_gbps else ""
    state = f"{rate}{nic.link_layer}" if nic.is_up else "no link"
    mtu = f", MTU {nic.mtu_bytes}" if nic.mtu_bytes and nic.is_up else ""
    return f"{nic.model}, {state}{mtu}{slot}"


def _row(hardware: Hardware, gpu: int) -> str:
    row = hardware.distances.get(gpu, {})
    shown = [f"{nic.name} {row[nic.name]}" for nic in hardware.nics if nic.name in row]
    return ", ".join(shown) or "not printed"


def _shared_kernels(facts: Mapping[str, NodeFacts]) -> list[str]:
    by_boot: dict[str, list[str]] = {}
    for node, one in facts.items():
        if one.boot_id:
            by_boot.setdefault(one.boot_id, []).append(node)
    return [
        f"{folded(nodes)} have one boot id: they are one machine. If they are its containers or "
        "namespaces, say so with --one-kernel; else the hostfile names a machine twice"
        for nodes in by_boot.values()
        if len(nodes) > 1
    ]
