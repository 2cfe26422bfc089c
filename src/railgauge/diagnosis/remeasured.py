"""A measurement that was made again, in one line. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from railgauge.core import naming
from railgauge.core.model import Judgement, Outcome
from railgauge.judging.confirmation import Confirmed


def line(result: Confirmed) -> str:
    """One line: the measurement, its value, and how it compares with its limit."""
    question = result.asked.question
    case = question.case
    assert case is not None
    at = " ".join(filter(None, (naming.place(case.nodes), str(case.pairing or ""))))
    if result.error:
        return f"{case.measurement} {at}: could not be measured again: {result.error}"
    judged = _telling(result.judgements)
    word = "slow again" if result.missed else "within its limit this time"
    if not result.asked.suspects:
        word = "slow in this direction too" if result.missed else "within its limit"
    return f"{case.measurement} {at}: {judged.metric} {judged.measured} ({judged.limit}): {word}"


def _telling(judgements: Sequence[Judgement]) -> Judgement:
    """The judgement that missed its limit by most, or came closest to it."""
    return min(judgements, key=lambda j: (j.outcome is not Outcome.FAILED, j.margin or 0.0))


def repeats(results: Iterable[Confirmed]) -> tuple[int, int]:
    """How many repeats were slow, of how many."""
    limits = ((one, one.floor) for r in results if not r.error for one in r.judgements)
    slow = [value < floor for one, floor in limits if floor is not None for value in one.values]
    return sum(slow), len(slow)


def at_times(result: Confirmed) -> bool:
    """Whether some repeats were slow, and some were not."""
    slow, all_ = repeats([result])
    return 0 < slow < all_


def always(result: Confirmed) -> bool:
    """Whether a limit was missed, in each repeat if they can be told apart.

    A spread that is too large misses a limit as well.
    """
    slow, all_ = repeats([result])
    return result.missed and slow == all_


def rate(result: Confirmed) -> float | None:
    """The worst value of the first metric that has a floor."""
    found = (one.worst for one in result.judgements if one.worst is not None and one.floor)
    return None if result.error else next(found, None)


def is_alike(one: Confirmed, other: Confirmed) -> bool:
    """Whether both are of one measurement, so that their values can be compared."""
    cases = one.asked.question.case, other.asked.question.case
    return None not in cases and len({case.measurement for case in cases if case}) == 1


def suspects_of(results: Iterable[Confirmed], *, missed: bool) -> set[tuple[str, ...]]:
    """The suspects of the results that were slow, or of those that were not."""
    told = (result for result in results if not result.error and result.asked.suspects)
    return {result.asked.suspects for result in told if result.missed is missed}
