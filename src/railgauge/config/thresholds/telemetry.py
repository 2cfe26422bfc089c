"""The section ``telemetry`` of a platform file: limits of the GPUs during measurements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from railgauge.config.thresholds.basis import basis_of
from railgauge.core.errors import ThresholdError
from railgauge.core.limits import Basis
from railgauge.core.terms import Rung
from railgauge.stacks import stack
from railgauge.stacks.sampling import (
    CLOCK,
    HEAT,
    LOAD,
    MEMORY_HEAT,
    POWER,
    REASONS,
    Sampler,
    first_that_shows,
)

# GPUs compute on these rungs; the tests of rung 2 use their memory alone.
_RUNGS = (Rung.INTRANODE, Rung.COLLECTIVE, Rung.APPLICATION)
_SHARE, _LOADED_PER_CENT, _INTERVAL_MS = 0.95, 90.0, 1000


@dataclass(frozen=True, slots=True)
class NeverThrottled:
    """The reasons for which no GPU may be throttled, by the names of its vendor's sampler."""

    reasons: tuple[str, ...]
    basis: Basis


@dataclass(frozen=True, slots=True)
class LoadedClock:
    """The floor of the clock in MHz, for ``share`` of the samples of a GPU under load.

    A GPU is under load when its utilisation is at least ``loaded_per_cent``.
    """

    floor_mhz: float
    share: float
    loaded_per_cent: float
    basis: Basis


@dataclass(frozen=True, slots=True)
class Most:
    """The highest value that any sample may have, in the unit of what is sampled."""

    value: float
    basis: Basis


@dataclass(frozen=True, slots=True)
class Telemetry:
    """The samples of each GPU, every ``interval_ms``, their sampler, and the limits.

    ``most`` are those of ``temperature``, ``memory temperature`` and ``power``.
    """

    sampler: Sampler
    interval_ms: int
    never: NeverThrottled | None
    clock: LoadedClock | None
    most: Mapping[str, Most]

    def covers(self, rung: Rung) -> bool:
        """Whether the GPUs are sampled during the measurements of a rung."""
        return rung in _RUNGS

    @property
    def limited(self) -> frozenset[str]:
        """The names of the limits, of ``LIMITS``."""
        given = {"throttling": self.never, "clock": self.clock}
        named = {name for name, limit in given.items() if limit}
        return frozenset({*named, *(name for name, what in _MOST.items() if what in self.most)})

    @property
    def needs(self) -> frozenset[str]:
        """The values that each sample must show, because a limit is compared with them."""
        return _needs(self.never, self.clock, self.most)


def _needs(
    never: NeverThrottled | None, clock: LoadedClock | None, most: Iterable[str]
) -> frozenset[str]:
    reasons = {REASONS} if never else set()
    return frozenset({*most, *reasons, *(_OF_CLOCK if clock else ())})


_MOST = {"temperature": HEAT, "memory_temperature": MEMORY_HEAT, "power": POWER}
_OF_CLOCK = (CLOCK, LOAD)
LIMITS = ("throttling", "clock", *_MOST)
"""The names of all limits of the section."""


def needed_for(limit: str) -> frozenset[str]:
    """The values that each sample must show for one of ``LIMITS``."""
    return frozenset({"throttling": (REASONS,), "clock": _OF_CLOCK}.get(limit) or (_MOST[limit],))


def read_telemetry(entry: Mapping[str, Any] | None, vendor: str, path: str) -> Telemetry | None:
    """Return the section, ``None`` without one; ``vendor`` is that of the GPUs, empty for none.

    Raises ``ThresholdError`` if no GPUs are declared, and for a limit of a value that the tool of
    their vendor does not show.
    """
    if entry is None:
        return None
    if not vendor:
        raise ThresholdError("the platform declares no GPU to sample", where=f"{path}: $/telemetry")
    never, clock = _never(entry.get("throttling")), _clock(entry.get("clock"))
    most = {
        what: Most(float(entry[name]["ceiling"]), basis_of(entry[name]))
        for name, what in _MOST.items()
        if name in entry
    }
    sampler = _sampler(_needs(never, clock, most), vendor, f"{path}: $/telemetry")
    _refuse_unknown(never, sampler, f"{path}: $/telemetry/throttling/never")
    return Telemetry(sampler, entry.get("interval_ms", _INTERVAL_MS), never, clock, most)


def _sampler(needs: frozenset[str], vendor: str, where: str) -> Sampler:
    """The sampler that shows all limited values."""
    known = stack(vendor).samplers
    if not known:
        what = f"railgauge knows no tool that samples GPUs of {vendor}"
        raise ThresholdError(what, where=where, remedy="leave the section out")
    if not needs:
        raise ThresholdError("has no limit, so that nothing would be judged", where=where)
    if found := first_that_shows(needs, known):
        return found
    program, shown = known[0].program, frozenset[str]().union(*(one.shows for one in known))
    unseen = ", ".join(sorted(needs - shown or needs))
    together = "" if needs - shown else " together"
    what = f"{program} does not show {unseen}{together} while it samples"
    raise ThresholdError(what, where=where, remedy="leave out these limits")


def _refuse_unknown(never: NeverThrottled | None, sampler: Sampler, where: str) -> None:
    asked = never.reasons if never else ()
    if unknown := [reason for reason in asked if reason not in sampler.known_reasons]:
        known = f"known: {', '.join(sampler.known_reasons)}"
        what = f"{sampler.program} knows no {', '.join(unknown)}"
        raise ThresholdError(what, where=where, remedy=known)


def _never(entry: Mapping[str, Any] | None) -> NeverThrottled | None:
    return NeverThrottled(tuple(entry["never"]), basis_of(entry)) if entry else None


def _clock(entry: Mapping[str, Any] | None) -> LoadedClock | None:
    if not entry:
        return None
    return LoadedClock(
        float(entry["floor"]),
        float(entry.get("share", _SHARE)),
        float(entry.get("loaded_percent", _LOADED_PER_CENT)),
        basis_of(entry),
    )
