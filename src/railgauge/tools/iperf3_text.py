"""The table that ``iperf3`` prints for people, of the client of a test by TCP or UDP.

Formats: iperf 3.1 to 3.19, with any unit of ``-f``; by UDP those that print a total of either end
(since 3.7; outputs quoted in public repositories). Numbers have three digits, so that the values
are those of ``-J`` within half a unit of the third one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector
from railgauge.tools.text import lines

_LONGEST_LINE = 400
_START = "Connecting to host"
_END = "iperf Done."
_HEADING = re.compile(r"\[ ID\](?:\[Role\])? Interval {1,40}Transfer {1,40}(?:Bitrate|Bandwidth)")
_NUMBER = r"[0-9]{1,9}(?:\.[0-9]{1,3})?"
_LINE = re.compile(
    r"\[ {0,4}(?P<id>SUM|[0-9]{1,4})\](?:\[(?P<role>[TR]X-[CS])\])? {1,9}"
    rf"(?P<start>{_NUMBER})- {{0,6}}(?P<end>{_NUMBER}) {{1,6}}sec {{1,9}}"
    rf"(?P<bytes>{_NUMBER}) (?P<scale>[KMGT]?)Bytes {{1,9}}"
    rf"(?P<rate>{_NUMBER}) (?P<prefix>[KMGT]?)(?P<unit>bits|Bytes)/sec"
    rf"(?: {{1,12}}(?P<jitter>{_NUMBER}) ms {{1,12}}(?P<lost>[0-9]{{1,12}})/ {{0,6}}"
    r"(?P<datagrams>[0-9]{1,12}) \([0-9.e+-]{1,12}%\))?"
    rf"(?: {{1,12}}(?P<retransmits>[0-9]{{1,12}}))?(?: {{1,12}}{_NUMBER} [KMGT]?Bytes)?"
    r" {0,40}(?P<side>sender|receiver|\(omitted\))?\s{0,20}"
)
_CONNECTED = re.compile(r"\[ {0,4}([0-9]{1,4})\] local \S{1,80} port [0-9]{1,5} connected to ")
_TEST = re.compile(
    r"Starting Test: protocol: (\w{1,8}), ([0-9]{1,4}) streams, ([0-9]{1,9}) byte blocks, "
    r"omitting ([0-9]{1,6}) seconds, ([0-9]{1,9}) second test"
)
_VERSION = re.compile(r"iperf ([0-9][\w.+-]{0,20})\s*$")
_DECIMAL = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_ENDINGS = {"": "", "TX-C": "", "RX-C": "_reverse"}
_SIDES = {"sender": "sent", "receiver": "received"}
_CLOCK_S = 0.01


@dataclass(frozen=True, slots=True)
class _Rate:
    """A line of figures. ``half`` is half of the last printed digit of ``bits_per_s``.

    ``datagrams`` are the jitter in ms, those that were lost, and all of them (UDP).
    """

    stream: str
    role: str
    start_s: float
    end_s: float
    low_bytes: float
    high_bytes: float
    bits_per_s: float
    half: float
    retransmits: int | None
    side: str
    datagrams: tuple[float, int, int] | None = None


@dataclass(slots=True)
class _Run:
    """The values of the lines; ``intervals`` and ``totals`` are above and below the headings."""

    starts: int = 0
    ends: int = 0
    is_udp: bool = False
    is_reverse: bool = False
    version: str | None = None
    asked: dict[str, object] = field(default_factory=dict)
    connected: set[str] = field(default_factory=set)
    intervals: list[_Rate] = field(default_factory=list)
    totals: list[_Rate] = field(default_factory=list)


def read_table(text: str, collector: OutputCollector) -> tuple[str | None, dict[str, object]]:
    """Add the samples of one client's table; return the version and the summary as of ``-J``.

    A value that the table does not show has no key: the length of a write and the planned duration
    are printed only with ``-V``. Rates must follow from bytes and seconds, and the sum from its
    streams.
    """
    run = _Run()
    for line, _ in lines(text, _LONGEST_LINE):
        _take(line, run)
    if not _check(run, collector):
        return run.version, {}
    size = run.asked.get("write_bytes")
    collector.size_bytes = size if isinstance(size, int) else None
    for total in _of_all(run.totals):
        ending = _ENDINGS.get(total.role, "")
        collector.add(f"bw_{_SIDES[total.side]}{ending}", "Gb/s", total.bits_per_s / 1e9)
        if total.retransmits is not None:
            collector.add(f"retransmits{ending}", "count", total.retransmits, may_be_zero=True)
        if total.datagrams is not None and total.side == "receiver":
            add_datagrams(total.datagrams, ending, collector)
    for interval in _of_all(run.intervals):
        if _ENDINGS.get(interval.role) == "":
            collector.add("bw_interval", "Gb/s", interval.bits_per_s / 1e9, may_be_zero=True)
    return run.version, _summary(run)


def add_datagrams(
    datagrams: tuple[float, int, int], ending: str, collector: OutputCollector
) -> None:
    """Add what the receiver of a test by UDP counted: jitter, and lost ones of all datagrams."""
    jitter_ms, lost, every = datagrams
    collector.add(f"jitter{ending}", "ms", jitter_ms, may_be_zero=True)
    collector.add(f"lost{ending}", "count", lost, may_be_zero=True)
    collector.add(f"datagrams{ending}", "count", every, may_be_zero=True)


def _take(line: str, run: _Run) -> None:
    if line.startswith(_START):
        run.starts += 1
    elif line.strip() == _END:
        run.ends += 1
    elif _HEADING.match(line):
        run.is_udp |= "Datagrams" in line
    elif line.startswith("Reverse mode"):
        run.is_reverse = True
    elif found := _LINE.fullmatch(line):
        rate = _rate(found)
        if rate.side != "(omitted)":
            (run.totals if rate.side else run.intervals).append(rate)
    elif found := _CONNECTED.match(line):
        run.connected.add(found[1])
    elif found := _TEST.match(line):
        names = ("protocol", "streams", "write_bytes", "omitted_s", "duration_s")
        run.asked = dict(zip(names, (found[1], *map(int, found.groups()[1:])), strict=True))
    elif found := _VERSION.match(line):
        run.version = found[1]


def _rate(found: re.Match[str]) -> _Rate:
    scale = _BINARY[found["scale"]]
    # Rates in bytes count in 1024s, those in bits in 1000s.
    unit = _DECIMAL[found["prefix"]] if found["unit"] == "bits" else 8 * _BINARY[found["prefix"]]
    size, half_size = float(found["bytes"]), _half(found["bytes"])
    return _Rate(
        stream=found["id"],
        role=found["role"] or "",
        start_s=float(found["start"]),
        end_s=float(found["end"]),
        low_bytes=(size - half_size) * scale,
        high_bytes=(size + half_size) * scale,
        bits_per_s=float(found["rate"]) * unit,
        half=_half(found["rate"]) * unit,
        retransmits=int(found["retransmits"]) if found["retransmits"] else None,
        side=found["side"] or "",
        datagrams=(float(found["jitter"]), int(found["lost"]), int(found["datagrams"]))
        if found["jitter"]
        else None,
    )


def _half(number: str) -> float:
    return float(0.5 * 10.0 ** -len(number.partition(".")[2]))


# --- the whole ---


def _of_all(rates: Iterable[_Rate]) -> list[_Rate]:
    """Return the sums over all streams, or the lines of the only one."""
    rates = list(rates)
    sums = [rate for rate in rates if rate.stream == "SUM"]
    return sums or rates


def _check(run: _Run, collector: OutputCollector) -> bool:
    """Report what keeps the table from being that of one whole run; return whether it is one."""
    before = len(collector.problems)
    if max(run.starts, run.ends) > 1:
        collector.several_runs()
    elif run.asked.get("protocol", "TCP") not in ("TCP", "UDP"):
        collector.error(ProblemKind.UNPARSABLE, "a test by SCTP: only TCP and UDP are read")
    elif run.is_udp != any(rate.datagrams for rate in run.totals):
        collector.error(ProblemKind.UNPARSABLE, "the columns of UDP, and rows without them")
    elif not run.totals:
        collector.error(ProblemKind.TRUNCATED, f"the output ends before {_END!r}")
    else:
        _check_totals(run, collector)
        if not run.ends and len(collector.problems) > before:
            collector.error(ProblemKind.TRUNCATED, f"the output ends before {_END!r}")
        _check_intervals(run, collector)
        for rate in (*run.totals, *run.intervals):
            _check_rate(rate, collector)
    is_one = len(collector.problems) == before
    if is_one and not run.ends:
        message = f"no {_END!r}: the totals of both ends are there, intervals may be missing"
        collector.warn(ProblemKind.NO_CLOSING_LINE, message)
    if is_one and not run.starts:
        message = "the output begins before this text: intervals may be missing"
        collector.warn(ProblemKind.NO_OPENING_LINE, message)
    return is_one


def _check_totals(run: _Run, collector: OutputCollector) -> None:
    """Each stream has one total of either end, and several streams have their sums."""
    roles = sorted({rate.role for rate in run.totals})
    for role in roles:
        for side in _SIDES:
            mine = [rate for rate in run.totals if (rate.role, rate.side) == (role, side)]
            streams = [rate for rate in mine if rate.stream != "SUM"]
            sums = [rate for rate in mine if rate.stream == "SUM"]
            names = {rate.stream for rate in streams}
            wanted = 1 if len(streams) > 1 else 0
            if not streams or len(names) < len(streams) or len(sums) != wanted:
                what = f"{len(streams)} streams and {len(sums)} sums of the {side}"
                collector.error(ProblemKind.INCONSISTENT, what)
            elif sums and not _adds_up(streams, sums[0]):
                what = f"the sum of the {side} is not that of its streams"
                collector.error(ProblemKind.INCONSISTENT, what)
    found = {rate.stream for rate in run.totals if rate.stream != "SUM"}
    if run.connected and found != run.connected:
        what = f"{len(found)} of {len(run.connected)} streams have totals"
        collector.error(ProblemKind.INCONSISTENT, what)


def _adds_up(streams: Sequence[_Rate], total: _Rate) -> bool:
    expected = sum(rate.bits_per_s for rate in streams)
    allowed = sum(rate.half for rate in streams) + total.half + 1e-3 * expected
    return abs(expected - total.bits_per_s) <= allowed


def _check_intervals(run: _Run, collector: OutputCollector) -> None:
    """The intervals of each stream follow each other, up to the end of the run."""
    ends = {rate.role: rate.end_s for rate in run.totals if rate.side == "sender"}
    for stream in sorted({(rate.stream, rate.role) for rate in run.intervals}):
        mine = [rate for rate in run.intervals if (rate.stream, rate.role) == stream]
        at = 0.0
        for rate in mine:
            if abs(rate.start_s - at) > _CLOCK_S + 1e-9:
                what = f"[{stream[0]}] has no interval from {at:g} to {rate.start_s:g} s"
                collector.error(ProblemKind.SWEEP_GAP, what)
                return
            at = rate.end_s
        if at + 0.5 < ends.get(stream[1], 0.0):
            what = f"[{stream[0]}] has no interval from {at:g} s to the end"
            collector.error(ProblemKind.SWEEP_GAP, what)


def _check_rate(rate: _Rate, collector: OutputCollector) -> None:
    seconds = rate.end_s - rate.start_s
    if seconds <= _CLOCK_S:
        return
    low = 8 * rate.low_bytes / (seconds + _CLOCK_S)
    high = 8 * rate.high_bytes / (seconds - _CLOCK_S)
    if not low - rate.half <= rate.bits_per_s <= high + rate.half:
        what = f"{rate.bits_per_s:g} bit/s do not follow from {rate.low_bytes:.4g} bytes in"
        collector.error(ProblemKind.INCONSISTENT, f"{what} {seconds:.2f} s")


def _summary(run: _Run) -> dict[str, object]:
    sent = next((rate for rate in run.totals if rate.side == "sender"), None)
    streams = {rate.stream for rate in run.totals if rate.stream != "SUM"}
    roles = {rate.role for rate in run.totals if rate.role}
    found: dict[str, object] = {
        "protocol": "UDP" if run.is_udp else None,
        **run.asked,
        "streams": len(streams) // max(1, len(roles)),
        "reverse": run.is_reverse,
        "both_ways": bool(roles),
        "seconds": sent.end_s if sent else None,
    }
    return {name: value for name, value in found.items() if value is not None}
