"""Parser for ``nvidia-smi nvlink``: the links of each GPU, their errors, and what is at their ends.

All options print the same heading for each GPU, and one line or more for each link::

    GPU 0: NVIDIA H200 (UUID: GPU-1)
             Link 0: 26.562 GB/s                                   -s: up, with 212.496 Gb/s
             Link 1: <inactive>                                    -s: down
             Link 0: Replay Errors: 0                              -e
             Link 0: Remote Device 00000000:07:00.0: Link 28       -R

Any other line about a link makes the output unreadable: it must not count as a link that is down.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_LONGEST_LINE = 300
_GPU = re.compile(r"GPU (\d{1,4}): .*")
_OF_LINK = re.compile(r"Links? (\d{1,3})\b")
_RATE = re.compile(r"Link (\d{1,3}): (?:(\d{1,5}(?:\.\d{1,6})?) GB/s|<inactive>)")
# Counts, and the bit error rates of Blackwell: Link 0: Effective BER: 15e-255
_COUNT = re.compile(
    r"Link (\d{1,3}): ([A-Z][\w -]{0,40}): (\d{1,18}|\d{1,4}(?:\.\d{1,9})?e-\d{1,3})"
)
_REMOTE = re.compile(r"Link (\d{1,3}): Remote Device ([0-9a-fA-F:.]{7,20}): Link (\d{1,3})")
_INACTIVE = "all links are inactive"
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


@dataclass(frozen=True, slots=True)
class NvlinkReading:
    """The output of one option, by GPU. ``problem`` is why it is not read; it then is empty.

    ``errors`` are counters by name, ``link3_crc_errors``; ``remotes`` the PCI address and the link
    at the other end of each link.
    """

    gpus: tuple[int, ...] = ()
    links: Mapping[int, Links] = field(default_factory=dict)
    errors: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    remotes: Mapping[int, Mapping[int, str]] = field(default_factory=dict)
    problem: str = ""


def parse_nvlink(text: str) -> NvlinkReading:
    """Parse ``-s``, ``-e`` or ``-R``. With ``-s`` a GPU without a link has 0 links."""
    rates: dict[int, dict[int, float | None]] = {}
    errors: dict[int, dict[str, float]] = {}
    remotes: dict[int, dict[int, str]] = {}
    gpu, unknown = -1, set[int]()
    for line in (line[:_LONGEST_LINE].strip() for line in text.splitlines()):
        if start := _GPU.fullmatch(line):
            gpu = int(start[1])
            rates.setdefault(gpu, {})
        elif gpu >= 0 and _INACTIVE in line.lower():
            unknown.add(gpu)
        elif gpu >= 0 and (link := _RATE.fullmatch(line)):
            if int(link[1]) != len(rates[gpu]):
                return NvlinkReading(problem=f"GPU {gpu}: {line[:80]!r} is not the next link")
            rates[gpu][int(link[1])] = float(link[2]) if link[2] else None
        elif gpu >= 0 and (error := _COUNT.fullmatch(line)):
            name = f"link{error[1]}_{'_'.join(error[2].lower().split())}"
            errors.setdefault(gpu, {})[name] = float(error[3])
        elif gpu >= 0 and (far := _REMOTE.fullmatch(line)):
            remotes.setdefault(gpu, {})[int(far[1])] = f"{far[2].lower()} link {far[3]}"
        elif _OF_LINK.match(line):
            return NvlinkReading(problem=f"no line of nvlink -s, -e or -R: {line[:80]!r}")
    is_status = any(rates.values()) or unknown or not (errors or remotes)
    if sum(map(bool, (any(rates.values()) or unknown, errors, remotes))) > 1:
        return NvlinkReading(problem="the output of several options of nvlink; give one")
    links = {gpu: _links([*found.values()], gpu in unknown) for gpu, found in rates.items()}
    return NvlinkReading(tuple(rates), links if is_status else {}, errors, remotes)


def _links(rates: list[float | None], all_inactive: bool) -> Links:
    up = [rate for rate in rates if rate is not None]
    slowest = round(min(up) * _BITS_PER_BYTE, 3) if up else None
    return Links(len(up), None if all_inactive else len(rates), slowest)
