"""Readers of the fabric's tools: ``rdma link``, ``iblinkinfo``, ``ibnetdiscover``, ``ibswinfo``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_LONGEST_LINE = 2000
_RDMA = re.compile(
    r"link (\S+)/(\d{1,3}) state (\S+) physical_state (\S+)(?: netdev (\S+))?(?: netdev_index \d+)?"
)
_NODE = re.compile(r"(CA|Switch|Router): (?:(0x[0-9a-f]{1,16}) )?(.{1,200}?):?")
_LINK = re.compile(
    r"\s*(?:(0x[0-9a-f]{1,16})\s+)?(\d{1,6})\s+(\d{1,4})\[\s*\] ==\(\s*"
    r"(?:(\d{1,2})X\s+([\d.]{1,10}) Gbps )?\s*(\w+)/\s*(\w+)\)==>\s*"
    r'(?:(\d{1,6})\s+)?(?:(\d{1,4})\s*)?\[\s*\] "([^"]{0,200})" \((.*)\)\s*'
)
_PORT_LINE = re.compile(
    r"(CA|SW|RT)\s+(\d{1,6})\s+(\d{1,4}) (0x[0-9a-f]{1,16}) (\d{1,2})x (\S{1,5})"
    r"(?: - (CA|SW|RT)\s+(\d{1,6})\s+(\d{1,4}) (0x[0-9a-f]{1,16}))?\s+(\S.*)"
)
_RECORD = re.compile(r'(Switch|Ca|Rt)\s+(\d{1,5}) "([HSR]-[0-9a-f]{1,16})"\s*# "([^"]{0,200})"(.*)')
_RECORD_PORT = re.compile(
    r'\[(\d{1,5})\](?:\([0-9a-f]{1,16}\))?\s*"([HSR]-[0-9a-f]{1,16})"\[(\d{1,5})\]'
    r'(?:\([0-9a-f]{1,16}\))?\s*# (?:lid (\d{1,6}) lmc \d{1,3} )?"([^"]{0,200})"'
    r" lid (\d{1,6}) (\d{1,2}x ?\w{1,5}).*"
)
_LID = re.compile(r".* lid (\d{1,6}) ")
_SWITCH_FIELD = re.compile(r"( *)(\S[^|]{0,60}?) *\| (\S.*)")


# --- rdma link ---


@dataclass(frozen=True, slots=True)
class RdmaLink:
    """One port of ``rdma link``: ``ACTIVE`` or ``DOWN``, ``LINK_UP``, ``DISABLED``, …"""

    name: str
    port: int
    state: str
    physical_state: str
    netdev: str | None


def parse_rdma_link(text: str) -> tuple[RdmaLink, ...]:
    found = (_RDMA.fullmatch(line[:_LONGEST_LINE].strip()) for line in text.splitlines())
    return tuple(RdmaLink(m[1], int(m[2]), m[3], m[4], m[5]) for m in found if m)


# --- iblinkinfo ---


@dataclass(frozen=True, slots=True)
class FabricLink:
    """One port and what is at the other end. ``lane_gbps`` is the rate of each of ``width`` lanes.

    ``remark`` is what the tool says in brackets, such as ``Could be 14.0625 Gbps``.
    """

    kind: str
    node: str
    lid: int
    port: int
    state: str
    physical_state: str
    width: int | None = None
    lane_gbps: float | None = None
    peer: str = ""
    peer_lid: int | None = None
    peer_port: int | None = None
    remark: str = ""


def parse_iblinkinfo(text: str) -> tuple[FabricLink, ...]:
    """Ports of all CAs and switches, in the order of the output; down ones have no rate."""
    found: list[FabricLink] = []
    kind, node = "", ""
    for line in (line[:_LONGEST_LINE].rstrip() for line in text.splitlines()):
        if head := _NODE.fullmatch(line):
            kind, node = head[1], head[3]
        elif node and (match := _LINK.fullmatch(line)):
            found.append(_fabric_link(kind, node, match))
    return tuple(found)


def _fabric_link(kind: str, node: str, match: re.Match[str]) -> FabricLink:
    return FabricLink(
        kind=kind,
        node=node,
        lid=int(match[2]),
        port=int(match[3]),
        state=match[6],
        physical_state=match[7],
        width=_number(match[4]),
        lane_gbps=float(match[5]) if match[5] else None,
        peer=match[10],
        peer_lid=_number(match[8]),
        peer_port=_number(match[9]),
        remark=match[11].strip(),
    )


def _number(text: str | None) -> int | None:
    return int(text) if text else None


# --- ibnetdiscover ---


@dataclass(frozen=True, slots=True)
class DiscoveredPort:
    """One port of ``ibnetdiscover``; ``peer`` is empty where nothing is connected.

    ``node`` and ``peer`` are descriptions, quotes and blanks as set by their owners removed.
    ``guid`` is of the node as the format names it: ``0x…`` with ``-p``, else ``S-…`` or ``H-…``.
    """

    kind: str
    guid: str
    node: str
    lid: int | None
    port: int
    speed: str
    peer: str = ""
    peer_guid: str = ""
    peer_lid: int | None = None
    peer_port: int | None = None


@dataclass(frozen=True, slots=True)
class Discovery:
    """A fabric as discovered; ``problem`` names nodes of which the record is cut off."""

    ports: tuple[DiscoveredPort, ...]
    nodes: Mapping[str, str]
    problem: str = ""


def parse_ibnetdiscover(text: str) -> Discovery:
    """Either format: records of nodes with their ports, or one line a port (``-p``)."""
    lines = [line[:_LONGEST_LINE].rstrip() for line in text.splitlines()]
    rows = [match for match in map(_PORT_LINE.fullmatch, lines) if match]
    return _from_rows(rows) if rows else _from_records(lines)


def _from_rows(rows: list[re.Match[str]]) -> Discovery:
    ports = tuple(map(_row, rows))
    return Discovery(ports, {port.guid: port.node for port in ports})


def _row(match: re.Match[str]) -> DiscoveredPort:
    names = re.fullmatch(r"\( '(.{0,200}?)' - '(.{0,200})' \)", match[11])
    node, peer = (names[1], names[2]) if names else (match[11].strip("'"), "")
    return DiscoveredPort(
        kind=match[1],
        guid=match[4],
        node=node.strip(),
        lid=int(match[2]),
        port=int(match[3]),
        speed=f"{match[5]}x{match[6]}",
        peer=peer.strip(),
        peer_guid=match[10] or "",
        peer_lid=_number(match[8]),
        peer_port=_number(match[9]),
    )


def _from_records(lines: list[str]) -> Discovery:
    head: re.Match[str] | None = None
    nodes: dict[str, str] = {}
    ports: list[DiscoveredPort] = []
    for line in lines:
        if match := _RECORD.fullmatch(line):
            head = match
            nodes[match[3]] = match[4].strip()
        elif head and (match := _RECORD_PORT.fullmatch(line)):
            ports.append(_record_port(head, match))
    empty = sorted(set(nodes) - {port.guid for port in ports})
    problem = f"no port of {', '.join(empty)}" if empty else "" if nodes else "lists no node"
    return Discovery(tuple(ports), nodes, problem)


def _record_port(head: re.Match[str], match: re.Match[str]) -> DiscoveredPort:
    own = _LID.match(f"{head[5]} ")
    return DiscoveredPort(
        kind={"Ca": "CA", "Switch": "SW", "Rt": "RT"}[head[1]],
        guid=head[3],
        node=head[4].strip(),
        # A switch has one lid, a CA one for each of its ports.
        lid=_number(match[4]) or (int(own[1]) if own else None),
        port=int(match[1]),
        speed=match[7].replace(" ", ""),
        peer=match[5].strip(),
        peer_guid=match[2],
        peer_lid=int(match[6]),
        peer_port=int(match[3]),
    )


# --- ibswinfo ---


def parse_ibswinfo(text: str) -> dict[str, str]:
    """The table by name; rows that belong to a power supply as ``PSU0/power (W)``."""
    found: dict[str, str] = {}
    owner = ""
    for line in (line[:_LONGEST_LINE].rstrip() for line in text.splitlines()):
        match = _SWITCH_FIELD.fullmatch(line)
        if not match:
            owner = ""
        elif match[1]:
            found[f"{owner}/{match[2]}" if owner else match[2]] = match[3]
        else:
            supply = re.fullmatch(r"(PSU\d{1,2}) status", match[2])
            owner = supply[1] if supply else ""
            found[f"{owner}/status" if owner else match[2]] = match[3]
    return found
