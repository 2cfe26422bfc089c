"""Samples of GPUs as the vendors' tools print them, with the node's uptime before each line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from railgauge.core.model import Transcript
from railgauge.core.terms import Role

BOOT, OTHER_BOOT = "c7d8b893-3f62-4444-9b87-401c6634199b", "11111111-3f62-4444-9b87-401c6634199b"
NVIDIA = (
    "index, clocks.current.sm [MHz], temperature.gpu, temperature.memory, power.draw [W], "
    "enforced.power.limit [W], utilization.gpu [%], clocks_event_reasons.active"
)
AMD = (
    "timestamp,gpu,xcp,power_usage,hotspot_temperature,memory_temperature,gfx_clk,gfx,pviol,tviol,"
    "tviol_active,phot_tviol,vr_tviol,hbm_tviol"
)
METAX = (
    "dev, die, hottemp, drmossoctemp, drmoscoretemp, hbmtemp, power, gpu, visvram, vram, xtt, "
    "total, bdfid"
)
METAX_UNITS = "idx, idx, C, C, C, C, W, %, %, %, %, GB,"
UP_S = 1000.0
POWER_CAP, HOT = "0x0000000000000004", "0x0000000000000048"

Cells = Callable[[int, int], Sequence[object]]
"""The cells of GPU ``gpu`` in second ``at_s`` of the samples."""


def nvidia(gpu: int = 0, mhz: object = 1755, reasons: str = POWER_CAP, **other: object) -> str:
    heat, power, load = (other.get(k, v) for k, v in (("heat", 61), ("watt", 690.1), ("load", 100)))
    return f"{gpu}, {mhz}, {heat}, N/A, {power}, 700.00, {load}, {reasons}"


def stamped(*lines: str, at_s: float = UP_S) -> str:
    return "".join(f"{at_s:.2f},{line}\n" for line in lines)


def began(boot: str = BOOT) -> str:
    return stamped(f"telemetry,{boot}")


def output(
    seconds: int = 5,
    gpus: int = 8,
    row: Callable[[int, int], str] = lambda gpu, _: nvidia(gpu),
    boot: str = BOOT,
) -> str:
    """A sample of every GPU each second, the first one 0.4 s after the sampler was started."""
    lines = [stamped(NVIDIA, at_s=UP_S + 0.4)]
    for second in range(seconds):
        rows = [row(gpu, second) for gpu in range(gpus)]
        lines.append(stamped(*rows, at_s=UP_S + 0.4 + second))
    return began(boot) + "".join(lines)


def telemetry(node: str = "n1", text: str | None = None, **changes: object) -> Transcript:
    """A sampler that was started half a second before the measurement, and was stopped."""
    made = Transcript(
        node,
        ("sh", "-c", "…", "railgauge", "/", "nvidia-smi", "-lms", "1000"),
        None,
        output() if text is None else text,
        "",
        5.5,
        "2026-11-23T12:00:00.000+00:00",
        role=Role.TELEMETRY,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def client(node: str = "n1", lasted_s: float = 4.5) -> Transcript:
    started = "2026-11-23T12:00:00.500+00:00"
    return Transcript(node, ("gemm-bench",), 0, "said\n", "", lasted_s, started)
