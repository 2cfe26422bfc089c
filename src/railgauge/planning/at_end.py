"""The end-of-run checks, and those of them that a platform file limits. Pure.

No test has these subjects: the controller reads kernel logs, error counters and samples of GPUs by
itself. A missing section of the platform file is one subject, ``growth``; a section that is there
has one for each limit, ``growth/port_errors`` and ``telemetry/clock``.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from railgauge.config.thresholds.counter_groups import GROUPS, CounterGroup
from railgauge.config.thresholds.growth import is_shown, some_device_has
from railgauge.config.thresholds.model import Platform
from railgauge.config.thresholds.telemetry import LIMITS, needed_for
from railgauge.stacks import stack
from railgauge.stacks.sampling import first_that_shows

KERNEL_LOG, GROWTH, TELEMETRY = "kernel_log", "growth", "telemetry"
SINCE_BOOT = f"{KERNEL_LOG}/since_boot"
SUBJECTS = frozenset(
    [
        *(KERNEL_LOG, SINCE_BOOT, GROWTH, TELEMETRY),
        *(f"{GROWTH}/{name}" for name in GROUPS),
        *(f"{TELEMETRY}/{name}" for name in LIMITS),
    ]
)


def limited(platform: Platform) -> frozenset[str]:
    """The subjects that the platform file limits."""
    found = {KERNEL_LOG} if platform.kernel_log else set()
    if platform.kernel_log and platform.kernel_log.since_boot:
        found.add(SINCE_BOOT)
    if platform.growth is not None:
        found |= {GROWTH, *(f"{GROWTH}/{name}" for name in platform.growth)}
    if platform.telemetry is not None:
        found |= {TELEMETRY, *(f"{TELEMETRY}/{name}" for name in platform.telemetry.limited)}
    return frozenset(found)


def possible(platform: Platform) -> frozenset[str]:
    """The subjects that the declared hardware has and that the platform file does not limit."""
    of_log = SINCE_BOOT if platform.kernel_log else KERNEL_LOG
    open_ = {of_log, *_of_growth(platform), *_of_telemetry(platform)}
    return frozenset(open_ - limited(platform) - unseen(platform).keys())


def unseen(platform: Platform) -> dict[str, str]:
    """The subjects of the declared hardware that no tool shows, each with the reason."""
    return {**dict(_unseen_counters(platform)), **dict(_unseen_samples(platform))}


def _of_growth(platform: Platform) -> Set[str]:
    groups = {f"{GROWTH}/{name}" for name, group in GROUPS.items() if _is_here(group, platform)}
    return {GROWTH} if groups and platform.growth is None else groups


def _is_here(group: CounterGroup, platform: Platform) -> bool:
    return some_device_has(group, _vendor(platform), platform.fabric_nics)


def _vendor(platform: Platform) -> str:
    return platform.gpus.vendor if platform.gpus else ""


def _unseen_counters(platform: Platform) -> Iterator[tuple[str, str]]:
    vendor = _vendor(platform)
    here = (group for group in GROUPS.values() if platform.growth and _is_here(group, platform))
    for group in here:
        if not is_shown(group, vendor):
            says = f"railgauge knows no tool of {vendor} that shows these counters"
            yield f"{GROWTH}/{group.name}", says


def _of_telemetry(platform: Platform) -> Set[str]:
    if platform.gpus is None:
        return set()
    every = {f"{TELEMETRY}/{name}" for name in LIMITS}
    return {TELEMETRY} if platform.telemetry is None else every


def _unseen_samples(platform: Platform) -> Iterator[tuple[str, str]]:
    """One sampler of a vendor's tool must show all limited values."""
    if platform.gpus is None:
        yield TELEMETRY, "the platform declares no GPU"
        return
    ways = stack(platform.gpus.vendor).samplers
    if not ways:
        yield TELEMETRY, f"railgauge knows no tool that samples GPUs of {platform.gpus.vendor}"
    asked = platform.telemetry
    for name in LIMITS if asked else ():
        if asked and not first_that_shows(asked.needs | needed_for(name), ways):
            says = f"{asked.sampler.program} does not show it together with the limited values"
            yield f"{TELEMETRY}/{name}", says
