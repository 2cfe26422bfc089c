"""Parsers for the tables of ``amd-smi monitor`` and ``amd-smi topology``.

``monitor`` prints one line for each GPU, with the columns that were asked for, and a unit behind
each value; ``topology`` square tables of PCI addresses below a title each::

    GPU  POWER  GPU_TEMP  GFX_UTIL          ACCESS TABLE:
      0  182 W     42 °C      83 %                       0000:05:00.0 0000:26:00.0
      1  143 W     40 °C      13 %          0000:05:00.0 ENABLED      ENABLED
                                            0000:26:00.0 ENABLED      ENABLED

Formats: the sources of amd-smi (amdsmi_commands, topology) and outputs of releases 24 to 26 quoted
in public repositories.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_LONGEST_LINE = 2000

# By column: the metric, or two that a slash separates, and the units that may stand behind it.
_MONITORED: Mapping[str, tuple[tuple[str, ...], frozenset[str]]] = {
    column: (tuple(metrics.split("/")), frozenset(units.split()))
    for columns, metrics, units in (
        ("POWER", "power", "W"),
        ("PWR_CAP", "power_cap", "W"),
        ("GPU_TEMP GPU_T", "temperature", "°C C"),
        ("MEM_TEMP MEM_T", "memory_temperature", "°C C"),
        ("GFX_UTIL GFX%", "utilization", "%"),
        ("GFX_CLOCK GFX_CLK", "clock", "MHz"),
        ("MEM_UTIL MEM%", "memory_utilization", "%"),
        ("MEM_CLOCK MEM_CLK", "memory_clock", "MHz"),
        ("ENC_UTIL ENC%", "encoder_utilization", "%"),
        ("DEC_UTIL DEC%", "decoder_utilization", "%"),
        ("ENC_CLOCK VCLOCK", "encoder_clock", "MHz"),
        ("DEC_CLOCK DCLOCK", "decoder_clock", "MHz"),
        ("SINGLE_ECC", "ecc_corrected", ""),
        ("DOUBLE_ECC", "ecc_uncorrected", ""),
        ("PCIE_REPLAY", "pcie_replays", ""),
        ("VRAM_USED", "memory_used", "MB GB"),
        ("VRAM_TOTAL VRAM_TOT", "memory_total", "MB GB"),
        ("VRAM_FREE", "memory_free", "MB GB"),
        ("VRAM%", "memory_share", "%"),
        ("VRAM_USAGE", "memory_used/memory_total", "MB GB"),
        ("PCIE_BW", "pcie_bandwidth", "Mb/s"),
    )
    for column in columns.split()
}  # fmt: skip
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,6})?")
_HEADING = re.compile(r"\s{0,20}GPU(?:\s{1,20}[A-Z][A-Z_%]{1,20}){1,40}\s{0,20}")
_UNIT = re.compile(r"°?[A-Z]{1,3}(?:Hz|b/s)?|MHz|Mb/s|%")

_BUS_ID = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_ADDRESSES = re.compile(rf"{_BUS_ID}(?:\s{{1,40}}{_BUS_ID}){{0,63}}", re.IGNORECASE)
_TITLE = re.compile(r"([A-Z][A-Z -]{1,30}) TABLE:")
_CELLS = {
    "ACCESS": "ENABLED|DISABLED",
    "WEIGHT": r"\d{1,5}|N/A",
    "HOPS": r"\d{1,3}|N/A",
    "LINK TYPE": "SELF|XGMI|PCIE|UNKNOWN|N/A",
    "NUMA BW": r"\d{1,9}-\d{1,9}|N/A",
    "CACHE COHERANCY": "SELF|C|NC|N/A",
    "CACHE COHERENCY": "SELF|C|NC|N/A",
    "ATOMICS": "SELF|64,32|64|32|N/A",
    "DMA": "SELF|T|F|N/A",
    "BI-DIRECTIONAL": "SELF|T|F|N/A",
}


@dataclass(frozen=True, slots=True)
class MonitoredGpu:
    """``figures`` are (metric, unit, value); a value that is not printed (``N/A``) is none."""

    gpu: int
    figures: tuple[tuple[str, str, float], ...]


@dataclass(frozen=True, slots=True)
class Monitored:
    """``problem`` is why the table is not read; there are then no GPUs."""

    gpus: tuple[MonitoredGpu, ...] = ()
    problem: str = ""


def parse_monitor(text: str) -> Monitored:
    """Parse the table of ``amd-smi monitor``; several are a problem."""
    columns: list[str] = []
    gpus: list[MonitoredGpu] = []
    for line in (line[:_LONGEST_LINE] for line in text.split("\n")):
        if _HEADING.fullmatch(line):
            if columns:
                return Monitored(problem="several tables of amd-smi monitor; give one")
            columns = line.split()[1:]
            if unknown := [one for one in columns if one not in _MONITORED and one != "XCP"]:
                return Monitored(problem=f"no known release has a column {unknown[0]}")
        elif columns and line.split()[:1] and line.split()[0].isdecimal():
            words = line.split()
            found = _monitored(columns, words)
            if found is None:
                return Monitored(problem=f"a line does not fit its heading: {' '.join(words)[:80]}")
            gpus.append(found)
        elif columns and line.strip() and gpus:
            break
    return Monitored(tuple(gpus), "" if gpus or not columns else "the table has no GPU")


def _monitored(columns: list[str], words: list[str]) -> MonitoredGpu | None:
    """Return the figures of a line; ``None`` if they do not fit the columns."""
    number, *rest = words
    figures: list[tuple[str, str, float]] = []
    for column in columns:
        if not rest or len(number) > len("9999"):
            return None
        value, unit = rest.pop(0), ""
        if rest and _UNIT.fullmatch(rest[0]):
            unit = rest.pop(0)
        if column == "XCP" or value == "N/A":
            continue
        metrics, units = _MONITORED[column]
        values = value.split("/")
        is_fit = len(values) == len(metrics) and all(map(_NUMBER.fullmatch, values))
        if not is_fit or (unit not in units if units else unit):
            return None
        named = zip(metrics, values, strict=True)
        figures += [(name, unit.strip("°") or "count", float(one)) for name, one in named]
    return None if rest else MonitoredGpu(int(number), tuple(figures))


@dataclass(frozen=True, slots=True)
class AmdTopology:
    """``tables`` map a title to the cells by the two PCI addresses; ``problem`` is set or they are.

    >>> parse_amd_topology("").tables
    {}
    """

    tables: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    problem: str = ""


def parse_amd_topology(text: str) -> AmdTopology:
    """Parse ``amd-smi topology``: every table must be whole and hold what its title says."""
    tables: dict[str, dict[str, dict[str, str]]] = {}
    for title, columns, rows in _squares(text):
        if title not in _CELLS:
            return AmdTopology(problem=f"no known release has a table {title}")
        if title in tables:
            return AmdTopology(problem=f"the table {title} is printed twice; give one output")
        cells = {row[0]: dict(zip(columns, row[1:], strict=False)) for row in rows}
        if not columns or [row[0] for row in rows] != columns:
            return AmdTopology(problem=f"the table {title} has {len(rows)} of {len(columns)} rows")
        for row in rows:
            wrong = [one for one in row[1:] if not re.fullmatch(_CELLS[title], one)]
            if wrong or len(row) != len(columns) + 1:
                return AmdTopology(problem=f"a row of {title}: {' '.join(row)[:80]}")
        tables[title] = cells
    return AmdTopology(tables)


def _squares(text: str) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    title, columns, rows = "", list[str](), list[list[str]]()
    for line in (line[:_LONGEST_LINE].strip() for line in text.split("\n")):
        if found := _TITLE.fullmatch(line):
            if title:
                yield title, columns, rows
            title, columns, rows = found[1], [], []
        elif title and not columns and _ADDRESSES.fullmatch(line):
            columns = line.split()
        elif columns and re.match(rf"{_BUS_ID}\s", line, re.IGNORECASE):
            rows.append(line.split())
    if title:
        yield title, columns, rows
