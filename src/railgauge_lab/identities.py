"""What identifies the parts of the lab: the same serial numbers and UUIDs in every run of it."""

from __future__ import annotations

import uuid
from hashlib import blake2b

_MACHINES = uuid.UUID("3c1a7f52-88a4-4f0e-9d5b-0d2c5e7fa961")
# How the vendors' serial numbers look: digits, or a letter for the factory, year and week.
_FORMS = {"nvidia": "165{:010d}", "amd": "6925{:09d}", "metax": "MXA24{:08d}"}


def _number(*words: object) -> int:
    joined = " ".join(map(str, words)).encode()
    return int.from_bytes(blake2b(joined, digest_size=8).digest(), "big")


def machine(node: str) -> dict[str, str]:
    """Return serial number and UUID of a node, and the UUID of its BMC."""
    return {
        "serial": f"S{_number('machine', node) % 10**9:09d}",
        "uuid": str(uuid.uuid5(_MACHINES, node)),
        "bmc": str(uuid.uuid5(_MACHINES, f"{node} bmc")),
    }


def gpu(node: str, place: int, vendor: str) -> dict[str, str]:
    """Return serial number, UUID and the number of the chip of a GPU."""
    number = _number("gpu", node, place)
    return {
        "serial": _FORMS[vendor].format(number % 10**8),
        "uuid": f"GPU-{uuid.uuid5(_MACHINES, f'{node} gpu{place}')}",
        "chip": f"0x{number | 1 << 63:016X}",
    }


def disk(node: str, name: str) -> str:
    """Return the serial number of an NVMe disk."""
    return f"S6CK{_number('disk', node, name) % 10**10:010d}"


def nic(guid: str) -> str:
    """Return the serial number of the NIC with this GUID."""
    return f"MT24{_number('nic', guid) % 52 + 1:02d}X{_number('nic', guid) % 10**5:05d}"
