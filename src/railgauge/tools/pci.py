"""PCI addresses of GPUs as tools print them: whole, or ``0x1b``, the bus. Pure."""

from __future__ import annotations

import re

_SHORT = re.compile(r"0x([0-9a-f]{1,2})")
_LONG = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})(?:\.[0-9a-f])?")


def brief(printed: str) -> int | None:
    """Return the bus of an address that is printed as ``0x1b``; ``None`` for any other."""
    match = _SHORT.fullmatch(printed.lower())
    return int(match[1], 16) if match else None


def whole(address: str) -> tuple[int, int, int] | None:
    """Return domain, bus and device; ``None`` if it is not a whole address."""
    match = _LONG.fullmatch(address.lower())
    return (int(match[1] or "0", 16), int(match[2], 16), int(match[3], 16)) if match else None


def bus_of(address: str) -> int:
    """Return the bus of a whole address; -1 for any other text."""
    place = whole(address)
    return place[1] if place else -1


def same(printed: str, address: str) -> bool:
    """Whether a printed address may mean the GPU at ``address``, a whole one."""
    bus = brief(printed)
    place = whole(printed)
    return (
        bus == bus_of(address) if bus is not None else place is not None and place == whole(address)
    )
