"""Parsers for ``ibqueryerrors`` and ``perfquery``: the error counters of every port.

``GUID 0x100001 port 3: [SymbolErrorCounter == 12]`` below ``Errors for "leaf01"`` becomes
``PortErrors(0x100001, "leaf01", 3, {"SymbolErrorCounter": 12})``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

_LONGEST_LINE = 4000
# A site's own tool may indent the lines, or begin them with a word of its own.
_HEAD = re.compile(r'(?:^|\s)Errors for (?:(0x[0-9a-f]{1,16}) )?"([^"]{0,200})"')
_PORT = re.compile(r"\s*GUID (0x[0-9a-f]{1,16}) port (\d{1,4}):")
_ALL_PORTS = re.compile(r"\s*GUID 0x[0-9a-f]{1,16} port ALL:")
_PART_OF_SCAN = re.compile(r"Errors for|^\s*GUID 0x|\[\w{1,60} ==| == \d{1,20}|^\s*\[")
# Above the first node, other text is allowed.
_PART_ABOVE = re.compile(r"^\s*GUID 0x|\[\w{1,60} ==| == \d{1,20}\]")
_COUNTER = re.compile(r"\[(\w{1,60}) == (\d{1,20})(?: \([^)]{0,40}\))?\]")
_SUMMARY = re.compile(r"## Summary: (\d{1,9}) nodes checked, \d{1,9} bad nodes found")
_PORTS = re.compile(r"##\s+(\d{1,9}) ports checked, (\d{1,9}) ports have errors")
_PERFQUERY = re.compile(r"# Port\w{0,40} counters: Lid (\d{1,6}) port (\d{1,4})")
_PART = re.compile(r"\.\.|^#|:\.|^[ \t]*\.?[0-9]+[ \t]*$|counters: |^[A-Z]\w{3,60}:?$")
_FIELD = re.compile(r"(\w{1,60}):\.{1,60}(?:0x([0-9a-f]{1,16})|([0-9]{1,20}))")

# The largest values of PortCounters, at which they stop (InfiniBand Architecture Specification).
FULL = {
    "SymbolErrorCounter": 65535,
    "LinkErrorRecoveryCounter": 255,
    "LinkDownedCounter": 255,
    "PortRcvErrors": 65535,
    "PortRcvRemotePhysicalErrors": 65535,
    "PortRcvSwitchRelayErrors": 65535,
    "PortXmitDiscards": 65535,
    "PortXmitConstraintErrors": 255,
    "PortRcvConstraintErrors": 255,
    "LocalLinkIntegrityErrors": 15,
    "ExcessiveBufferOverrunErrors": 15,
    "VL15Dropped": 65535,
}


@dataclass(frozen=True, slots=True)
class PortErrors:
    """The counters of one port that are not 0.

    ``guid`` is that of the switch, or that of the port of a channel adapter.
    """

    guid: int
    node: str
    port: int
    counters: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ErrorScan:
    """The output of ``ibqueryerrors``. ``nodes_checked`` is ``None`` if it was cut off.

    ``by_end`` has the counters by port: the GUID of a switch, or the description of a channel
    adapter, and the port's number. ``summaries`` counts the scans in the text. ``part`` is a line
    of which other output has overwritten a part.
    """

    ports: tuple[PortErrors, ...]
    nodes_checked: int | None
    ports_checked: int | None
    ports_with_errors: int | None
    by_end: Mapping[tuple[int | str, int], Mapping[str, int]]
    summaries: int = 1
    part: str = ""


@lru_cache(maxsize=4)
def parse_ibqueryerrors(text: str) -> ErrorScan:
    """Parse the counters above the tool's threshold (0 by default).

    The sums over a switch (``port ALL``) are skipped.
    """
    ports: list[PortErrors] = []
    node = part = ""
    for line in (line[:_LONGEST_LINE] for line in text.splitlines()):
        if head := _HEAD.search(line):
            node = head[2].strip()
        elif node and (match := _PORT.match(line)):
            counters = {name: int(value) for name, value in _COUNTER.findall(line)}
            ports.append(PortErrors(int(match[1], 16), node, int(match[2]), counters))
            part = part or (line if len(counters) != line.count("[") else "")
        elif not part and not _ALL_PORTS.match(line):
            is_part = (_PART_OF_SCAN if node else _PART_ABOVE).search(line)
            part = line if is_part else ""
    nodes, checked = _SUMMARY.search(text), _PORTS.search(text)
    return ErrorScan(
        tuple(ports),
        int(nodes[1]) if nodes else None,
        int(checked[1]) if checked else None,
        int(checked[2]) if checked else None,
        {
            **{(port.node, port.port): port.counters for port in ports},
            **{(port.guid, port.port): port.counters for port in ports},
        },
        len(_SUMMARY.findall(text)),
        part,
    )


def ports_of_perfquery(text: str) -> list[str]:
    """Return the lines that begin the counters of a port, or with ``-E`` each part of them."""
    return [match[0] for match in _PERFQUERY.finditer(text)]


def part_of_perfquery(text: str) -> str:
    """Return a line that is only a part of a counter or a heading; empty if there is none.

    The values of all counters begin in one column.
    """
    columns = set()
    for line in (one[:_LONGEST_LINE] for one in text.splitlines() if one.strip()):
        if _PERFQUERY.match(line.strip()):
            continue
        field = _FIELD.fullmatch(line.strip())
        if field is None and _PART.search(line):
            return line
        columns |= {line.rfind(".")} if field else set()
        if len(columns) > 1:
            return line
    return ""


def parse_perfquery(text: str) -> dict[str, int]:
    """Parse the counters of one port by name, with ``-E`` also their parts; ``{}`` if none."""
    if not _PERFQUERY.search(text):
        return {}
    fields = (_FIELD.fullmatch(line[:_LONGEST_LINE].strip()) for line in text.splitlines())
    return {m[1]: int(m[2], 16) if m[2] else int(m[3]) for m in fields if m}
