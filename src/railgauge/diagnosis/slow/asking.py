"""The measurements that decide between hypotheses: those that tell most in a second. Pure.

Each hypothesis predicts what a measurement gives: a share, or one of several with their
probabilities if a fault acts at times. What a measurement tells is the mutual information between
hypothesis and result. Measurements are chosen one after the other, each given those before it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from railgauge.core.model import Case
from railgauge.core.question import LIMITS, Question
from railgauge.diagnosis.slow.constants import CHECKS, LEAST_TOLD, TEMPER
from railgauge.diagnosis.slow.decision import Weighed
from railgauge.diagnosis.slow.faults import Hypothesis
from railgauge.diagnosis.slow.options import Barred, Option, Result, options
from railgauge.diagnosis.slow.readings import PeerGroup, RunReadings

_HYPOTHESES, _BRANCHES = 48, 24
_UNLIKELY, _SETTLED = 1e-7, 0.0005


@dataclass(frozen=True, slots=True)
class ChosenCase:
    """A question, and the suspected nodes of its case (none of a reference)."""

    question: Question
    suspects: tuple[str, ...]


def asked(
    evidence: RunReadings,
    weighed: Weighed,
    most: int,
    made: Collection[str] = (),
    *,
    adds: bool,
    bars: Barred,
) -> list[ChosenCase]:
    """Questions about at most so many cases, the most telling first; none if nothing is to tell."""
    # As if less sure: what the prior decided rather than a measurement is worth some checks.
    temper = TEMPER if len(made) < CHECKS else 1.0
    some = [(faults, p**temper) for faults, p in weighed.of_all if p > _UNLIKELY][:_HYPOTHESES]
    total = sum(weight for _, weight in some)
    weights = [weight / total for _, weight in some]
    hypotheses = [faults for faults, _ in some]
    suspects = {
        part
        for part in _suspects(zip(hypotheses, weights, strict=True))
        if not evidence.parts[part].is_known
    }
    if not suspects:
        return []
    pools = _pools(options(evidence, sorted(suspects), hypotheses, adds=adds, made=made, bars=bars))
    chosen: list[ChosenCase] = []
    cases: set[Case] = set()
    branches: list[Sequence[float]] = [weights]
    referenced: set[PeerGroup] = set()
    bounds = [math.inf] * len(pools)
    while len(cases) < most:
        gain, best = _most_telling(branches, pools, bounds)
        if gain < LEAST_TOLD:
            break
        option = _unused(pools[best], chosen)
        # What else the same case tells costs nothing more.
        for one in [option, *_of_case(pools, option)]:
            what = one.what[0]
            group = (what.case.measurement, what.size_bytes, what.placement, what.case.pairing)
            # one reference serves all measurements of a kind
            for each in one.what[: 1 if group in referenced else None]:
                if not any(_is_other(each.case, case) for case in cases):
                    question = Question(LIMITS, each.case, each.size_bytes, each.placement or None)
                    named = tuple(node for node in one.uses if node in each.case.nodes)
                    chosen.append(ChosenCase(question, named))
                    cases.add(each.case)
            referenced.add(group)
            branches = _split(branches, one.results)
        pools = _left(pools, option)
    return chosen


def _of_case(pools: Iterable[Sequence[Option]], chosen: Option) -> list[Option]:
    """The other options of the chosen one's case: other links, GPUs or message sizes of it."""
    case = chosen.what[0].case
    return [one for pool in pools for one in pool if one.what[0].case == case and one is not chosen]


def _most_telling(
    branches: Sequence[Sequence[float]], pools: Sequence[Sequence[Option]], bounds: list[float]
) -> tuple[float, int]:
    """What the best pool tells, and its place.

    What an option tells never grows by what was chosen before, so that what it could tell at first
    bounds it (``bounds``), and most options need not be looked at again.
    """
    queue = [(-bound, place) for place, bound in enumerate(bounds) if pools[place]]
    heapify(queue)
    while queue:
        _, place = heappop(queue)
        gain = bounds[place] = _tells(branches, pools[place][0])
        if not queue or gain >= -queue[0][0]:
            return gain, place
        heappush(queue, (-gain, place))
    return 0.0, 0


def _is_other(one: Case, other: Case) -> bool:
    """Whether it is the same case with other repeats: a case is measured once in a round."""
    return one.key == other.key and one.repeats != other.repeats


def _left(pools: Iterable[Sequence[Option]], chosen: Option) -> list[list[Option]]:
    """The options that are left in each pool when all of a case was chosen."""
    keys = {one.case.key for one in chosen.what[:1]}
    return [[one for one in pool if one.what[0].case.key not in keys] for pool in pools]


def _suspects(some: Iterable[tuple[Hypothesis, float]]) -> set[int]:
    found: dict[int, float] = {}
    for faults, weight in some:
        for fault in faults:
            found[fault.part] = found.get(fault.part, 0.0) + weight
    return {part for part, weight in found.items() if _SETTLED < weight < 1 - _SETTLED}


def _pools(some: Iterable[Option]) -> list[list[Option]]:
    """Options that tell the same in the same time, those of the fewest parts first."""
    alike: dict[object, list[Option]] = {}
    for option in some:
        key = tuple(tuple(sorted((k, round(v, 3)) for k, v in r.items())) for r in option.results)
        if any(one != key[0] for one in key):
            alike.setdefault((key, option.seconds), []).append(option)
    return [sorted(each, key=lambda one: one.width) for each in alike.values()]


def _unused(pool: Sequence[Option], chosen: Sequence[ChosenCase]) -> Option:
    """The first option of a case that is not chosen yet, so that each result is a new one."""
    cases = {one.question.case for one in chosen}
    return next((one for one in pool if one.what[0].case not in cases), pool[0])


def _tells(branches: Sequence[Sequence[float]], option: Option) -> float:
    return sum(_information(branch, option.results) for branch in branches) / option.seconds


def _information(branch: Sequence[float], results: Sequence[Result]) -> float:
    """The mutual information, times the probability of the branch."""
    total = sum(branch)
    of: dict[int, float] = {}
    within = 0.0
    for weight, result in zip(branch, results, strict=True):
        if weight <= 0:
            continue
        share = weight / total
        for value, chance in result.items():
            of[value] = of.get(value, 0.0) + share * chance
        if len(result) > 1:
            within += share * _entropy(result.values())
    return max(0.0, _entropy(of.values()) - within) * total


def _entropy(chances: Iterable[float]) -> float:
    return -sum(chance * math.log(chance) for chance in chances if chance > 0)


def _split(branches: Sequence[Sequence[float]], results: Sequence[Result]) -> list[Sequence[float]]:
    """What is left in doubt after each result."""
    found: list[Sequence[float]] = []
    values = dict.fromkeys(value for result in results for value in result)
    for branch in branches:
        for value in values:
            part = [w * r.get(value, 0.0) for w, r in zip(branch, results, strict=True)]
            if sum(part) > _UNLIKELY * 10:
                found.append(part)
    return sorted(found, key=sum, reverse=True)[:_BRANCHES]
