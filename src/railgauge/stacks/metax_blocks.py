"""The listings of ``mx-smi --show-…`` and ``--count-ecc``: a block of indented lines for each GPU.

Version 2.2.12 on a C500 (2.2.9 has the same form)::

    GPU#0  MXC500  0000:37:00.0
        Board Power
            Total                                     :  62.015 W
            Limit                                     : 350.000 W

A line with a colon is a value; one without is the heading of the values below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_BUS_ID = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
_GPU = re.compile(rf"GPU#(\d{{1,3}})\s+\S{{1,40}}\s+{_BUS_ID}")
_OF_SENSOR = re.compile(r"\([^()]{0,40}\)$")
_LONGEST_LINE = 300
_END = "End of Log"


def gpu_of(line: str) -> int | None:
    """The number of the GPU whose block begins with a line; ``None`` for any other line."""
    match = _GPU.fullmatch(line.strip())
    return int(match[1]) if match else None


def values(lines: Iterable[str]) -> dict[str, str]:
    """The values of one block by heading and name: ``{"Board Power/Total": "62.015 W"}``.

    The name of the sensor that is hottest is left out: ``hotspot(sensor5)`` is ``hotspot``.
    """
    found: dict[str, str] = {}
    heading = ""
    for line in lines:
        name, colon, value = line[:_LONGEST_LINE].strip().partition(":")
        if colon:
            found[f"{heading}/{_OF_SENSOR.sub('', name.rstrip())}"] = value.strip()
        elif name:
            heading = name
    return found


def parse_blocks(text: str) -> Mapping[int, Mapping[str, str]]:
    """Return the values of each GPU by its number; a GPU with two blocks has none."""
    found: dict[int, list[str]] = {}
    doubled: set[int] = set()
    lines: list[str] = []
    for line in text.splitlines():
        gpu = gpu_of(line[:_LONGEST_LINE])
        if gpu is not None:
            doubled |= {gpu} & found.keys()
            lines = found[gpu] = []
        elif line.strip() != _END:
            lines.append(line)
    return {gpu: values(own) for gpu, own in found.items() if gpu not in doubled}
