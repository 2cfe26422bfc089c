"""What iperf3 says it was asked to do, beside what it was asked to do."""

from __future__ import annotations

import re

from railgauge.core.model import Parsed
from railgauge.tools.claims import Asked, Claim, Heard, equal

_NUMBERS = re.compile(r"(\d{1,3})\.(\d{1,3})")
_THREADED = (3, 16)


def claims(asked: Asked, heard: tuple[Heard, ...]) -> tuple[Claim, ...]:
    """Protocol, streams and their threads, direction, seconds, omitted start, length of a write."""
    said = heard[0].parsed.summary
    found = [
        equal("protocol", "TCP", said.get("protocol")),
        equal("streams", asked.option("streams", 1), said.get("streams")),
        equal("sender", _sender(asked.option("reverse")), _said_sender(said.get("reverse"))),
        equal("both ways", False, said.get("both_ways")),
        _seconds("seconds", asked.option("duration_s", 10), said.get("duration_s")),
        _seconds("omitted seconds", asked.option("omit_s", 0), said.get("omitted_s")),
    ]
    found += _threads(asked.option("streams", 1), heard[0].parsed)
    if asked.case.sizes:
        found.append(equal("length of a write", asked.case.sizes[0], said.get("write_bytes")))
    return tuple(found)


def _threads(streams: object, parsed: Parsed) -> list[Claim]:
    """Before 3.16 one thread serves all streams: one core is measured then, and not the link."""
    found = _NUMBERS.match(parsed.tool_version or "")
    if found is None or streams == 1:
        return []
    threaded = (int(found[1]), int(found[2])) >= _THREADED
    said = streams if threaded else f"1 (iperf {parsed.tool_version}; install 3.16)"
    return [equal("threads", streams, said)]


def _sender(reverse: object) -> str:
    return "the server" if reverse else "the client"


def _said_sender(reverse: object) -> str | None:
    return None if reverse is None else _sender(reverse)


def _seconds(item: str, asked: object, said: object) -> Claim:
    return equal(item, asked, f"{said:g}" if isinstance(said, int | float) else None)
