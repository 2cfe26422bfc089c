"""``nvidia-smi --query-…=FIELDS --format=csv``, and the settings that can be changed."""

from __future__ import annotations

import os
import sys
import time

from . import counters, stored, telemetry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Node = dict[str, Any]
    Gpu = dict[str, Any]

_IDLE_MHZ = 345


def uuid(gpu: Gpu) -> str:
    """Return the GPU's UUID."""
    return str(gpu["uuid"])


def bus_id(gpu: Gpu) -> str:
    """Return the bus address as nvidia-smi prints it: domain of eight digits, upper case."""
    return f"0000{gpu['bus']}".upper()


def with_errors(node: Node, gpu: Gpu) -> Gpu:
    """Return the GPU with the errors that were counted since the lab's start."""
    ecc = gpu["ecc"]
    more = {
        "dram_uncorrectable": counters.counted(node, gpu, "ecc_uncorrected"),
        "dram_correctable": counters.counted(node, gpu, "ecc_corrected"),
    }
    grown = {name: ecc[name] + count for name, count in more.items()}
    links = {name: counters.counted(node, gpu, f"link_{name.lower()}") for name in LINK_ERRORS}
    replays = counters.counted(node, gpu, "pcie_replays")
    return {**gpu, "ecc": {**ecc, **grown}, "link_errors": links, "replays": replays}


LINK_ERRORS = ("Replay", "Recovery", "CRC")
BAD_LINK = 3


def vbios(gpu: Gpu, node: Node) -> str:
    """Return the GPU's VBIOS version: that of the platform, unless the GPU has its own."""
    return str(gpu.get("vbios", node["smi"]["vbios"]))


def generation(gpu: Gpu) -> int:
    """Return the PCIe generation at which the GPU's link trained."""
    return 5 if gpu["pci"]["link"][0] == "32GT/s" else 4


def default_w(gpu: Gpu) -> float:
    """Return the board's default power limit in W."""
    return float(gpu["power_default_w"] if "power_default_w" in gpu else gpu["power_cap_w"])


def clock(gpu: Gpu, state: dict[str, Any]) -> int:
    """Return the GPU clock in MHz: the locked one, or that of an idle GPU if it is not locked."""
    if gpu.get("busy"):
        return telemetry.clock(gpu, min(state["locked_mhz"] or 1 << 20, gpu["max_clock_mhz"]))
    return int(min(state["locked_mhz"], gpu["max_clock_mhz"])) or _IDLE_MHZ


def mig(gpu: Gpu) -> str:
    """Return whether MIG is ``Enabled`` or ``Disabled``."""
    return "Enabled" if gpu.get("mig") else "Disabled"


def ecc_mode(gpu: Gpu) -> str:
    """Return whether ECC is ``Enabled`` or ``Disabled``."""
    return "Disabled" if gpu.get("ecc_off") else "Enabled"


def fabric(gpu: Gpu) -> dict[str, str]:
    """Return the state and status of the GPU's registration with the NVLink fabric."""
    known: dict[str, str] = gpu.get("fabric", {"state": "Completed", "status": "Success"})
    return known


def settings(node: Node) -> dict[str, Any]:
    """Return persistence mode and locked clock in MHz: as changed on this node, or the defaults."""
    try:
        changed: dict[str, Any] = stored.read(_state(node))
    except FileNotFoundError:
        changed = {}
    smi = node["smi"]
    return {"persistence": smi["persistence"], "locked_mhz": smi["locked_mhz"], **changed}


def changed(rest: list[str], gpus: list[tuple[int, Gpu]], node: Node) -> int:
    """Apply ``-pm 0|1``, ``-lgc MHZ`` or ``-rgc``, and store the setting for later queries.

    Returns exit code 0, or 2 for an invalid combination of arguments.
    """
    words = [part for word in rest for part in word.split("=")]
    name, values = words[0].lstrip("-"), words[1:]
    state = settings(node)
    if name in ("pm", "persistence-mode"):
        state["persistence"] = values[:1] == ["1"]
        _tell(gpus, "Enabled" if state["persistence"] else "Disabled", "persistence mode for")
    elif name in ("lgc", "lock-gpu-clocks") and values:
        state["locked_mhz"] = int(values[0].split(",")[-1])
        low = values[0].split(",")[0]
        for _, gpu in gpus:
            span = f"(gpuClkMin {low}, gpuClkMax {state['locked_mhz']})"
            print(f'GPU clocks set to "{span}" for GPU {bus_id(gpu)}')
        print("All done.")
    elif name in ("rgc", "reset-gpu-clocks"):
        state["locked_mhz"] = 0
        print("\n".join(f"GPU clocks reset for GPU {bus_id(gpu)}" for _, gpu in gpus))
        print("All done.")
    else:
        sys.stdout.write(f"Invalid combination of input arguments. {' '.join(rest)}\n")
        return 2
    stored.write(_state(node), state)
    return 0


def _tell(gpus: list[tuple[int, Gpu]], state: str, what: str) -> None:
    print("\n".join(f"{state} {what} GPU {bus_id(gpu)}." for _, gpu in gpus))
    print("All done.")


def _state(node: Node) -> str:
    return f"{os.path.dirname(node['root'])}/smi"  # noqa: PTH120 - see main.py


def csv(rest: list[str], gpus: list[tuple[int, Gpu]], node: Node) -> int:
    """Print the fields as CSV; return exit code 0, or 2 for an unknown field, as the real tool."""
    kind, _, fields = rest[0].removeprefix("--query-").partition("=")
    form = next((one.partition("=")[2] for one in rest if one.startswith("--format")), "")
    if "csv" not in form.split(","):
        print('"--format=" switch is missing required "csv" value.')
        return 2
    wanted = [name.strip() for name in fields.split(",")]
    known = _KINDS.get(kind)
    unknown = [name for name in wanted if known is None or name not in known]
    if known is None or unknown:
        print(f'Field "{(unknown or [kind])[0]}" is not a valid field to query.\n')
        return 2
    columns = [known[name] for name in wanted]
    heading = []
    if "noheader" not in form:
        units = "nounits" not in form
        heads = [_head(name, unit, units) for name, (unit, _) in zip(wanted, columns)]  # noqa: B905
        heading = [", ".join(heads)]

    def lines(now: Node) -> list[str]:
        chosen = [(i, now["gpus"][i]) for i, _ in gpus]
        rows = _rows(kind, chosen, now)
        cells = [
            [_cell(read(row), unit, "nounits" in form) for unit, read in columns] for row in rows
        ]
        return [", ".join(row) for row in cells]

    every_s = telemetry.interval_s(rest, "-lms", 1000)
    if every_s is not None:
        return telemetry.sampled(node, every_s, heading, lines)
    sys.stdout.write("".join(f"{line}\n" for line in (*heading, *lines(node))))
    return 0


def _head(name: str, unit: str, with_unit: bool) -> str:
    return f"{name} [{unit}]" if unit and (with_unit or unit) else name


def _cell(value: object, unit: str, bare: bool) -> str:
    return str(value) if bare or not unit or str(value).startswith("[") else f"{value} {unit}"


def _rows(kind: str, gpus: list[tuple[int, Gpu]], node: Node) -> list[dict[str, Any]]:
    state = settings(node)
    base: list[dict[str, Any]] = [
        {"index": i, "gpu": gpu, "node": node, "state": state} for i, gpu in gpus
    ]
    if kind != "compute-apps":
        return base
    return [
        {**row, "pid": int(pid) + row["index"], "command": command}
        for row in base
        for pid, command in node["diagnostics"].items()
    ]


def _ecc(key: str) -> tuple[str, Callable[[Any], object]]:
    return "", lambda row: row["gpu"]["ecc"][key]


def _uncorrectable(row: Any) -> object:
    ecc = row["gpu"]["ecc"]
    return ecc["sram_uncorrectable"] + ecc["dram_uncorrectable"]


def _remapped(key: str) -> tuple[str, Callable[[Any], object]]:
    return "", lambda row: row["gpu"]["remapped"][key]


def _flag(key: str) -> tuple[str, Callable[[Any], object]]:
    return "", lambda row: "Yes" if row["gpu"]["remapped"][key] else "No"


def _clock(row: Any) -> object:
    return clock(row["gpu"], row["state"])


_IDLE, _POWER_CAP, _HOT = 0x1, 0x4, 0x8 | 0x40


def _reasons(row: Any) -> object:
    """Under load the power cap limits the clock, unless heat does."""
    busy = _HOT if row["gpu"].get("throttled") else _POWER_CAP
    return f"0x{busy if row['gpu'].get('busy') else _IDLE:016x}"


def _utilisation(row: Any) -> object:
    if row["gpu"].get("busy"):
        return 100
    return 10 if row["node"]["diagnostics"] else 0


def _used(row: Any) -> int:
    return int(row["gpu"]["memory_used_mib"]) + sum(3108 for _ in row["node"]["diagnostics"])


_IDENTITY: dict[str, tuple[str, Callable[[Any], object]]] = {
    "gpu_name": ("", lambda row: row["gpu"]["model"]),
    "gpu_bus_id": ("", lambda row: bus_id(row["gpu"])),
    "gpu_uuid": ("", lambda row: uuid(row["gpu"])),
}
_FIELDS: dict[str, tuple[str, Callable[[Any], object]]] = {
    "index": ("", lambda row: row["index"]),
    "name": _IDENTITY["gpu_name"],
    "gpu_name": _IDENTITY["gpu_name"],
    "uuid": _IDENTITY["gpu_uuid"],
    "gpu_uuid": _IDENTITY["gpu_uuid"],
    "serial": ("", lambda row: row["gpu"]["serial"]),
    "count": ("", lambda row: len(row["node"]["gpus"])),
    "timestamp": ("", lambda _: time.strftime("%Y/%m/%d %H:%M:%S.000")),
    "driver_version": ("", lambda row: row["node"]["smi"]["driver"]),
    "vbios_version": ("", lambda row: vbios(row["gpu"], row["node"])),
    "pci.bus_id": _IDENTITY["gpu_bus_id"],
    "gpu_bus_id": _IDENTITY["gpu_bus_id"],
    "pci.device_id": ("", lambda row: row["gpu"]["device_id"]),
    "pci.domain": ("", lambda row: "0x" + row["gpu"]["bus"][:4].upper()),
    "pci.bus": ("", lambda row: "0x" + row["gpu"]["bus"][5:7].upper()),
    "pcie.link.gen.current": ("", lambda row: generation(row["gpu"])),
    "pcie.link.gen.gpucurrent": ("", lambda row: generation(row["gpu"])),
    "pcie.link.gen.max": ("", lambda _: 5),
    "pcie.link.gen.gpumax": ("", lambda _: 5),
    "pcie.link.width.current": ("", lambda row: row["gpu"]["pci"]["link"][1]),
    "pcie.link.width.max": ("", lambda row: row["gpu"]["pci"]["link"][3]),
    "persistence_mode": (
        "",
        lambda row: "Enabled" if row["state"]["persistence"] else "Disabled",
    ),
    "compute_mode": ("", lambda _: "Default"),
    "mig.mode.current": ("", lambda row: mig(row["gpu"])),
    "mig.mode.pending": ("", lambda row: mig(row["gpu"])),
    "ecc.mode.current": ("", lambda row: ecc_mode(row["gpu"])),
    "ecc.mode.pending": ("", lambda row: ecc_mode(row["gpu"])),
    "ecc.errors.uncorrected.volatile.total": ("", _uncorrectable),
    "ecc.errors.uncorrected.aggregate.total": ("", _uncorrectable),
    "ecc.errors.uncorrected.volatile.dram": _ecc("dram_uncorrectable"),
    "ecc.errors.uncorrected.volatile.sram": _ecc("sram_uncorrectable"),
    "ecc.errors.uncorrected.aggregate.dram": _ecc("dram_uncorrectable"),
    "ecc.errors.uncorrected.aggregate.sram": _ecc("sram_uncorrectable"),
    "ecc.errors.corrected.volatile.total": _ecc("dram_correctable"),
    "ecc.errors.corrected.aggregate.total": _ecc("dram_correctable"),
    "ecc.errors.corrected.volatile.dram": _ecc("dram_correctable"),
    "ecc.errors.corrected.aggregate.dram": _ecc("dram_correctable"),
    "retired_pages.pending": ("", lambda _: "[N/A]"),
    "temperature.gpu": ("", lambda row: row["gpu"]["temperature_c"]),
    "temperature.memory": ("", lambda row: row["gpu"]["temperature_c"] - 1),
    "power.draw": ("W", lambda row: f"{row['gpu']['power_w']:.2f}"),
    "power.limit": ("W", lambda row: f"{row['gpu']['power_cap_w']:.2f}"),
    "enforced.power.limit": ("W", lambda row: f"{row['gpu']['power_cap_w']:.2f}"),
    "power.default_limit": ("W", lambda row: f"{default_w(row['gpu']):.2f}"),
    "power.max_limit": ("W", lambda row: f"{default_w(row['gpu']):.2f}"),
    "power.management": ("", lambda _: "Enabled"),
    "pstate": ("", lambda _: "P0"),
    "clocks.sm": ("MHz", _clock),
    "clocks.gr": ("MHz", _clock),
    "clocks.current.sm": ("MHz", _clock),
    "clocks.current.graphics": ("MHz", _clock),
    "clocks.current.memory": ("MHz", lambda row: row["gpu"]["max_memory_clock_mhz"]),
    "clocks.mem": ("MHz", lambda row: row["gpu"]["max_memory_clock_mhz"]),
    "clocks.applications.graphics": ("MHz", lambda row: row["gpu"]["max_clock_mhz"]),
    "clocks.applications.gr": ("MHz", lambda row: row["gpu"]["max_clock_mhz"]),
    "clocks.applications.memory": ("MHz", lambda row: row["gpu"]["max_memory_clock_mhz"]),
    "clocks.applications.mem": ("MHz", lambda row: row["gpu"]["max_memory_clock_mhz"]),
    "clocks.max.sm": ("MHz", lambda row: row["gpu"]["max_clock_mhz"]),
    "clocks.max.gr": ("MHz", lambda row: row["gpu"]["max_clock_mhz"]),
    "clocks.max.graphics": ("MHz", lambda row: row["gpu"]["max_clock_mhz"]),
    "clocks.max.memory": ("MHz", lambda row: row["gpu"]["max_memory_clock_mhz"]),
    "clocks.max.mem": ("MHz", lambda row: row["gpu"]["max_memory_clock_mhz"]),
    "clocks_throttle_reasons.active": ("", _reasons),
    "clocks_event_reasons.active": ("", _reasons),
    "utilization.gpu": ("%", _utilisation),
    "utilization.memory": ("%", lambda row: 4 if row["node"]["diagnostics"] else 0),
    "memory.total": ("MiB", lambda row: row["gpu"]["memory_mib"]),
    "memory.reserved": ("MiB", lambda row: row["gpu"]["reserved_mib"]),
    "memory.used": ("MiB", _used),
    "memory.free": (
        "MiB",
        lambda row: row["gpu"]["memory_mib"] - row["gpu"]["reserved_mib"] - _used(row),
    ),
    "fabric.state": ("", lambda row: fabric(row["gpu"])["state"]),
    "fabric.status": ("", lambda row: fabric(row["gpu"])["status"]),
}
_APPS: dict[str, tuple[str, Callable[[Any], object]]] = {
    **_IDENTITY,
    "timestamp": _FIELDS["timestamp"],
    "gpu_serial": _FIELDS["serial"],
    "pid": ("", lambda row: row["pid"]),
    "process_name": ("", lambda row: row["command"].split()[0]),
    "name": ("", lambda row: row["command"].split()[0]),
    "used_gpu_memory": ("MiB", lambda _: 3108),
    "used_memory": ("MiB", lambda _: 3108),
}
_REMAPPED: dict[str, tuple[str, Callable[[Any], object]]] = {
    **_IDENTITY,
    "timestamp": _FIELDS["timestamp"],
    "remapped_rows.correctable": _remapped("correctable"),
    "remapped_rows.uncorrectable": _remapped("uncorrectable"),
    "remapped_rows.pending": _flag("pending"),
    "remapped_rows.failure": _flag("failure"),
}
_KINDS = {"gpu": _FIELDS, "compute-apps": _APPS, "remapped-rows": _REMAPPED}
