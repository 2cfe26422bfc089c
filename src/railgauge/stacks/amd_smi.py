"""Parsers for ``amd-smi``: its nested text, its JSON, and the table of xGMI links.

Text and JSON hold the same values under the same names, so both are parsed into values by path, in
lower case. A line ``SOCKET_POWER: 550 W`` below ``LIMIT:`` becomes ``limit/socket_power``:
``550 W``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from railgauge.stacks import readings as read
from railgauge.stacks.readings import Raw

_LONGEST_LINE = 1000
_GPU = re.compile(r"GPU:\s*(\d{1,4})")
_ENTRY = re.compile(r"( *)([A-Za-z][\w .\-/()]*?):(?:\s+(\S.*))?")
_VERSIONS = {
    "amd-smi": re.compile(r"(?:AMDSMI Tool:|AMD-SMI) ([\w.\-+]{1,60})"),
    "rocm": re.compile(r"ROCm version: ([\w.\-+]{1,40})"),
    "amdgpu": re.compile(r"amdgpu version: ([\w.\-+]{1,40})"),
    "vbios": re.compile(r"VBIOS version: ([\w.\-+]{1,40})"),
}
# Up, down, or disabled by the vendor; some releases have a column for the GPU itself.
_STATUS_ROW = re.compile(r"GPU(\d{1,4})\s+(\S+)((?:\s+(?:[UDX]|SELF|N/A))+)")
_METRIC_ROW = re.compile(
    r"GPU(\d{1,4})\s+(\S+)\s+(?:(\d{1,6}) Gb/s|N/A)\s+(?:(\d{1,6}) Gb/s|N/A)\s+(\S+)"
)


@dataclass(frozen=True, slots=True)
class Xgmi:
    """The xGMI links of one GPU; links that the vendor disabled are not counted."""

    up: int | None = None
    total: int | None = None
    rate_gbps: float | None = None


def parse_gpus(text: str) -> dict[int, Raw]:
    """Parse ``static``, ``metric``, ``list`` or ``bad-pages``, text or JSON, into values by GPU.

    Empty if the output is neither, or if the JSON is cut off.
    """
    start = re.search(r"^(?:\{|\[\s*[{\]])", text, re.MULTILINE)
    return _from_json(text[start.start() :]) if start else _from_text(text)


def _from_json(text: str) -> dict[int, Raw]:
    try:
        data = json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        return {}
    # Since release 7 the list of GPUs has its own key.
    listed = data.get("gpu_data", []) if isinstance(data, dict) else data
    entries = [item for item in listed if isinstance(item, dict)] if listed else []
    return {
        int(entry["gpu"]): dict(_flat(entry))
        for entry in entries
        if re.fullmatch(r"\d{1,4}", str(entry.get("gpu")))
    }


def _flat(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield values by path; a value and its unit become one text.

    Not recursive, because a node may print arbitrarily deep nesting.
    """
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
            # Lines below "CPU: 0" or another heading belong to no GPU.
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
    """Count a row of the table below a label, such as one bad page."""
    counted = re.fullmatch(r"(\d{1,9}) entries", gpu.get(path, "0 entries"))
    if counted:
        gpu[path] = f"{int(counted[1]) + 1} entries"


def parse_versions(text: str) -> dict[str, str]:
    """Return the versions of ``amd-smi``, ``rocm``, ``amdgpu`` and ``vbios`` that are printed."""
    found = {name: pattern.search(text) for name, pattern in _VERSIONS.items()}
    return {name: match[1] for name, match in found.items() if match and read.value(match[1])}


def bad_pages(raw: Raw, kind: str) -> int | None:
    """Count the pages that are ``retired``, ``pending`` or unreservable (``un_res``).

    ``None`` if that is not printed.
    """
    value = next((text for path, text in raw.items() if path.split("/")[0] == kind), None)
    if value is None or value.startswith("No bad pages"):
        return 0 if value else None
    counted = re.fullmatch(r"(\d{1,9}) entries", value)
    return int(counted[1]) if counted else None


# --- tables ---


def parse_xgmi(text: str) -> dict[int, Xgmi]:
    """Parse ``amd-smi xgmi``: the table of states (newer releases), that of rates and traffic."""
    found: dict[int, Xgmi] = {}
    for line in (line[:_LONGEST_LINE].strip() for line in text.splitlines()):
        if row := _STATUS_ROW.fullmatch(line):
            known = found.get(int(row[1]), Xgmi())
            up, down = (row[3].split().count(state) for state in "UD")
            found[int(row[1])] = Xgmi(up, up + down, known.rate_gbps)
        elif row := _METRIC_ROW.match(line):
            known = found.get(int(row[1]), Xgmi())
            found[int(row[1])] = Xgmi(known.up, known.total, float(row[4]) if row[4] else None)
    return found
