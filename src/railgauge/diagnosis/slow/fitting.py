"""The fault of a part that fits best beside other faults: its share and its course. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from railgauge.diagnosis.slow.constants import CHANCES, COURSE, LEAST_LOSS, LEVELS, When
from railgauge.diagnosis.slow.faults import Fault, joined
from railgauge.diagnosis.slow.likelihood import Model, is_slower, log_sum
from railgauge.diagnosis.slow.places import Losses
from railgauge.diagnosis.slow.readings import Execution

_CLUSTER, _CLUSTERS = LEAST_LOSS, 3
_DIGITS = 5
_SMALLEST = math.log(0.02)
_NO_HARM = -1.0  # every execution gains, or loses less than that: the fault is always there

Gains = Sequence[tuple[float, float]]
"""When each execution began, and how much likelier it is with the fault."""


def fitted(model: Model, part: int, others: Sequence[Fault]) -> Fault | None:
    """The fault of this part that fits best beside the others; ``None`` if none helps."""
    runs = [model.evidence.executions[number] for number in model.evidence.of_part[part]]
    beside = [model.likeliest(run, others) for run in runs]
    shares = _shares(model, part, runs, beside)
    found = [one for share in shares for one in _with_share(model, part, share, runs, beside)]
    if shares:
        found += _varying(model, part, min(shares), runs, beside)
    best, fault = max(found, key=lambda one: one[0], default=(0.0, None))
    return fault if best > 0 else None


def _with_share(
    model: Model, part: int, share: float, runs: Sequence[Execution], beside: Sequence[Losses]
) -> Iterator[tuple[float, Fault]]:
    gains = []
    for run, losses in zip(runs, beside, strict=True):
        slow = joined((*losses, (part, share)))
        gains.append((run.began, model.of(run, slow) - model.of(run, losses)))
    yield from _courses(part, share, gains)


def _courses(part: int, share: float, gains: Gains) -> Iterator[tuple[float, Fault]]:
    yield sum(gain for _, gain in gains), Fault(part, When.ALWAYS, share)
    if len(gains) > 1 and any(gain <= _NO_HARM for _, gain in gains):
        yield _at_times(part, share, gains)
        yield from _since(part, share, gains)


def _at_times(part: int, share: float, gains: Gains) -> tuple[float, Fault]:
    at = [(sum(_mixed(chance, gain) for _, gain in gains), chance) for chance in CHANCES]
    top, chance = max(at)
    mean = log_sum([gain for gain, _ in at]) - math.log(len(at))
    return mean + COURSE, Fault(part, When.AT_TIMES, share, chance, unknown=top - mean)


def _since(part: int, share: float, gains: Gains) -> Iterator[tuple[float, Fault]]:
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
        yield mean + COURSE, Fault(part, When.SINCE, share, since=-since, unknown=top - mean)


def _varying(
    model: Model, part: int, share: float, runs: Sequence[Execution], beside: Sequence[Losses]
) -> Iterator[tuple[float, Fault]]:
    """A loss that differs from execution to execution: a share for each of them."""
    if len(runs) < len(LEVELS):
        return
    fault = Fault(part, When.VARYING, round(share / LEVELS[-1], _DIGITS))
    total = COURSE
    for run, losses in zip(runs, beside, strict=True):
        with_it = [
            weight + model.of(run, joined((*losses, (part, loss)))) for weight, loss in fault.states
        ]
        total += log_sum(with_it) - model.of(run, losses)
    yield total, fault


def _shares(
    model: Model, part: int, runs: Sequence[Execution], beside: Sequence[Losses]
) -> list[float]:
    """The shares that single readings ask for: those that most of them do, and the middle one."""
    found: list[tuple[float, bool]] = []
    for run, losses in zip(runs, beside, strict=True):
        for reading in model.touched(run, part):
            places = reading.places
            low, _ = places.predicted(losses, adds=model.adds)
            if not is_slower(reading, low):
                continue
            middle = (reading.low + reading.high) / 2
            share = places.implied(part, middle, losses, adds=model.adds)
            is_sure = not places.upto and part not in places.maybe
            is_sure = is_sure and reading.high - reading.low < LEAST_LOSS
            if _SMALLEST < share < -LEAST_LOSS:
                found.append((share, is_sure))
    chosen = [share for share, is_sure in found if is_sure] or [share for share, _ in found]
    if not chosen:
        return []
    shares = [median(some) for some in _clusters(chosen)]
    shares.append(median(chosen))
    return list(dict.fromkeys(round(share, _DIGITS) for share in shares))


def _clusters(shares: Sequence[float]) -> list[list[float]]:
    bins: Mapping[int, list[float]] = defaultdict(list)
    for share in shares:
        bins[round(share / _CLUSTER)].append(share)
    return sorted(bins.values(), key=lambda some: -len(some))[:_CLUSTERS]


def _mixed(chance: float, gain: float) -> float:
    """log(p e^gain + 1 - p)"""
    if gain > 0:
        return gain + math.log(chance + (1 - chance) * math.exp(-gain))
    return math.log(chance * math.exp(gain) + 1 - chance)
