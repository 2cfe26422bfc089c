"""A limit on a metric, with the basis that its number comes from. All values are frozen."""

from __future__ import annotations

from dataclasses import dataclass
from sys import intern


@dataclass(frozen=True, slots=True)
class Curve:
    """A bound by message size: points ``(size_bytes, value)``, linear between them on log axes."""

    points: tuple[tuple[int, float], ...]

    def __str__(self) -> str:
        return ", ".join(f"{value:g} at {size} B" for size, value in self.points)


Bound = float | Curve


@dataclass(frozen=True, slots=True)
class Basis:
    """Where a number comes from: ``source`` (a document, ``derived``, …) and its statement.

    ``measured`` is what a document or a calibration run measured on such a platform, in the unit of
    the limit: a limit close to it needs no other reason to be where it is.
    """

    source: str
    says: str
    measured: Bound | None = None

    def __str__(self) -> str:
        text = f"{self.source}: {self.says}"
        if self.measured is not None:
            value = self.measured
            text += f" (measured: {value if isinstance(value, Curve) else f'{value:g}'})"
        return intern(text)  # every judgement keeps this text


@dataclass(frozen=True, slots=True)
class Dispersion:
    """Limits on the variation of the samples of one size; one that is ``None`` is not judged.

    ``groups_apart_max``: if the samples form two groups, the largest allowed difference of the
    groups' medians, as a share of the larger median.
    """

    cv_max: float | None = None
    worst_over_median_min: float | None = None
    groups_apart_max: float | None = None


@dataclass(frozen=True, slots=True)
class Sweep:
    """Message sizes in bytes from ``first`` to ``last``, each ``factor`` times the one before."""

    first: int
    last: int
    factor: int

    @property
    def sizes(self) -> tuple[int, ...]:
        found = [self.first]
        while found[-1] * self.factor <= self.last:
            found.append(found[-1] * self.factor)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Limit:
    """The limit of one metric. ``pointer`` is the JSON pointer of the limit in its file.

    ``of`` names what the floor is a share of (``gpu_slot``, ``ideal``, ``link``); if it is empty,
    the floor is a value in ``unit``. ``over`` are the sizes whose average is limited: an average
    over other sizes is not judged by this limit.
    """

    metric: str
    unit: str
    floor: Bound | None
    ceiling: Bound | None
    basis: Basis
    marginal: float = 0.0
    dispersion: Dispersion = Dispersion()
    record_only: bool = False
    pairings: tuple[str, ...] = ()
    sizes: tuple[int, int] | None = None
    pointer: str = ""
    of: str = ""
    over: Sweep | None = None
