"""Readers of ``amd-smi``: its nested text and its JSON, the tables of topology and xGMI.

Text and JSON say the same under the same names, so both are read into values by path, in lower
case: ``limit/socket_power`` is ``550 W`` in either.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from railgauge.stacks import readings as read

Raw = Mapping[str, str]
_LONGEST_LINE = 1000
_GPU = re.compile(r"GPU:\s*(\d{1,4})")
_ENTRY = re.compile(r"( *)([A-Za-z][\w .\-/()]*?):(?:\s+(\S.*))?")
_BDF = re.compile(r"(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_VERSIONS = {
    "amd-smi": re.compile(r"(?:AMDSMI Tool:|AMD-SMI) ([\w.\-+]{1,60})"),
    "rocm": re.compile(r"ROCm version: ([\w.\-+]{1,40})"),
    "amdgpu": re.compile(r"amdgpu version: ([\w.\-+]{1,40})"),
    "vbios": re.compile(r"VBIOS version: ([\w.\-+]{1,40})"),
}
_STATUS_ROW = re.compile(r"GPU(\d{1,4})\s+(\S+)((?:\s+[UDX])+)")
_METRIC_ROW = re.compile(
    r"GPU(\d{1,4})\s+(\S+)\s+(?:(\d{1,6}) Gb/s|N/A)\s+(?:(\d{1,6}) Gb/s|N/A)\s+(\S+)"
)
_TRAFFIC_HEADING = re.compile(r"bdf\s+bit_rate\s+max_bandwidth\s+link_type\s+(\S.*)")
_TRAFFIC_ROW = re.compile(r"(Read|Write)\s+(\S.*)")
_TABLE_BUS = re.compile(
    r"\| (\S+) (\S.*?)\s+\| .*? (?:(\d{1,4}) °C|N/A)\s+(\S+)\s+(\S+)/(\d{1,5}) W \|"
)
_TABLE_GPU = re.compile(
    r"\|\s+(\d{1,4})\s+\S+\s+\S+\s+(\S+)/(\S+) \| .*? (\d{1,9})/(\d{1,9}) MB \|"
)


@dataclass(frozen=True, slots=True)
class Xgmi:
    """The xGMI links of one GPU; a link that the vendor disabled is none of its links."""

    up: int | None = None
    total: int | None = None
    rate_gbps: float | None = None


def parse_gpus(text: str) -> dict[int, Raw]:
    """``static``, ``metric``, ``list`` or ``bad-pages``, as text or JSON, GPU by GPU.

    Empty where the output is neither; torn JSON is no JSON.
    """
    start = re.search(r"^(?:\{|\[\s*[{\]])", text, re.MULTILINE)
    return _from_json(text[start.start() :]) if start else _from_text(text)


def _from_json(text: str) -> dict[int, Raw]:
    try:
        data = json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        return {}
    # Since release 7 the list of GPUs stands under a key of its own.
    listed = data.get("gpu_data", []) if isinstance(data, dict) else data
    entries = [item for item in listed if isinstance(item, dict)] if listed else []
    return {
        int(entry["gpu"]): dict(_flat(entry))
        for entry in entries
        if re.fullmatch(r"\d{1,4}", str(entry.get("gpu")))
    }


def _flat(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Values by path, a value with its unit as one text. Not recursive, as nesting has no end."""
    waiting: list[tuple[str, Any]] = [("", dict(entry))]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict) and set(value) == {"value", "unit"}:
            yield path, f"{value['value']} {value['unit']}"
        elif isinstance(value, dict):
            prefix = f"{path}/" if path else ""
            waiting += [(f"{prefix}{str(key).lower()}", item) for key, item in value.items()]
        elif isinstance(value, list):
            yield path, f"{len(value)} entries" if value else ""
        else:
            yield path, str(value)


def _from_text(text: str) -> dict[int, Raw]:
    gpus: dict[int, dict[str, str]] = {}
    gpu: dict[str, str] | None = None
    labels: list[tuple[int, str]] = []
    for line in (line[:_LONGEST_LINE] for line in text.splitlines()):
        if line and not line.startswith(" "):
            start = _GPU.fullmatch(line.rstrip())
            # What stands under "CPU: 0" or another heading belongs to no GPU.
            gpu = gpus.setdefault(int(start[1]), {}) if start else None
            labels = []
        elif gpu is not None and (match := _ENTRY.fullmatch(line.rstrip())):
            indent = len(match[1])
            labels = [item for item in labels if item[0] < indent][-8:]
            labels.append((indent, match[2].lower()))
            if match[3]:
                gpu["/".join(name for _, name in labels)] = match[3]
        elif gpu is not None and line.strip() and labels:
            _count_entry(gpu, "/".join(name for _, name in labels))
    return dict(gpus)


def _count_entry(gpu: dict[str, str], path: str) -> None:
    """A row of a table under a label, such as one bad page."""
    counted = re.fullmatch(r"(\d{1,9}) entries", gpu.get(path, "0 entries"))
    if counted:
        gpu[path] = f"{int(counted[1]) + 1} entries"


def parse_versions(text: str) -> dict[str, str]:
    """``amd-smi``, ``rocm``, ``amdgpu``, ``vbios``: what ``version`` or the table's head names."""
    found = {name: pattern.search(text) for name, pattern in _VERSIONS.items()}
    return {name: match[1] for name, match in found.items() if match and read.said(match[1])}


def bad_pages(raw: Raw, kind: str) -> int | None:
    """How many pages are ``retired``, ``pending`` or unreservable (``un_res``)."""
    said = next((text for path, text in raw.items() if path.split("/")[0] == kind), None)
    if said is None or said.startswith("No bad pages"):
        return 0 if said else None
    counted = re.fullmatch(r"(\d{1,9}) entries", said)
    return int(counted[1]) if counted else None


# --- tables ---


def parse_xgmi(text: str) -> dict[int, Xgmi]:
    """``amd-smi xgmi``: the table of states (newer releases) and that of rates and traffic."""
    found: dict[int, Xgmi] = {}
    for line in (line[:_LONGEST_LINE].strip() for line in text.splitlines()):
        if row := _STATUS_ROW.fullmatch(line):
            known = found.get(int(row[1]), Xgmi())
            up, down = row[3].count("U"), row[3].count("D")
            found[int(row[1])] = Xgmi(up, up + down, known.rate_gbps)
        elif row := _METRIC_ROW.match(line):
            known = found.get(int(row[1]), Xgmi())
            found[int(row[1])] = Xgmi(known.up, known.total, float(row[4]) if row[4] else None)
    return found


def parse_xgmi_traffic(text: str) -> dict[int, dict[str, dict[str, str]]]:
    """What each GPU ``read`` and ``write`` over the link to another, by its bus id, as printed."""
    found: dict[int, dict[str, dict[str, str]]] = {}
    peers: list[str] = []
    gpu: int | None = None
    for line in (line[:_LONGEST_LINE].strip() for line in text.splitlines()):
        if heading := _TRAFFIC_HEADING.fullmatch(line):
            peers = heading[1].split()
        elif start := _METRIC_ROW.match(line):
            gpu = int(start[1])
        elif gpu is not None and (row := _TRAFFIC_ROW.fullmatch(line)):
            cells = re.findall(r"N/A|\d{1,18} [KMGT]?B\b", row[2])
            if len(cells) == len(peers):
                found.setdefault(gpu, {})[row[1].lower()] = dict(zip(peers, cells, strict=True))
    return found


def parse_topology(text: str) -> dict[str, dict[str, dict[str, str]]]:
    """``amd-smi topology``: table, row and column as printed: ``["WEIGHT"][bdf][bdf]``."""
    tables: dict[str, dict[str, dict[str, str]]] = {}
    table: dict[str, dict[str, str]] = {}
    columns: list[str] = []
    for line in text.splitlines():
        words = line[:_LONGEST_LINE].split()
        if words[1:] == ["TABLE:"] or words[2:] == ["TABLE:"]:
            table = tables.setdefault(" ".join(words[:-1]), {})
            columns = []
        elif words and all(map(_BDF.fullmatch, words)):
            columns = words
        elif words and _BDF.fullmatch(words[0]) and len(words) == len(columns) + 1:
            table[words[0]] = dict(zip(columns, words[1:], strict=True))
    return tables


def parse_monitor(text: str) -> tuple[dict[str, str], ...]:
    """``amd-smi monitor``: rows by heading, each value with its unit."""
    lines = [line[:_LONGEST_LINE] for line in text.splitlines()]
    start = next((i for i, line in enumerate(lines) if line.split()[:1] == ["GPU"]), len(lines))
    heading = lines[start].split() if start < len(lines) else []
    rows = [re.findall(r"N/A|-?[\d.]{1,15}(?: [^\s\d]{1,5})?", line) for line in lines[start + 1 :]]
    return tuple(dict(zip(heading, row, strict=True)) for row in rows if len(row) == len(heading))


def parse_table(text: str) -> dict[int, Raw]:
    """``amd-smi`` without arguments (release 26 and later), under the names of ``static``."""
    lines = [line[:_LONGEST_LINE].rstrip() for line in text.splitlines()]
    found: dict[int, Raw] = {}
    for first, second in pairwise(lines):
        bus, gpu = _TABLE_BUS.fullmatch(first), _TABLE_GPU.fullmatch(second)
        if bus and gpu:
            found[int(gpu[1])] = {
                "bus/bdf": bus[1],
                "asic/market_name": bus[2],
                "temperature/hotspot": f"{bus[3]} C" if bus[3] else "N/A",
                "ecc/total_uncorrectable_count": bus[4],
                "power/socket_power": f"{bus[5]} W",
                "limit/socket_power": f"{bus[6]} W",
                "partition/compute_partition": gpu[2],
                "partition/memory_partition": gpu[3],
                "vram/used": f"{gpu[4]} MB",
                "vram/size": f"{gpu[5]} MB",
            }
    return found
