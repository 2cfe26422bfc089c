"""Readers of what ``nvidia-smi`` prints for people: the plain table, ``nvlink -s``, ``dmon``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from railgauge.stacks.nvidia_smi import Raw, SmiLog

_LONGEST_LINE = 300
_DRIVER = re.compile(r"Driver Version: (\S{1,40})")
_CUDA = re.compile(r"CUDA Version: (\S{1,40})")
_FIRST = re.compile(r"(\d{1,4})\s+(\S.*?)\s+(On|Off|N/A)")
_BUS = re.compile(r"([0-9A-Fa-f]{4,8}:\S{2}:\S{2}\.\d)\s+(?:On|Off|N/A)")
_POWER = re.compile(r".*?(\S+)\s*/\s*(\S+)")
_MEMORY = re.compile(r"(\d{1,9}MiB)\s*/\s*(\d{1,9}MiB)")
_PROCESS = re.compile(
    r"(\d{1,4})\s+(?:\S{1,4}\s+\S{1,4}\s+)?(\d{1,10})\s+([CGMP+]{1,4})\s+(\S.*?)\s+(\d{1,9}MiB|N/A)"
)
_GPU = re.compile(r"GPU (\d{1,4}): .*")
_LINK = re.compile(r"Link (\d{1,3}): (?:(\d{1,5}(?:\.\d{1,6})?) GB/s|(\S.*))")
_BITS_PER_BYTE = 8


def parse_table(text: str) -> SmiLog:
    """``nvidia-smi`` without arguments, 79 or 91 columns wide; names are cut off by the tool."""
    rows = [_cells(line) for line in text.splitlines() if line.startswith("|")]
    pairs = zip(rows, [*rows[1:], []], strict=False)
    gpus = tuple(gpu for first, second in pairs if (gpu := _gpu(first, second)))
    driver, cuda = _DRIVER.search(text), _CUDA.search(text)
    problem = "" if gpus else "shows no GPU"
    return SmiLog(
        gpus, driver and driver[1], cuda and cuda[1], _processes(text), "" if driver else problem
    )


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line[:_LONGEST_LINE].strip().strip("|").split("|")]


def _gpu(first: list[str], second: list[str]) -> Raw | None:
    if len(first) != 3 or len(second) != 3:  # noqa: PLR2004 - the table has three columns
        return None
    name, bus = _FIRST.fullmatch(first[0]), _BUS.fullmatch(first[1])
    power, memory = _POWER.fullmatch(second[0]), _MEMORY.fullmatch(second[1])
    if not name or not bus:
        return None
    return {
        "index": name[1],
        "name": name[2],
        "persistence_mode": name[3],
        "pci.bus_id": bus[1],
        "ecc.errors.uncorrected.volatile.total": first[2],
        "power.limit": power[2] if power else "",
        "memory.total": memory[2] if memory else "",
        "memory.used": memory[1] if memory else "",
        "power.draw": power[1] if power else "",
        "temperature.gpu": next((w for w in second[0].split() if re.fullmatch(r"\d+C", w)), ""),
    }


def _processes(text: str) -> tuple[str, ...] | None:
    _, heading, table = text.partition("| Processes:")
    cells = [line[:_LONGEST_LINE].strip().strip("|").strip() for line in table.splitlines()]
    rows = [match for match in map(_PROCESS.fullmatch, cells) if match]
    if not heading or not (rows or "No running processes" in table):
        return None
    # Type G draws pictures and computes nothing.
    return tuple(f"GPU {m[1]}: {m[4]} (pid {m[2]}, {m[5]})" for m in rows if "C" in m[3])


@dataclass(frozen=True, slots=True)
class Links:
    """The links of one GPU. ``rate_gbps`` is the slowest that is up, decimal Gb/s one way."""

    up: int
    total: int | None
    rate_gbps: float | None


def parse_nvlink(text: str) -> dict[int, Links]:
    """``nvidia-smi nvlink -s`` by GPU. One without any line of its own has no links."""
    rates: dict[int, list[float | None]] = {}
    gpu, unknown = -1, set[int]()
    for line in (line[:_LONGEST_LINE].strip() for line in text.splitlines()):
        if start := _GPU.fullmatch(line):
            gpu = int(start[1])
            rates[gpu] = []
        elif gpu >= 0 and (link := _LINK.fullmatch(line)):
            rates[gpu].append(float(link[2]) if link[2] else None)
        elif gpu >= 0 and "all links are inactive" in line.lower():
            unknown.add(gpu)
    return {gpu: _links(found, gpu in unknown) for gpu, found in rates.items()}


def _links(rates: list[float | None], all_inactive: bool) -> Links:
    up = [rate for rate in rates if rate is not None]
    slowest = round(min(up) * _BITS_PER_BYTE, 3) if up else None
    return Links(len(up), None if all_inactive else len(rates), slowest)


def parse_dmon(text: str) -> tuple[Mapping[str, float | None], ...]:
    """Rows of ``nvidia-smi dmon`` by the names of its heading; ``-`` is no value."""
    names: list[str] = []
    rows: list[Mapping[str, float | None]] = []
    for line in text.splitlines():
        words = line[:_LONGEST_LINE].split()
        if words[:2] == ["#", "gpu"]:
            names = words[1:]
        elif names and len(words) == len(names) and words[0].isdigit():
            rows.append(dict(zip(names, map(_dmon_value, words), strict=True)))
    return tuple(rows)


def _dmon_value(word: str) -> float | None:
    return float(word) if re.fullmatch(r"-?\d{1,9}(?:\.\d{1,6})?", word) else None
