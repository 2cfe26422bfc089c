"""How nvidia-smi samples GPUs: ``--query-gpu`` in its loop mode.

The older name of the throttle reasons is asked for: drivers before 535 know no other, and later
ones print it as ``clocks_event_reasons.active``. The bits are those of NVML (docs.nvidia.com, NVML
API Reference Guide, NvmlClocksEventReasons).
"""

from __future__ import annotations

import re
from functools import lru_cache

from railgauge.core.errors import TelemetryUnread
from railgauge.stacks import sampling
from railgauge.stacks.sampling import SampleCells, Sampler

_FIELDS = (
    "index", "clocks.current.sm", "temperature.gpu", "temperature.memory", "power.draw",
    "enforced.power.limit", "utilization.gpu", "clocks_throttle_reasons.active",
)  # fmt: skip
_REASON_COLUMNS = ("clocks_throttle_reasons.active", "clocks_event_reasons.active")
# Idle GPUs, clocks that an administrator has set, and groups that share a clock do not throttle.
_NO_THROTTLING = 0x1 | 0x2 | 0x10 | 0x100
_BITS = {
    0x4: "software-power-cap",
    0x8: "hardware-slowdown",
    0x20: "software-thermal-slowdown",
    0x40: "hardware-thermal-slowdown",
    0x80: "power-brake",
}
_KNOWN = _NO_THROTTLING | sum(_BITS)


def _arguments(interval_ms: int) -> tuple[str, ...]:
    query = f"--query-gpu={','.join(_FIELDS)}"
    return (query, "--format=csv,nounits", "-lms", str(interval_ms))


def _reasons(row: SampleCells) -> frozenset[str] | None:
    """The reasons that are set; a bit that is not known is ``0x200``."""
    return _named(next((row[name] for name in _REASON_COLUMNS if name in row), ""))


@lru_cache(maxsize=256)
def _named(text: str) -> frozenset[str] | None:
    if not re.fullmatch(r"0x[0-9a-fA-F]{1,16}", text):
        if text.strip("[]").upper() in ("N/A", "NOT SUPPORTED"):
            return None
        raise TelemetryUnread(f"{text[:40]!r} are no throttle reasons")
    bits = int(text, 16)
    others = (1 << at for at in range(bits.bit_length()) if bits & ~_KNOWN & 1 << at)
    return frozenset({name for bit, name in _BITS.items() if bits & bit} | set(map(hex, others)))


SAMPLER = Sampler(
    "nvidia-smi",
    _arguments,
    {
        sampling.GPU: ("index",),
        sampling.CLOCK: ("clocks.current.sm [MHz]", "clocks.sm [MHz]"),
        sampling.HEAT: ("temperature.gpu",),
        sampling.MEMORY_HEAT: ("temperature.memory",),
        sampling.POWER: ("power.draw [W]",),
        sampling.CAP: ("enforced.power.limit [W]",),
        sampling.LOAD: ("utilization.gpu [%]",),
    },
    _REASON_COLUMNS,
    tuple(_BITS.values()),
    _reasons,
)
