"""Chance that repeats: the same key has the same number in every process."""

from __future__ import annotations

from _blake2 import blake2b  # hashlib also loads OpenSSL, a tenth of a tool's start


def chance(key: str) -> float:
    """Return a number from 0 to 1, uniformly distributed, always the same for the same key."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big") / 2.0**64
