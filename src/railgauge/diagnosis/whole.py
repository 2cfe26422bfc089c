"""The causes of a run by facts and by the model of slow parts, as one list. Pure.

Facts, counters, kernels' logs and errors are read first. What they show enters the model as known
causes, so that the losses that these explain are blamed on no part. What the model finds then
explains other failures in turn: a slow NIC carries less of a collective's payload than its peers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from railgauge.core.model import GOOD, Case, Outcome
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.diagnosis.as_cause import cause_of, of_the_rest
from railgauge.diagnosis.catalogue import CATALOGUE
from railgauge.diagnosis.catalogue.effect import Harm
from railgauge.diagnosis.facts import FACTS, LAST, PAYLOAD, failing_pairs, scaling
from railgauge.diagnosis.facts.scaling import StepSearch
from railgauge.diagnosis.folding import folded
from railgauge.diagnosis.model import (
    STRAGGLER,
    WENT_WRONG,
    Cause,
    CauseRule,
    Context,
    Finding,
    RunResults,
)
from railgauge.diagnosis.ordering import by_harm
from railgauge.diagnosis.reach import can_slow, can_stop, devices_of, explains, nodes_of
from railgauge.diagnosis.remeasured import with_second_look
from railgauge.diagnosis.slow import Inference, inferred
from railgauge.diagnosis.slow.known import KnownCause, as_item
from railgauge.diagnosis.slow.options import Barred
from railgauge.diagnosis.symptoms import Symptom
from railgauge.judging.confirmation import Remeasurement
from railgauge.judging.record import ItemRecord
from railgauge.planning.forecast import FOLLOW_UPS

BEHIND_PEERS = "behind_peers"
_FIRST_ROUND = 14
_GAVE_FIGURES = (*GOOD, Outcome.FAILED)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The causes of a run, and what the model made of its figures."""

    results: RunResults
    causes: tuple[Cause, ...]
    inference: Inference
    steps: StepSearch

    def follow_ups(self, before: Sequence[Remeasurement] = ()) -> tuple[Remeasurement, ...]:
        """The measurements that tell most of what is undecided, without those made ``before``."""
        made = {one.question.case.key for one in before if one.question.case}
        halves = {key for key in made if scaling.is_of_step(self.results, key)}
        return self._asked(min(_FIRST_ROUND, FOLLOW_UPS - len(made - halves)), made)

    def confirmations(self) -> tuple[Remeasurement, ...]:
        """The measurements that would show each slow part again, and tell what is undecided."""
        return self._asked(FOLLOW_UPS, again=True)

    def _asked(
        self, most: int, made: Collection[str] = (), *, again: bool = False
    ) -> tuple[Remeasurement, ...]:
        failing = list(failing_pairs.asked(self.results, self.causes, made))[:most]
        left = most - len(failing)
        halves = scaling.within_plan(self.results, self.steps, made)
        telling = self.inference.asked(left, made, again=again)
        slow = (Remeasurement(one.suspects, one.question) for one in telling)
        return (*failing, *slow, *halves)


@PROGRESS_OF_PROCESS.during("causes")
def diagnosed(results: RunResults) -> Diagnosis:
    """Diagnose a run, with its causes in the order of their harm."""
    in_order = sorted(results.records.items(), key=lambda entry: (entry[1].rung, entry[0]))
    ordered = replace(results, records=dict(in_order))
    wrong = tuple(r for r in ordered.records.values() if r.outcome in WENT_WRONG)
    facts, left = _applied(FACTS, Context(ordered, wrong))
    payload, of_payload = _applied(PAYLOAD, left)
    steps = scaling.searched(of_payload)
    payload += steps.findings
    known = [one for finding in (*facts, *payload) for one in _known(finding, ordered)]
    stops = (*facts, *_applied(LAST, left)[0])
    inference = inferred(_without_doubted(ordered, facts), known, _barred(ordered, stops))
    slow = [finding for finding in inference.findings() if finding.evidence]
    payload, left = _applied(PAYLOAD, _without(left, slow))
    steps = scaling.searched(left)
    payload += steps.findings
    last, left = _applied(LAST, _without(left, steps.findings))
    findings = _with_items([*facts, *slow, *payload, *last], left.open)
    shown = {record.id for finding in findings for record in finding.evidence}
    findings += of_the_rest([record for record in left.open if record.id not in shown])
    causes = [
        with_second_look(cause_of(one, ordered), ordered, one.again)
        for one in folded(ordered, findings)
    ]
    return Diagnosis(results, by_harm(causes, ordered.records), inference, steps)


def _applied(rules: Iterable[CauseRule], context: Context) -> tuple[list[Finding], Context]:
    """The findings of the rules one after the other, and what none of them explains."""
    findings: list[Finding] = []
    for rule in rules:
        fresh = [finding for finding in rule(context) if finding.evidence]
        findings += fresh
        context = _without(context, fresh)
    return findings, context


def _without(context: Context, findings: Collection[Finding]) -> Context:
    shown = {record.id for finding in findings for record in finding.evidence}
    platform = context.results.platform
    explained = (
        record
        for record in context.open
        if record.id in shown or any(explains(finding, record, platform) for finding in findings)
    )
    return context.without(explained, findings)


def _known(finding: Finding, results: RunResults) -> Iterator[KnownCause]:
    """The finding as a cause of slow items: of as many nodes as those that show it, or more."""
    fewest = min(len(record.nodes) for record in finding.evidence)
    if Symptom.SLOW in CATALOGUE[finding.cause].effect.symptoms:
        yield KnownCause(
            finding.cause,
            frozenset(nodes_of(finding.where.node)),
            frozenset(devices_of(finding.where.device)),
            finding.where.peer,
            lambda item: len(item.nodes) >= fewest and can_slow(finding, item, results.platform),
        )


def _barred(results: RunResults, findings: Sequence[Finding]) -> Barred:
    """Whether a cause keeps a node from a measurement: a part of it is out of service, or the cause
    can stop the measurement, and the node gave no figure of it."""
    gave = {
        (record.subject, node, record.part_at(node))
        for record in results.records.values()
        if record.outcome in _GAVE_FIGURES
        for node in record.nodes
    }

    @cache
    def bars(node: str, case: Case) -> bool:
        item = as_item(results.platform, replace(case, nodes=(node,)), "")
        has_figures = (item.subject, node, item.part_at(node)) in gave
        return any(
            can_stop(finding, item, results.platform)
            for finding in findings
            if not has_figures or CATALOGUE[finding.cause].effect.harm is Harm.OUT_OF_SERVICE
        )

    return bars


def _without_doubted(results: RunResults, findings: Iterable[Finding]) -> RunResults:
    """The results without the figures that were measured while something else disturbed them."""
    doubted = {
        record.id: replace(record, judgements=())
        for finding in findings
        if CATALOGUE[finding.cause].effect.harm is Harm.DOUBTS
        for record in finding.evidence
    }
    return replace(results, records={**results.records, **doubted})


def _with_items(findings: Sequence[Finding], left: Iterable[ItemRecord]) -> list[Finding]:
    """The findings, each with the items of its nodes that a limit on stragglers failed.

    A straggler has precedence over other causes on the node.
    """
    every = list(findings)
    for item in (item for item in left if item.subject == BEHIND_PEERS):
        on = [c for c in every if c.where.node and set(item.nodes) & nodes_of(c.where.node)]
        for finding in sorted(on, key=lambda c: c.cause != STRAGGLER)[:1]:
            shown = replace(finding, evidence=(*finding.evidence, item))
            every[every.index(finding)] = shown
    return every
