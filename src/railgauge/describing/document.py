"""The platform file of a cluster, in the short form: what the survey adds to ``shared/derived``.

Pure. Example: eight equal NICs become one entry ``mlx5_[0-7]`` that extends a data sheet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from railgauge.config.thresholds.model import PCIE_GTS
from railgauge.core.naming import folded, listed
from railgauge.describing import at_end
from railgauge.describing.choice import Chosen, SiteAnswers
from railgauge.describing.hardware import INFINIBAND, NicFound, affinity, is_printed
from railgauge.describing.measures import Means, MeasuredHere, measured
from railgauge.describing.sheets import Sheets
from railgauge.facts import NodeFacts
from railgauge.facts.model import NetdevFacts, NicFacts
from railgauge.stacks import Stack

EXTENDS = tuple(
    f"shared/{name}" for name in ("datasheets", "hosts", "rdma", "gpus", "growth", "derived")
)
SHEETS_FILE = "thresholds/shared/datasheets.json"
# Haswell and Broadwell: their root ports must not be sent relaxed ordering (pci/quirks.c of Linux),
# and perftest requires an option for them.
_ERRATUM = re.compile(r"Xeon\(R\)[^\n]{0,80} v[34]\b")
_ONE_MACHINE = "The nodes are containers or namespaces of one machine."
# InfiniBand reports the signalling rate up to FDR: 8b/10b up to QDR, 64b/66b for FDR. The rates of
# EDR and later are payload rates.
_DATA_RATES = {2.5: 2.0, 5.0: 4.0, 10.0: 8.0, 20.0: 16.0, 40.0: 32.0, 56.0: 54.3}


@dataclass(frozen=True, slots=True)
class Described:
    """A platform file as JSON in the short form, and notes for its user, a line each."""

    document: Mapping[str, Any]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Survey:
    """What the file is made of: the facts of each node, and the stack of its GPUs if it has any.

    ``has_mpi_bench`` says that every node has the program that measures MPI's own collectives.
    ``unread_counters`` are the groups of error counters that no node shows.
    """

    facts: Mapping[str, NodeFacts]
    kind: Chosen
    stack: Stack | None
    answers: SiteAnswers
    has_mpi_bench: bool = False
    unread_counters: frozenset[str] = frozenset()

    @property
    def nodes(self) -> str:
        """The nodes whose hardware the file declares, in NodeSet syntax."""
        return self.answers.like or folded(self.facts)


def described(name: str, survey: Survey, sheets: Sheets) -> Described:
    """Return the platform file ``name``. It expects only what ``hardware`` itself asks for."""
    notes: list[str] = list(survey.kind.notes)
    hardware = _hardware(survey, sheets, notes)
    link = _gpu_link(hardware.get("gpus"), sheets)
    means = Means(link, _without_peers(survey), survey.has_mpi_bench)
    made = measured(survey.kind, survey.stack, means)
    document = {
        "schema_version": 1,
        "platform": name,
        "title": _title(survey.kind, sheets),
        "extends": list(EXTENDS),
        "bases": {"survey": f"derived: As {survey.nodes} showed it in the survey."},
        "hardware": hardware,
        **_environment(survey),
        **_strict_order(survey),
        **at_end.sections(
            survey.kind,
            survey.stack,
            one_kernel=survey.answers.one_kernel,
            unread=survey.unread_counters,
        ),
        "expected": {},
        "levels": {
            "smoke,nightly": {"scheme": "tournament", "rounds": 2},
            "signoff": {"scheme": "all"},
        },
        "measurements": made.entries,
        **_left_out(survey, made),
    }
    return Described(document, (*notes, *made.notes))


def _title(kind: Chosen, sheets: Sheets) -> str:
    gpus, fabric = kind.hardware.gpus, kind.fabric
    parts = [f"{gpus.count}x {gpus.models[0]}"] if gpus else []
    if fabric:
        nic = fabric[0]
        name = sheets.nic(nic) or nic.model
        parts.append(f"{len(fabric)}x {name}, {nic.rate_gbps:g}G {nic.link_layer}")
    return f"{', '.join(parts) or 'No GPU and no NIC'}: limits derived, not calibrated"


# --- hardware ---


def _hardware(survey: Survey, sheets: Sheets, notes: list[str]) -> dict[str, Any]:
    kind = survey.kind
    nics = (*kind.fabric, *kind.others)
    hardware: dict[str, Any] = {}
    if kind.hardware.gpus:
        hardware["gpus"] = _gpus(survey, sheets, notes)
    hardware["nics"] = _nics(survey, sheets, notes)
    if kind.hardware.gpus:
        hardware["affinity"] = _rows(affinity(kind.hardware, nics))
        if nics and not is_printed(kind.hardware, nics):
            notes.append(
                "affinity: the GPUs' tools print no distance to the NICs; GPU and NIC of the same "
                "place in their order are declared near: check it under hardware"
            )
    if kind.fabric:
        notes.append(
            f"the fabric, which carries the payload: {folded(nic.name for nic in kind.fabric)}"
        )
    if kind.others:
        slower = folded(nic.name for nic in kind.others)
        notes.append(f"not the fabric: {slower} (--fabric NICS says otherwise)")
    return hardware


def _gpus(survey: Survey, sheets: Sheets, notes: list[str]) -> dict[str, Any]:
    gpus, stack = survey.kind.hardware.gpus, survey.stack
    assert gpus is not None
    assert stack is not None
    model, memory_mib = gpus.models[0], min(gpus.memories_mib, default=1)
    sheet = sheets.gpu(model)
    entry: dict[str, Any] = {"extends": sheet} if sheet else {"vendor": stack.name, "model": model}
    entry["count"] = gpus.count
    if sheets.gpus.get(sheet, {}).get("memory_mib") != memory_mib:
        entry["memory_mib"] = memory_mib
    every = [[gpu.bus_id for gpu in facts.gpus] for facts in survey.facts.values()]
    if gpus.bus_ids and _is_one(every):
        entry["bus_ids"] = list(gpus.bus_ids)
    if not sheet:
        notes.append(
            f"UNKNOWN GPU {model}: {SHEETS_FILE} has no data sheet of this model. The rate of the "
            "links between GPUs is missing, so nothing inside a node is limited by them. Enter it "
            "under templates/gpus (vendor, model, memory_mib, link), and make the file again"
        )
    return entry


def _gpu_link(gpus: Mapping[str, Any] | None, sheets: Sheets) -> Mapping[str, Any] | None:
    if gpus is None:
        return None
    link: Mapping[str, Any] | None = sheets.gpus.get(gpus.get("extends", ""), {}).get("link")
    return link


def _nics(survey: Survey, sheets: Sheets, notes: list[str]) -> dict[str, Any]:
    """Return the NICs, equal ones as one set; what only some have is added by name."""
    kind = survey.kind
    sets: list[tuple[dict[str, Any], list[str]]] = []
    for nic in (*kind.fabric, *kind.others):
        entry = _nic(nic, sheets, is_fabric=nic in kind.fabric)
        same = next((names for known, names in sets if known == entry), None)
        if same is None:
            sets.append((entry, [nic.name]))
        else:
            same.append(nic.name)
    result = {folded(names): entry for entry, names in sets}
    for nic in (*kind.fabric, *kind.others):
        if own := _own(nic, survey):
            result[nic.name] = {**result.get(nic.name, {}), **own}
    for names in (names for entry, names in sets if "extends" not in entry):
        notes.append(
            f"UNKNOWN NIC {folded(names)}: {SHEETS_FILE} has no data sheet of its model, so rate "
            "and PCIe link are declared as found: a slot that is slow on every node would not be "
            "noticed. Enter model, rate_gbps and pcie under templates/nics"
        )
    notes.extend(_below_sheet(kind, sheets))
    return result


def _nic(nic: NicFound, sheets: Sheets, *, is_fabric: bool) -> dict[str, Any]:
    name = sheets.nic(nic)
    values: dict[str, Any] = {
        "model": nic.model,
        "rate_gbps": _number(nic.rate_gbps),
        "link_layer": nic.link_layer,
    }
    if nic.pcie:
        values["pcie"] = {"generation": nic.pcie[0], "width": nic.pcie[1]}
    if nic.link_layer == INFINIBAND and nic.rate_gbps in _DATA_RATES:
        values["data_rate_gbps"] = _DATA_RATES[nic.rate_gbps]
    if not nic.is_rdma:
        values["rdma"] = False
    if not is_fabric:
        values["fabric"] = False
    sheet = sheets.nics.get(name, {})
    own = {key: value for key, value in values.items() if sheet.get(key) != value}
    return {**({"extends": name} if name else {}), **own, "basis": "survey"}


def _number(value: float | None) -> float:
    whole = int(value or 0)
    return whole if whole == value else value or 0.0


def _own(nic: NicFound, survey: Survey) -> dict[str, Any]:
    """Return what distinguishes this NIC from its equals on each node: address and NUMA node."""
    every = [_of(facts, nic.name) for facts in survey.facts.values()]
    found: dict[str, Any] = {}
    if nic.pci_address and _is_one(address for address, _ in every):
        found["pci_address"] = nic.pci_address
    if not nic.is_rdma and nic.numa_node is not None and _is_one(node for _, node in every):
        found["numa_node"] = nic.numa_node
    return found


def _is_one(values: Iterable[Any]) -> bool:
    return len({*map(str, values)}) == 1


def _of(facts: NodeFacts, name: str) -> tuple[str | None, int | None]:
    every: tuple[NicFacts | NetdevFacts, ...] = (*facts.nics, *facts.netdevs)
    return next(((n.pci_address, n.numa_node) for n in every if n.name == name), (None, None))


def _below_sheet(kind: Chosen, sheets: Sheets) -> Iterable[str]:
    """Yield what the survey found below the data sheet: a fault, or what the site intends."""
    found: dict[str, list[str]] = {}
    for nic in (*kind.fabric, *kind.others):
        sheet = sheets.nics.get(sheets.nic(nic), {})
        slot = sheet.get("pcie")
        if slot and nic.pcie and _gts(nic.pcie) < _gts((slot["generation"], slot["width"])):
            line = (
                f"PCIe {nic.pcie[0]}.0 x{nic.pcie[1]}, its data sheet says "
                f"{slot['generation']}.0 x{slot['width']}"
            )
            found.setdefault(line, []).append(nic.name)
        rate = sheet.get("rate_gbps", 0)
        if nic.rate_gbps and nic.rate_gbps < rate:
            line = f"{nic.rate_gbps:g} Gb/s, its data sheet says {rate:g}"
            found.setdefault(line, []).append(nic.name)
    for line, names in found.items():
        what = f"BELOW THE DATA SHEET {folded(names)}: {line}"
        yield f"{what}; declared as found: check that it is meant"


def _gts(slot: tuple[int, int]) -> float:
    return PCIE_GTS[slot[0]] * slot[1]


def _rows(found: Mapping[int, Mapping[str, str]]) -> dict[str, str]:
    rows: dict[str, list[str]] = {}
    for gpu, row in found.items():
        rows.setdefault(" ".join(row.values()), []).append(str(gpu))
    return {folded(gpus): row for row, gpus in rows.items()} if any(rows) else _no_nics(found)


def _no_nics(found: Mapping[int, Mapping[str, str]]) -> dict[str, Any]:
    return {str(gpu): {} for gpu in found}


# --- the rest ---


def _environment(survey: Survey) -> dict[str, Any]:
    """Return which NICs the library uses, where it would also find others."""
    kind, stack = survey.kind, survey.stack
    if stack is None or not kind.fabric:
        return {}
    names = ",".join(nic.name for nic in kind.fabric)
    if kind.fabric[0].is_rdma and kind.others:
        variables = {f"{stack.collective_prefix}_IB_HCA": f"={names}"}
    elif not kind.fabric[0].is_rdma:
        variables = {f"{stack.collective_prefix}_SOCKET_IFNAME": f"={names}"}
    else:
        return {}
    basis = "derived: The library takes the NICs of the fabric and no others."
    return {"environment": {"variables": variables, "basis": basis}}


def _strict_order(survey: Survey) -> dict[str, Any]:
    """Return the option that perftest asks for on processors with an erratum."""
    if not any(_ERRATUM.search(one.cpu_model or "") for one in survey.facts.values()):
        return {}
    option = {"options": {"disable_pcie_relaxed": True}}
    return {"templates": {"measurements": {"bandwidth,latency": option}}}


def _without_peers(survey: Survey) -> str:
    """Return in words on which nodes NICs cannot access GPU memory, and what was found there."""
    stack, found = survey.stack, survey.facts
    wanted = stack.peer_memory if stack else ""
    lacking: dict[str, list[str]] = {}
    for name, facts in found.items():
        if wanted not in facts.peer_memory:
            has = ", ".join(facts.peer_memory) or facts.missing.get("peer_memory", "none")
            lacking.setdefault(has, []).append(name)
    number = sum(map(len, lacking.values()))
    each = (f"{has} on {listed(names, _FIRST_NODES)}" for has, names in lacking.items())
    of = f"{number} of {len(found)} nodes"
    return f"peer_memory of {of} lacks {wanted}: {'; '.join(each)}" if number else ""


_FIRST_NODES = 4


def _left_out(survey: Survey, made: MeasuredHere) -> dict[str, Any]:
    reasons: dict[str, str] = dict(made.not_applicable)
    if survey.answers.one_kernel:
        reasons["boot_id,machine_id"] = _ONE_MACHINE
        reasons[at_end.KERNEL_LOG] = f"{_ONE_MACHINE[:-1]}, whose kernel logs for all of them."
    if survey.kind.fabric and survey.answers.rates:
        rate = "link_rate" if survey.kind.fabric[0].is_rdma else "netdev_rate"
        reasons[rate] = "The NICs do not know the rate of their links; the site gave it."
    return {"not_applicable": reasons} if reasons else {}
