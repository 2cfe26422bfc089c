"""What was run: the lines that the tools print before and after a table, in plain values."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from railgauge.tools.ccl_tests.figures import Figure, is_number, read_figure
from railgauge.tools.ccl_tests.lines import Line

COLLECTIVES = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "alltoall",
    "alltoallv",
    "sendrecv",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
    "hypercube",
)
_NAMES = "|".join(sorted(COLLECTIVES, key=len, reverse=True))

_ARGUMENTS = re.compile(r"^nThreads? [0-9]{1,6} nGpus [0-9]{1,6} minBytes ")
_NUMBER_OF = re.compile(
    r"(nThreads?|nGpus|minBytes|maxBytes|step:|warmup iters:|agg iters:|iters:|validation:|graph:"
    r"|unalign:) {0,4}([0-9]{1,20})"
)
_FIELDS = {
    "nThread": "threads",
    "nThreads": "threads",
    "nGpus": "gpus_per_process",
    "minBytes": "minimum_bytes",
    "maxBytes": "maximum_bytes",
    "step:": "step",
    "warmup iters:": "warmup",
    "agg iters:": "aggregated",
    "iters:": "iterations",
    "validation:": "validation",
    "graph:": "graph",
    "unalign:": "unalign",
}
_RANK = re.compile(
    r"Rank {1,6}([0-9]{1,7}) (?: {0,6}Group {1,6}([0-9]{1,6}) )? {0,6}Pid {1,10}([0-9]{1,10}) on"
    r" {1,20}(\S{1,255}) {1,20}device {1,6}([0-9]{1,4})"
    r"(?: {1,4}\[([0-9a-fA-Fx:.]{1,20})\])?(?: {1,4}(\S[^\n]{0,80}))?"
)
_STARTING = re.compile(rf"Collective test starting: ({_NAMES})_perf|The test is ({_NAMES})_perf,")
_MENTION = re.compile(rf"(?<![\w.-])({_NAMES})_perf(?![\w.])")
_TOOL = re.compile(r"nccl-tests version (\S{1,40})|rccl-tests: Version (\S{1,60})")
_LIBRARY = re.compile(r"^([NRM]CCL) version ?:? ?([0-9]\S{0,80})")
_MACA = re.compile(r"the maca version is \S{0,200}?maca-([0-9][\w.]{0,20})")
_BOUNDS = re.compile(r"Out of bounds values {0,4}: {0,4}([0-9]{1,15})(?: {1,4}(OK|FAILED))?")
_BITS = re.compile(r"Bitwise mismatches {0,4}: {0,4}([0-9]{1,15})")
_AVERAGE = re.compile(
    r"Avg bus bandwidth {0,8}: {0,10}([0-9.a-fin+-]{1,24}?)(?:GB/s)?(?: +(OK|FAILED))?$"
)
_REDUCED = re.compile(r"Reducing maxBytes to ([0-9]{1,20})")
_LONGEST = 1000


@dataclass(frozen=True, slots=True)
class Device:
    """The GPU of one rank as its process numbers it; ``bus`` and ``model`` as printed, or empty."""

    rank: int
    host: str
    number: int
    bus: str
    model: str


@dataclass(slots=True)
class Facts:
    """Everything that is not a row; empty where it was not printed."""

    numbers: dict[str, int] = field(default_factory=dict)
    is_step_factor: bool = True
    ranks: dict[int, str] = field(default_factory=dict)
    devices: list[Device] = field(default_factory=list)
    groups: set[int] = field(default_factory=set)
    repeated_ranks: int = 0
    argument_lines: int = 0
    collective: str | None = None
    mentions: Counter[str] = field(default_factory=Counter)
    tool_version: str | None = None
    library: str | None = None
    library_version: str | None = None
    out_of_bounds: int | None = None
    bounds_failed: bool = False
    bounds_lines: int = 0
    bitwise_mismatches: int = 0
    average: Figure | None = None
    average_failed: bool = False
    average_is_whole: bool = True
    reduced_to: int | None = None
    logged_ranks: int | None = None

    def take(self, line: Line) -> None:
        """The next line of the output."""
        content = line.content[:_LONGEST]
        if not content:
            return
        self._take_name(content)
        if content[:1] in "nrRNMTCOAB":
            self._take_head(content)
            self._take_foot(content, is_whole=line.is_whole)

    @property
    def nranks(self) -> int | None:
        """How many ranks took part in one collective."""
        if self.ranks:
            return (max(self.ranks) + 1) // max(1, len(self.groups))
        return self.logged_ranks

    @property
    def lists_all_ranks(self) -> bool:
        return bool(self.ranks) and len(self.ranks) == max(self.ranks) + 1

    @property
    def named_collective(self) -> str | None:
        """From the tool's own line, or from the one program that the text names."""
        if self.collective is None and len(self.mentions) == 1:
            return next(iter(self.mentions))
        return self.collective

    def _take_name(self, content: str) -> None:
        starting = _STARTING.search(content)
        if starting:
            self.collective = starting[1] or starting[2]
        elif "_perf" in content:
            self.mentions.update(set(_MENTION.findall(content)))
        maca = _MACA.search(content)
        if maca:
            self.library, self.library_version = "MCCL", self.library_version or maca[1]

    def _take_head(self, content: str) -> None:
        tool, library = _TOOL.match(content), _LIBRARY.match(content)
        reduced = _REDUCED.match(content)
        if tool:
            self.tool_version = tool[1] or tool[2]
        elif library:
            self.library, self.library_version = library[1], library[2]
        elif reduced:
            self.reduced_to = int(reduced[1])
        elif _ARGUMENTS.match(content):
            self._take_arguments(content)
        elif content.startswith("Rank "):
            self._take_rank(content)

    def _take_arguments(self, content: str) -> None:
        self.argument_lines += 1
        self.is_step_factor = "(bytes)" not in content
        # An earlier version printed no "agg iters": "iters" alone is then the only count.
        for name, value in _NUMBER_OF.findall(content):
            self.numbers.setdefault(_FIELDS[name], int(value))

    def _take_rank(self, content: str) -> None:
        match = _RANK.match(content)
        if match is None:
            return
        rank = int(match[1])
        self.repeated_ranks += rank in self.ranks
        self.ranks[rank] = match[4]
        number, bus, model = int(match[5]), match[6] or "", (match[7] or "").strip()
        self.devices.append(Device(rank, match[4], number, bus, model))
        if match[2] is not None:
            self.groups.add(int(match[2]))

    def _take_foot(self, content: str, *, is_whole: bool) -> None:
        bounds, bits, average = (
            _BOUNDS.match(content),
            _BITS.match(content),
            _AVERAGE.match(content),
        )
        if bounds:
            self.bounds_lines += 1
            self.out_of_bounds = int(bounds[1])
            self.bounds_failed = bounds[2] == "FAILED"
        elif bits:
            self.bitwise_mismatches = int(bits[1])
        elif average and is_number(average[1]):
            self.average = read_figure(average[1], "GB/s")
            self.average_failed = average[2] == "FAILED"
            self.average_is_whole = is_whole
