"""Judge the samples of a node's GPUs in all its measurements. Pure.

Each limit of the platform file's section ``telemetry`` gives one judgement if all GPUs keep it,
else one for each GPU that does not, with the measurement and the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from railgauge.config.thresholds import Platform
from railgauge.config.thresholds.telemetry import LoadedClock, Telemetry
from railgauge.core.errors import NoEvidence, TelemetryUnread
from railgauge.core.limits import Basis
from railgauge.core.model import Judgement, Outcome
from railgauge.core.naming import listed
from railgauge.core.question import TELEMETRY
from railgauge.core.terms import Rung
from railgauge.core.units import format_value
from railgauge.judging.at_end import EndOfRunChecks
from railgauge.judging.telemetry.seen import Watched
from railgauge.stacks.sampling import CLOCK, UNITS

SUBJECT = "telemetry"
ITEMS = EndOfRunChecks(
    "gpus",
    SUBJECT,
    "No GPU is throttled, too hot or slower than its clock while it is measured.",
    Rung.INTRANODE,
    TELEMETRY,
)
THROTTLING = "throttling"
_POINTER = f"/{SUBJECT}"
# A measurement with fewer samples under load is only judged together with the others: at its start
# and end a GPU may still count as busy when its clock has already fallen.
_ENOUGH = 10
_MOST_SHOWN = 5


def judged(
    node: str, found: Sequence[Watched], platform: Platform
) -> tuple[tuple[Judgement, ...], NoEvidence | None]:
    """Return the judgements of a node, and an error for each limit without samples."""
    limits = platform.telemetry
    assert limits is not None
    assert platform.gpus is not None
    of = _OfNode(node, found, platform.gpus.count, limits)
    return tuple(of.judgements()), of.never_loaded()


@dataclass(frozen=True, slots=True)
class _Compared:
    """A GPU compared with one limit: ``why`` is empty if it is kept; the worst GPU has the highest
    ``badness``."""

    measured: str
    why: str
    badness: float


@dataclass(frozen=True, slots=True)
class _OfNode:
    node: str
    found: Sequence[Watched]
    count: int
    limits: Telemetry

    def judgements(self) -> Iterator[Judgement]:
        if never := self.limits.never:
            limit = f"never {', '.join(never.reasons)}"
            yield from self._each(THROTTLING, limit, never.basis, self._throttled)
            yield from self._unknown_reasons(never.basis)
        if clock := self.limits.clock:
            limit = f"at least {format_value(clock.floor_mhz, 'MHz')} in {clock.share:.0%} of them"
            yield from self._each(CLOCK, limit, clock.basis, partial(self._slow, clock))
        for what, most in self.limits.most.items():
            limit = f"at most {format_value(most.value, UNITS[what])}"
            yield from self._each(what, limit, most.basis, partial(self._over, what, most.value))

    def _each(
        self, metric: str, limit: str, basis: Basis, compared: Callable[[int], _Compared | None]
    ) -> Iterator[Judgement]:
        """One judgement for each GPU that misses a limit; one for all of them if all keep it.

        Without a comparison of each GPU nothing passes.
        """
        pointer = f"{_POINTER}/{metric.replace(' ', '_')}"
        found = {gpu: one for gpu in range(self.count) if (one := compared(gpu))}
        missed = {gpu: one for gpu, one in found.items() if one.why}
        for gpu, one in missed.items():
            yield Judgement(
                metric,
                Outcome.FAILED,
                f"gpu{gpu}: {one.measured}",
                limit,
                str(basis),
                f"gpu{gpu} of {self.node}: {one.why}",
                pointer=pointer,
                points_at=((self.node, f"gpu{gpu}"),),
            )
        if not missed and len(found) == self.count:
            samples = sum(gpu.samples for one in self.found for gpu in one.gpus)
            worst = max(found.values(), key=lambda one: one.badness).measured
            measured = f"{worst} ({samples} samples of {len(self.found)} measurements)"
            yield Judgement(metric, Outcome.PASSED, measured, limit, str(basis), pointer=pointer)

    def _throttled(self, gpu: int) -> _Compared:
        spells = [spell for one in self.found for spell in one.gpus[gpu].spells]
        reasons = dict.fromkeys(name for spell in spells for name in spell.reasons)
        names = ", ".join(reasons) or "not throttled"
        return _Compared(names, listed(list(map(str, spells)), _MOST_SHOWN, "; "), len(spells))

    def _unknown_reasons(self, basis: Basis) -> Iterator[Judgement]:
        """Report the reasons that this version does not know; they fail nothing."""
        for gpu in range(self.count):
            unknown = sorted({name for one in self.found for name in one.gpus[gpu].unknown})
            if unknown:
                yield Judgement(
                    THROTTLING,
                    Outcome.MARGINAL,
                    f"gpu{gpu}: {', '.join(unknown)}",
                    "a known reason",
                    str(basis),
                    f"gpu{gpu} of {self.node} was throttled for a reason that this version of"
                    f" railgauge does not know: {', '.join(unknown)}",
                    pointer=f"{_POINTER}/{THROTTLING}",
                )

    def never_loaded(self) -> NoEvidence | None:
        """The error for GPUs without a sample under load: their clock is not judged."""
        clock = self.limits.clock
        gpus = range(self.count) if clock else ()
        idle = [gpu for gpu in gpus if not any(one.gpus[gpu].loaded for one in self.found)]
        if not idle or clock is None:
            return None
        names = listed([f"gpu{gpu}" for gpu in idle], _MOST_SHOWN)
        least = f"a utilisation of at least {clock.loaded_per_cent:g} %"
        return TelemetryUnread(
            f"no sample of {names} was under load ({least}), so that the clock is not judged",
            where=self.node,
            remedy="sample more often (interval_ms of the section telemetry), or measure longer",
        )

    def _slow(self, clock: LoadedClock, gpu: int) -> _Compared | None:
        """The lowest share of samples with the clock, in one measurement or in all of them.

        ``None`` for a GPU that was never under load.
        """
        own = [(one.title, one.gpus[gpu]) for one in self.found if one.gpus[gpu].loaded]
        if not own:
            return None
        shares = [(s.reached / s.loaded, title) for title, s in own if s.loaded >= _ENOUGH]
        reached, loaded = (sum(getattr(s, n) for _, s in own) for n in ("reached", "loaded"))
        share, title = min([*shares, (reached / loaded, "all its measurements")])
        lowest = format_value(min(s.lowest_mhz for _, s in own), "MHz")
        text = f"{share:.0%} of its samples under load reach it, the lowest is {lowest}"
        return _Compared(text, f"{text}, in {title}" if share < clock.share else "", -share)

    def _over(self, what: str, most: float, gpu: int) -> _Compared:
        worst, at_s, title = max((*one.gpus[gpu].most[what], one.title) for one in self.found)
        value = format_value(worst, UNITS[what])
        why = f"{what} {value} at {max(0.0, at_s):.0f} s of {title}" if worst > most else ""
        return _Compared(value, why, worst)
