"""GPU vendors: one module for each, all behind one contract, imported on first use."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import cast

from railgauge.core.errors import BadInput
from railgauge.stacks.model import GpuFacts, GpuIdentity, Stack, StackFacts
from railgauge.stacks.sections import Section, section

__all__ = [
    "GpuFacts",
    "GpuIdentity",
    "Section",
    "Stack",
    "StackFacts",
    "section",
    "stack",
    "vendors",
]

_VENDORS = {
    "amd": "railgauge.stacks.amd",
    "metax": "railgauge.stacks.metax",
    "nvidia": "railgauge.stacks.nvidia",
}


@cache  # planning asks for it with every command
def stack(vendor: str) -> Stack:
    """Return the stack of a vendor. Raises ``BadInput`` for a vendor without a module."""
    if vendor not in _VENDORS:
        known = ", ".join(sorted(_VENDORS))
        raise BadInput(f"unknown GPU vendor {vendor!r}", remedy=f"known vendors: {known}")
    return cast(Stack, import_module(_VENDORS[vendor]).STACK)


def vendors() -> tuple[str, ...]:
    """The names of all vendors that there is a module for."""
    return tuple(_VENDORS)
