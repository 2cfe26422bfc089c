"""What iperf3 says it was asked to do, beside what it was asked to do."""

from __future__ import annotations

from railgauge.tools.claims import Asked, Claim, Heard, equal


def claims(asked: Asked, heard: tuple[Heard, ...]) -> tuple[Claim, ...]:
    """Protocol, streams, direction, seconds, omitted start, length of a write."""
    said = heard[0].parsed.summary
    found = [
        equal("protocol", "TCP", said.get("protocol")),
        equal("streams", asked.option("streams", 1), said.get("streams")),
        equal("sender", _sender(asked.option("reverse")), _said_sender(said.get("reverse"))),
        equal("both ways", False, said.get("both_ways")),
        _seconds("seconds", asked.option("duration_s", 10), said.get("duration_s")),
        _seconds("omitted seconds", asked.option("omit_s", 0), said.get("omitted_s")),
    ]
    if asked.case.sizes:
        found.append(equal("length of a write", asked.case.sizes[0], said.get("write_bytes")))
    return tuple(found)


def _sender(reverse: object) -> str:
    return "the server" if reverse else "the client"


def _said_sender(reverse: object) -> str | None:
    return None if reverse is None else _sender(reverse)


def _seconds(item: str, asked: object, said: object) -> Claim:
    return equal(item, asked, f"{said:g}" if isinstance(said, int | float) else None)
