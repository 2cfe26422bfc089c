"""How long a cluster was under load, from the times of its measurements. Pure.

Only evidence counts: a stretch lasts from the start of one measurement to the end of another, with
no pause of more than a minute in between. So the time between an interrupt and the resumed run does
not count, and no hour counts twice. For the hours of a single node only its own measurements count,
and no pauses.

A run and the run that resumes it share only the wall clock. Durations are taken from the monotonic
clock, so setting the wall clock can hide load, but can add no more than the pauses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from railgauge.core.question import CaseResult
from railgauge.core.terms import WATCHING_ROLES

# The suite reads counters, connects and judges between two measurements; a longer pause is no load.
PAUSE_MAX = timedelta(seconds=60)


@dataclass(frozen=True, slots=True, order=True)
class Stretch:
    """A time without a long pause."""

    began: datetime
    ended: datetime

    @property
    def seconds(self) -> float:
        return (self.ended - self.began).total_seconds()

    def __str__(self) -> str:
        return f"{self.began:%Y-%m-%d %H:%M:%S} to {self.ended:%Y-%m-%d %H:%M:%S} UTC"


def stretches(found: Iterable[Stretch], pause: timedelta = PAUSE_MAX) -> tuple[Stretch, ...]:
    """Join stretches that overlap or have no longer pause in between."""
    joined: list[Stretch] = []
    for one in sorted(found):
        if joined and one.began - joined[-1].ended <= pause:
            joined[-1] = Stretch(joined[-1].began, max(joined[-1].ended, one.ended))
        else:
            joined.append(one)
    return tuple(joined)


def seconds(found: Sequence[Stretch]) -> float:
    """The sum of stretches that do not overlap."""
    return sum(one.seconds for one in found)


def of_nodes(found: Iterable[tuple[Stretch, Sequence[str]]]) -> float:
    """The seconds of all nodes together, from the times of measurements and the nodes of each."""
    each: dict[str, list[Stretch]] = {}
    for stretch, nodes in found:
        for node in nodes:
            each.setdefault(node, []).append(stretch)
    return sum(seconds(stretches(own, timedelta(0))) for own in each.values())


def of_case(result: CaseResult | None) -> Iterator[Stretch]:
    """The time of every command of a case; one whose start cannot be read has none.

    A sampler of the GPUs does not count: it may have been started many measurements before, and
    runs on in a pause.
    """
    every = (one for run in (result.runs if result else ()) for one in run)
    for output in (one for one in every if one.role not in WATCHING_ROLES):
        if span := output.span:
            began, ended = span
            yield Stretch(began, max(began, ended))
