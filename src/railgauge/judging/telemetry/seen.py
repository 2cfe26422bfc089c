"""Read the samples of one repeat of a measurement, and summarise them by GPU. Pure.

Samples that are cut short, of other GPUs or of another node are no evidence. Times are moved from
the node's uptime to seconds since the first command of the repeat.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from railgauge.config.thresholds import Platform
from railgauge.config.thresholds.telemetry import Telemetry
from railgauge.core.errors import TelemetryUnread, ToolMissing
from railgauge.core.model import Transcript
from railgauge.core.terms import BESIDE_ROLES, Role
from railgauge.stacks.sampling import (
    CLOCK,
    LOAD,
    REASONS,
    GpuSample,
    Sampler,
    Samples,
    parse_samples,
)

_NOT_FOUND = 127
# Between two samples, and between the last one and the end of the measurement. A busy driver
# answers late, but not as late as this.
_LONGEST_GAP_S = 30.0


@dataclass(frozen=True, slots=True)
class Spell:
    """A period in which a GPU was throttled, in seconds; ``None`` is the measurement's end."""

    reasons: tuple[str, ...]
    title: str
    start_s: float
    end_s: float | None

    def __str__(self) -> str:
        until = "to its end" if self.end_s is None else f"to {max(0.0, self.end_s):.0f} s"
        span = f"from {max(0.0, self.start_s):.0f} s {until}"
        return f"{', '.join(self.reasons)} {span} of {self.title}"


@dataclass(frozen=True, slots=True)
class GpuSeen:
    """A summary of the samples of one GPU in one repeat.

    ``spells`` are those of the reasons that the platform file forbids, ``unknown`` are reasons that
    this version does not know. Of ``loaded`` samples under load ``reached`` have the clock, and
    ``lowest_mhz`` is the lowest. ``most`` are the highest values, each with its time in seconds.
    """

    samples: int
    spells: tuple[Spell, ...]
    unknown: frozenset[str]
    loaded: int
    reached: int
    lowest_mhz: float
    most: Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Watched:
    """Summaries of a node's GPUs in one repeat of a measurement, in the order of their numbers."""

    title: str
    gpus: tuple[GpuSeen, ...]


def watched(
    node: str, title: str, run: Sequence[Transcript], platform: Platform, boots: Collection[str]
) -> Watched:
    """Return the summary of the samples of one repeat; ``boots`` are the ids of the node's boots.

    Raises ``TelemetryUnread`` unless they cover all declared GPUs and the whole repeat, and
    ``ToolMissing`` if the node has no tool to sample them.
    """
    assert platform.gpus is not None
    assert platform.telemetry is not None
    sampler = platform.telemetry.sampler
    transcript = next((t for t in run if t.role == Role.TELEMETRY and t.node == node), None)
    if transcript is None:
        raise TelemetryUnread(f"the GPUs were not sampled during {title}", where=node)
    if transcript.exit_code == _NOT_FOUND:
        what = f"{sampler.program} was not found"
        raise ToolMissing(what, where=f"{node}: {sampler.program}")
    try:
        found = _samples(transcript, run, sampler, boots)
        _refuse_gaps(found, run)
        gpus = _by_gpu(found, platform.gpus.count)
        _refuse_unseen(found, platform.telemetry)
    except TelemetryUnread as error:
        what = f"{error.what}, during {title}"
        raise TelemetryUnread(what, where=node, remedy=_by_hand(sampler)) from None
    return Watched(title, tuple(_seen(title, one, platform.telemetry) for one in gpus))


def _by_hand(sampler: Sampler) -> str:
    run = f"run {sampler.program} {' '.join(sampler.arguments(1000))} on the node by hand"
    if not sampler.needs:
        return run
    leave = "or take the limits that need it out of the platform file's section telemetry"
    return f"{run}; it needs {sampler.needs}: update the tool, {leave}"


def traced(node: str, run: Sequence[Transcript], sampler: Sampler) -> tuple[GpuSample, ...]:
    """Return all readable samples of a node in one repeat, even if they do not cover it.

    For display: nothing is judged by them.
    """
    for transcript in run:
        if transcript.role == Role.TELEMETRY and transcript.node == node:
            try:
                return moved(parse_samples(transcript.stdout, sampler), transcript, run)
            except TelemetryUnread:
                return ()
    return ()


def _samples(
    transcript: Transcript, run: Sequence[Transcript], sampler: Sampler, boots: Collection[str]
) -> tuple[GpuSample, ...]:
    """The samples, with times that count from the start of the repeat."""
    if transcript.error:
        raise TelemetryUnread(f"the sampler ended with {transcript.error}")
    found = parse_samples(transcript.stdout, sampler)
    if transcript.exit_code is not None:
        ended = f"after {transcript.duration_s:.0f} s with exit code {transcript.exit_code}"
        raise TelemetryUnread(f"{sampler.program} ended by itself {ended}")
    if found.boot_id not in boots:
        raise TelemetryUnread("the samples are of another node, or of another boot of this one")
    return moved(found, transcript, run)


def moved(
    found: Samples, transcript: Transcript, run: Sequence[Transcript]
) -> tuple[GpuSample, ...]:
    """The samples with times that count from the start of the repeat.

    A sampler may have begun long before the repeat: of the earlier samples of each GPU only the
    last one counts. Raises ``TelemetryUnread`` if it is not known when the repeat began.
    """
    ahead_s = _started_before_s(transcript, run)
    start_s = found.began_s + ahead_s
    every = [GpuSample(s.at_s - start_s, s.gpu, s.values, s.reasons) for s in found.samples]
    before = {one.gpu: one.at_s for one in every if one.at_s <= 0}
    return tuple(one for one in every if one.at_s >= before.get(one.gpu, -math.inf))


def _started_before_s(transcript: Transcript, run: Sequence[Transcript]) -> float:
    """Return how long before the first command of the repeat its sampler was started."""
    span, first = transcript.span, _start(run)
    if span is None or first is None:
        raise TelemetryUnread("when the measurement began is not known")
    return first - span[0].timestamp()


def _measuring(run: Iterable[Transcript]) -> list[tuple[float, float]]:
    """The start and the end of each command of the tool, by the controller's clock."""
    spans = (one.span for one in run if one.role not in BESIDE_ROLES)
    return [(span[0].timestamp(), span[1].timestamp()) for span in spans if span]


def _start(run: Sequence[Transcript]) -> float | None:
    return min((start for start, _ in _measuring(run)), default=None)


def _lasted_s(run: Sequence[Transcript]) -> float:
    times = _measuring(run)
    return max(end for _, end in times) - min(start for start, _ in times)


def _refuse_gaps(found: Sequence[GpuSample], run: Sequence[Transcript]) -> None:
    """Raise if no sample was taken for long, or the sampler ended long before the measurement."""
    times = sorted({sample.at_s for sample in found})
    moments = [min(0.0, times[0]), *times, _lasted_s(run)]
    for before_s, at_s in pairwise(moments):
        if at_s - before_s > _LONGEST_GAP_S:
            raise TelemetryUnread(f"no GPU was sampled from {before_s:.0f} s to {at_s:.0f} s")


def _by_gpu(found: Sequence[GpuSample], count: int) -> list[list[GpuSample]]:
    """The samples of each GPU. Raises if their numbers differ by more than the last one."""
    gpus: dict[int, list[GpuSample]] = {gpu: [] for gpu in range(count)}
    for sample in found:
        if sample.gpu not in gpus:
            raise TelemetryUnread(f"a sample of gpu{sample.gpu}, but {count} GPUs are declared")
        gpus[sample.gpu].append(sample)
    most = max(map(len, gpus.values()))
    for gpu, own in gpus.items():
        if not own or len(own) < most - 1:
            raise TelemetryUnread(f"gpu{gpu} has {len(own)} samples, and others have {most}")
    return list(gpus.values())


def _refuse_unseen(found: Sequence[GpuSample], limits: Telemetry) -> None:
    for sample in found:
        shown = set(sample.values) | ({REASONS} if sample.reasons is not None else set())
        if unseen := sorted(limits.needs - shown):
            raise TelemetryUnread(f"gpu{sample.gpu} shows no {', '.join(unseen)}")


def _seen(title: str, samples: Sequence[GpuSample], limits: Telemetry) -> GpuSeen:
    clock, never = limits.clock, limits.never.reasons if limits.never else ()
    loaded = [
        one.values[CLOCK] for one in samples if clock and one.values[LOAD] >= clock.loaded_per_cent
    ]
    reasons = frozenset(name for one in samples for name in one.reasons or ())
    return GpuSeen(
        samples=len(samples),
        spells=tuple(spells_of(title, samples, never)),
        unknown=reasons.difference(limits.sampler.known_reasons),
        loaded=len(loaded),
        reached=sum(mhz >= clock.floor_mhz for mhz in loaded) if clock else 0,
        lowest_mhz=min(loaded, default=math.inf),
        most={what: max((one.values[what], one.at_s) for one in samples) for what in limits.most},
    )


def spells_of(
    title: str, samples: Iterable[GpuSample], reasons: Collection[str]
) -> Iterator[Spell]:
    """The periods in which a GPU was throttled for one of the reasons, in their order."""
    start: float | None = None
    seen: dict[str, None] = {}
    for sample in samples:
        now = [name for name in reasons if name in (sample.reasons or ())]
        if now:
            start = sample.at_s if start is None else start
            seen |= dict.fromkeys(now)
        elif start is not None:
            yield Spell(tuple(seen), title, start, sample.at_s)
            start, seen = None, {}
    if start is not None:
        yield Spell(tuple(seen), title, start, None)
