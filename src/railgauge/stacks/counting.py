"""The error counters of a vendor's GPUs: the commands that print them, and their parser. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from railgauge.stacks.sections import Section

GpuCounts = Mapping[str, int]
"""Counter -> value, for one GPU."""

_WHOLE = re.compile(r"\d{1,18}")


@dataclass(frozen=True, slots=True)
class GpuCounters:
    """How a vendor's tool shows the counters of its GPUs.

    ``groups`` are the groups of counters (``growth`` of a platform file) that it shows.
    ``commands`` are shell texts by section, as those of the probe. ``parse`` gives the counters of
    each GPU by its number; a counter without a number (``N/A``) is left out, and is never 0. It
    never raises, whatever the sections contain. ``needs`` is the release of the tool that knows
    these commands, if an older one is in use.
    """

    groups: tuple[str, ...]
    commands: Mapping[str, str]
    parse: Callable[[Mapping[str, Section]], Mapping[int, GpuCounts]]
    needs: str = ""


def numbers(found: Mapping[str, str | None]) -> dict[str, int]:
    """Return the texts that are whole numbers."""
    return {name: int(text) for name, text in found.items() if text and _WHOLE.fullmatch(text)}
