"""Parser for ``nvidia-smi nvlink -s``: how many links of each GPU are up, and their rate.

``Link 0: 26.562 GB/s`` is one link that is up with 212.496 Gb/s.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LONGEST_LINE = 300
_GPU = re.compile(r"GPU (\d{1,4}): .*")
_LINK = re.compile(r"Link (\d{1,3}): (?:(\d{1,5}(?:\.\d{1,6})?) GB/s|(\S.*))")
_BITS_PER_BYTE = 8


@dataclass(frozen=True, slots=True)
class Links:
    """The links of one GPU.

    ``total`` is ``None`` if all are inactive, because the tool then does not list them.
    ``rate_gbps`` is the rate of the slowest link that is up, decimal Gb/s in one direction.
    """

    up: int
    total: int | None
    rate_gbps: float | None


def parse_nvlink(text: str) -> dict[int, Links]:
    """Parse ``nvidia-smi nvlink -s`` into links by GPU. A GPU without link lines has 0 links."""
    rates: dict[int, list[float | None]] = {}
    gpu, unknown = -1, set[int]()
    for line in (line[:_LONGEST_LINE].strip() for line in text.splitlines()):
        if start := _GPU.fullmatch(line):
            gpu = int(start[1])
            rates[gpu] = []
        elif gpu >= 0 and (link := _LINK.fullmatch(line)):
            rates[gpu].append(float(link[2]) if link[2] else None)
        elif gpu >= 0 and "all links are inactive" in line.lower():
            unknown.add(gpu)
    return {gpu: _links(found, gpu in unknown) for gpu, found in rates.items()}


def _links(rates: list[float | None], all_inactive: bool) -> Links:
    up = [rate for rate in rates if rate is not None]
    slowest = round(min(up) * _BITS_PER_BYTE, 3) if up else None
    return Links(len(up), None if all_inactive else len(rates), slowest)
