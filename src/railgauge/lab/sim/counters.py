"""The NIC's byte and packet counters, which move when a test has moved data."""

from __future__ import annotations

import fcntl
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BYTES_PER_WORD = 4


def count_traffic(node: dict[str, Any], device: str, direction: str, payload_bytes: int) -> None:
    """Add to ``port_{xmit,rcv}_{data,packets}``; data counts words of four bytes."""
    folder = f"{node['root']}/sys/class/infiniband/{device}/ports/1/counters"
    packets = payload_bytes // node["devices"][device]["mtu"] + 1
    _add(f"{folder}/port_{direction}_data", payload_bytes // _BYTES_PER_WORD)
    _add(f"{folder}/port_{direction}_packets", packets)


def _add(path: str, amount: int) -> None:
    handle = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        total = (int(os.read(handle, 64) or b"0") + amount) % 2**64
        os.pwrite(handle, f"{total}\n".encode(), 0)
    finally:
        os.close(handle)
