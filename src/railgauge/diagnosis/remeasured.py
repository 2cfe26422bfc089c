"""Causes with what was measured again of their parts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from railgauge.core import naming
from railgauge.core.model import Judgement, Outcome
from railgauge.diagnosis.model import Cause, Confirmation, Finding, RunResults
from railgauge.diagnosis.reach import can_slow
from railgauge.diagnosis.slow.known import as_item
from railgauge.judging.confirmation import Confirmed

_CONFIRMED, _NOT_REPRODUCED = "confirmed", "not reproduced"
_UNSTEADY, _UNKNOWN = "unsteady", "not measured"


def with_second_look(cause: Cause, results: RunResults, telling: frozenset[str] | None) -> Cause:
    """The cause with what was measured again of its part.

    ``telling`` are the keys of the cases that count if they gave figures; ``None`` for all.
    """
    finding = Finding(cause.cause, cause.where, cause.says, ())
    platform = results.platform
    again = [
        one
        for one in results.confirmed
        if (case := one.asked.question.case) is not None
        and can_slow(finding, as_item(platform, case, one.asked.question.placement or ""), platform)
        and (telling is None or one.error or case.key in telling)
    ]
    if not again:
        return cause
    return replace(cause, confirmation=Confirmation(_state(again), tuple(map(_line, again))))


def _state(again: Sequence[Confirmed]) -> str:
    missed = {one.missed for one in again if not one.error}
    if not missed:
        return _UNKNOWN
    if len(missed) > 1:
        return _UNSTEADY
    return _CONFIRMED if missed == {True} else _NOT_REPRODUCED


def _line(result: Confirmed) -> str:
    """One line: the measurement, its value, and how it compares with its limit."""
    question = result.asked.question
    case = question.case
    assert case is not None
    at = " ".join(filter(None, (naming.place(case.nodes), str(case.pairing or ""))))
    if result.error:
        return f"{case.measurement} {at}: could not be measured again: {result.error}"
    judged = _telling(result.judgements)
    word = "slow again" if result.missed else "within its limit this time"
    return f"{case.measurement} {at}: {judged.metric} {judged.measured} ({judged.limit}): {word}"


def _telling(judgements: Sequence[Judgement]) -> Judgement:
    """The judgement that missed its limit by most, or came closest to it."""
    return min(judgements, key=lambda j: (j.outcome is not Outcome.FAILED, j.margin or 0.0))
