"""Width and speed of InfiniBand links in the notation of the tools: ``4xHDR``."""

from __future__ import annotations

import re

# InfiniBand Architecture Specification, volume 2: signalling rate of one lane in Gb/s.
LANE_GBPS = {
    "SDR": 2.5,
    "DDR": 5.0,
    "QDR": 10.0,
    "FDR10": 10.3125,
    "FDR": 14.0625,
    "EDR": 25.78125,
    "HDR": 53.125,
    "NDR": 106.25,
    "XDR": 212.5,
}
_SPEED = re.compile(r"(\d{1,2})x(\w{1,5})")
_SAME = 0.01  # a relative difference: the tools round, and any two speeds differ by 3 % or more


def lanes_of(speed: str) -> tuple[int, float] | None:
    """Return the lanes of ``4xHDR`` and the signalling rate of each in Gb/s.

    ``None`` for a text of another form or an unknown speed.
    """
    match = _SPEED.fullmatch(speed)
    if not match or match[2] not in LANE_GBPS:
        return None
    return int(match[1]), LANE_GBPS[match[2]]


def signalling_gbps(speed: str) -> float | None:
    """Return the signalling rate of all lanes together in Gb/s; ``None`` as in ``lanes_of``."""
    found = lanes_of(speed)
    return None if found is None else found[0] * found[1]


def spelled(width: int | None, lane_gbps: float | None) -> str:
    """Return ``4xHDR`` for four lanes of 53.125 Gb/s; a speed without a name is given in Gb/s."""
    if width is None or lane_gbps is None:
        return "no rate"
    name = next((n for n, g in LANE_GBPS.items() if abs(g - lane_gbps) < _SAME * g), "")
    return f"{width}x{name}" if name else f"{width}x {lane_gbps:g} Gb/s"
