"""``mx-smi``: the overview and ``topo -n`` / ``topo -m``, in the layout of version 2.2.3.

Listings of single values are those of version 2.2.12 (``metax_listings``).
"""

from __future__ import annotations

import sys
import time

from . import metax_listings, telemetry
from .nvidia_topo import DISTANCES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]

_BOX = "+---------------------------------------------------------------------------------+"
_COLUMNS = "+------------------------------------+---------------------+----------------------+"
_OVERVIEW = """\
|------------------------------------+---------------------+----------------------+
| GPU         NAME                   | Bus-id              | GPU-Util             |
| Temp        Pwr:Usage/Cap          | Memory-Usage        |                      |
|====================================+=====================+======================|"""
_PROCESSES = """\
| Process:                                                                        |
|  GPU                    PID         Process Name                 GPU Memory     |
|                                                                  Usage(MiB)     |
|=================================================================================|"""
_NO_PROCESS = "|  no process found                                                               |"
_DIAGNOSTIC_MIB = 3108
_LEGEND = f"""\
Legend:
{DISTANCES}
  MX   = Connection traversing MetaXLink
  NA   = Connection type is unknown"""


def run(_tool: str, arguments: list[str], node: Node) -> int:
    """Return exit code 0, or 1 for a subcommand that is not simulated."""
    if arguments[:1] == ["dmon"]:
        return telemetry.metax(node, arguments)
    if not arguments:
        lines = _overview(node)
    elif arguments == ["-L"]:
        lines = _listed(node)
    elif arguments in (["topo", "-n"], ["topo", "-m"]):
        lines = _topology(node, with_nics=arguments[1] == "-n")
    elif blocks := metax_listings.listed(node, arguments):
        lines = [*_heading(node), *blocks]
    else:
        sys.stderr.write(f"mx-smi: unrecognized option '{' '.join(arguments)}'\n")
        return 1
    print("\n".join(lines))
    return 0


def _heading(node: Node) -> list[str]:
    return [
        f"mx-smi  version: {node['smi']['version']}",
        "",
        "=================== MetaX System Management Interface Log ===================",
        f"Timestamp                                         : {time.ctime()}",
        "",
        f"Attached GPUs                                     : {len(node['gpus'])}",
    ]


def _overview(node: Node) -> list[str]:
    smi = node["smi"]
    driver = f"Kernel Mode Driver Version: {smi['driver']}"
    maca = f"MACA Version: {smi['maca']}"
    return [
        *_heading(node),
        _BOX,
        f"| {'MX-SMI ' + smi['version']:<35} {driver:<44}|",
        f"| {maca:<35} {'BIOS Version: ' + smi['bios']:<44}|",
        *_OVERVIEW.split("\n"),
        *[line for index, gpu in enumerate(node["gpus"]) for line in _gpu(index, gpu)],
        "",
        _BOX,
        *_PROCESSES.split("\n"),
        *(_processes(node) or [_NO_PROCESS]),
        _BOX,
        "",
        "End of Log",
    ]


def _gpu(index: int, gpu: dict[str, Any]) -> list[str]:
    power = f"{gpu['power_w']}W / {gpu['power_cap_w']}W"
    memory = f"{gpu['memory_used_mib']}/{gpu['memory_mib']} MiB"
    temperature = f"{gpu['temperature_c']}C"
    return [
        f"| {index:<11} {gpu['model']:<23}| {gpu['bus']:<20}| {'0%':<21}|",
        f"| {temperature:<11} {power:<23}| {memory:<20}| {'':<21}|",
        _COLUMNS,
    ]


def _listed(node: Node) -> list[str]:
    return [
        f"GPU#{index}    {gpu['model'].replace('MetaX ', 'MX')}    {gpu['bus']}    Available"
        f" (UUID: {gpu['uuid']})"
        for index, gpu in enumerate(node["gpus"])
    ]


def _processes(node: Node) -> list[str]:
    """Return a row for each GPU and process; document 000 shows the heading of the columns."""
    rows = [
        f"  {index:<22}  {pid:<11} {command.split()[0].rpartition('/')[2]:<28} {_DIAGNOSTIC_MIB}"
        for pid, command in node["diagnostics"].items()
        for index in range(len(node["gpus"]))
    ]
    return [f"|{row:<81}|" for row in rows]


def _topology(node: Node, *, with_nics: bool) -> list[str]:
    gpus = node["gpus"]
    nics = list(node["devices"]) if with_nics else []
    names = [f"GPU{i}" for i in range(len(gpus))] + [f"NIC{i}" for i in range(len(nics))]
    affinity = node["smi"]["affinity"]
    rows = [_gpu_row(i, gpus, nics, affinity) for i in range(len(gpus))]
    rows += [_nic_row(i, gpus, nics) for i in range(len(nics))]
    legend = ["", "NIC Legend:", "", *(f"  NIC{i}: {nic}" for i, nic in enumerate(nics))]
    return [
        *_heading(node),
        "Device link type matrix",
        _cells(["", *names]) + "Node Affinity  CPU Affinity",
        *rows,
        "",
        *_LEGEND.split("\n"),
        *(legend if with_nics else []),
    ]


def _gpu_row(index: int, gpus: list[Any], nics: list[str], affinity: list[str]) -> str:
    mine = gpus[index]
    cells = [_between(mine, gpu) if gpu is not mine else "X" for gpu in gpus]
    cells += [mine["links"][nic] for nic in nics]
    return _cells([f"GPU{index}", *cells]) + f"{affinity[0]:<15}{affinity[1]}"


def _between(one: dict[str, Any], other: dict[str, Any]) -> str:
    return "MX" if one["island"] == other["island"] else "NODE"


def _nic_row(index: int, gpus: list[Any], nics: list[str]) -> str:
    cells = [gpu["links"][nics[index]] for gpu in gpus]
    cells += ["X" if i == index else "NODE" for i in range(len(nics))]
    return _cells([f"NIC{index}", *cells]).rstrip()


def _cells(cells: list[str]) -> str:
    return "".join(f"{cell:<8}" for cell in cells)
