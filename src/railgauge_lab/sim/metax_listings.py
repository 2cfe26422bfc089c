"""``mx-smi --show-…`` and ``--count-ecc``: a block for each GPU, in the layout of 2.2.12."""

from __future__ import annotations

from . import counters, fault_timing, telemetry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Node = dict[str, Any]
    Gpu = dict[str, Any]

_XCORE_MHZ, _MEMORY_MHZ = 1125, 1800
_REASONS = (
    "Idle", "Applications Limit", "Over Power", "Chip Over Temperature", "VR Over Temperature",
    "Hbm Over Temperature", "Thermal Over Temperature", "Pcc", "Power Brake", "Didt", "Low Usage",
    "Other",
)  # fmt: skip
_HOT = "Chip Over Temperature"
_WAYS_V = 12.0


def listed(node: Node, options: list[str]) -> list[str] | None:
    """The blocks of all GPUs with the sections that are asked for; ``None`` for another option.

    Whoever asks finds the GPUs under load.
    """
    if not options or not set(options) <= _SECTIONS.keys():
        return None
    now = telemetry.under_load(fault_timing.at_this_moment(node))
    lines = []
    for index, gpu in enumerate(now["gpus"]):
        lines.append(f"GPU#{index}  {gpu['model'].replace('MetaX ', 'MX')}  {gpu['bus']}")
        for option in options:
            lines += [*_SECTIONS[option](node, gpu), ""]
    return [*lines, "End of Log"]


def _section(heading: str, found: Mapping[str, object]) -> list[str]:
    return [f"    {heading}", *(f"        {name:<42}: {value} " for name, value in found.items())]


def _clock(_node: Node, gpu: Gpu) -> list[str]:
    shown = {
        "XCORE": f"{telemetry.clock(gpu, _XCORE_MHZ)} MHz",
        "MC": f"{_MEMORY_MHZ} MHz",
        "VPUE": "535 MHz",
        "VPUD": "525 MHz",
    }
    return _section("Clock", shown)


def _throttling(_node: Node, gpu: Gpu) -> list[str]:
    active = {_HOT} if gpu.get("throttled") else set()
    shown = {name: "Active" if name in active else "Not Active" for name in _REASONS}
    return _section("Xcore Clocks Throttle Reason", shown)


def _temperature(_node: Node, gpu: Gpu) -> list[str]:
    heat = gpu["temperature_c"]
    board = {"DrMOS_soc": f"{heat - 7:6.2f} C", "DrMOS_core": f"{heat - 9:6.2f} C"}
    chip = _section("Chip Temperature", {"hotspot(sensor1)": f"{heat:6.2f} C"})
    return [*chip, *_section("Board Temperature", board)]


def _power(_node: Node, gpu: Gpu) -> list[str]:
    watts = gpu["power_w"]
    ways = {"Way 0": watts * 0.42, "Way 1": watts * 0.43, "Way 2": watts * 0.15}
    volts = dict.fromkeys(ways, f"{_WAYS_V:7.3f} V")
    amperes = {name: f"{one / _WAYS_V:7.3f} A" for name, one in ways.items()}
    every = {**ways, "Total": watts, "Limit": gpu["power_cap_w"]}
    return [
        *_section("Board Voltage", volts),
        *_section("Board Current", amperes),
        *_section("Board Power", {name: f"{one:7.3f} W" for name, one in every.items()}),
    ]


def _usage(_node: Node, _gpu: Gpu) -> list[str]:
    return _section("Utilization", {"GPU": "100 %", "VPUE": "0 %", "VPUD": "0 %"})


def _errors(node: Node, gpu: Gpu) -> list[str]:
    shown = {
        "SRAM Correctable": 0,
        "SRAM Uncorrectable": 0,
        "DRAM Correctable": counters.counted(node, gpu, "ecc_corrected"),
        "DRAM Uncorrectable": counters.counted(node, gpu, "ecc_uncorrected"),
    }
    return [*_section("ECC Errors", shown), *_section("Retired Pages", {"Double Bit ECC": 0})]


_SECTIONS: dict[str, Callable[[Node, Gpu], list[str]]] = {
    "--show-clock": _clock,
    "--show-clk-tr": _throttling,
    "--show-temperature": _temperature,
    "--show-board-power": _power,
    "--show-usage": _usage,
    "--count-ecc": _errors,
}
