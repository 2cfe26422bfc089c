"""The fault of a part that fits best beside other faults: its share and its timing. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median

from railgauge.diagnosis.slow.constants import (
    CHANCES,
    LEAST_LOSS,
    NOISE,
    NOT_PERMANENT,
    SMALLEST_SHARE,
    When,
)
from railgauge.diagnosis.slow.faults import PartFault, also
from railgauge.diagnosis.slow.likelihood import Model, log_sum
from railgauge.diagnosis.slow.places import Losses
from railgauge.diagnosis.slow.readings import Execution

_CLUSTER, _CLUSTERS = LEAST_LOSS / 2, 3
_DIGITS = 5
_NO_HARM = -1.0  # every execution gains, or loses less than that: the fault is always there

Gains = Sequence[tuple[float, float]]
"""When each execution began, and how much likelier it is with the fault."""


class Fitter:
    """Fits faults of single parts. What an execution tells of a part depends only on what else is
    slow during it, so that it is computed once."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._gains: dict[tuple[int, float, int, Losses], float] = {}

    def fitted(self, part: int, others: Sequence[PartFault]) -> list[tuple[float, PartFault]]:
        """The faults of this part with what they add to the score, the best one first.

        There is one for each share that many readings ask for: what a part loses beside a fault
        that is not found yet is not what fits best.
        """
        model = self._model
        runs = [model.evidence.executions[number] for number in model.evidence.of_part[part]]
        beside = [(run, model.likeliest(run, others)) for run in runs]
        asked = [one for run, losses in beside for one in model.asked(run, part, losses)]
        found = [self._best(part, share, beside) for share in _shares(asked)]
        shown = [one for run, losses in beside for one in model.shown(run, part, losses)]
        if found and (level := _level(shown, [fault.share for _, fault in found])):
            better = self._best(part, level, beside)
            if better > max(found):
                found.append(better)
        least = 1 if model.is_erratic(part) else _CLUSTERS
        if varying := _varying(part, asked, least):
            gain = sum(self._mean(varying, run, losses) for run, losses in beside)
            found.append((gain + model.prior(varying), varying))
        return [one for one in sorted(found, reverse=True) if one[0] > model.own_prior(part)]

    def _best(
        self, part: int, share: float, beside: Sequence[tuple[Execution, Losses]]
    ) -> tuple[float, PartFault]:
        """The fault of this share with the timing that fits best, and what it adds to the score."""
        gains = [(run.began, self._gain(part, share, run, losses)) for run, losses in beside]
        fits = _courses(part, share, gains)
        return max((gain + self._model.prior(fault), fault) for gain, fault in fits)

    def _gain(self, part: int, share: float, run: Execution, losses: Losses) -> float:
        key = (part, share, run.number, losses)
        known = self._gains.get(key)
        if known is None:
            both = also(losses, part, share)
            known = self._model.of(run, both) - self._model.of(run, losses)
            self._gains[key] = known
        return known

    def _mean(self, fault: PartFault, run: Execution, losses: Losses) -> float:
        """The gain of a fault whose loss differs from execution to execution."""
        each = [
            weight + self._gain(fault.part, round(loss, _DIGITS), run, losses)
            for weight, loss in self._model.states(run, fault)
        ]
        return self._model.over_states([fault], each)


def _courses(part: int, share: float, gains: Gains) -> Iterator[tuple[float, PartFault]]:
    """The fault with each timing that may fit, and what it gains."""
    always = sum(gain for _, gain in gains)
    yield always, PartFault(part, When.ALWAYS, share)
    if len(gains) < 2 or all(gain > _NO_HARM for _, gain in gains):  # noqa: PLR2004 - one moment
        return
    if sum(gain for _, gain in gains if gain > 0) + NOT_PERMANENT > max(0.0, always):
        yield _at_times(part, share, gains)
        yield from _since(part, share, gains)


def _at_times(part: int, share: float, gains: Gains) -> tuple[float, PartFault]:
    at = [(sum(_mixed(chance, gain) for _, gain in gains), chance) for chance in CHANCES]
    top, chance = max(at)
    mean = log_sum([gain for gain, _ in at]) - math.log(len(at))
    return top, PartFault(part, When.AT_TIMES, share, chance, unknown=top - mean)


def _since(part: int, share: float, gains: Gains) -> Iterator[tuple[float, PartFault]]:
    """Over all moments at which an execution began, but the first one."""
    of_moment: dict[float, float] = {}
    tail = 0.0
    for began, gain in sorted(gains, reverse=True):
        tail += gain
        of_moment[began] = tail
    if len(of_moment) > 1:
        del of_moment[min(of_moment)]
        top, since = max((gain, -began) for began, gain in of_moment.items())
        mean = log_sum(list(of_moment.values())) - math.log(len(of_moment))
        yield top, PartFault(part, When.SINCE, share, since=-since, unknown=top - mean)


def _shares(asked: Sequence[tuple[float, bool]]) -> list[float]:
    """The shares that most of the readings ask for."""
    chosen = [share for share, is_sure in asked if is_sure] or [share for share, _ in asked]
    return [round(median(some), _DIGITS) for some in _clusters(chosen)]


def _level(shown: Sequence[float], asked: Sequence[float]) -> float:
    """The share that all readings show, if it is a loss unlike those that are asked for; else 0.

    Readings that are slow enough to ask for a fault show more than what a small one costs.
    """
    level = round(median(shown), _DIGITS) if shown else 0.0
    is_loss = SMALLEST_SHARE <= level < -NOISE
    return level if is_loss and all(abs(level - one) > NOISE for one in asked) else 0.0


def _varying(part: int, asked: Sequence[tuple[float, bool]], least: int) -> PartFault | None:
    """A fault whose loss differs from execution to execution, if the readings ask for so many."""
    sure = [share for share, is_sure in asked if is_sure]
    if len(_clusters(sure)) < least:
        return None
    return PartFault(part, When.VARYING, round(min(sure), _DIGITS))


def _clusters(shares: Sequence[float]) -> list[list[float]]:
    """Shares that follow each other closely, the most frequent ones first."""
    found: list[list[float]] = []
    for share in sorted(shares):
        if found and share - found[-1][-1] < _CLUSTER:
            found[-1].append(share)
        else:
            found.append([share])
    return sorted(found, key=lambda some: -len(some))[:_CLUSTERS]


def _mixed(chance: float, gain: float) -> float:
    """log(p e^gain + 1 - p)"""
    if gain > 0:
        return gain + math.log(chance + (1 - chance) * math.exp(-gain))
    return math.log(chance * math.exp(gain) + 1 - chance)
