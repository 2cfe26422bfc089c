"""Measures suspects again after the last item, with partners that were good.

With ``--confirm`` these are all suspects. Without it they are those that cannot be distinguished
only because the level lacks the deciding measurements.
"""

from __future__ import annotations

from collections.abc import Sequence

from railgauge.core import naming
from railgauge.core.codec import to_plain
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.diagnosis import RunResults, diagnosed
from railgauge.judging.assessor import Assessor
from railgauge.judging.confirmation import FILE, Confirmed, Remeasurement, confirmed
from railgauge.run.store import Store
from railgauge.transport import Tell


def suspects(results: RunResults, tell: Tell) -> Sequence[Remeasurement]:
    """Return what to measure again, given the results of the run so far."""
    asked = diagnosed(results).confirmations()
    if not asked:
        tell("")
        tell("confirm: no suspect can be measured again")
    return asked


def lacking_partners(
    results: RunResults, tell: Tell, before: Sequence[Remeasurement] = ()
) -> Sequence[Remeasurement]:
    """Return the measurements that decide between suspects in place of a missing partner.

    Those made ``before`` are not made again; they count towards the most that a run adds.
    """
    asked = diagnosed(results).follow_ups(before)
    if asked:
        tell("")
        tell("confirm: the plan does not tell some suspects apart; good nodes help to decide")
    return asked


def ask_again(asked: Sequence[Remeasurement], store: Store, assessor: Assessor, tell: Tell) -> bool:
    """Measure the suspects again, and return whether all of them were measured.

    An interrupt ends only this step: the run still reaches its verdict.
    """
    # All requests are written before the first measurement, so that a missing result is noticed.
    for one in asked:
        store.append(FILE, to_plain(one))
    try:
        _measure(asked, assessor, tell)
    except KeyboardInterrupt:
        tell("confirm: interrupted")
        return False
    return True


def _measure(asked: Sequence[Remeasurement], assessor: Assessor, tell: Tell) -> None:
    tell("")  # ends the line of dots
    counted = PROGRESS_OF_PROCESS.counted("confirm: measurement", asked)
    for number, one in enumerate(counted, 1):
        case = one.question.case
        assert case is not None
        came = confirmed(one, assessor)
        at = " ".join(filter(None, (naming.place(case.nodes), str(case.pairing or ""))))
        tell(f"confirm: {number} of {len(asked)}: {case.measurement} {at}: {_word(came)}")


def _word(came: Confirmed) -> str:
    if came.error:
        return came.error
    return "slow again" if came.missed else "within its limit this time"
