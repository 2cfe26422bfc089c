"""``amd-smi``: static, metric, list, bad-pages, xgmi, topology, version; ``rocm-smi --json``."""

from __future__ import annotations

import sys

from . import stored, telemetry
from .counters import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Gpu = dict[str, Any]

_NO_DRIVER = 255
_LINK_WEIGHT = 15
_WHOLE = ("SPX", "NPS1")
_DIAGNOSTIC_BYTES = 3258974208


def run(tool: str, arguments: list[str], node: Node) -> int:
    """Return exit code 0, 255 without the driver, or 2 for a subcommand that is not simulated."""
    if "amdgpu" not in node["host"]["modules"]:
        sys.stderr.write(
            "ERROR:root:Driver not initialized (amdgpu not found in modules)\n"
            if tool == "rocm-smi"
            else "Unable to detect any GPU devices, check amdgpu version and module status (sudo"
            " modprobe amdgpu)\n"
        )
        return _NO_DRIVER
    if tool == "rocm-smi":
        return _rocm(arguments, node)
    words = [word for word in arguments if not word.startswith("-")]
    kind = words[0] if words else "version"
    if kind == "monitor":
        return telemetry.amd(node, arguments)
    as_json = "--json" in arguments
    if kind in _ENTRIES:
        entries = [_ENTRIES[kind](i, gpu, node) for i, gpu in enumerate(node["gpus"])]
        print(_json(entries) if as_json else "\n".join(_blocks(entries)))
    elif kind in _TABLES:
        print("\n".join(_TABLES[kind](node)))
    else:
        sys.stderr.write(f"amd-smi: error: argument: invalid choice: '{kind}'\n")
        return 2
    return 0


def _json(entries: list[dict[str, Any]]) -> str:
    return stored.as_json([_small(entry) for entry in entries], indent=4)


def _small(value: Any) -> Any:
    if isinstance(value, dict):
        return {key.lower(): _small(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return {"value": value[0], "unit": value[1]}
    return value


def _blocks(entries: list[dict[str, Any]]) -> list[str]:
    lines: list[str] = []
    for entry in entries:
        lines += [
            f"GPU: {entry['GPU']}",
            *_nested(1, {k: v for k, v in entry.items() if k != "GPU"}),
        ]
        lines.append("")
    return lines


def _nested(depth: int, tree: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for key, value in tree.items():
        if isinstance(value, dict):
            lines += [f"{'    ' * depth}{key}:", *_nested(depth + 1, value)]
        else:
            text = f"{value[0]} {value[1]}" if isinstance(value, tuple) else value
            lines.append(f"{'    ' * depth}{key}: {text}")
    return lines


def _static(index: int, gpu: Gpu, node: Node) -> dict[str, Any]:
    _, _, most_speed, most = gpu["pci"]["link"]
    compute, memory = gpu.get("partition", _WHOLE)
    ecc = "DISABLED" if gpu.get("ecc_off") else "ENABLED"
    return {
        "GPU": index,
        "ASIC": {
            "MARKET_NAME": gpu["model"],
            "VENDOR_ID": "0x1002",
            "VENDOR_NAME": "Advanced Micro Devices Inc. [AMD/ATI]",
            "DEVICE_ID": f"0x{gpu['pci']['device']}",
            "REV_ID": "0x00",
            "ASIC_SERIAL": _serial(gpu),
            "OAM_ID": index,
        },
        "BUS": {
            "BDF": gpu["bus"],
            "MAX_PCIE_WIDTH": most,
            "MAX_PCIE_SPEED": (int(float(most_speed.removesuffix("GT/s"))), "GT/s"),
            "PCIE_INTERFACE_VERSION": "Gen 5",
            "SLOT_TYPE": "OAM",
        },
        "LIMIT": {
            "MAX_POWER": (gpu.get("power_default_w", gpu["power_cap_w"]), "W"),
            "MIN_POWER": (0, "W"),
            "SOCKET_POWER": (gpu["power_cap_w"], "W"),
        },
        "DRIVER": {"NAME": "amdgpu", "VERSION": node["smi"]["driver"]},
        "BOARD": {
            "MODEL_NUMBER": "102-G30211-0C",
            "PRODUCT_SERIAL": gpu["serial"],
            "FRU_ID": "113-AMDG302110C1-0000",
            "PRODUCT_NAME": gpu["model"],
            "MANUFACTURER_NAME": "AMD",
        },
        "VBIOS": {
            "NAME": "AMD MI300X",
            "BUILD_DATE": "2024/04/15 00:00",
            "PART_NUMBER": "113-M3000100-102",
            "VERSION": gpu.get("vbios", node["smi"]["vbios"]),
        },
        "RAS": {"ECC_BLOCK_STATE": {"UMC": ecc, "SDMA": "ENABLED", "GFX": "ENABLED"}},
        "PARTITION": {"COMPUTE_PARTITION": compute, "MEMORY_PARTITION": memory},
        "NUMA": {"NODE": gpu["numa"], "AFFINITY": gpu["numa"]},
        "VRAM": {"TYPE": "HBM", "VENDOR": "N/A", "SIZE": (gpu["memory_mib"], "MB")},
    }


def _serial(gpu: Gpu) -> str:
    return str(gpu["chip"])


def _metric(_index: int, gpu: Gpu, node: Node) -> dict[str, Any]:
    speed, width, _, _ = gpu["pci"]["link"]
    busy = bool(node["diagnostics"])
    clock = (gpu["max_clock_mhz"] if busy else 132, "MHz")
    corrected = gpu["ecc"]["dram_correctable"] + counted(node, gpu, "ecc_corrected")
    uncorrected = gpu["ecc"]["dram_uncorrectable"] + counted(node, gpu, "ecc_uncorrected")
    xgmi = counted(node, gpu, "link_crc")
    return {
        "GPU": _index,
        "USAGE": {"GFX_ACTIVITY": (10 if busy else 0, "%"), "UMC_ACTIVITY": (0, "%")},
        "POWER": {
            "SOCKET_POWER": (gpu["power_w"], "W"),
            "POWER_MANAGEMENT": "ENABLED",
            "THROTTLE_STATUS": "UNTHROTTLED",
        },
        "CLOCK": {
            "GFX_0": {
                "CLK": clock,
                "MIN_CLK": (132, "MHz"),
                "MAX_CLK": (gpu["max_clock_mhz"], "MHz"),
                "CLK_LOCKED": "DISABLED",
                "DEEP_SLEEP": "DISABLED",
            }
        },
        "TEMPERATURE": {"HOTSPOT": (gpu["temperature_c"], "C")},
        "PCIE": {
            "WIDTH": width,
            "SPEED": (int(float(speed.removesuffix("GT/s"))), "GT/s"),
            "REPLAY_COUNT": counted(node, gpu, "pcie_replays"),
        },
        "ECC": {
            "TOTAL_CORRECTABLE_COUNT": corrected + xgmi,
            "TOTAL_UNCORRECTABLE_COUNT": uncorrected,
        },
        "ECC_BLOCKS": {
            "UMC": {"CORRECTABLE_COUNT": corrected, "UNCORRECTABLE_COUNT": uncorrected},
            "XGMI_WAFL": {"CORRECTABLE_COUNT": xgmi, "UNCORRECTABLE_COUNT": 0},
        },
        "MEM_USAGE": {
            "TOTAL_VRAM": (gpu["memory_mib"], "MB"),
            "USED_VRAM": (gpu["memory_used_mib"], "MB"),
        },
    }


def _list(index: int, gpu: Gpu, _node: Node) -> dict[str, Any]:
    return {"GPU": index, "BDF": gpu["bus"], "UUID": _serial(gpu)}


def _bad_pages(index: int, gpu: Gpu, _node: Node) -> dict[str, Any]:
    none, pending = "No bad pages found.", gpu["remapped"]["pending"]
    left = gpu["remapped"]["failure"]
    found = [{"page_address": "0x1f4a3000", "page_size": 4096, "status": "PENDING"}]
    return {
        "GPU": index,
        "RETIRED": none,
        "PENDING": found if pending else none,
        "UN_RES": [{**one, "status": "UN_RES"} for one in found] if left else none,
    }


def _table(node: Node, title: str, cell: Any, same: str) -> list[str]:
    buses = [gpu["bus"] for gpu in node["gpus"]]
    lines = [f"{title} TABLE:", " " * 13 + " ".join(buses)]
    for a, bus in enumerate(buses):
        cells = [same if a == b else str(cell(a, b)) for b in range(len(buses))]
        lines.append(f"{bus} " + " ".join(f"{one:<12}" for one in cells).rstrip())
    return [*lines, ""]


def _topology(node: Node) -> list[str]:
    return [
        *_table(node, "ACCESS", lambda _a, _b: "ENABLED", "ENABLED"),
        *_table(node, "WEIGHT", lambda _a, _b: _LINK_WEIGHT, "0"),
        *_table(node, "HOPS", lambda _a, _b: 1, "0"),
        *_table(node, "LINK TYPE", lambda _a, _b: "XGMI", "SELF"),
        *_table(node, "NUMA BW", lambda _a, _b: "50000-50000", "N/A"),
    ]


def _xgmi(node: Node) -> list[str]:
    gpus = node["gpus"]
    short = [gpu["bus"][5:] for gpu in gpus]
    lines = [
        "LINK METRIC TABLE:",
        "       bdf          bit_rate max_bandwidth link_type " + " ".join(short),
    ]
    for a, bus in enumerate(short):
        lines.append(f"GPU{a}   {bus:<12} 32 Gb/s  512 Gb/s      XGMI")
        for verb in ("Read ", "Write"):
            cells = ["N/A " if a == b else "0 KB" for b in range(len(short))]
            lines.append(f" {verb:<51}" + "".join(f"{cell:<8}" for cell in cells).rstrip())
    lines += ["", "XGMI LINK STATUS:", "       bdf          " + " ".join(short)]
    for a, bus in enumerate(short):
        down = [(a + 1 + link) % len(short) for link in gpus[a].get("nvlinks_down", [])]
        states = "  ".join("X" if a == b else "D" if b in down else "U" for b in range(len(short)))
        lines.append(f"GPU{a}   {bus:<12} {states}")
    return [*lines, "", "* U:Up D:Down X:Disabled"]


def _version(node: Node) -> list[str]:
    smi = node["smi"]
    return [
        f"AMDSMI Tool: {smi['amdsmi']} | AMDSMI Library version: 25.1.0 |"
        f" ROCm version: {smi['rocm']} | amdgpu version: {smi['driver']}"
    ]


_ENTRIES = {"static": _static, "metric": _metric, "list": _list, "bad-pages": _bad_pages}
_TABLES = {"topology": _topology, "xgmi": _xgmi, "version": _version}


def _rocm(arguments: list[str], node: Node) -> int:
    """Print all keys, whatever the arguments; the real tool prints only the requested ones."""
    if "--json" not in arguments:
        print("\n".join(_concise(node)))
        return 0
    document: dict[str, Any] = {f"card{i}": _card(i, g) for i, g in enumerate(node["gpus"])}
    document["system"] = _system(node)
    print("\n" + stored.as_json(document, indent=4))
    return 0


def _card(index: int, gpu: Gpu) -> dict[str, str]:
    speed, width, _, _ = gpu["pci"]["link"]
    return {
        "Device Name": gpu["model"],
        "Device ID": f"0x{gpu['pci']['device']}",
        "Device Rev": "0x00",
        "GUID": str(2000 + index),
        "Unique ID": _serial(gpu).lower(),
        "Temperature (Sensor junction) (C)": f"{gpu['temperature_c']:.1f}",
        "mclk clock speed:": "(900Mhz)",
        "sclk clock speed:": "(132Mhz)",
        "pcie clock level": f"4 ({speed} x{width})",
        "Max Graphics Package Power (W)": f"{gpu['power_cap_w']:.1f}",
        "Current Socket Graphics Package Power (W)": f"{gpu['power_w']:.1f}",
        "PCI Bus": gpu["bus"].upper(),
        "VRAM Total Memory (B)": str(gpu["memory_mib"] << 20),
        "VRAM Total Used Memory (B)": str(gpu["memory_used_mib"] << 20),
        "Card Series": gpu["model"],
        "Card Model": f"0x{gpu['pci']['device']}",
        "Card Vendor": "Advanced Micro Devices, Inc. [AMD/ATI]",
        "Compute Partition": gpu.get("partition", _WHOLE)[0],
        "Memory Partition": gpu.get("partition", _WHOLE)[1],
        "(Topology) Numa Node": str(gpu["numa"]),
        "(Topology) Numa Affinity": str(gpu["numa"]),
    }


def _system(node: Node) -> dict[str, str]:
    found = {"Driver version": node["smi"]["driver"]}
    for pid, command in node["diagnostics"].items():
        name = command.split()[0].rpartition("/")[2]
        found[f"PID{pid}"] = f"{name}, {len(node['gpus'])}, {_DIAGNOSTIC_BYTES}, 0, unknown"
    pairs = [(a, b) for a in range(len(node["gpus"])) for b in range(a + 1, len(node["gpus"]))]
    for words, value in (("Weight", "15"), ("Hops", "1"), ("Link type", "XGMI")):
        for a, b in pairs:
            found[f"(Topology) {words} between DRM devices {a} and {b}"] = value
    return found


def _concise(node: Node) -> list[str]:
    rule = "=" * 116
    lines = [
        f"{' ROCm System Management Interface ':=^116}",
        f"{' Concise Info ':=^116}",
        "Device  [Model : Revision]    Temp        Power     Partitions      SCLK    MCLK    Fan"
        "  Perf  PwrCap  VRAM%  GPU%",
        "        Name (20 chars)       (Junction)  (Socket)  (Mem, Compute)",
        rule,
    ]
    for index, gpu in enumerate(node["gpus"]):
        heat, power = f"{gpu['temperature_c']:.1f}°C", f"{gpu['power_w']:.1f}W"
        lines += [
            f"{index:<7} [0x{gpu['pci']['device']} : 0x00]       {heat}      {power}    NPS1, SPX"
            f"       132Mhz  900Mhz  0%   auto  {gpu['power_cap_w']:.1f}W    0%   0%",
            f"        {gpu['model']}",
        ]
    return [*lines, rule, f"{' End of ROCm SMI Log ':=^116}"]
