"""What ran and where: the lines around a table, the library's log, and the summary."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from railgauge.launchers.beside_gpu import PlacedRank
from railgauge.launchers.beside_gpu import read as read_place
from railgauge.launchers.on_core import RankOnCore
from railgauge.launchers.on_core import read as read_core
from railgauge.tools.ccl_tests.log import Log
from railgauge.tools.ccl_tests.rows import CclRow, Figure, is_number, read_figure
from railgauge.tools.ccl_tests.tables import Line

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
_NUMBER_OF = re.compile(rf"({'|'.join(_FIELDS)}) {{0,4}}([0-9]{{1,20}})")
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
    r"Avg bus bandwidth {0,8}: {0,10}([0-9.a-fin+-]{1,24}?)(?: ?GB/s)?(?: +(OK|FAILED))?$"
)
_AVERAGE_BEGINS = "Avg bus bandwidth"
_REDUCED = re.compile(r"Reducing maxBytes to ([0-9]{1,20})")
_LONGEST = 1000


@dataclass(frozen=True, slots=True)
class RankDevice:
    """One rank's GPU, by its number in its process; ``bus`` and ``model`` as printed, or empty.

    ``pid`` is the process, 0 if it was not printed.
    """

    rank: int
    host: str
    number: int
    bus: str
    model: str
    pid: int = 0


@dataclass(slots=True)
class Facts:
    """Everything in the output that is not a row; fields that were not printed are empty."""

    numbers: dict[str, int] = field(default_factory=dict)
    is_step_factor: bool = True
    ranks: dict[int, str] = field(default_factory=dict)
    devices: list[RankDevice] = field(default_factory=list)
    placed: list[PlacedRank] = field(default_factory=list)
    on_core: list[RankOnCore] = field(default_factory=list)
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
    unread_average: str = ""
    reduced_to: int | None = None
    logged_ranks: int | None = None

    def take(self, line: Line) -> None:
        """Read the next line of the output."""
        content = line.content[:_LONGEST]
        if not content:
            return
        if place := read_place(content):
            self.placed.append(place)
            return
        if core := read_core(content):
            self.on_core.append(core)
            return
        self._take_name(content)
        if content[:1] in "nrRNMTCOAB":
            self._take_head(content)
            self._take_foot(content, is_whole=line.is_whole)

    @property
    def nranks(self) -> int | None:
        """The number of ranks in one collective; ``None`` if nothing shows it."""
        if self.ranks:
            return (max(self.ranks) + 1) // max(1, len(self.groups))
        return self.logged_ranks

    @property
    def lists_all_ranks(self) -> bool:
        return bool(self.ranks) and len(self.ranks) == max(self.ranks) + 1

    @property
    def named_collective(self) -> str | None:
        """The collective in the tool's own line, or of the only program that the text names."""
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
        # Earlier versions print no "agg iters": "iters" is then the only count.
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
        self.devices.append(RankDevice(rank, match[4], number, bus, model, int(match[3])))
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
        elif content.startswith(_AVERAGE_BEGINS) and is_whole:
            self.unread_average = content[:100]


# The library draws 64 bits for each communicator, unless a variable of its environment gives them.
_COMMUNICATOR = re.compile(r" commId (0x[0-9a-f]{12,16})\b")
_GIVEN = "_COMM_ID set by environment"


def identity(text: str) -> str:
    """Return the ids of the library's communicators; empty if the log does not show them.

    Two runs have the same random 64 bits with a probability of 2^-64: among 100,000 runs that is
    expected 3e-10 times. Process numbers are no identity: each container counts from 1.
    """
    if " commId " not in text or _GIVEN in text:
        return ""
    return ", ".join(f"commId {one}" for one in sorted(set(_COMMUNICATOR.findall(text))))


# --- the summary ---

_NUMBERS = (
    "minimum_bytes",
    "maximum_bytes",
    "warmup",
    "iterations",
    "aggregated",
    "threads",
    "gpus_per_process",
)


def summarise(rows: list[CclRow], facts: Facts, log: Log) -> dict[str, object]:
    """Return everything but the samples; a value that was not printed has no key.

    ``rows`` and ``collective`` (``None`` if nothing names it) are always there. The others are
    ``avg_busbw`` in GB/s, ``out_of_bounds``, ``dtypes``, ``redops``, ``rows_checked`` of
    ``rows_checkable``, ``reduces``, ``rooted`` and ``checked_in_place`` (properties of the
    collective that the columns show), ``choices`` (RCCL's ``algo``, ``proto`` and ``nchannels`` by
    size, from the last row of each size), ``graph``, ``validation``, ``minimum_bytes``,
    ``maximum_bytes``, ``warmup``, ``iterations``, ``aggregated``, ``threads`` and
    ``gpus_per_process`` (of each thread), ``nranks``, ``hosts``, ``devices`` (a ``RankDevice`` for
    each listed rank), ``nnodes`` and ``gpus`` by host (if all ranks are listed), ``placed`` (a
    ``PlacedRank`` for each rank that prints where it runs), ``on_core`` (a ``RankOnCore`` for each
    that prints its core), ``library``, ``library_version``, and
    from the library's log ``transports``, ``channel_paths`` (number of lines by path), ``network``,
    ``channels``, ``bindings`` (of GPUDirect-TCPX; ``None`` for one that is not set), ``algorithms``
    (of all calls) and ``offloads`` (numbers of ``nvls`` and ``collnet`` channels).
    """
    summary: dict[str, object] = {"rows": len(rows), "collective": facts.named_collective}
    summary |= {name: facts.numbers[name] for name in _NUMBERS if name in facts.numbers}
    for name in ("graph", "validation"):
        if name in facts.numbers:
            summary[name] = facts.numbers[name] > 0
    for name, ranks in (("placed", facts.placed), ("on_core", facts.on_core)):
        if ranks:
            summary[name] = tuple(ranks)
    return {**summary, **_measured(rows, facts), **_where(facts), **_logged(facts, log)}


def _measured(rows: list[CclRow], facts: Facts) -> dict[str, object]:
    found: dict[str, object] = {
        "avg_busbw": facts.average.value if facts.average else None,
        "out_of_bounds": facts.out_of_bounds,
        "dtypes": tuple(dict.fromkeys(row.dtype for row in rows)) or None,
        "redops": tuple(dict.fromkeys(row.redop for row in rows if row.redop)) or None,
        **_checked(rows),
        **_shown(rows),
        "choices": {row.size_bytes: dict(row.choices) for row in rows if row.choices} or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _checked(rows: list[CclRow]) -> dict[str, object]:
    """Return how many rows were checked, and how many have a column for the check."""
    checkable = [row for row in rows if any(side.has_check for side in row.sides)]
    if not checkable:
        return {}
    checked = sum(any(side.is_checked for side in row.sides) for row in checkable)
    return {"rows_checkable": len(checkable), "rows_checked": checked}


def _shown(rows: list[CclRow]) -> dict[str, object]:
    """Return whether results are reduced, have a root rank, and are checked in place.

    A value is ``None`` if the rows do not show it or if they disagree.
    """
    reduced = {row.redop not in ("", "none") for row in rows if row.redop is not None}
    rooted = {not row.root.startswith("-") for row in rows if row.root is not None}
    sides = [{side.placement: side.is_checked for side in row.sides} for row in rows]
    in_place = {each.get("in_place") for each in sides if each.get("out_of_place")}
    return {
        "reduces": _alike(reduced),
        "rooted": _alike(rooted),
        "checked_in_place": _alike(in_place),
    }


def _alike(found: Collection[bool | None]) -> bool | None:
    return next(iter(found)) if len(found) == 1 else None


def _where(facts: Facts) -> dict[str, object]:
    if not facts.ranks:
        return {} if facts.nranks is None else {"nranks": facts.nranks}
    by_host = Counter(host for _, host in sorted(facts.ranks.items()))
    found: dict[str, object] = {"nranks": facts.nranks, "hosts": tuple(by_host)}
    if facts.devices:
        found["devices"] = tuple(facts.devices)
    if facts.lists_all_ranks:
        found |= {"nnodes": len(by_host), "gpus": dict(by_host)}
    return found


def _logged(facts: Facts, log: Log) -> dict[str, object]:
    found: dict[str, object] = {
        "library": facts.library,
        "library_version": facts.library_version,
        "transports": log.transports or None,
        "channel_paths": dict(log.paths) or None,
        "network": log.network,
        "channels": log.channels,
        "bindings": log.bindings or None,
        "algorithms": tuple(log.algorithms) or None,
        "offloads": {kind: tuple(sorted(own)) for kind, own in log.offloads.items()} or None,
    }
    return {name: value for name, value in found.items() if value is not None}
