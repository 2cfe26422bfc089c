"""Judge an item by its stored evidence, also behind its gate. Pure.

The live run, the rounds of a soak, a replay and the verifier all judge with ``judged``.

Example: a collective on ``a`` is blocked by ``errors[a]``, and was measured to check its results.
These are right: the item stays blocked, and its reason reports that. Wrong ones would make it fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from railgauge.core.errors import NoEvidence
from railgauge.core.model import Case, Judgement, Outcome
from railgauge.core.naming import listed
from railgauge.core.question import CORRECT, Question
from railgauge.judging.assessor import Assessor
from railgauge.judging.record import ItemRecord, blank, settled, with_error


def judged(item: ItemRecord, assessor: Assessor) -> ItemRecord:
    """The item with the outcome of its evidence, whatever its recorded result is.

    Of a blocked item only its results are judged, if it asks about them: wrong ones make it fail.
    """
    if item.outcome is Outcome.BLOCKED and not item.questions:
        return item
    judgements, error = assessor.answers(item.questions)
    is_wrong = any(one.outcome is Outcome.FAILED for one in judgements)
    if item.outcome is not Outcome.BLOCKED or is_wrong:
        return settled(replace(blank(item), blocked_by=()), judgements, error)
    return _still_blocked(item, judgements, error)


def blocked(item: ItemRecord, blockers: Sequence[str], checked: Case | None = None) -> ItemRecord:
    """The item behind its gate.

    ``checked`` is the measurement that is made nevertheless, for ``judged`` to check its results.
    """
    return replace(
        item,
        outcome=Outcome.BLOCKED,
        reason=blocked_by(blockers),
        blocked_by=tuple(blockers),
        questions=(Question(CORRECT, checked),) if checked else (),
    )


def blocked_by(blockers: Sequence[str]) -> str:
    """The beginning of the reason of a blocked item."""
    return f"blocked by {listed(blockers, 1)}"


def _still_blocked(
    item: ItemRecord, judgements: Sequence[Judgement], error: NoEvidence | None
) -> ItemRecord:
    if not item.blocked_by:  # skipped for another reason, which it has
        return replace(item, judgements=tuple(judgements))
    shut = blocked_by(item.blocked_by)
    if error is None:
        still, reason = blank(item), f"{shut}; its results are right"
    else:
        still = with_error(blank(item), error)
        reason = f"{shut}; whether its results are right is unknown: {error.what}"
    return replace(still, outcome=Outcome.BLOCKED, judgements=tuple(judgements), reason=reason)
