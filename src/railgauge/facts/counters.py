"""Readers of port counters: ``ethtool -S``, ``perfquery``, ``ibqueryerrors``, ``show_counters``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_LONGEST_LINE = 4000
_NAMED = re.compile(r"\s*([\w\[\].\-]{1,100}):\s*(\d{1,20})\s*")
_HEAD = re.compile(r"# (.{1,100}?): Lid (\d{1,6}) port (\d{1,5})\b.*")
_DOTTED = re.compile(r"(\w{1,80}):\.{2,}(0x[0-9a-fA-F]{1,16}|\d{1,20})")
_ERRORS_FOR = re.compile(r'Errors for (?:(0x[0-9a-f]{1,16}) )?"(.{1,200})"')
_PORT = re.compile(
    r"\s*GUID (0x[0-9a-f]{1,16}) port (ALL|\d{1,5}):((?: \[\w{1,60} == \d{1,20}[^\]]{0,40}\])+)"
)
_COUNTER = re.compile(r"\[(\w{1,60}) == (\d{1,20})")


def parse_named_counters(text: str) -> dict[str, int]:
    """Lines ``rx_discards_phy: 0`` of ``ethtool -S`` and ``show_counters``, by name."""
    found = (_NAMED.fullmatch(line) for line in text.splitlines() if len(line) <= _LONGEST_LINE)
    return {match[1]: int(match[2]) for match in found if match}


@dataclass(frozen=True, slots=True)
class PortQuery:
    """One answer of ``perfquery``: the kind of counters its heading names, and the counters.

    Values that select or mask counters, such as ``CounterSelect``, are among them.
    """

    kind: str
    lid: int
    port: int
    counters: Mapping[str, int]


def parse_perfquery(text: str) -> tuple[PortQuery, ...]:
    """Every port in the output. Extended counters (``-x``) have names of their own."""
    heads: list[re.Match[str]] = []
    counters: list[dict[str, int]] = []
    for line in (line[:_LONGEST_LINE].strip() for line in text.splitlines()):
        if head := _HEAD.fullmatch(line):
            heads.append(head)
            counters.append({})
        elif heads and (match := _DOTTED.fullmatch(line)):
            counters[-1][match[1]] = int(match[2], 0)
    return tuple(
        PortQuery(head[1].removesuffix(" counters"), int(head[2]), int(head[3]), found)
        for head, found in zip(heads, counters, strict=True)
    )


@dataclass(frozen=True, slots=True)
class PortErrors:
    """Counters over their threshold; ``port`` is a number or ``ALL`` for the sum of a switch."""

    node: str
    guid: str
    port: str
    counters: Mapping[str, int]


def parse_ibqueryerrors(text: str) -> tuple[PortErrors, ...]:
    """Ports with errors, as ``ibqueryerrors`` lists them; a clean fabric yields none.

    A counter at 4294967295 is saturated: at least so many.
    """
    found: list[PortErrors] = []
    node = ""
    for line in (line[:_LONGEST_LINE].rstrip() for line in text.splitlines()):
        if head := _ERRORS_FOR.fullmatch(line):
            node = head[2]
        elif node and (match := _PORT.fullmatch(line)):
            counters = {name: int(value) for name, value in _COUNTER.findall(match[3])}
            found.append(PortErrors(node, match[1], match[2], counters))
    return tuple(found)
