"""``--confirm``: after the last item suspects are measured again, with partners found good."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from railgauge.core import naming
from railgauge.core.model import Case
from railgauge.core.plain import to_plain
from railgauge.core.question import CaseResult
from railgauge.diagnosis import RunResults, diagnose
from railgauge.diagnosis.confirm import confirmations
from railgauge.facts import NodeAnswer
from railgauge.judging.assess import Assessor
from railgauge.judging.confirmation import FILE, Confirmed, Remeasurement, confirmed
from railgauge.run.store import Store

Tell = Callable[[str], None]


def suspects(findings: RunResults, tell: Tell) -> Sequence[Remeasurement]:
    """What is worth measuring again, by what the run has found so far."""
    asked = confirmations(findings, diagnose(findings))
    if not asked:
        tell("")
        tell("confirm: nothing is suspected that could be measured again")
    return asked


@dataclass(frozen=True, slots=True)
class Again:
    """The evidence of what is measured again: ``result`` keeps it in a folder of its own."""

    found: Mapping[str, NodeAnswer]
    result: Callable[[Case], CaseResult]


def ask_again(asked: Sequence[Remeasurement], store: Store, assessor: Assessor, tell: Tell) -> bool:
    """Measure the suspects again; whether that came to its end.

    An interrupt ends this, and not the verdict of what the run has measured.
    """
    for one in asked:  # before the first is measured: what lacks then is known to lack
        store.append(FILE, to_plain(one))
    try:
        _measure(asked, assessor, tell)
    except KeyboardInterrupt:
        tell("confirm: broken off")
        return False
    return True


def _measure(asked: Sequence[Remeasurement], assessor: Assessor, tell: Tell) -> None:
    tell("")  # ends the line of dots
    for number, one in enumerate(asked, 1):
        case = one.question.case
        assert case is not None
        came = confirmed(one, assessor)
        at = " ".join(filter(None, (naming.place(case.nodes), str(case.pairing or ""))))
        tell(f"confirm: {number} of {len(asked)}: {case.measurement} {at}: {_word(came)}")


def _word(came: Confirmed) -> str:
    if came.error:
        return came.error
    return "slow again" if came.missed else "within its limit this time"
