"""Rung 0: causes that a single fact shows. An absent part explains its missing facts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from railgauge.config.thresholds import DMA_BUF, PEER_MODULES, VERSIONS
from railgauge.core.errors import VersionUndeclared
from railgauge.core.terms import Rung
from railgauge.diagnosis.catalogue.effect import PLACE_FACTS, PORT_FACTS
from railgauge.diagnosis.model import CauseRule, Context, Finding, Where, by_node, missed
from railgauge.facts import NodeFacts
from railgauge.facts.visible import HIDES
from railgauge.judging.record import ItemRecord

_NETDEV = "netdev"


def lost_nics(context: Context) -> Iterator[Finding]:
    """NICs that are declared but absent; each explains the missing facts of that NIC."""
    for node, records in by_node(context.about("nic_present", "netdev_present")).items():
        for record in records:
            if missed(record):
                rest = [r for r in _of_part(context, node, record.pairing) if r is not record]
                says = f"{record.pairing} is declared but absent"
                yield Finding("nic-missing", Where(node, record.pairing), says, (record, *rest))


def hidden_gpus(context: Context) -> Iterator[Finding]:
    """GPUs that a variable hides from the programs of a node, though the node has them."""
    for node, records in by_node(context.about("gpu_count")).items():
        here = context.facts(node)
        says = here.missing.get("gpus.#", "") if here else ""
        if HIDES in says:
            yield Finding("gpu-hidden", Where(node), says, tuple(records))


def lost_gpus(context: Context) -> Iterator[Finding]:
    """Fewer GPUs than declared. The others are renumbered, so their facts may differ.

    Where many nodes lack one, the complete nodes differ from them as well.
    """
    lacking = _missed_on(context, "gpu_count")
    elsewhere = _on_complete_nodes(context, lacking)
    for node, records in lacking.items():
        lost = _lost_gpu(context, node)
        rest = [
            r
            for r in context.on(Rung.PREFLIGHT, node)
            if r.pairing.startswith("gpu") and _is_moved(r)
        ]
        says = f"{records[0].reason}" + (f": {lost} is absent" if lost else "")
        moved = {(record.subject, record.pairing) for record in rest if missed(record)}
        unlike = [r for r in elsewhere if (r.subject, r.pairing) in moved]
        yield Finding("gpu-missing", Where(node, lost), says, (*records, *rest, *unlike))


def _on_complete_nodes(context: Context, lacking: Collection[str]) -> list[ItemRecord]:
    """The open facts of a GPU's place in which nodes that lack no GPU agree with each other."""
    complete = [
        record
        for record in context.results.records.values()
        if record.subject in PLACE_FACTS and record.judgements and record.nodes[0] not in lacking
    ]
    values: dict[tuple[str, str], set[str]] = {}
    for record in complete:
        of_gpu = values.setdefault((record.subject, record.pairing), set())
        of_gpu.add(record.judgements[0].measured)
    return [
        record
        for record in context.about(*PLACE_FACTS)
        if record in complete
        and is_compared(context, record)
        and len(values[record.subject, record.pairing]) == 1
    ]


def _is_moved(record: ItemRecord) -> bool:
    return not missed(record) or record.subject in PLACE_FACTS


def _lost_gpu(context: Context, node: str) -> str:
    """The absent GPUs by name, from the slots in the platform file or on a complete node.

    Empty if they are not known.
    """
    here, gpus = context.facts(node), context.results.platform.gpus
    if here is None or gpus is None:
        return ""
    slots = gpus.bus_ids or _slots_elsewhere(context, node, gpus.count)
    present = {gpu.bus_id.lower() for gpu in here.gpus if gpu.bus_id}
    return ",".join(f"gpu{i}" for i, slot in enumerate(slots) if slot.lower() not in present)


def _slots_elsewhere(context: Context, node: str, count: int) -> Sequence[str]:
    """The slots of another node with all its GPUs, since nodes of one platform are built alike."""
    for other in context.results.found:
        facts = context.facts(other)
        slots = [gpu.bus_id for gpu in facts.gpus if gpu.bus_id] if facts else []
        if other != node and len(slots) == count:
            return slots
    return ()


def ports(context: Context) -> Iterator[Finding]:
    """Ports that carry no traffic: down, or up without an address."""
    for (node, nic), records in _by_part(context.about(*PORT_FACTS)).items():
        subjects = {record.subject for record in records if missed(record)}
        if "physical_state" in subjects or _NETDEV in subjects:
            says = f"the port of {nic} is {_state(records)}"
            yield Finding("link-down", Where(node, nic), says, tuple(records))
        elif subjects & {"port_state", "lid", "subnet_manager"}:
            says = f"{nic} has a link but no address: {_state(records)}"
            yield Finding("subnet-manager-missing", Where(node, nic), says, tuple(records))


def _state(records: Iterable[ItemRecord]) -> str:
    return ", ".join(
        f"{judged.metric} {judged.measured}" for record in records for judged in missed(record)
    )


def peer_memory(context: Context) -> Iterator[Finding]:
    """The path from NIC to GPU memory: a module is not loaded, or a driver is not registered."""
    for node, records in _missed_on(context, *_PEER_FACTS).items():
        lacking = _lacking(context, node)
        modules = [name for name in lacking if name in PEER_MODULES]
        says = "; ".join(record.reason for record in records)
        if modules:
            device = ",".join(modules)
            yield Finding("peer-memory-module-missing", Where(node, device), says, tuple(records))
        elif any(record.subject in _PEER_FACTS[1:] and missed(record) for record in records):
            differs = [r for name in ("kernel", "os") for r in _that_differ(context, node, name)]
            updated = "; the node's kernel is not that of the others" if differs else ""
            updated += _OF_DMA_BUF if DMA_BUF in lacking else ""
            evidence = (*records, *differs)
            yield Finding("gpudirect-rdma-disabled", Where(node), f"{says}{updated}", evidence)
        else:
            device = ",".join(lacking)
            yield Finding("kernel-module-missing", Where(node, device), says, tuple(records))


_PEER_FACTS = ("kernel_module", "peer_memory", "mm_kobj")
_OF_DMA_BUF = "; DMA-BUF needs Linux 5.12 or newer and the driver's open kernel module"


def _that_differ(context: Context, node: str, subject: str) -> list[ItemRecord]:
    """The items that miss this fact because the node has another value than all the others."""
    found = [r for r in context.results.records.values() if r.subject == subject and r.judgements]
    values = {record.judgements[0].measured for record in found}
    red = [record for record in context.about(subject) if missed(record)]
    mine = [record for record in red if node in record.nodes]
    return red if mine and len(values) == _TWO_GROUPS else mine


_TWO_GROUPS = 2


def _lacking(context: Context, node: str) -> list[str]:
    """The required modules and peer memory clients that the node does not have."""
    facts, expected = context.facts(node), context.results.platform.expected
    lacking = []
    for name, present in (("kernel_module", "modules"), ("peer_memory", "peer_memory")):
        wanted = expected[name].value if name in expected else ()
        have: Collection[str] = getattr(facts, present, ())
        if isinstance(wanted, Collection):
            lacking += [one for one in wanted if one not in have and one not in lacking]
    return lacking


_DIAGNOSTICS = (
    "dcgmi", "eud", "fieldiag", "nvvs", "nvidia-diagnostic", "rvs", "agfhc", "mxvs", "gpu-burn",
    "gpu_burn", "dcgmproftester",
)  # fmt: skip


def gpu_processes(context: Context) -> Iterator[Finding]:
    """Other processes on the GPUs: diagnostics, or anything else."""
    for node, records in _missed_on(context, "gpu_processes").items():
        facts = context.facts(node)
        diagnostics = running_diagnostics(facts)
        cause = "background-gpu-diagnostics" if diagnostics else "foreign-gpu-process"
        names = diagnostics or (facts.gpu_processes if facts else ())
        yield Finding(cause, Where(node), f"running on the GPUs: {listed(names)}", tuple(records))


def listed(names: Sequence[str]) -> str:
    """The first few names: commands before the entries of single GPUs."""
    ordered = sorted(dict.fromkeys(names), key=lambda name: name.startswith("GPU "))
    more = f"; and {len(ordered) - _MOST} more" if len(ordered) > _MOST else ""
    return "; ".join(ordered[:_MOST]) + more


_MOST = 3


def running_diagnostics(facts: NodeFacts | None) -> list[str]:
    """The GPU diagnostics among a node's GPU processes, recognised by name."""
    running = facts.gpu_processes if facts else ()
    return [name for name in running if any(word in name.lower() for word in _DIAGNOSTICS)]


_HARDWARE = ("cpu_model", "memory", "cpus", "numa_nodes", "numa_cpus")
_BY_SUBJECT = {
    "link_rate": "link-rate-degraded",
    "pcie_link": "pcie-degraded",
    "active_mtu": "mtu-mismatch",
    "netdev_mtu": "mtu-mismatch",
    "netdev_rate": "link-rate-degraded",
    "gpu_ecc_errors": "gpu-memory-errors",
    "gpu_row_remap": "gpu-memory-errors",
    "gpu_remap_failure": "gpu-memory-errors",
    "gpu_remapped_rows": "gpu-memory-errors",
    "gpu_retired_pages": "gpu-memory-errors",
    "gpu_ecc_mode": "gpu-ecc-off",
    "gpu_links": "gpu-link-down",
    "gpu_link_count": "gpu-link-down",
    "gpu_link_rate": "gpu-link-down",
    "gpu_fabric_state": "gpu-fabric-down",
    "gpu_pcie_width": "gpu-pcie-degraded",
    "gpu_pcie_generation": "gpu-pcie-degraded",
    "gpu_power_limit": "gpu-power-capped",
    "gpu_clock_max": "gpu-clock-limited",
    "gpu_clock": "gpu-clock-unlocked",
    "nvme_count": "nvme-missing",
    **dict.fromkeys(("nvme_health", "nvme_link", "nvme_wear"), "nvme-degraded"),
    "gpu_mig": "gpu-partitioned",
    "gpu_compute_partition": "gpu-partitioned",
    "gpu_memory_partition": "gpu-partitioned",
    "gpu_persistence_mode": "persistence-mode-off",
    "memlock": "memlock-limited",
    "memlock_config": "memlock-limited",
    "acs": "acs-enabled",
    "cpu_governor": "cpu-governor",
    "cpu_boost": "cpu-governor",
    "numa_balancing": "numa-balancing-enabled",
    "numa_daemons": "numa-daemon",
    "boot_module": "module-not-at-boot",
    "gpu_model": "hardware-differs",
    "gpu_device_id": "hardware-differs",
    "gpu_memory": "hardware-differs",
    "gpu_bus_id": "hardware-differs",
    "nic_model": "hardware-differs",
    "link_layer": "hardware-differs",
    "gpu_nic_link": "hardware-differs",
    "gpu_topology": "hardware-differs",
    "netdev_numa": "wrong-numa-node",
    "nic_numa": "wrong-numa-node",
    "gpu_numa": "wrong-numa-node",
    "clock": "clock-off",
    "node_login": "login-between-nodes",
    **dict.fromkeys(_HARDWARE, "hardware-differs"),
    **dict.fromkeys((*VERSIONS, "netdev_driver"), "version-mismatch"),
}  # fmt: skip


def undeclared(context: Context) -> Iterator[Finding]:
    """Versions that the limits were not measured with and the hostfile does not declare."""
    found: dict[tuple[str, str], list[ItemRecord]] = {}
    for record in context.open:
        if record.error_kind == VersionUndeclared.kind:
            found.setdefault((record.nodes[0], record.subject), []).append(record)
    for (node, subject), records in found.items():
        yield Finding("version-mismatch", Where(node, subject), records[0].reason, tuple(records))


_IN_WORDS = {"gpu_mig": "gpu_mig: MIG mode is on, programs see parts of the GPU, or none of it"}


def settings(context: Context) -> Iterator[Finding]:
    """Causes that follow from one fact; items of one cause and part are one finding."""
    found: dict[tuple[str, str], dict[str, list[ItemRecord]]] = {}
    for record in context.about(*_BY_SUBJECT):
        if missed(record) and not is_compared(context, record):
            parts = found.setdefault((cause_of(context, record), record.nodes[0]), {})
            parts.setdefault(_device(record), []).append(record)
    for (cause, node), parts in found.items():
        for device, records in by_device(context, parts).items():
            reasons = (_IN_WORDS.get(record.subject, record.reason) for record in records)
            says = "; ".join(list(dict.fromkeys(reasons))[:_MOST])
            yield Finding(cause, Where(node, device), says, tuple(records))


def is_compared(context: Context, record: ItemRecord) -> bool:
    """Whether the fact is compared between nodes or devices, because no value is declared."""
    expectation = context.results.platform.expected.get(record.subject)
    return record.rung == Rung.PREFLIGHT and expectation is not None and expectation.rule == "alike"


def cause_of(context: Context, record: ItemRecord) -> str:
    """The cause for a fact that is not the declared one."""
    if record.subject == "gpu_clock" and any(
        missed(r) and (r.nodes, r.pairing) == (record.nodes, record.pairing)
        for r in context.about("gpu_clock_max")
    ):
        return _BY_SUBJECT["gpu_clock_max"]  # a clock cannot be locked above the board's maximum
    return _BY_SUBJECT[record.subject]


def by_device(context: Context, parts: dict[str, list[ItemRecord]]) -> dict[str, list[ItemRecord]]:
    """The parts, with the GPUs merged into one finding for the node if all of them are affected."""
    gpus = context.results.platform.gpus
    every = {f"gpu{index}" for index in range(gpus.count)} if gpus else set()
    if len(every) < _SEVERAL or not every <= parts.keys():
        return parts
    rest = {device: records for device, records in parts.items() if device not in every}
    return {"": [record for device in sorted(every) for record in parts[device]]} | rest


_SEVERAL = 2


def _device(record: ItemRecord) -> str:
    """The item's device; for ACS the bridges, and for a fact of the node the name of the fact."""
    if record.subject == "acs":
        return missed(record)[0].measured
    return record.pairing or (record.subject if record.subject in _OF_NODES else "")


# Facts of a node: the fact itself is named in place of a device.
_OF_NODES = frozenset({*VERSIONS, "netdev_driver", *_HARDWARE})


def _missed_on(context: Context, *subjects: str) -> dict[str, list[ItemRecord]]:
    """The open items of these subjects, by node, on nodes that missed at least one.

    A node on which they are only unknown has no fault.
    """
    found = by_node(context.about(*subjects))
    return {node: records for node, records in found.items() if any(map(missed, records))}


def _of_part(context: Context, node: str, part: str) -> list[ItemRecord]:
    return [
        r
        for r in context.on(Rung.PREFLIGHT, node)
        if r.pairing == part or r.pairing.endswith(f"-{part}")
    ]


def _by_part(records: Iterable[ItemRecord]) -> dict[tuple[str, str], list[ItemRecord]]:
    found: dict[tuple[str, str], list[ItemRecord]] = {}
    for record in records:
        found.setdefault((record.nodes[0], record.pairing), []).append(record)
    return found


RULES: tuple[CauseRule, ...] = (
    lost_nics, hidden_gpus, lost_gpus, ports, peer_memory, gpu_processes, settings, undeclared,
)  # fmt: skip
