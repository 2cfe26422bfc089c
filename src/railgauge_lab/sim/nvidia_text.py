"""``nvidia-smi``'s table, ``nvidia-smi -q``, and the part of ``-q -x`` that checks read."""

from __future__ import annotations

import time

from .nvidia_query import (
    bus_id,
    clock,
    default_w,
    ecc_mode,
    fabric,
    generation,
    mig,
    settings,
    uuid,
    vbios,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Gpus = list[tuple[int, Any]]

_DASHES = ("-" * 41, "-" * 24, "-" * 22)
_RULE = f"+{'+'.join(_DASHES)}+"
_BAR = f"|{'+'.join(dash.replace('-', '=') for dash in _DASHES)}|"
_WIDE = f"+{'-' * 89}+"
_PROCESS_BYTES_MIB = 3108
_BOARD = "692-2G520-0280-001"
_HEADS = """\
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |"""
_PROCESSES = """\
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |"""


def table(gpus: Gpus, node: Node) -> list[str]:
    """Return the overview table of drivers newer than 500, which is 91 characters wide."""
    smi = node["smi"]
    versions = f"NVIDIA-SMI {smi['driver']:<22} Driver Version: {smi['driver']:<14} "
    return [
        f"{time.ctime()}       ",
        _WIDE,
        f"| {versions + 'CUDA Version: ' + smi['cuda']:<88}|",
        f"|{_RULE[1:-1]}+",
        *_HEADS.split("\n"),
        _BAR,
        *[line for index, gpu in gpus for line in _gpu(index, gpu, node)],
        " " * 89 + "  ",
        _WIDE,
        *_PROCESSES.split("\n"),
        f"|{'=' * 89}|",
        *(_processes(gpus, node) or [f"|{'  No running processes found':<89}|"]),
        _WIDE,
    ]


def _gpu(index: int, gpu: dict[str, Any], node: Node) -> list[str]:
    busy = bool(node["diagnostics"])
    persistent = "On" if settings(node)["persistence"] else "Off"
    power = f"{gpu['power_w']:.0f}W /  {gpu['power_cap_w']}W"
    used = gpu["memory_used_mib"] + _PROCESS_BYTES_MIB * len(node["diagnostics"])
    memory = f"{used}MiB / {gpu['memory_mib']:>6}MiB"
    ecc = gpu["ecc"]["sram_uncorrectable"] + gpu["ecc"]["dram_uncorrectable"]
    usage = "10%" if busy else "0%"
    return [
        f"| {index:>3}  {gpu['model']:<26}{persistent:>7}  |   {bus_id(gpu)} Off |{ecc:>21} |",
        f"| N/A   {gpu['temperature_c']}C    P0 {power:>23} | {memory:>22} |"
        f"{usage:>8}{'Default':>13} |",
        f"|{'':41}|{'':24}|{mig(gpu):>21} |",
        _RULE,
    ]


def _processes(gpus: Gpus, node: Node) -> list[str]:
    return [
        f"| {index:>4}   N/A  N/A {int(pid) + index:>15}      C   "
        f"{command.split()[0][-34:]:<34}{_PROCESS_BYTES_MIB:>10}MiB |"
        for index, _ in gpus
        for pid, command in node["diagnostics"].items()
    ]


def details(gpus: Gpus, node: Node) -> list[str]:
    """Return the sections of ``-q`` that checks of a GPU host read."""
    smi = node["smi"]
    head = {
        "Timestamp": time.ctime(),
        "Driver Version": smi["driver"],
        "CUDA Version": smi["cuda"],
    }
    lines = ["", "==============NVSMI LOG==============", ""]
    lines += [_field(0, key, value) for key, value in head.items()]
    lines += ["", _field(0, "Attached GPUs", len(node["gpus"]))]
    for index, gpu in gpus:
        lines += [f"GPU {bus_id(gpu)}", *_sections(1, _tree(index, gpu, node)), ""]
    return lines


def _field(depth: int, key: str, value: object) -> str:
    return f"{'    ' * depth + key:<50}: {value}"


def _sections(depth: int, tree: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for key, value in tree.items():
        if isinstance(value, dict):
            lines += ["    " * depth + key, *_sections(depth + 1, value)]
        else:
            lines.append(_field(depth, key, value))
    return lines


def _tree(index: int, gpu: dict[str, Any], node: Node) -> dict[str, Any]:
    state, ecc = settings(node), _ecc(gpu)
    remapped = gpu["remapped"]
    _, width, _, most = gpu["pci"]["link"]
    mhz = clock(gpu, state)
    watts = {"Current Power Limit": gpu["power_cap_w"], "Default Power Limit": default_w(gpu)}
    return {
        "Product Name": gpu["model"],
        "Product Architecture": "Hopper",
        "Persistence Mode": "Enabled" if state["persistence"] else "Disabled",
        "MIG Mode": {"Current": mig(gpu), "Pending": mig(gpu)},
        "Serial Number": gpu["serial"],
        "GPU UUID": uuid(gpu),
        "Minor Number": index,
        "VBIOS Version": vbios(gpu, node),
        "Board Part Number": _BOARD,
        "Module ID": index + 1,
        "PCI": {
            "Bus Id": bus_id(gpu),
            "GPU Link Info": {
                "PCIe Generation": {"Max": 5, "Current": generation(gpu)},
                "Link Width": {"Max": f"{most}x", "Current": f"{width}x"},
            },
            "Replays Since Reset": gpu["replays"],
        },
        "FB Memory Usage": {
            "Total": f"{gpu['memory_mib']} MiB",
            "Reserved": f"{gpu['reserved_mib']} MiB",
            "Used": f"{gpu['memory_used_mib']} MiB",
        },
        "Compute Mode": "Default",
        "ECC Mode": {"Current": ecc_mode(gpu), "Pending": ecc_mode(gpu)},
        "ECC Errors": {"Volatile": ecc, "Aggregate": {**ecc, "SRAM Threshold Exceeded": "No"}},
        "Remapped Rows": {
            "Correctable Error": remapped["correctable"],
            "Uncorrectable Error": remapped["uncorrectable"],
            "Pending": "Yes" if remapped["pending"] else "No",
            "Remapping Failure Occurred": "Yes" if remapped["failure"] else "No",
        },
        "Temperature": {"GPU Current Temp": f"{gpu['temperature_c']} C"},
        "GPU Power Readings": {
            "Average Power Draw": f"{gpu['power_w']:.2f} W",
            **{key: f"{value:.2f} W" for key, value in watts.items()},
        },
        "Clocks": {"Graphics": f"{mhz} MHz", "SM": f"{mhz} MHz"},
        "Max Clocks": {
            "Graphics": f"{gpu['max_clock_mhz']} MHz",
            "SM": f"{gpu['max_clock_mhz']} MHz",
            "Memory": f"{gpu['max_memory_clock_mhz']} MHz",
        },
        "Fabric": {key.capitalize(): value for key, value in fabric(gpu).items()},
        "Processes": _named(index, node) or "None",
    }


def _ecc(gpu: dict[str, Any]) -> dict[str, Any]:
    ecc = gpu["ecc"]
    return {
        "SRAM Correctable": ecc["sram_correctable"],
        "SRAM Uncorrectable Parity": ecc["sram_uncorrectable"],
        "SRAM Uncorrectable SEC-DED": 0,
        "DRAM Correctable": ecc["dram_correctable"],
        "DRAM Uncorrectable": ecc["dram_uncorrectable"],
    }


def _named(index: int, node: Node) -> dict[str, Any]:
    return {
        f"Process ID {int(pid) + index}": {
            "Type": "C",
            "Name": command.split()[0],
            "Used GPU Memory": f"{_PROCESS_BYTES_MIB} MiB",
        }
        for pid, command in node["diagnostics"].items()
    }


def xml(gpus: Gpus, node: Node) -> list[str]:
    """Return ``-q -x`` of document type v12, with the elements that checks of a GPU host read."""
    smi = node["smi"]
    lines = [
        '<?xml version="1.0" ?>',
        '<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">',
        "<nvidia_smi_log>",
        *(f"\t<{key}>{value}</{key}>" for key, value in (
            ("timestamp", time.ctime()),
            ("driver_version", smi["driver"]),
            ("cuda_version", smi["cuda"]),
            ("attached_gpus", len(node["gpus"])),
        )),
    ]  # fmt: skip
    for index, gpu in gpus:
        lines += [f'\t<gpu id="{bus_id(gpu)}">', *_elements(2, _xml_tree(index, gpu, node))]
        lines.append("\t</gpu>")
    return [*lines, "</nvidia_smi_log>"]


def _elements(depth: int, tree: dict[str, Any]) -> list[str]:
    pad, lines = "\t" * depth, []
    for key, value in tree.items():
        if isinstance(value, dict):
            lines += [f"{pad}<{key}>", *_elements(depth + 1, value), f"{pad}</{key}>"]
        else:
            lines.append(f"{pad}<{key}>{value}</{key}>")
    return lines


def _xml_tree(index: int, gpu: dict[str, Any], node: Node) -> dict[str, Any]:
    state = settings(node)
    mhz = clock(gpu, state)
    _, width, _, most = gpu["pci"]["link"]
    return {
        "product_name": gpu["model"],
        "product_architecture": "Hopper",
        "persistence_mode": "Enabled" if state["persistence"] else "Disabled",
        "mig_mode": {"current_mig": mig(gpu), "pending_mig": mig(gpu)},
        "serial": gpu["serial"],
        "uuid": uuid(gpu),
        "minor_number": index,
        "vbios_version": vbios(gpu, node),
        "board_part_number": _BOARD,
        "gpu_module_id": index + 1,
        "pci": {
            "pci_bus_id": bus_id(gpu),
            "pci_device_id": gpu["device_id"].removeprefix("0x"),
            "pci_gpu_link_info": {
                "pcie_gen": {"max_link_gen": 5, "current_link_gen": generation(gpu)},
                "link_widths": {"max_link_width": f"{most}x", "current_link_width": f"{width}x"},
            },
            "replay_counter": gpu["replays"],
        },
        "fb_memory_usage": {
            "total": f"{gpu['memory_mib']} MiB",
            "reserved": f"{gpu['reserved_mib']} MiB",
            "used": f"{gpu['memory_used_mib']} MiB",
        },
        "compute_mode": "Default",
        "ecc_mode": {"current_ecc": ecc_mode(gpu), "pending_ecc": ecc_mode(gpu)},
        **_xml_memory(gpu),
        "temperature": {"gpu_temp": f"{gpu['temperature_c']} C"},
        "gpu_power_readings": {
            "average_power_draw": f"{gpu['power_w']:.2f} W",
            "current_power_limit": f"{gpu['power_cap_w']:.2f} W",
            "default_power_limit": f"{default_w(gpu):.2f} W",
        },
        "clocks": {"graphics_clock": f"{mhz} MHz", "sm_clock": f"{mhz} MHz"},
        "max_clocks": {
            "graphics_clock": f"{gpu['max_clock_mhz']} MHz",
            "sm_clock": f"{gpu['max_clock_mhz']} MHz",
            "mem_clock": f"{gpu['max_memory_clock_mhz']} MHz",
        },
        "fabric": fabric(gpu),
        "processes": _xml_processes(index, node),
    }


def _xml_memory(gpu: dict[str, Any]) -> dict[str, Any]:
    ecc = {key.lower().replace(" ", "_").replace("-", ""): v for key, v in _ecc(gpu).items()}
    remapped = gpu["remapped"]
    none = {"retired_count": "N/A", "retired_pagelist": "N/A"}
    return {
        "ecc_errors": {"volatile": ecc, "aggregate": {**ecc, "sram_threshold_exceeded": "No"}},
        "retired_pages": {
            "multiple_single_bit_retirement": none,
            "double_bit_retirement": none,
            "pending_blacklist": "N/A",
            "pending_retirement": "N/A",
        },
        "remapped_rows": {
            "remapped_row_corr": remapped["correctable"],
            "remapped_row_unc": remapped["uncorrectable"],
            "remapped_row_pending": "Yes" if remapped["pending"] else "No",
            "remapped_row_failure": "Yes" if remapped["failure"] else "No",
        },
    }


def _xml_processes(index: int, node: Node) -> dict[str, Any]:
    """Return at most one process, because a dictionary cannot hold two elements of one name."""
    if not node["diagnostics"]:
        return {}
    pid, command = next(iter(node["diagnostics"].items()))
    return {
        "process_info": {
            "pid": int(pid) + index,
            "type": "C",
            "process_name": command.split()[0],
            "used_memory": f"{_PROCESS_BYTES_MIB} MiB",
        }
    }
