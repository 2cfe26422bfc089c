"""Parser for ``iblinkinfo -l``, which prints one line for each port, with its peer.

A line with ``0x100001 "leaf01" … 3[ ] ==( 4X 53.125 Gbps Active/ LinkUp)==>`` is port 3 of leaf01,
with a width of 4 and 53.125 Gb/s on each lane.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

_LONGEST_LINE = 1000
_LINE = re.compile(
    r'(0x[0-9a-f]{1,16}) "([^"]{0,200})"\s+(\d{1,6})\s+(\d{1,4})\[[^\]]{0,4}\] ==\(\s*'
    r"(?:(\d{1,2})X\s+([\d.]{1,10}) Gbps\s+)?(\w{1,20})/\s*(\w{1,30})\)==>"
)


@dataclass(frozen=True, slots=True)
class LinkPort:
    """One port. ``guid`` is that of the switch, or that of the port of a channel adapter.

    ``state`` is ``Active``, ``Initialize``, ``Armed`` or ``Down``; a port that is down has no
    ``width`` and no ``lane_gbps``, the signalling rate of one lane in Gb/s.
    """

    guid: int
    node: str
    port: int
    state: str
    physical_state: str
    width: int | None
    lane_gbps: float | None


@dataclass(frozen=True, slots=True)
class LinkTable:
    """Every port in the order of the output, and an index of them.

    The key of a switch's port is the switch's GUID and the port. A channel adapter's port has its
    own GUID, which topology files do not contain; its key has the adapter's description instead.
    """

    ports: tuple[LinkPort, ...]
    by_end: Mapping[tuple[int | str, int], LinkPort]


@lru_cache(maxsize=4)
def link_table(text: str) -> LinkTable:
    ports = parse_link_lines(text)
    named: dict[tuple[int | str, int], LinkPort] = {(port.node, port.port): port for port in ports}
    return LinkTable(ports, {**named, **{(port.guid, port.port): port for port in ports}})


def parse_link_lines(text: str) -> tuple[LinkPort, ...]:
    """Parse every port in the order of the output; skip other lines."""
    matches = (_LINE.match(line[:_LONGEST_LINE]) for line in text.splitlines())
    return tuple(map(_port, filter(None, matches)))


def _port(match: re.Match[str]) -> LinkPort:
    return LinkPort(
        guid=int(match[1], 16),
        node=match[2].strip(),
        port=int(match[4]),
        state=match[7],
        physical_state=match[8],
        width=int(match[5]) if match[5] else None,
        lane_gbps=float(match[6]) if match[6] else None,
    )
