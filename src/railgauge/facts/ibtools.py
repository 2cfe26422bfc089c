"""Parsers for the InfiniBand and RoCE tools ibdev2netdev, show_gids, ibv_devinfo, ibv_devices, ….

Each takes the output of its tool, skips lines that it does not know, and never raises.
``mlx5_0 port 1 ==> ibs1 (Up)`` becomes ``NetdevLine("mlx5_0", 1, "ibs1", "Up")``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_LONGEST_LINE = 2000
# The description contains commas and parentheses, so " fw " and "==>" mark the fields after it.
_NETDEV = re.compile(
    r"(?:(?P<pci>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) )?(?P<name>[\w.\-]+)"
    r"(?: \((?P<type>\w+) - (?P<part>[^)]*)\).* fw (?P<firmware>\S+))?"
    r" port (?P<port>\d{1,3})(?: \((?P<state>\w+) *\))? ==> (?P<netdev>\S+) \((?P<link>\w+)\)"
)
_GID = re.compile(
    r"(?P<name>\S+)\s+(?P<port>\d{1,3})\s+(?P<index>\d{1,5})\s+(?P<gid>[0-9a-fA-Fx:]{15,})\s+"
    r"(?:(?P<ipv4>\d{1,3}(?:\.\d{1,3}){3})\s+)?(?P<version>v\d)(?:\s+(?P<netdev>\S+))?"
)
_HCA = re.compile(r"hca_id:\s*(\S+)")
_PORT = re.compile(r"port:\s*(\d{1,3})")
_FIELD = re.compile(r"([A-Za-z][A-Za-z_ ]*):\s*(\S.*)")
_NO_PART = {"", "NA", "N/A"}


@dataclass(frozen=True, slots=True)
class NetdevLine:
    """One line of ibdev2netdev. ``link`` is ``Up`` or ``Down``.

    Fields that only ``-v`` prints are ``None`` without it.
    """

    name: str
    port: int
    netdev: str
    link: str
    pci_address: str | None = None
    hca_type: str | None = None
    part_number: str | None = None
    firmware: str | None = None
    port_state: str | None = None


@dataclass(frozen=True, slots=True)
class GidLine:
    """One row of show_gids."""

    name: str
    port: int
    index: int
    gid: str
    ipv4: str | None
    version: str
    netdev: str | None


@dataclass(frozen=True, slots=True)
class HcaPort:
    """One port, with its fields as printed: ``{"state": "PORT_ACTIVE (4)", "sm_lid": "1", …}``.

    ``device`` holds the fields of its HCA.
    """

    name: str
    port: int
    device: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)

    def number(self, name: str) -> int | None:
        """Return the number at the start of a field: 4096 for ``4096 (5)``."""
        match = re.match(r"\d{1,9}(?!\S)", self.fields.get(name, ""))
        return int(match[0]) if match else None


def parse_ibdev2netdev(text: str) -> tuple[NetdevLine, ...]:
    """Parse both forms, plain and ``-v``; a part number that is blank or ``NA`` is ``None``."""
    found = (_NETDEV.fullmatch(line) for line in _lines(text))
    return tuple(_netdev(match) for match in found if match)


def _netdev(match: re.Match[str]) -> NetdevLine:
    part = (match["part"] or "").strip()
    return NetdevLine(
        name=match["name"],
        port=int(match["port"]),
        netdev=match["netdev"],
        link=match["link"],
        pci_address=match["pci"],
        hca_type=match["type"],
        part_number=None if part in _NO_PART else part,
        firmware=match["firmware"],
        port_state=match["state"],
    )


def parse_show_gids(text: str) -> tuple[GidLine, ...]:
    """Parse the rows in printed order; the IPv4 address and the netdev may be missing."""
    found = (_GID.fullmatch(line) for line in _lines(text))
    return tuple(
        GidLine(
            m["name"],
            int(m["port"]),
            int(m["index"]),
            m["gid"].lower(),
            m["ipv4"],
            m["version"],
            m["netdev"],
        )
        for m in found
        if m
    )


def parse_ibv_devinfo(text: str) -> tuple[HcaPort, ...]:
    """Parse every port of every HCA, with fields such as ``state``, ``active_mtu``, ``sm_lid``."""
    return tuple(_read_ports(text, _HCA, _PORT))


def _read_ports(text: str, of_hca: re.Pattern[str], port_of: re.Pattern[str]) -> Iterator[HcaPort]:
    """Read the output in its order: an HCA and its fields, then each port and its fields."""
    name, port = "", 0
    of_device: dict[str, str] = {}
    of_port: dict[str, str] = {}
    for line in _lines(text):
        start = of_hca.fullmatch(line)
        next_port = port_of.fullmatch(line)
        if port and (start or next_port):
            yield HcaPort(name, port, of_device, of_port)
            of_port = {}
        if start:
            name, port, of_device = start[1], 0, {}
        elif next_port and name:
            port = int(next_port[1])
        elif match := _FIELD.fullmatch(line):
            (of_port if port else of_device)[match[1]] = match[2]
    if port:
        yield HcaPort(name, port, of_device, of_port)


_DEVICE = re.compile(r"([\w.\-]{1,80})\s{1,40}([0-9a-f]{16})")


def parse_ibv_devices(text: str) -> dict[str, str]:
    """Parse the node GUID of every HCA, as ``0x`` and 16 digits; the heading has none."""
    return {match[1]: f"0x{match[2]}" for match in map(_DEVICE.fullmatch, _lines(text)) if match}


_CA = re.compile(r"CA '([^']{1,80})'")
_CA_PORT = re.compile(r"Port (\d{1,3}):")


def parse_ibstat(text: str) -> tuple[HcaPort, ...]:
    """Parse every port of every adapter, with its fields: ``State``, ``Rate``, ``Link layer``, …"""
    return tuple(_read_ports(text, _CA, _CA_PORT))


_STATUS = re.compile(r"Infiniband device '([^']{1,80})' port (\d{1,3}) status:")


def parse_ibstatus(text: str) -> tuple[HcaPort, ...]:
    """Parse every port of ``ibstatus``, with its fields: ``state``, ``rate``, ``link_layer``, …

    Format: infiniband-diags, ibstatus, and outputs quoted in public repositories.
    """
    ports: list[tuple[str, int, dict[str, str]]] = []
    for line in _lines(text):
        if start := _STATUS.fullmatch(line):
            ports.append((start[1], int(start[2]), {}))
        elif ports and (match := _FIELD.fullmatch(line)):
            ports[-1][2][match[1]] = match[2]
    return tuple(HcaPort(name, port, fields=fields) for name, port, fields in ports)


_LINK = re.compile(
    r"(?:\d{1,4}/\d{1,3}: )?(?:link )?(?P<name>[\w.\-]{1,80})/(?P<port>\d{1,3}):? "
    r"(?:[^\n]{0,200} )?state (?P<state>[A-Z]{1,20}) physical_state (?P<physical>[A-Z_]{1,30})"
    r"(?: netdev (?P<netdev>\S{1,40}))?(?: [^\n]{0,200})?"
)


def parse_rdma_link(text: str) -> tuple[dict[str, str], ...]:
    """Parse ``rdma link``, old and new: name, port, state, physical and, if printed, netdev."""
    found = (_LINK.fullmatch(line[:_LONGEST_LINK]) for line in _lines(text))
    return tuple({k: v for k, v in m.groupdict().items() if v} for m in found if m)


_LONGEST_LINK = 600


def _lines(text: str) -> Iterator[str]:
    return (line.strip() for line in text.splitlines() if len(line) <= _LONGEST_LINE)
