"""The loop modes of the vendors' tools: what the GPUs do while a measurement runs.

Whoever samples the lab's GPUs finds them under load, since nothing else runs on them. A throttled
GPU is hot and has half its clock, from the moment on at which its fault begins.
"""

from __future__ import annotations

import sys
import time

from . import fault_timing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Node = dict[str, Any]
    Gpu = dict[str, Any]

_WARMER_C, _THROTTLED_C = 28, 101
_CLOCK_SHARE, _POWER_SHARE = 0.5, 0.92
_THROTTLED_POWER_SHARE = 0.6
_MEMORY_COOLER_C = 4


def sampled(
    node: Node, interval_s: float, heading: list[str], lines: Callable[[Node], list[str]]
) -> int:
    """Print the heading, then the lines of the node every ``interval_s``, until killed."""
    sys.stdout.write("".join(f"{line}\n" for line in heading))
    while True:
        now = under_load(fault_timing.at_this_moment(node))
        sys.stdout.write("".join(f"{line}\n" for line in lines(now)))
        sys.stdout.flush()
        time.sleep(interval_s)


def under_load(node: Node) -> Node:
    """Return the description of the node with its GPUs as they are under load."""
    return {**node, "gpus": [_loaded(gpu) for gpu in node["gpus"]]}


def _loaded(gpu: Gpu) -> Gpu:
    throttled = gpu.get("throttled", False)
    share = _THROTTLED_POWER_SHARE if throttled else _POWER_SHARE
    heat = _THROTTLED_C if throttled else gpu["temperature_c"] + _WARMER_C
    power = round(gpu["power_cap_w"] * share, 2)
    return {**gpu, "busy": True, "temperature_c": heat, "power_w": power}


def clock(gpu: Gpu, highest_mhz: int) -> int:
    """Return the clock of a GPU under load, in MHz."""
    return int(highest_mhz * (_CLOCK_SHARE if gpu.get("throttled") else 1.0))


def interval_s(arguments: list[str], option: str, per_s: int) -> float | None:
    """Return the interval that follows an option, in seconds; ``None`` without the option."""
    if option not in arguments[:-1]:
        return None
    return int(arguments[arguments.index(option) + 1]) / per_s


def amd(node: Node, arguments: list[str]) -> int:
    """``amd-smi monitor -p -t -u -V --csv -w S``, as of ROCm 6.3."""
    every_s = interval_s(arguments, "-w", 1)
    if every_s is None or "--csv" not in arguments:
        sys.stderr.write("amd-smi: the lab simulates monitor with --csv and -w only\n")
        return 2
    heading = (
        "timestamp,gpu,power_usage,hotspot_temperature,memory_temperature,gfx_clk,gfx,pviol,tviol,"
        "phot_tviol,vr_tviol,hbm_tviol"
    )
    return sampled(node, every_s, [heading], _amd_lines)


def _amd_lines(node: Node) -> list[str]:
    return [",".join(map(str, _amd_cells(index, gpu))) for index, gpu in enumerate(node["gpus"])]


def _amd_cells(index: int, gpu: Gpu) -> list[object]:
    heat = gpu["temperature_c"]
    hot = 64 if gpu.get("throttled") else 0
    return [
        int(time.time()), index, int(gpu["power_w"]), heat, heat - _MEMORY_COOLER_C,
        clock(gpu, gpu["max_clock_mhz"]), 100, 3, hot, 0, 0, 0,
    ]  # fmt: skip


def metax(node: Node, arguments: list[str]) -> int:
    """``mx-smi dmon --format csv -l MS``."""
    every_s = interval_s(arguments, "-l", 1000)
    if every_s is None or "csv" not in arguments:
        sys.stderr.write("mx-smi: the lab simulates dmon with --format csv and -l only\n")
        return 1
    heading = [
        "dev, die, hottemp, drmossoctemp, drmoscoretemp, hbmtemp, power, gpu, visvram, vram, xtt,"
        " total, bdfid",
        "idx, idx, C, C, C, C, W, %, %, %, %, GB,",
    ]
    return sampled(node, every_s, heading, _metax_lines)


def _metax_lines(node: Node) -> list[str]:
    return [
        f"{index}, 0, {gpu['temperature_c']}, N/A, {gpu['temperature_c'] - 6},"
        f" {gpu['temperature_c'] - _MEMORY_COOLER_C}, {int(gpu['power_w'])}, 100, 3, 3, 0, 64,"
        f" {gpu['bus']}"
        for index, gpu in enumerate(node["gpus"])
    ]
