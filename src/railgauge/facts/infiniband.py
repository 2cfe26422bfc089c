"""The HCAs of a node, from sysfs; tools add the values that sysfs lacks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from railgauge.facts.ibtools import GidLine, HcaPort, NetdevLine
from railgauge.facts.model import GidFacts, NicFacts
from railgauge.facts.parts import identifier

_NAME = r"[\w.\-]+"
_PCI = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_LINE = re.compile(rf"(?:(nic|net) )?({_NAME})(?:/([\w./\-]+))?(?::(.*))?")
_LINK = re.compile(rf"l\S+ .* ({_NAME})/device -> (?:\S*/)?({_PCI})")
_NETDEV = "device/net/"
_GID = "ports/1/gids/"
_GID_TYPE = "ports/1/gid_attrs/types/"
_MAPPED = re.compile(r"0000:0000:0000:0000:0000:ffff:([0-9a-f]{4}):([0-9a-f]{4})")
_SLOT = "PCI_SLOT_NAME="


@dataclass(slots=True)
class SysfsNic:
    """The files of one HCA under ``/sys/class/infiniband/NAME``, by their relative path."""

    files: dict[str, str] = field(default_factory=dict)
    netdevs: list[str] = field(default_factory=list)
    pci_address: str | None = None


@dataclass(frozen=True, slots=True)
class Tools:
    """The output of the tools by HCA name, and why a tool failed (``""`` if it did not)."""

    devinfo: Mapping[str, HcaPort] = field(default_factory=dict)
    netdevs: Mapping[str, NetdevLine] = field(default_factory=dict)
    gids: Mapping[str, tuple[GidLine, ...]] = field(default_factory=dict)
    part_numbers: Mapping[str, str] = field(default_factory=dict)
    guids: Mapping[str, str] = field(default_factory=dict)
    guids_failure: str = ""
    devinfo_failure: str = ""
    netdevs_failure: str = ""


def parse_sysfs(text: str) -> dict[str, SysfsNic]:
    """Parse the probe's section ``infiniband`` into HCAs in the natural order of their names."""
    nics: defaultdict[str, SysfsNic] = defaultdict(SysfsNic)
    listed: set[str] = set()
    for line in text.splitlines():
        if match := _LINK.fullmatch(line):
            nics[match[1]].pci_address = match[2]
        elif match := _LINE.fullmatch(line):
            kind, name, path, value = match.groups()
            listed |= {name} if kind == "nic" else set()
            _keep(nics[name], path or "", value)
    return {name: nics[name] for name in sorted(listed, key=natural)}


def _keep(nic: SysfsNic, path: str, value: str | None) -> None:
    if path.startswith(_NETDEV):
        nic.netdevs.append(path.removeprefix(_NETDEV))
    elif value is not None and path == "device/uevent":
        slot = re.fullmatch(f"{_SLOT}({_PCI})", value)
        nic.pci_address = nic.pci_address or (slot[1] if slot else None)
    elif value is not None:
        nic.files[path] = value.strip()


def natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that puts ``mlx5_2`` before ``mlx5_10``."""
    return [(int(d or 0), rest) for d, rest in re.findall(r"(\d{1,18})|(\D+|\d+)", name)]


# --- single values; each parser returns None for a text that it does not understand ---


def _after_colon(text: str) -> str | None:
    """Return ``ACTIVE`` for ``4: ACTIVE``."""
    match = re.fullmatch(r"\d{1,2}: (\S.*)", text)
    return match[1] if match else None


def _leading(text: str) -> float | None:
    """Return 400 for ``400 Gb/sec (4X NDR)`` and 32 for ``32.0 GT/s PCIe``."""
    match = re.match(r"(\d{1,6}(?:\.\d{1,6})?) G", text)
    return float(match[1]) if match else None


def _whole(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,9}", text) else None


def _hexadecimal(text: str) -> int | None:
    return int(text, 16) if re.fullmatch(r"0x[0-9a-fA-F]{1,8}", text) else None


def _word(text: str) -> str | None:
    return text or None


_FILES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "hca_type": ("hca_type", _word),
    "firmware": ("fw_ver", identifier),
    "numa_node": ("device/numa_node", _whole),
    "port_state": ("ports/1/state", _after_colon),
    "physical_state": ("ports/1/phys_state", _after_colon),
    "rate_gbps": ("ports/1/rate", _leading),
    "link_layer": ("ports/1/link_layer", _word),
    "lid": ("ports/1/lid", _hexadecimal),
    "sm_lid": ("ports/1/sm_lid", _hexadecimal),
    "pcie_speed_gts": ("device/current_link_speed", _leading),
    "pcie_width": ("device/current_link_width", _whole),
}


# --- one NIC from all its sources ---


def nic_facts(name: str, nic: SysfsNic, tools: Tools) -> tuple[NicFacts, dict[str, str]]:
    """Return the facts of one HCA, and the reason for each field without a value.

    An HCA without any netdev, as on InfiniBand without IPoIB, is no missing value.
    """
    values: dict[str, Any] = {fact: _read(nic, fact) for fact in _FILES}
    port, line = tools.devinfo.get(name), tools.netdevs.get(name)
    values["pci_address"] = nic.pci_address or (line.pci_address if line else None)
    values["netdev"] = _netdev(nic, line)
    values["part_number"] = _part_number(values["pci_address"], line, tools)
    values["active_mtu_bytes"] = port.number("active_mtu") if port else None
    for fact, field_name in (("lid", "port_lid"), ("sm_lid", "sm_lid")):
        if values[fact] is None and port:
            values[fact] = port.number(field_name)
    values["gids"] = _gids(nic) or _printed_gids(tools.gids.get(name, ()))
    values["node_guid"] = None if _why_no_guid(name, nic, tools) else tools.guids[name]
    return NicFacts(name=name, **values), _reasons(name, nic, values, tools)


_GUID_FILE = "node_guid"
_GUID = re.compile(r"[0-9a-f]{4}(?::[0-9a-f]{4}){3}")


def _why_no_guid(name: str, nic: SysfsNic, tools: Tools) -> str:
    """Return why the GUID is unknown (a source lacks it, or two differ); empty if it is known."""
    own = nic.files.get(_GUID_FILE, "").lower()
    if not _GUID.fullmatch(own):
        return _unread(name, nic, _GUID_FILE)
    if name not in tools.guids:
        return tools.guids_failure or f"ibv_devices: does not list {name}"
    own, listed = f"0x{own.replace(':', '')}", tools.guids[name]
    file = f"/sys/class/infiniband/{name}/{_GUID_FILE}"
    return "" if own == listed else f"ibv_devices shows {listed}, but {file} is {own}"


def _read(nic: SysfsNic, fact: str) -> Any:
    path, reader = _FILES[fact]
    return reader(nic.files[path]) if path in nic.files else None


def _netdev(nic: SysfsNic, line: NetdevLine | None) -> str | None:
    """Return the HCA's netdev; if it has several (IPoIB children, representors), the one that
    ibdev2netdev names."""
    if len(nic.netdevs) == 1:
        return nic.netdevs[0]
    return line.netdev if line else None


def _part_number(pci_address: str | None, line: NetdevLine | None, tools: Tools) -> str | None:
    printed = line.part_number if line else None
    return printed or tools.part_numbers.get(pci_address or "")


def _gids(nic: SysfsNic) -> tuple[GidFacts, ...]:
    entries = {path.removeprefix(_GID): gid for path, gid in nic.files.items() if _GID in path}
    known = sorted((int(i), gid.lower()) for i, gid in entries.items() if _whole(i) is not None)
    return tuple(GidFacts(i, gid, _ipv4(gid), _roce(nic, i)) for i, gid in known)


def _printed_gids(lines: tuple[GidLine, ...]) -> tuple[GidFacts, ...]:
    return tuple(
        GidFacts(line.index, line.gid, line.ipv4, line.version) for line in lines if line.port == 1
    )


def _ipv4(gid: str) -> str | None:
    match = _MAPPED.fullmatch(gid)
    if not match:
        return None
    return ".".join(str(byte) for byte in bytes.fromhex(match[1] + match[2]))


def _roce(nic: SysfsNic, index: int) -> str | None:
    kind = nic.files.get(f"{_GID_TYPE}{index}", "")
    return next((version for version in ("v1", "v2") if kind.endswith(f"RoCE {version}")), None)


def _reasons(name: str, nic: SysfsNic, values: Mapping[str, Any], tools: Tools) -> dict[str, str]:
    pairs = (
        (fact, _why(name, nic, fact, tools))
        for fact, value in values.items()
        if value in (None, ()) and not (fact == "netdev" and not nic.netdevs)
    )
    return {f"nics.{name}.{fact}": reason for fact, reason in pairs}


def _why(name: str, nic: SysfsNic, fact: str, tools: Tools) -> str:
    if fact in _FILES:
        return _unread(name, nic, _FILES[fact][0])
    folder = f"/sys/class/infiniband/{name}"
    return {
        "active_mtu_bytes": tools.devinfo_failure or f"ibv_devinfo: no active_mtu for {name}",
        "part_number": tools.netdevs_failure or "neither ibdev2netdev nor lspci shows one",
        "netdev": f"{folder}/device/net: several: {', '.join(nic.netdevs)}",
        "pci_address": f"{folder}/device: not a link to a PCI device",
        "gids": f"{folder}/ports/1/gids: no entry is set",
        "node_guid": _why_no_guid(name, nic, tools),
    }[fact]


def _unread(name: str, nic: SysfsNic, path: str) -> str:
    file = f"/sys/class/infiniband/{name}/{path}"
    return (
        f"{file}: reads {nic.files[path]!r:.80}" if path in nic.files else f"{file}: no such file"
    )


def by_name(ports: tuple[HcaPort, ...]) -> dict[str, HcaPort]:
    """Return port 1 of every HCA, by HCA name."""
    return {port.name: port for port in ports if port.port == 1}


def gids_by_name(lines: tuple[GidLine, ...]) -> dict[str, tuple[GidLine, ...]]:
    """Return the rows of show_gids by HCA name."""
    return {name: tuple(i for i in lines if i.name == name) for name in _names(lines)}


def _names(lines: tuple[GidLine, ...]) -> Iterator[str]:
    return iter(dict.fromkeys(line.name for line in lines))
