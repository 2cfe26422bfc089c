"""The causes of a run by facts and by the model of slow parts, as one list. Pure.

Facts, counters, kernels' logs and errors are read first. What they show enters the model as known
causes, so that the losses that these explain are blamed on no part. What the model finds then
explains other failures in turn: a slow NIC carries less of a collective's payload than its peers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from railgauge.diagnosis import (
    FACTS,
    cause_of,
    collectives,
    devices,
    of_the_rest,
    unmeasured,
)
from railgauge.diagnosis.beyond_errors import LINK_ERRORS
from railgauge.diagnosis.confirmed import CONFIRMED, NOT_REPRODUCED, UNKNOWN, UNSTEADY
from railgauge.diagnosis.effects import EFFECTS, Harm
from railgauge.diagnosis.folding import folded
from railgauge.diagnosis.model import (
    WENT_WRONG,
    Cause,
    CauseClaim,
    Confirmation,
    RunResults,
    Scene,
)
from railgauge.diagnosis.ordering import by_harm
from railgauge.diagnosis.peers import with_items
from railgauge.diagnosis.reach import can_slow, devices_of, explains, nodes_of
from railgauge.diagnosis.remeasured import line
from railgauge.diagnosis.slow import Inference, inferred
from railgauge.diagnosis.slow.asking import ChosenCase
from railgauge.diagnosis.slow.known import KnownCause, as_item
from railgauge.diagnosis.symptoms import Symptom
from railgauge.judging.confirmation import Confirmed, Remeasurement
from railgauge.planning.forecast import FOLLOW_UPS

CauseRule = Callable[[Scene], Iterable[CauseClaim]]


def link_errors(scene: Scene) -> Iterator[CauseClaim]:
    """Error counters that grew during a measurement, on any rung."""
    return collectives.pointed_at(scene, LINK_ERRORS, "link-error-rate")


_FACTS: tuple[CauseRule, ...] = (*FACTS, link_errors, *devices.RULES)

_PAYLOAD: tuple[CauseRule, ...] = (
    collectives.tuning,
    collectives.transports,
    collectives.past_gpu_memory,
    collectives.idle_nics,
    collectives.unstable,
    collectives.poor_scaling,
)
"""Which way the payload of collectives went, which a slow part may explain."""

_FIRST_ROUND = 14


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The causes of a run, and what the model made of its figures."""

    results: RunResults
    causes: tuple[Cause, ...]
    inference: Inference

    def follow_ups(self, before: Sequence[Remeasurement] = ()) -> tuple[Remeasurement, ...]:
        """The measurements that tell most of what is undecided, without those made ``before``."""
        made = {one.question.case.key for one in before if one.question.case}
        most = min(_FIRST_ROUND, FOLLOW_UPS - len(made))
        return tuple(map(_asked, self.inference.asked(most, made)))

    def confirmations(self) -> tuple[Remeasurement, ...]:
        """The measurements that would show each slow part again, and tell what is undecided."""
        return tuple(map(_asked, self.inference.asked(FOLLOW_UPS, again=True)))


def _asked(one: ChosenCase) -> Remeasurement:
    return Remeasurement("", "|".join(one.suspects), "", "", one.suspects, one.question)


def diagnosed(results: RunResults) -> Diagnosis:
    """Diagnose a run, with its causes in the order of their harm."""
    in_order = sorted(results.records.items(), key=lambda entry: (entry[1].rung, entry[0]))
    ordered = replace(results, records=dict(in_order))
    wrong = tuple(r for r in ordered.records.values() if r.outcome in WENT_WRONG)
    facts, left = _applied(_FACTS, Scene(ordered, wrong))
    payload, _ = _applied(_PAYLOAD, left)
    known = [one for claim in (*facts, *payload) for one in _known(claim, ordered)]
    inference = inferred(_without_doubted(ordered, facts), known)
    slow = [claim for claim in inference.claims() if claim.evidence]
    payload, left = _applied(_PAYLOAD, _without(left, slow))
    last, left = _applied(unmeasured.LAST, left)
    claims = with_items([*facts, *slow, *payload, *last], left.open)
    shown = {record.id for claim in claims for record in claim.evidence}
    claims += of_the_rest([record for record in left.open if record.id not in shown])
    causes = [_confirmed(cause_of(one, ordered), ordered) for one in folded(ordered, claims)]
    return Diagnosis(results, by_harm(causes, ordered.records), inference)


def _applied(rules: Iterable[CauseRule], scene: Scene) -> tuple[list[CauseClaim], Scene]:
    """The claims of the rules one after the other, and what none of them explains."""
    claims: list[CauseClaim] = []
    for rule in rules:
        fresh = [claim for claim in rule(scene) if claim.evidence]
        claims += fresh
        scene = _without(scene, fresh)
    return claims, scene


def _without(scene: Scene, claims: Collection[CauseClaim]) -> Scene:
    shown = {record.id for claim in claims for record in claim.evidence}
    platform = scene.results.platform
    return scene.without(
        record
        for record in scene.open
        if record.id in shown or any(explains(claim, record, platform) for claim in claims)
    )


def _known(claim: CauseClaim, results: RunResults) -> Iterator[KnownCause]:
    """The claim as a cause of slow items: of as many nodes as those that show it, or more."""
    fewest = min(len(record.nodes) for record in claim.evidence)
    if Symptom.SLOW in EFFECTS[claim.cause].symptoms:
        yield KnownCause(
            claim.cause,
            frozenset(nodes_of(claim.where.node)),
            frozenset(devices_of(claim.where.device)),
            claim.where.peer,
            lambda item: len(item.nodes) >= fewest and can_slow(claim, item, results.platform),
        )


def _without_doubted(results: RunResults, claims: Iterable[CauseClaim]) -> RunResults:
    """The results without the figures that were measured while something else disturbed them."""
    doubted = {
        record.id: replace(record, judgements=())
        for claim in claims
        if EFFECTS[claim.cause].harm is Harm.DOUBTS
        for record in claim.evidence
    }
    return replace(results, records={**results.records, **doubted})


def _confirmed(cause: Cause, results: RunResults) -> Cause:
    """The cause with what was measured again of its part."""
    claim = CauseClaim(cause.cause, cause.where, cause.says, ())
    platform = results.platform
    again = [
        one
        for one in results.confirmed
        if (case := one.asked.question.case) is not None
        and can_slow(claim, as_item(platform, case, one.asked.question.placement or ""), platform)
    ]
    if not again:
        return cause
    return replace(cause, confirmation=Confirmation(_state(again), tuple(map(line, again))))


def _state(again: Sequence[Confirmed]) -> str:
    missed = {one.missed for one in again if not one.error}
    if not missed:
        return UNKNOWN
    if len(missed) > 1:
        return UNSTEADY
    return CONFIRMED if missed == {True} else NOT_REPRODUCED
