"""Reader of ``iblinkinfo -l``: one line a port, with what is at the other end."""

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
    """One port. ``guid`` is a switch's own, of a channel adapter that of the port.

    ``state`` is ``Active``, ``Initialize``, ``Armed`` or ``Down``; a port that is down has no
    ``width`` and no ``lane_gbps``.
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
    """Every port, in the order of the output, and where to find it.

    A switch's port stands under the switch's GUID. A channel adapter's port has a GUID of its own
    that no topology file knows: it stands under the description.
    """

    ports: tuple[LinkPort, ...]
    by_end: Mapping[tuple[int | str, int], LinkPort]


@lru_cache(maxsize=4)
def link_table(text: str) -> LinkTable:
    ports = parse_link_lines(text)
    named: dict[tuple[int | str, int], LinkPort] = {(port.node, port.port): port for port in ports}
    return LinkTable(ports, {**named, **{(port.guid, port.port): port for port in ports}})


def parse_link_lines(text: str) -> tuple[LinkPort, ...]:
    """Every port in the order of the output; lines of anything else are passed over."""
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
