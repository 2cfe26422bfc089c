"""The parts of a node, from the sections of its probe. Pure; each missing value has a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from railgauge.facts.infiniband import parse_sysfs
from railgauge.facts.model import NetdevFacts, NicFacts, NodeFacts
from railgauge.facts.parts import InventoryPart, PartKind, part
from railgauge.facts.pci import PciReport
from railgauge.stacks import GpuFacts, GpuIdentity, Section, StackFacts, section

Sections = Mapping[str, Section]

_LONGEST_LINE = 300
_DMI = "/sys/class/dmi/id"
_BMC = "/sys/class/ipmi/ipmi0/device/bmc"
_GUID = re.compile(r"[0-9a-f]{4}(?::[0-9a-f]{4}){3}")
_FIRMWARE = "firmware-version:"
_ONLY_ROOT = "only root can read it: log in as root, or add become: sudo -n to the hostfile"
_NO_SLOT = "lspci: names no slot"
# The files of a machine's identity, by the field that they give.
_MACHINE = {"part_number": "product_sku", "serial": "product_serial", "uuid": "product_uuid"}


def parts(
    facts: NodeFacts, sections: Sections, pci: PciReport, stack: StackFacts
) -> tuple[InventoryPart, ...]:
    """Return the node, its BMC, its GPUs by number, its NICs and disks by name."""
    return (
        _machine(facts, section(sections, "dmi")),
        _bmc(section(sections, "bmc")),
        *(_gpu(gpu, pci, stack) for gpu in facts.gpus),
        *_nics(facts, sections, pci),
        *_disks(facts, pci),
    )


def _machine(facts: NodeFacts, dmi: Section) -> InventoryPart:
    lines = "" if dmi.failure else dmi.text
    fields = _fields(lines)
    vendor, product = fields.get("sys_vendor", ""), fields.get("product_name", "")
    why = {
        item: f"{_DMI}/{file}: {_ONLY_ROOT}"
        for item, file in _MACHINE.items()
        if f"denied {file}" in lines.splitlines()
    }
    why["firmware"] = facts.missing.get("bios", "")
    values = {item: fields.get(file) for item, file in _MACHINE.items()}
    model = " ".join(filter(None, (vendor, product)))
    known = {**values, "model": model, "firmware": facts.bios}
    return part(PartKind.NODE, "node", known, why, dmi.failure or f"{_DMI}: has no such file")


def _bmc(printed: Section) -> InventoryPart:
    fields = {} if printed.failure else _fields(printed.text)
    maker, product = fields.get("manufacturer_id", ""), fields.get("product_id", "")
    known = {
        "model": f"manufacturer {maker}, product {product}" if maker and product else "",
        "uuid": fields.get("guid"),
        "firmware": fields.get("firmware_revision"),
    }
    return part(PartKind.BMC, "bmc", known, {}, printed.failure or f"{_BMC}: has no such file")


def _fields(text: str) -> dict[str, str]:
    """Return the values of lines ``file:value``, of files without a slash in their name."""
    rows = (line[:_LONGEST_LINE].partition(":") for line in text.splitlines())
    return {name: value.strip() for name, colon, value in rows if colon and name.isidentifier()}


def _gpu(gpu: GpuFacts, pci: PciReport, stack: StackFacts) -> InventoryPart:
    own = stack.identities.get(gpu.index, GpuIdentity())
    slot = pci.slots.get(gpu.bus_id or "")
    known = {
        "address": gpu.bus_id,
        "slot": own.slot or (f"slot {slot}" if slot else None),
        "model": gpu.model,
        "part_number": own.part_number,
        "serial": own.serial,
        "uuid": own.uuid,
        "firmware": gpu.vbios,
    }
    return part(PartKind.GPU, f"gpu{gpu.index}", known, {"slot": _NO_SLOT}, stack.unidentified)


def _nics(facts: NodeFacts, sections: Sections, pci: PciReport) -> Iterator[InventoryPart]:
    """Yield the HCAs, and the network devices in other slots than theirs."""
    printed, shown = section(sections, "infiniband"), section(sections, "ethtool")
    files = {name: nic.files for name, nic in parse_sysfs(printed.text).items()}
    for nic in facts.nics:
        yield _hca(nic, files.get(nic.name, {}), facts.missing, pci)
    taken = {nic.pci_address for nic in facts.nics}
    firmware = _versions("" if shown.failure else shown.text)
    for netdev in facts.netdevs:
        if netdev.pci_address and netdev.pci_address not in taken:
            yield _netdev(netdev, firmware, shown.failure, pci)


def _disks(facts: NodeFacts, pci: PciReport) -> Iterator[InventoryPart]:
    for disk in facts.disks.controllers if facts.disks else ():
        known = {
            **_in_slot(disk.address, pci),
            "model": disk.model,
            "serial": disk.serial,
            "firmware": disk.firmware,
        }
        otherwise = f"/sys/class/nvme/{disk.name}: not shown"
        yield part(PartKind.DISK, disk.name, known, {"slot": _why_not(pci)["slot"]}, otherwise)


def _hca(
    nic: NicFacts, files: Mapping[str, str], missing: Mapping[str, str], pci: PciReport
) -> InventoryPart:
    guid = files.get("node_guid", "").lower()
    known = {
        **_in_slot(nic.pci_address, pci),
        "model": " ".join(filter(None, (nic.hca_type, files.get("board_id", "")))),
        "part_number": nic.part_number,
        "uuid": f"0x{guid.replace(':', '')}" if _GUID.fullmatch(guid) else guid,
        "firmware": nic.firmware,
    }
    why = {
        **_why_not(pci),
        "uuid": f"/sys/class/infiniband/{nic.name}/node_guid: no such file",
        "firmware": missing.get(f"nics.{nic.name}.firmware", ""),
        "part_number": missing.get(f"nics.{nic.name}.part_number", ""),
    }
    return part(PartKind.NIC, nic.name, known, why, f"/sys/class/infiniband/{nic.name}: not shown")


def _netdev(
    netdev: NetdevFacts, firmware: Mapping[str, str], failure: str, pci: PciReport
) -> InventoryPart:
    known = {
        **_in_slot(netdev.pci_address, pci),
        "model": netdev.driver,
        "part_number": pci.part_numbers.get(netdev.pci_address or ""),
        "firmware": firmware.get(netdev.name),
    }
    why = {
        **_why_not(pci),
        "uuid": "only HCAs have a GUID",
        "firmware": failure or f"ethtool -i {netdev.name}: shows none",
    }
    return part(PartKind.NIC, netdev.name, known, why, f"/sys/class/net/{netdev.name}: not shown")


def _in_slot(address: str | None, pci: PciReport) -> dict[str, str | None]:
    slot = pci.slots.get(address or "")
    return {
        "address": address,
        "slot": f"slot {slot}" if slot else None,
        "serial": pci.serials.get(address or ""),
    }


def _why_not(pci: PciReport) -> dict[str, str]:
    """Why a slot or product data were not read; only root can read product data."""
    silent = pci.problem or f"lspci: shows none ({_ONLY_ROOT})"
    return {"slot": pci.problem or _NO_SLOT, "serial": silent, "part_number": silent}


def _versions(text: str) -> dict[str, str]:
    """Return firmware versions by netdev; a line ``nic eth0`` precedes that of its firmware."""
    found: dict[str, str] = {}
    name = ""
    for line in (line[:_LONGEST_LINE] for line in text.splitlines()):
        if line.startswith("nic "):
            name = line.removeprefix("nic ").strip()
        elif name and line.startswith(_FIRMWARE):
            found[name] = line.removeprefix(_FIRMWARE).strip()
    return found
