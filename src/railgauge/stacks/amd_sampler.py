"""How amd-smi samples GPUs: ``amd-smi monitor`` in its loop mode.

It prints for each cause of throttling the share of time since the last sample (AMD SMI, GPU
violations, rocm.docs.amd.com/projects/amdsmi), on MI300 and later GPUs, since ROCm 6.3. A GPU that
is partitioned has a row for each partition; the first one has the values of the whole GPU.
"""

from __future__ import annotations

import re

from railgauge.core.errors import TelemetryUnread
from railgauge.stacks import sampling
from railgauge.stacks.sampling import SampleCells, Sampler, seconds

_VIOLATIONS = {
    "tviol": "socket-thermal",
    "phot_tviol": "processor-hot",
    "vr_tviol": "regulator-thermal",
    "hbm_tviol": "memory-thermal",
    "pviol": "power-cap",
}
_PER_CENT = re.compile(r"(\d{1,3}(?:\.\d{1,3})?)(?: ?%)?")


def _arguments(interval_ms: int) -> tuple[str, ...]:
    return ("monitor", "-p", "-t", "-u", "-V", "--csv", "-w", seconds(interval_ms))


def _reasons(row: SampleCells) -> frozenset[str] | None:
    """The reasons for which the GPU was throttled; ``None`` if the GPU does not report them."""
    shares = {
        name: cell
        for column, name in _VIOLATIONS.items()
        if (cell := row.get(column, "N/A")).upper() != "N/A"
    }
    for cell in shares.values():
        if not _PER_CENT.fullmatch(cell):
            raise TelemetryUnread(f"{cell[:40]!r} is no share of time in %")
    found = {name for name, cell in shares.items() if float(cell.rstrip(" %")) > 0}
    if row.get("tviol_active", "").lower() == "true":
        found.add(_VIOLATIONS["tviol"])
    return frozenset(found) if {"socket-thermal", "processor-hot"} <= shares.keys() else None


SAMPLER = Sampler(
    "amd-smi",
    _arguments,
    {
        sampling.GPU: ("gpu",),
        sampling.CLOCK: ("gfx_clk", "gfx_clock"),
        sampling.HEAT: ("hotspot_temperature",),
        sampling.MEMORY_HEAT: ("memory_temperature",),
        sampling.POWER: ("power_usage",),
        sampling.LOAD: ("gfx", "gfx_util"),
    },
    tuple(_VIOLATIONS),
    tuple(_VIOLATIONS.values()),
    _reasons,
    lambda row: row.get("xcp", "0").upper() in ("0", "N/A"),
    needs="amd-smi of ROCm 6.3 or later (monitor -V)",
)
