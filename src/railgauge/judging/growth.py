"""Judge by how much the error counters of a node grew in a run. Pure.

Each group of counters that the platform file limits is one judgement if all its devices keep the
limit, and one for each device that does not. A counter that is missing, decreased or is at its
highest value shows nothing: it is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from railgauge.config.thresholds import Platform
from railgauge.config.thresholds.counter_groups import GROUPS, STANDS_AT, CounterGroup
from railgauge.config.thresholds.model import GrowthLimit
from railgauge.core.errors import CountersUnread, NoEvidence, ToolMissing
from railgauge.core.model import Judgement, Outcome
from railgauge.core.naming import listed
from railgauge.core.question import GROWTH
from railgauge.core.terms import Rung
from railgauge.facts import NodeAnswer, NodeFacts
from railgauge.facts.counters import CounterReading
from railgauge.judging.at_end import EndOfRunChecks

SUBJECT = "growth"
ITEMS = EndOfRunChecks(
    "counters",
    SUBJECT,
    "No error counter of a node's GPUs, NICs and links grows beyond its limit during the run.",
    Rung.PREFLIGHT,
    GROWTH,
    is_read=True,
)
_POINTER = f"/{SUBJECT}"
_MOST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class CountedStep:
    """A part of a span: the reading at its end, and its name: ``round 3 of the soak``."""

    after: CounterReading
    when: str


@dataclass(frozen=True, slots=True)
class CountedSpan:
    """Two readings of one boot of a node, and the hours between them.

    ``is_measured`` is false if not all of the time was measured: from the start of a run that was
    interrupted to that of the one that continued it. ``when`` is the name of the span. ``steps``
    are the parts of a span of a soak, the last of which ends with ``after``; other spans have none.
    """

    before: CounterReading
    after: CounterReading
    hours: float
    when: str = "the run"
    is_measured: bool = True
    steps: Sequence[CountedStep] = ()


@dataclass(frozen=True, slots=True)
class NodeCounters:
    """The spans of a node in their order, its own last, and what is unknown of earlier runs.

    ``names`` are the names of each declared device in the readings. ``gap`` is empty if all is
    known.
    """

    node: str
    spans: Sequence[CountedSpan]
    names: Mapping[str, Sequence[str]]
    gap: str = ""


def judged(
    counters: NodeCounters, platform: Platform
) -> tuple[tuple[Judgement, ...], NoEvidence | None]:
    """Return the judgements of a node, and an error for each unknown growth."""
    found: list[Judgement] = []
    unread: list[NoEvidence] = []
    for name, limit in (platform.growth or {}).items():
        one = _OfGroup(counters, GROUPS[name], limit)
        found += one.judgements(devices(GROUPS[name], platform), unread)
    if counters.gap:
        found.append(_gap(counters, platform))
    return tuple(found), _first(unread)


def devices(group: CounterGroup, platform: Platform) -> list[str]:
    """The declared devices that have these counters, by name; only NICs of the fabric count."""
    gpus = range(platform.gpus.count) if group.of_gpus and platform.gpus else ()
    of_nics = group.of_nics
    nics = (nic.name for nic in platform.fabric_nics if of_nics and of_nics(nic))
    return [*(f"gpu{index}" for index in gpus), *nics]


def device_names(
    node: str, platform: Platform, found: NodeAnswer | None
) -> dict[str, tuple[str, ...]]:
    """Return the names that each declared device has in the readings of a node."""
    gpus = found.gpus if isinstance(found, NodeFacts) else ()
    buses = {f"gpu{gpu.index}": (gpu.bus_id,) if gpu.bus_id else () for gpu in gpus}
    names = {nic.name: (platform.devices.on(node, nic.name),) for nic in platform.nics}
    count = platform.gpus.count if platform.gpus else 0
    return names | {gpu: (gpu, *buses.get(gpu, ())) for gpu in (f"gpu{i}" for i in range(count))}


@dataclass(frozen=True, slots=True)
class _OfGroup:
    counters: NodeCounters
    group: CounterGroup
    limit: GrowthLimit

    def judgements(self, devices: Sequence[str], unread: list[NoEvidence]) -> Iterator[Judgement]:
        """One judgement for each device that misses the limit; one for all if all keep it."""
        grown: dict[str, int] = {}
        is_missed = False
        for device in devices:
            try:
                why, grown[device] = self._of_device(device)
            except NoEvidence as error:
                unread.append(error)
                continue
            if why:
                is_missed = True
                yield self._failed(device, why)
        if not is_missed and len(grown) == len(devices):
            yield self._passed(grown)

    def _of_device(self, device: str) -> tuple[str, int]:
        """Return why the device misses the limit (empty if it does not), and its counters' growth.

        Raises ``CountersUnread`` if the growth is unknown, or ``ToolMissing``.
        """
        whys, total = [], 0
        for span in self.counters.spans:
            grown = self._grown(device, span)
            most, count = self.limit.allowed(span.hours), sum(grown.values())
            total += count
            if count > most:
                counts = listed(
                    [f"{name} by {by}" for name, by in grown.items() if by], _MOST_SHOWN
                )
                over = f"in {span.hours:.2f} h of {span.when}{self._parts(device, span)}"
                why = f"{device} of {self.counters.node}: {counts} {over}"
                if not span.is_measured:
                    raise self._unread(f"{why}, of which only a part was measured")
                whys.append(why)
        return "; ".join(whys), total

    def _grown(self, device: str, span: CountedSpan) -> dict[str, int]:
        """The growth of each counter; no counter may decrease between two readings of the span."""
        readings = [span.before, *(step.after for step in span.steps), span.after]
        for before, after in pairwise(readings):
            self._between(device, before, after)
        return self._between(device, span.before, span.after)

    def _parts(self, device: str, span: CountedSpan) -> str:
        """The parts of a soak in which the counters grew, each with their total growth."""
        befores = [span.before, *(step.after for step in span.steps)]
        parts = [
            f"by {by} {step.when}"
            for before, step in zip(befores, span.steps, strict=False)
            if (by := sum(self._between(device, before, step.after).values()))
        ]
        return f": {listed(parts, _MOST_SHOWN)}" if parts else ""

    def _between(
        self, device: str, earlier: CounterReading, later: CounterReading
    ) -> dict[str, int]:
        before, after = (self._counts(device, one) for one in (earlier, later))
        if odd := sorted(before.keys() ^ after.keys()):
            names = listed(odd, _MOST_SHOWN)
            raise self._unread(f"only one of two readings shows {names} of {device}")
        for name, value in before.items():
            if after[name] < value:
                what = f"{name} of {device} went back from {value} to {after[name]}"
                raise self._unread(f"{what}: it was reset, or its driver was loaded again")
            if value == STANDS_AT.get(name):
                what = f"{name} of {device} stood at {value} before, its highest value"
                raise self._unread(what, "reset the counters of the port: perfquery -R LID PORT")
        return {name: after[name] - value for name, value in before.items()}

    def _counts(self, device: str, reading: CounterReading) -> dict[str, int]:
        shown = reading.of(*self.counters.names[device])
        found = {name: value for name, value in shown.items() if self.group.has(name)}
        lacking = [name for name in self.group.needed if name not in found]
        if lacking or not found:
            self._refuse_missing_tool(reading)
            why = f" ({'; '.join(reading.failures)})" if reading.failures else ""
            names = listed(lacking, _MOST_SHOWN) or f"counter of {self.group.name}"
            raise self._unread(f"no {names} of {device} was read{why}")
        return found

    def _refuse_missing_tool(self, reading: CounterReading) -> None:
        """Raise if the node lacks the tool: ethtool for NICs, that of the vendor for GPUs."""
        for failure in reading.failures:
            tool, is_missing, _ = failure.partition(_NOT_FOUND)
            if is_missing and (tool == "ethtool") == (self.group.of_nics is not None):
                where = f"{self.counters.node}: {tool}"
                raise ToolMissing(f"{tool} was not found", where=where)

    def _unread(self, what: str, remedy: str = "") -> CountersUnread:
        return CountersUnread(what, where=self.counters.node, remedy=remedy or _REMEDY)

    def _failed(self, device: str, why: str) -> Judgement:
        return Judgement(
            metric=self.group.name,
            outcome=Outcome.FAILED,
            measured=why.partition(": ")[2],
            limit=str(self.limit),
            basis=str(self.limit.basis),
            reason=why,
            pointer=f"{_POINTER}/{self.group.name}",
            points_at=((self.counters.node, device),),
        )

    def _passed(self, grown: Mapping[str, int]) -> Judgement:
        device, most = max(grown.items(), key=lambda one: one[1])
        worst = f"by {most} at {device}" if most else "none"
        hours = sum(span.hours for span in self.counters.spans)
        return Judgement(
            metric=self.group.name,
            outcome=Outcome.PASSED,
            measured=f"{worst} ({len(grown)} devices, {hours:.2f} h)",
            limit=str(self.limit),
            basis=str(self.limit.basis),
            pointer=f"{_POINTER}/{self.group.name}",
        )


_NOT_FOUND = ": command not found"
_REMEDY = "run the command of the transcript on the node by hand; see railgauge docs telemetry"


def _gap(counters: NodeCounters, platform: Platform) -> Judgement:
    basis = next(iter((platform.growth or {}).values())).basis
    return Judgement(
        metric=SUBJECT,
        outcome=Outcome.MARGINAL,
        measured=f"{len(counters.spans)} spans",
        limit="every run is known",
        basis=str(basis),
        reason=counters.gap,
        pointer=_POINTER,
    )


def _first(unread: Sequence[NoEvidence]) -> NoEvidence | None:
    """The first error, with the number of the others."""
    if not unread:
        return None
    first, *others = unread
    more = f"; and {len(others)} more such error{'s' * (len(others) > 1)}" if others else ""
    return type(first)(f"{first.what}{more}", where=first.where, remedy=first.remedy)
