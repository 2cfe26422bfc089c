"""The cells of programs, GPUs and NICs. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from railgauge.core.naming import listed
from railgauge.describing.readiness import needs, setups
from railgauge.describing.readiness.model import (
    CellState,
    CheckCell,
    HostfileLine,
    NodeSeen,
    NodesSeen,
    ProgramNeed,
    SelfReport,
)
from railgauge.facts import NodeFacts
from railgauge.facts.visible import HIDES
from railgauge.stacks import stack

_MELLANOX = "0x15b3"
_INFINIBAND = "0207"
_MOST = 6


def tools(one: NodeSeen, site: NodesSeen) -> CheckCell:
    assert one.self_report is not None
    asked = needs.of_node(site.cluster, site.planned, one.self_report, one.known)
    missing = [
        need.program for need in asked if not set(need.names) & set(one.self_report.programs)
    ]
    if not missing:
        return CheckCell(CellState.OK, f"all found{_folders(asked, one.self_report)}")
    if one.self_report.cut and not one.self_report.programs:
        return CheckCell(
            CellState.UNKNOWN,
            f"not known: the answer was cut ({one.self_report.cut})",
            "see the node",
        )
    where = setups.found_in(missing, one.self_report)
    named = [f"{name} (in {where[name]})" if name in where else name for name in missing]
    nowhere = [name for name in missing if name not in where]
    remedy = f"install {listed(nowhere, _MOST)}, or name the folder under tools" if nowhere else ""
    found = f"not on the PATH of a login without a terminal: {listed(named, _MOST)}"
    return CheckCell(
        CellState.MEND, found, remedy, setups.finding(list(where), one.self_report, site)
    )


def _folders(asked: Sequence[ProgramNeed], output: SelfReport) -> str:
    """Return in which folders the programs are, and how many in each."""
    found = (next(output.programs[n] for n in need.names if n in output.programs) for need in asked)
    count = Counter(path.rpartition("/")[0] or path for path in found)
    counts = [f"{many} in {folder}" for folder, many in count.most_common()]
    return f": {listed(counts, _MOST)}" if counts else ""


def gpus(one: NodeSeen, site: NodesSeen) -> CheckCell:
    output, facts = one.self_report, one.known
    assert output is not None
    vendor = needs.vendor_of(output)
    on_bus = needs.gpus_on(output.bus, vendor) if vendor else 0
    if facts is None:
        return _unasked(one, on_bus)
    count, declared = len(facts.gpus), site.platform.gpus if site.platform else None
    if hidden := facts.missing.get("gpus.#", ""):
        remedy = "remove the variable from the login's start-up files, setup or environment"
        return CheckCell(CellState.MEND, hidden, remedy if HIDES in hidden else "")
    if count < on_bus or (on_bus and not count):
        return _unlisted(one, site, vendor, on_bus)
    if declared and count != declared.count:
        found = f"{count} GPUs, and {site.cluster.platform} declares {declared.count}"
        return CheckCell(CellState.MEND, found, "mend the node, or name another platform")
    if not count:
        return CheckCell(CellState.OK, "no GPU, neither on the PCI bus nor by a tool")
    models = " and ".join(dict.fromkeys(gpu.model for gpu in facts.gpus))
    return CheckCell(
        CellState.OK, f"{count}x {models[:60]}, driver {facts.gpu_driver or 'not known'}"
    )


def _unasked(one: NodeSeen, on_bus: int) -> CheckCell:
    why = one.facts.what if one.facts is not None and not isinstance(one.facts, NodeFacts) else ""
    found = f"{on_bus} GPUs on the PCI bus; the probe gave no facts: {why or 'no answer in time'}"
    return CheckCell(CellState.UNKNOWN, found, "run the vendor's tool on the node by hand")


def _unlisted(one: NodeSeen, site: NodesSeen, vendor: str, on_bus: int) -> CheckCell:
    """The cell of GPUs on the bus that the vendor's tool does not list."""
    assert one.self_report is not None
    assert one.known is not None
    listing = ProgramNeed(*_first_and_others(stack(vendor).listing))
    lists = len(one.known.gpus)
    why = one.known.missing.get("gpus", f"it lists {lists}")
    found = f"{on_bus} GPUs of {vendor} on the PCI bus, and {listing.program}: {why}"
    if set(listing.names) & set(one.self_report.programs):
        return CheckCell(CellState.MEND, found, f"run it on the node: {listing.program}")
    lines = setups.finding(listing.names, one.self_report, site)
    remedy = "" if lines else f"install the driver's tools, or name the folder of {listing.program}"
    return CheckCell(CellState.MEND, f"{found} (not on the PATH)", remedy, lines)


def _first_and_others(words: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    return words[0], tuple(words[1:])


def nics(one: NodeSeen, site: NodesSeen) -> CheckCell:
    facts = one.known
    if facts is None:
        return CheckCell(CellState.UNKNOWN, "the probe gave no facts", "see the cell of its GPUs")
    lacks = [*_without_device(one, site, facts), *_renamed(one, site), *_without_verbs(one, site)]
    if lacks:
        remedies = "; ".join(cell.remedy for cell in lacks if cell.remedy)
        lines = tuple(line for cell in lacks for line in cell.lines)
        found = "; ".join(cell.found for cell in lacks)
        return CheckCell(CellState.MEND, found, remedies, lines)
    if facts.nics:
        kinds = " and ".join(dict.fromkeys(nic.link_layer or "unknown" for nic in facts.nics))
        return CheckCell(CellState.OK, f"{len(facts.nics)} RDMA devices, {kinds[:40]}")
    return CheckCell(CellState.OK, f"no RDMA device, {len(facts.netdevs)} network devices")


def _without_device(one: NodeSeen, site: NodesSeen, facts: NodeFacts) -> Iterator[CheckCell]:
    """Adapters on the bus without an RDMA device, unless no measurement needs one."""
    bus = one.self_report.bus if one.self_report else ()
    able = [function for function in bus if _is_rdma_able(function.kind, function.vendor)]
    if able and not facts.nics and needs.may_need_rdma(site.planned):
        yield CheckCell(
            CellState.MEND,
            f"{len(able)} RDMA adapters on the PCI bus, and no RDMA device",
            "load their driver, such as modprobe mlx5_ib (rdma-core)",
        )


def _renamed(one: NodeSeen, site: NodesSeen) -> Iterator[CheckCell]:
    if others := site.renamed.get(one.node.name):
        renamed = listed([f"{name} is {there}" for name, there in others.items()], _MOST)
        lines = (HostfileLine(("devices", one.node.name), others),)
        found = f"NICs have other names than on most nodes: {renamed}"
        yield CheckCell(CellState.MEND, found, "", lines)


def _without_verbs(one: NodeSeen, site: NodesSeen) -> Iterator[CheckCell]:
    assert one.self_report is not None
    assert one.known is not None
    if one.known.nics and not set(needs.VERBS.names) & set(one.self_report.programs):
        lines = setups.finding(needs.VERBS.names, one.self_report, site)
        remedy = "" if lines else "install ibverbs-utils (Debian) or libibverbs-utils (Red Hat)"
        found = f"{len(one.known.nics)} RDMA devices, no ibv_devinfo"
        yield CheckCell(CellState.MEND, found, remedy, lines)


def _is_rdma_able(kind: str, vendor: str) -> bool:
    return kind.startswith(_INFINIBAND) or (vendor == _MELLANOX and kind.startswith("02"))
