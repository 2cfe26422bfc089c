"""Readers of the fabric's tools: ``rdma link``, ``iblinkinfo``, ``ibnetdiscover``, ``ibswinfo``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from railgauge.subnet.netdiscover import DiscoveredPort, Discovery, parse_ibnetdiscover

__all__ = [
    "DiscoveredPort",
    "Discovery",
    "FabricLink",
    "RdmaLink",
    "parse_iblinkinfo",
    "parse_ibnetdiscover",
    "parse_ibswinfo",
    "parse_rdma_link",
]

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
