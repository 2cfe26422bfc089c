"""The GPU vendor of a platform. Pure; separate from ``plan``, which imports every tool."""

from __future__ import annotations

from railgauge.config.thresholds.model import Platform
from railgauge.stacks import Stack, stack


def platform_stack(platform: Platform) -> Stack | None:
    """Return the GPU vendor's stack, or ``None`` if no GPUs are under test."""
    return stack(platform.gpus.vendor) if platform.gpus else None
