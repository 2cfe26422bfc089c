"""Parser for the tables that ``nvidia-smi``, ``mx-smi``, ``amd-smi`` and ``rocm-smi`` print.

Without arguments each prints a heading of one to three lines and as many lines for each GPU. Which
columns there are, and in which lines and cells, depends on the release::

    | GPU     NAME         Persistence-M | Bus-id              | GPU-Util      sGPU-M |
    | Temp    Pwr:Usage/Cap         Perf | Memory-Usage        | GPU-State            |
    |====================================+=====================+======================|
    | 0       MetaX C500              On | 0000:01:00.0        | 0%          Disabled |
    | 37C     90W / 350W              P0 | 858/65536 MiB       | Available            |

The words of a heading cell say which values its cells hold, in their order. A heading with another
word, and a cell that does not hold exactly these values, are a problem: nothing is guessed.

Formats: nvidia-smi 375 to 590, mx-smi 2.1.6 to 2.3.1, amd-smi 26, rocm-smi of ROCm 4 to 6 (the
corpus, and outputs quoted in public repositories).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from railgauge.stacks.readings import Raw

_LONGEST_LINE = 300
_BAD = r"ERR!|\[?Unknown Error\]?|\[?GPU is lost\]?"
_NONE = rf"\[?N/?A\]?|None|Unsupported|{_BAD}"
_BUS_ID = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
_SWITCH = rf"On|Off|Enabled\*?|Disabled\*?|{_NONE}"
_DEGREES = rf"\d{{1,3}}(?:\.\d)? ?(?:°?C|c)|{_NONE}"
_PERCENT = rf"\d{{1,3}}(?:\.\d{{1,2}})? ?%|{_NONE}"
_WATTS = rf"\d{{1,5}}(?:\.\d{{1,3}})?W|{_NONE}"
_CLOCK = rf"\d{{1,5}}Mhz|{_NONE}"
_COUNT = rf"\d{{1,12}}|Off|{_NONE}"
_BYTES = rf"\d{{1,9}} ?(?:MiB|MB)? {{0,9}}/ {{0,9}}\d{{1,9}} ?(?:MiB|MB)|{_NONE}"
_TEXT = r"\S(?:.{0,60}\S)?"

# By the words of a heading: the name of the value, and its pattern. No name: the word says more
# about the value above it, and has none itself.
_COLUMNS: Mapping[str, tuple[str, str]] = {
    "Volatile Uncorr. ECC": ("ecc", _COUNT),
    "Pwr:Usage/Cap": ("power", rf"(?:{_WATTS}) {{0,4}}/ {{0,4}}(?:{_WATTS})"),
    "[Model : Revision]": ("device", r"\[0x[0-9a-f]{1,4} : 0x[0-9a-f]{1,4}\]"),
    "(Mem, Compute, ID)": ("", ""),
    "(Mem, Compute)": ("", ""),
    "(DID, GUID)": ("", ""),
    "Temp (DieEdge)": ("temperature", _DEGREES),
    "Name (20 chars)": ("name", _TEXT),
    "(Junction)": ("", ""),
    "(Socket)": ("", ""),
    "(Edge)": ("", ""),
    "(Avg)": ("", ""),
    "Persistence-M": ("persistence", _SWITCH),
    "Partition-Mode": ("partitions", r"\S{1,20}"),
    "Memory-Usage": ("memory", _BYTES),
    "Power-Usage": ("power", rf"\d{{1,5}}/\d{{1,5}} W|{_NONE}"),
    "Mem-Usage": ("memory", _BYTES),
    "Compute M.": ("compute_mode", _TEXT),
    "Persist-M": ("persistence", _SWITCH),
    "GPU-State": ("state", r"[A-Za-z][\w /-]{0,40}"),
    "Partitions": ("partitions", r"\S{1,10}, \S{1,10}(?:, \S{1,4})?"),
    "GPU-Util": ("utilization", _PERCENT),
    "GPU-Name": ("name", _TEXT),
    "GFX-Uti": ("utilization", _PERCENT),
    "Mem-Uti": ("memory_utilization", _PERCENT),
    "HIP-ID": ("hip_id", _COUNT),
    "OAM-ID": ("oam_id", _COUNT),
    "AvgPwr": ("power", _WATTS),
    "PwrCap": ("power_cap", _WATTS),
    "Bus-Id": ("bus_id", _BUS_ID),
    "Bus-id": ("bus_id", _BUS_ID),
    "Disp.A": ("display", _SWITCH),
    "sGPU-M": ("sliced", r"[A-Za-z/]{1,20}"),
    "MIG M.": ("mig", _SWITCH),
    "Device": ("gpu", r"\d{1,4}"),
    "Board": ("board", r"\d{1,4}"),
    "Power": ("power", _WATTS),
    "VRAM%": ("memory_utilization", _PERCENT),
    "Node": ("node", r"\d{1,4}"),
    "GPU%": ("utilization", _PERCENT),
    "SCLK": ("clock", _CLOCK),
    "MCLK": ("memory_clock", _CLOCK),
    "NAME": ("name", _TEXT),
    "Name": ("name", _TEXT),
    "Temp": ("temperature", _DEGREES),
    "Perf": ("perf", rf"P\d{{1,2}}|[a-z_]{{1,20}}|{_NONE}"),
    "IDs": ("device", r"0x[0-9a-f]{1,4}, {1,8}\d{1,9}"),
    "BDF": ("bus_id", _BUS_ID),
    "UEC": ("ecc", _COUNT),
    "Fan": ("fan", _PERCENT),
    "GPU": ("gpu", r"\d{1,4}"),
}
_WORDS = re.compile("|".join(r"\s+".join(map(re.escape, name.split())) for name in _COLUMNS))
_FAILED = re.compile(_BAD)
_RULE = re.compile(r"[|+][-=+|]{10,290}[|+]|={30,290}|-{30,290}")
_DIVIDED = re.compile(r"\|[=+|]{10,290}\|")
_MOST_GPUS = 1024


@dataclass(frozen=True, slots=True)
class SmiTable:
    """The values of each GPU by name. ``problem`` is why there are none, ``failed`` what is bad.

    A value that reads ``ERR!`` is bad: the driver could not ask the GPU.
    """

    gpus: tuple[Raw, ...] = ()
    problem: str = ""

    @property
    def failed(self) -> Iterator[str]:
        for number, gpu in enumerate(self.gpus):
            bad = [f"{name} reads {cell}" for name, cell in gpu.items() if _FAILED.search(cell)]
            if bad:
                yield f"GPU {gpu.get('gpu', number)}: {', '.join(bad)}"


_Cells = list[list[str]]
"""Lines of cells."""
_Columns = Sequence[tuple[str, str]]
"""The names and patterns of the values in a cell."""


def parse_table(text: str) -> SmiTable:
    """Parse the only table of GPUs in the text."""
    lines = [line[:_LONGEST_LINE].strip() for line in text.split("\n")]
    tables = [*_boxes(lines), *_plain(lines)]
    if len(tables) != 1:
        return SmiTable(problem=f"{len(tables) or 'no'} tables of GPUs are printed")
    heading, blocks = tables[0]
    columns = [[_columns(cell) for cell in line] for line in heading]
    if problem := _wrong_heading(heading, columns) or ("" if blocks else "the table has no GPU"):
        return SmiTable(problem=problem)
    gpus: list[dict[str, str]] = []
    for block in blocks[:_MOST_GPUS]:
        found = _values(columns, block)
        gpus.append({} if isinstance(found, str) else found)
        problem = problem or (found if isinstance(found, str) else "")
    return SmiTable(problem=problem) if problem else SmiTable(tuple(gpus))


def _wrong_heading(heading: _Cells, columns: Sequence[Sequence[_Columns]]) -> str:
    """Return why the cells below a heading cannot be read; empty if they can."""
    unknown = next((cell for line in heading for cell in line if _left_over(cell)), "")
    if unknown:
        return f"the heading {' '.join(unknown.split())!r} is of no known release"
    names = [name for line in columns for cell in line for name, _ in cell if name]
    is_one = len(set(names)) == len(names) and "gpu" in names
    return "" if is_one else "the heading names a column twice, or no GPU"


def _values(columns: Sequence[Sequence[_Columns]], block: _Cells) -> dict[str, str] | str:
    """Return the values of a GPU by name, or why its lines do not fit the heading."""
    if [len(line) for line in block] != [len(line) for line in columns]:
        return f"a GPU has other lines than the heading: {_shown(block)}"
    found: dict[str, str] = {}
    for of_line, line in zip(columns, block, strict=True):
        for of_cell, cell in zip(of_line, line, strict=True):
            own = _of_cell(of_cell, cell)
            if own is None:
                return f"{cell!r} below {', '.join(name for name, _ in of_cell)!r}"
            found |= own
    return found


def _boxes(lines: Sequence[str]) -> Iterator[tuple[_Cells, list[_Cells]]]:
    """Yield the heading of each table with borders, and the lines of each GPU below it."""
    for at, line in enumerate(lines):
        if not _DIVIDED.fullmatch(line):
            continue
        above = next((n for n in range(at - 1, -1, -1) if not _is_row(lines[n])), -1)
        heading = [_cells(row) for row in lines[above + 1 : at]]
        if not any("Bus-" in cell or "BDF" in cell for row in heading for cell in row):
            continue
        end = next((n for n in range(at + 1, len(lines)) if not _is_of_box(lines[n])), len(lines))
        rows = groupby(lines[at + 1 : end], key=lambda one: bool(_RULE.fullmatch(one)))
        yield heading, [[_cells(row) for row in block] for is_rule, block in rows if not is_rule]


def _is_row(line: str) -> bool:
    return line.startswith("|") and not _RULE.fullmatch(line)


def _is_of_box(line: str) -> bool:
    return line.startswith(("|", "+"))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def _plain(lines: Sequence[str]) -> Iterator[tuple[_Cells, list[_Cells]]]:
    """Yield the heading of each table without borders (rocm-smi), and the lines of each GPU."""
    for at, line in enumerate(lines):
        if not line.startswith(("Device ", "GPU ")) or "GPU%" not in line or _left_over(line):
            continue
        more = at + 1 < len(lines) and lines[at + 1] and not _left_over(lines[at + 1])
        heading = lines[at : at + 2] if more else [line]
        below = lines[at + len(heading) :]
        if below and _RULE.fullmatch(below[0]):
            below = below[1:]
        rows = below[: next((n for n, row in enumerate(below) if _RULE.fullmatch(row)), len(below))]
        # A second heading line that only says more about the first has no line of values.
        size = sum(any(name for name, _ in _columns(row)) for row in heading)
        valued = [[row] for row in heading[:size]]
        given = [row for row in rows if row]
        yield valued, [[[row] for row in given[n : n + size]] for n in range(0, len(given), size)]


def _columns(cell: str) -> list[tuple[str, str]]:
    """Return the names and patterns of a heading cell in their order."""
    return [_COLUMNS[" ".join(match[0].split())] for match in _WORDS.finditer(cell)]


def _left_over(cell: str) -> str:
    return _WORDS.sub("", cell).strip()


def _of_cell(columns: _Columns, cell: str) -> dict[str, str] | None:
    """Return the values of a cell by name; ``None`` if it does not hold exactly these."""
    named = [(name, pattern) for name, pattern in columns if name]
    whole = r"\s+".join(f"(?P<{name}>{pattern})" for name, pattern in named)
    match = re.fullmatch(whole, cell)
    return match.groupdict() if match else None


def _shown(block: _Cells) -> str:
    return repr(" ".join(cell for line in block for cell in line)[:80])
