"""Parser for ``ibnetdiscover``: a subnet as discovered, or as a site declares it.

Topology files have the same format, so that a site can declare its subnet with a dump of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_LONGEST_LINE = 2000
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


@dataclass(frozen=True, slots=True)
class DiscoveredPort:
    """One port of ``ibnetdiscover``; ``peer`` is empty if nothing is connected.

    ``node`` and ``peer`` are node descriptions without quotes and outer blanks. ``guid`` is that
    of the node in the notation of the format: ``0x…`` with ``-p``, otherwise ``S-…`` or ``H-…``.
    """

    kind: str
    guid: str
    node: str
    lid: int | None
    port: int
    speed: str
    peer: str = ""
    peer_guid: str = ""
    peer_port: int | None = None


@dataclass(frozen=True, slots=True)
class Discovery:
    """A fabric as discovered; ``problem`` is set if records of nodes or lines are cut off."""

    ports: tuple[DiscoveredPort, ...]
    nodes: Mapping[str, str]
    problem: str = ""


def parse_ibnetdiscover(text: str) -> Discovery:
    """Parse either format: records of nodes with their ports, or one line per port (``-p``)."""
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
        peer_port=_number(match[9]),
    )


def _from_records(lines: list[str]) -> Discovery:
    head: re.Match[str] | None = None
    malformed = ""
    nodes: dict[str, str] = {}
    ports: list[DiscoveredPort] = []
    for line in lines:
        if match := _RECORD.fullmatch(line):
            head = match
            nodes[match[3]] = match[4].strip()
        elif head and (match := _RECORD_PORT.fullmatch(line)):
            ports.append(_record_port(head, match))
        elif head and line.startswith("["):
            malformed = malformed or line
    empty = sorted(set(nodes) - {port.guid for port in ports})
    problem = f"no port of {', '.join(empty)}" if empty else "" if nodes else "lists no node"
    if malformed and not problem:
        problem = f"a port that cannot be read: {malformed[:60]}"
    return Discovery(tuple(ports), nodes, problem)


def _record_port(head: re.Match[str], match: re.Match[str]) -> DiscoveredPort:
    own = _LID.match(f"{head[5]} ")
    return DiscoveredPort(
        kind={"Ca": "CA", "Switch": "SW", "Rt": "RT"}[head[1]],
        guid=head[3],
        node=head[4].strip(),
        # A switch has one LID, a channel adapter one for each of its ports.
        lid=_number(match[4]) or (int(own[1]) if own else None),
        port=int(match[1]),
        speed=match[7].replace(" ", ""),
        peer=match[5].strip(),
        peer_guid=match[2],
        peer_port=int(match[3]),
    )


def _number(text: str | None) -> int | None:
    return int(text) if text else None
