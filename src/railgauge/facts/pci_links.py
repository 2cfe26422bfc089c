"""PCIe links of ``lspci -vvv`` and the tree of ``lspci -vt``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from railgauge.facts.pci import full_address, redirects

_LONGEST_LINE = 1000
_ADDRESS = re.compile(r"((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (\S.*)")
_LINK = re.compile(r"Speed ([\d.]{1,6})GT/s(?: \((\w+)\))?, Width x(\d{1,3})(?: \((\w+)\))?")
_NUMA = re.compile(r"\s+NUMA node: (\d{1,4})")
_PAYLOAD = re.compile(r"\s+MaxPayload (\d{1,5}) bytes, MaxReadReq (\d{1,5}) bytes")
_NODE = re.compile(r"\[(?:([0-9a-f]{4,8}):)?([0-9a-f]{2})(?:-[0-9a-f]{2})?\]|([0-9a-f]{2}\.[0-7])")
_LEAF = re.compile(r"[0-9a-f]{2}\.[0-7]  (\S.*)$")


@dataclass(frozen=True, slots=True)
class PciLink:
    """One device and the link above it. ``max_*`` are of the device, not of its slot.

    ``acs_redirects`` is whether access control sends traffic between peers on a detour; ``None``
    on devices without access control.
    """

    address: str
    name: str
    speed_gts: float | None = None
    width: int | None = None
    max_speed_gts: float | None = None
    max_width: int | None = None
    downgraded: bool = False
    numa_node: int | None = None
    max_payload_bytes: int | None = None
    max_read_request_bytes: int | None = None
    acs_redirects: bool | None = None


@dataclass(slots=True)
class _Device:
    values: dict[str, object] = field(default_factory=dict)

    def read(self, line: str) -> None:
        """Take from one line what it tells; the last line of a kind counts."""
        if "LnkCap:" in line and (cap := _LINK.search(line)):
            self.values |= {"max_speed_gts": float(cap[1]), "max_width": int(cap[3])}
        elif "LnkSta:" in line and (state := _LINK.search(line)):
            self.values |= {"speed_gts": float(state[1]), "width": int(state[3])}
            self.values["downgraded"] = "downgraded" in (state[2], state[4])
        elif numa := _NUMA.fullmatch(line):
            self.values["numa_node"] = int(numa[1])
        elif payload := _PAYLOAD.fullmatch(line):
            self.values |= {
                "max_payload_bytes": int(payload[1]),
                "max_read_request_bytes": int(payload[2]),
            }
        elif "ACSCtl:" in line:
            self.values["acs_redirects"] = redirects(line)


def parse_pci_links(text: str) -> dict[str, PciLink]:
    """Every device of ``lspci -vvv`` by its address with domain.

    Older releases do not write ``(downgraded)``: a link below its own maximum counts as such.
    """
    return {link.address: link for link in _links(text)}


def _links(text: str) -> Iterator[PciLink]:
    start, device = None, _Device()
    for line in (*(line[:_LONGEST_LINE] for line in text.splitlines()), "00:00.0 end"):
        if match := _ADDRESS.fullmatch(line):
            if start:
                yield _link(start, device)
            start, device = match, _Device()
        else:
            device.read(line)


def _link(start: re.Match[str], device: _Device) -> PciLink:
    link = PciLink(full_address(start[1]), start[2], **device.values)  # type: ignore[arg-type]
    slow = (link.speed_gts or 0) < (link.max_speed_gts or 0)
    narrow = (link.width or 0) < (link.max_width or 0)
    below = link.speed_gts is not None and (slow or narrow)
    return replace(link, downgraded=link.downgraded or below)


@dataclass(frozen=True, slots=True)
class PciLeaf:
    """One named device of ``lspci -vt``; ``buses`` lead to it from the root, its own bus last."""

    address: str
    name: str
    buses: tuple[str, ...]


def parse_pci_tree(text: str) -> tuple[PciLeaf, ...]:
    """The named devices of ``lspci -vt``; bridges are printed without a name."""
    found: list[PciLeaf] = []
    path: list[tuple[int, re.Match[str]]] = []
    for line in (line[:_LONGEST_LINE] for line in text.splitlines()):
        leaf = _LEAF.search(line)
        drawn = line[: leaf.start(1)] if leaf else line
        nodes = [(match.start(), match) for match in _NODE.finditer(drawn)]
        if nodes:
            path = [item for item in path if item[0] < nodes[0][0]] + nodes
        if leaf and path:
            found.append(_leaf([match for _, match in path], leaf[1]))
    return tuple(found)


def _leaf(path: list[re.Match[str]], name: str) -> PciLeaf:
    domain = next((match[1] for match in path if match[1]), "0000")
    buses = tuple(match[2] for match in path if match[2])
    return PciLeaf(f"{domain}:{buses[-1] if buses else '00'}:{path[-1][3]}", name, buses)
