"""Parser for ``iblinkinfo``: every port with the port at the other end of its cable.

With ``-l`` each line names its node: ``0x100001 "leaf01" … 3[ ] ==( 4X 53.125 Gbps Active/
LinkUp)==>`` is port 3 of leaf01, with a width of 4 and 53.125 Gb/s on each lane. Without it a
heading names the node of the lines below: ``Switch: 0x100001 leaf01:``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

_LONGEST_LINE = 1000
# What only lines of ports have.
_PART = re.compile(r"==\(| ==|\)==|==>|/ {0,4}(?:LinkUp|Polling)|\d\[ {0,4}\]")
_LINK = (
    r"\s{0,200}(\d{1,6})\s{1,200}(\d{1,4})\[[^\]]{0,4}\] ==\(\s{0,200}"
    r"(?:(\d{1,2})X\s{1,200}(\d{1,6}(?:\.\d{1,6})?) Gbps\s{1,200})?"
    r"(\w{1,20})/\s{0,200}(\w{1,30})\)==>"
    r"(?:\s{1,200}(?:0x[0-9a-f]{1,16}\s{1,200})?(\d{1,6})\s{1,200}(\d{1,4})\[)?"
)
_LINE = re.compile(r'(0x[0-9a-f]{1,16}) "([^"]{0,200})"' + _LINK)
_BELOW = re.compile(r"\s{1,200}(?:(0x[0-9a-f]{1,16})(?=\s))?" + _LINK)
_COULD_BE = re.compile(r"\(\s{0,9}Could be (\S[^()]{0,60}?)\s{0,9}\)")
_HEADING = re.compile(r"(?:CA|Switch|Router): (?:(0x[0-9a-f]{1,16}) )?(.{0,200}):\s{0,20}")


@dataclass(frozen=True, slots=True)
class LinkPort:
    """One port. ``guid`` is that of the switch, or that of the port of a channel adapter.

    ``state`` is ``Active``, ``Initialize``, ``Armed`` or ``Down``; a port that is down has no
    ``width`` and no ``lane_gbps``, the signalling rate of one lane in Gb/s. ``could_be`` is what
    both ends of the cable can do, if that is more.
    """

    guid: int
    node: str
    port: int
    state: str
    physical_state: str
    width: int | None
    lane_gbps: float | None
    could_be: str = ""


_Place = tuple[int, int]
"""The LID and the number of a port."""


@dataclass(frozen=True, slots=True)
class LinkTable:
    """Every port in the order of the output, and an index of them.

    The key of a switch's port is the switch's GUID and the port. A channel adapter's port has its
    own GUID, which topology files do not contain; its key has the adapter's description instead.

    ``repeated`` counts ports that are listed again. ``unlisted`` counts ports that are the other
    end of a cable and have no line themselves: lines are missing. ``unreadable`` counts lines of
    ports that cannot be read, because they were wrapped or changed.
    """

    ports: tuple[LinkPort, ...]
    by_end: Mapping[tuple[int | str, int], LinkPort]
    repeated: int = 0
    unlisted: int = 0
    unreadable: int = 0


@lru_cache(maxsize=4)
def link_table(text: str) -> LinkTable:
    """Parse every port in the order of the output; skip other lines."""
    rows = list(_rows(text))
    ports = tuple(port for port, _, _ in rows)
    named: dict[tuple[int | str, int], LinkPort] = {(port.node, port.port): port for port in ports}
    keys: dict[tuple[int | str, int], LinkPort] = {(port.guid, port.port): port for port in ports}
    peers = {peer for _, _, peer in rows if peer}
    unlisted = peers - {own for _, own, _ in rows}
    lines = text.splitlines()
    unreadable = sum(bool(_PART.search(line)) for line in lines) - len(ports)
    return LinkTable(ports, {**named, **keys}, len(ports) - len(keys), len(unlisted), unreadable)


def _rows(text: str) -> Iterator[tuple[LinkPort, _Place, _Place | None]]:
    """Yield each port, where it is, and where the other end of its cable is."""
    node, guid = "", ""
    for line in (line[:_LONGEST_LINE] for line in text.splitlines()):
        if heading := _HEADING.fullmatch(line):
            guid, node = heading[1] or "", heading[2]
        elif match := _LINE.match(line):
            yield _row(match, match[1], match[2], 3)
        elif node and (match := _BELOW.match(line)) and (match[1] or guid):
            yield _row(match, match[1] or guid, node, 2)


def _row(
    match: re.Match[str], guid: str, node: str, at: int
) -> tuple[LinkPort, _Place, _Place | None]:
    lid, number, width, lane, state, physical, peer_lid, peer = match.groups()[at - 1 :]
    port = LinkPort(
        guid=int(guid, 16),
        node=node.strip(),
        port=int(number),
        state=state,
        physical_state=physical,
        width=int(width) if width else None,
        lane_gbps=float(lane) if lane else None,
        could_be=could_be[1] if (could_be := _COULD_BE.search(match.string, match.end())) else "",
    )
    return port, (int(lid), int(number)), (int(peer_lid), int(peer)) if peer else None
