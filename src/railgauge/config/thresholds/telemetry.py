"""The section ``telemetry`` of a platform file: what the GPUs may do while they are measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from railgauge.core.errors import ThresholdError
from railgauge.core.limits import Basis
from railgauge.core.terms import Rung
from railgauge.stacks import stack
from railgauge.stacks.sampling import CLOCK, HEAT, LOAD, MEMORY_HEAT, POWER, REASONS

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
    """What is sampled of each GPU, every ``interval_ms``, and the limits.

    ``most`` are those of ``temperature``, ``memory temperature`` and ``power``.
    """

    interval_ms: int
    never: NeverThrottled | None
    clock: LoadedClock | None
    most: Mapping[str, Most]

    def covers(self, rung: Rung) -> bool:
        """Whether the GPUs are sampled during the measurements of a rung."""
        return rung in _RUNGS

    @property
    def needs(self) -> frozenset[str]:
        """What each sample must show, because a limit is compared with it."""
        never = {REASONS} if self.never else set()
        clock = {CLOCK, LOAD} if self.clock else set()
        return frozenset({*self.most, *never, *clock})


_MOST = {"temperature": HEAT, "memory_temperature": MEMORY_HEAT, "power": POWER}


def read_telemetry(entry: Mapping[str, Any] | None, vendor: str, path: str) -> Telemetry | None:
    """Return the section, ``None`` without one; ``vendor`` is that of the GPUs, empty for none.

    Raises ``ThresholdError`` for GPUs that are not declared, and for a limit of what the tool of
    their vendor does not show.
    """
    if entry is None:
        return None
    if not vendor:
        raise ThresholdError("the platform declares no GPU to sample", where=f"{path}: $/telemetry")
    found = Telemetry(
        interval_ms=entry.get("interval_ms", _INTERVAL_MS),
        never=_never(entry.get("throttling")),
        clock=_clock(entry.get("clock")),
        most={
            what: Most(float(entry[name]["ceiling"]), _basis(entry[name]))
            for name, what in _MOST.items()
            if name in entry
        },
    )
    _refuse_unseen(found, vendor, path)
    return found


def _refuse_unseen(found: Telemetry, vendor: str, path: str) -> None:
    sampler = stack(vendor).sampler
    where = f"{path}: $/telemetry"
    if sampler is None:
        what = f"railgauge knows no tool that samples GPUs of {vendor}"
        raise ThresholdError(what, where=where, remedy="leave the section out")
    if not found.needs:
        raise ThresholdError("has no limit, so that nothing would be judged", where=where)
    if unseen := sorted(found.needs - sampler.shows):
        what = f"{sampler.program} does not show {', '.join(unseen)} while it samples"
        raise ThresholdError(what, where=where, remedy="leave out these limits")
    asked = found.never.reasons if found.never else ()
    if unknown := [reason for reason in asked if reason not in sampler.known_reasons]:
        known = f"known: {', '.join(sampler.known_reasons)}"
        what = f"{sampler.program} knows no {', '.join(unknown)}"
        raise ThresholdError(what, where=f"{where}/throttling/never", remedy=known)


def _never(entry: Mapping[str, Any] | None) -> NeverThrottled | None:
    return NeverThrottled(tuple(entry["never"]), _basis(entry)) if entry else None


def _clock(entry: Mapping[str, Any] | None) -> LoadedClock | None:
    if not entry:
        return None
    return LoadedClock(
        float(entry["floor"]),
        float(entry.get("share", _SHARE)),
        float(entry.get("loaded_percent", _LOADED_PER_CENT)),
        _basis(entry),
    )


def _basis(entry: Mapping[str, Any]) -> Basis:
    return Basis(entry["basis"]["source"], entry["basis"]["says"])
