"""Find the causes of a run's failures from its judgements, facts and counters. Pure.

Rules run from the lowest rung up. The items that a cause explains are removed before the next rule
runs, so that one root cause is one entry.

Example: the port of ``mlx5_3`` on ``mx02`` is down, and every pair of ``mx02`` over that NIC ends
in an error. The result is one cause, ``link-down`` at ``mx02, mlx5_3``, which explains the pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from railgauge.config.thresholds.model import Platform
from railgauge.core.model import Outcome
from railgauge.core.naming import among, listed
from railgauge.diagnosis import (
    again,
    by_exclusion,
    collectives,
    control_host,
    devices,
    differences,
    doubles,
    growth,
    health,
    host,
    kernel,
    residue,
    speed,
    steal,
    subnet,
    telemetry,
    unexplained,
    unmeasured,
    unresolved,
    within_node,
)
from railgauge.diagnosis.alike import slower_than_others
from railgauge.diagnosis.catalogue import CATALOGUE, Kind
from railgauge.diagnosis.confirmed import with_confirmation, with_partner
from railgauge.diagnosis.course import timed
from railgauge.diagnosis.doubts import doubted
from railgauge.diagnosis.folding import folded
from railgauge.diagnosis.inside import doubted_path
from railgauge.diagnosis.ladder import passes_and_misses
from railgauge.diagnosis.late_paths import doubted_at_times, doubted_nic
from railgauge.diagnosis.model import (
    CERTAIN,
    OPEN,
    TOOL,
    WENT_WRONG,
    Cause,
    CauseClaim,
    RunResults,
    Scene,
    Where,
)
from railgauge.diagnosis.notes import notes
from railgauge.diagnosis.one_node import of_one_node
from railgauge.diagnosis.ordering import by_harm
from railgauge.diagnosis.over_paths import is_path
from railgauge.diagnosis.paths_again import over_any_nic
from railgauge.diagnosis.peers import STRAGGLER, with_items, with_stragglers, without_slow_partners
from railgauge.diagnosis.reach import explains, goes_through, nodes_of
from railgauge.diagnosis.rivals import with_rivals
from railgauge.diagnosis.slow_partners import with_good_partners, with_their_names
from railgauge.judging.record import OWN_ERROR, ItemRecord

__all__ = [
    "CATALOGUE",
    "CERTAIN",
    "OPEN",
    "STRAGGLER",
    "SUITE_ERROR",
    "UNDIAGNOSED",
    "Cause",
    "Kind",
    "RunResults",
    "diagnose",
    "nodes_of",
    "notes",
]

UNDIAGNOSED = "undiagnosed"
SUITE_ERROR = "suite-error"
_SLURM = "slurm"
FACTS = (
    *unmeasured.FIRST,
    *unresolved.RULES,
    *kernel.RULES,
    *telemetry.RULES,
    *growth.RULES,
    *subnet.RULES,
    *doubles.RULES,
    *host.RULES,
    *growth.UNREAD,
    *differences.RULES,
    *health.RULES,
    *control_host.RULES,
    *steal.RULES,
)
"""What shows a cause by itself."""
_RULES = (
    *FACTS,
    *collectives.FIRST,
    *devices.RULES,
    *speed.RULES,
    *within_node.RULES,
    *collectives.RULES,
    *unmeasured.LAST,
)


def diagnose(results: RunResults) -> tuple[Cause, ...]:
    """Return the root causes of a run, in the order of their harm (see ``ordering``)."""
    causes = _diagnosed(results)
    if not results.confirmed:
        return causes
    added = again.follow_up_results(results, _diagnosed(replace(results, confirmed=())), causes)
    if not added:
        return causes
    clearer = _diagnosed(again.with_results(results, added))
    return (
        tuple(again.told(cause, added) for cause in clearer)
        if again.is_clearer(results, clearer, causes)
        else causes
    )


def _diagnosed(results: RunResults) -> tuple[Cause, ...]:
    results = _in_order(results)
    went_wrong = tuple(r for r in results.records.values() if r.outcome in WENT_WRONG)
    scene = Scene(results, went_wrong)
    claims: list[CauseClaim] = []
    for rule in _RULES:
        fresh = timed(results, [claim for claim in rule(scene) if claim.evidence])
        claims += fresh
        for claim in fresh:
            shown = {record.id for record in claim.evidence}
            scene = scene.without(
                r for r in scene.open if r.id in shown or explains(claim, r, results.platform)
            )
    claims = with_items(with_stragglers(results, claims), scene.open)
    claims += of_the_rest([record for record in scene.open if not _is_shown(record, claims)])
    all_ = of_one_node(results, folded(results, claims))
    of_items = [again.doubted(claim, all_) for claim in again.of_items(results, all_)]
    causes = [_confirmed(results, claim) for claim in of_items]
    causes += [_of_rest(results, claim, causes) for claim in residue.left_over(results, causes)]
    causes = with_rivals(results, doubted(results, causes))
    causes = list(without_slow_partners(causes, results))
    left = (*unexplained.slow_again(results, causes), *unexplained.not_held(results, causes))
    for claim in left:
        causes.append(replace(cause_of(claim, results), explains=()))
    return by_harm(causes, results.records)


def _confirmed(results: RunResults, claim: CauseClaim) -> Cause:
    """The cause of the claim, with what was measured again if it is no evidence of it yet."""
    has_it = any(again.is_added(record.id) for record in claim.evidence)
    before = cause_of(claim, results)
    measured = with_good_partners(before, results) if has_it else results.confirmed
    told = with_confirmation(before, measured, has_it=has_it)
    told = with_their_names(told, set(results.confirmed).difference(measured))
    if told.confidence != OPEN and not _may_be_all(told.where, before, claim.evidence):
        told = replace(before, confirmation=told.confirmation)
    found = over_any_nic(by_exclusion.decided(results, told), results.confirmed)
    found = doubted_at_times(results, doubted_nic(results, found))
    if found.where.peer and not claim.where.peer:
        found = doubted_path(results, found)
    shown = [results.records[i] for i in found.evidence]
    return with_partner(found, shown, results.confirmed)


def _of_rest(results: RunResults, claim: CauseClaim, causes: Sequence[Cause]) -> Cause:
    """The cause of what other causes do not explain; undecided if it would be one of them again.

    That such a part was slow when it was measured again is no news.
    """
    found = _confirmed(results, claim)
    known = {(one.cause, one.where) for one in causes if one.confidence != OPEN}
    is_known = found.confidence != OPEN and (found.cause, found.where) in known
    return replace(cause_of(claim, results), confirmation=found.confirmation) if is_known else found


def _may_be_all(where: Where, before: Cause, evidence: Sequence[ItemRecord]) -> bool:
    """Whether the place may explain all items: it takes part, and costs each of them the same.

    What the rules decided without a second measurement they have compared themselves.
    """
    is_even = before.confidence != OPEN or not slower_than_others(evidence)
    is_known = where == before.where or not before.cause.startswith("slow-")
    is_on = is_known or _is_on_device(where, evidence)
    return is_even and is_on and _takes_part(where, evidence)


def _is_on_device(where: Where, evidence: Iterable[ItemRecord]) -> bool:
    """Whether each item over a path of the place's node uses its NIC, if it has one."""
    if not where.device or where.peer or where.device.startswith("gpu"):
        return True
    parts = (r.part_at(where.node) for r in evidence if where.node in r.nodes and is_path(r))
    return all(goes_through(where.device, part) for part in parts)


def _takes_part(where: Where, evidence: Iterable[ItemRecord]) -> bool:
    """Whether the place takes part in each item; else another fault shows in the others.

    A path takes part in collectives of both of its ends. What one of them was slow with over a NIC
    has a cause of its own.
    """
    nodes = nodes_of(where.node) | ({where.peer} - {""})
    least = 2 if where.peer else 1
    return not nodes or all(
        len(nodes.intersection(record.nodes)) >= (1 if is_path(record) else least)
        for record in evidence
    )


def _is_shown(record: ItemRecord, claims: Iterable[CauseClaim]) -> bool:
    return any(record in claim.evidence for claim in claims)


def _in_order(results: RunResults) -> RunResults:
    """The results with their items ordered by rung, then by id."""
    ordered = sorted(results.records.items(), key=lambda entry: (entry[1].rung, entry[0]))
    return replace(results, records=dict(ordered))


def of_the_rest(left: Sequence[ItemRecord]) -> Iterable[CauseClaim]:
    """One claim for the errors of the suite itself, one for all other unexplained items."""
    own = [record for record in left if record.error_kind == OWN_ERROR]
    if own:
        yield CauseClaim(SUITE_ERROR, _first(own), _first_of(own), tuple(own))
    if others := [record for record in left if record.error_kind != OWN_ERROR]:
        nodes = dict.fromkeys(node for record in others for node in record.nodes)
        parts = {record.pairing for record in others}
        where = Where(among(nodes), parts.pop() if len(parts) == 1 else "")
        yield CauseClaim(UNDIAGNOSED, where, _list_of(others), tuple(others), OPEN)


def _first(left: Sequence[ItemRecord]) -> Where:
    return Where(among(left[0].nodes), left[0].pairing)


def _first_of(left: Sequence[ItemRecord]) -> str:
    return f"{len(left)} items, first {left[0].id.rsplit('::', 1)[-1]}: {left[0].reason}"


def _list_of(left: Sequence[ItemRecord]) -> str:
    """The number of items, and of each subject the first item with its reason."""
    firsts: dict[str, ItemRecord] = {}
    for record in left:
        firsts.setdefault(record.subject, record)
    said = [f"{r.id.rsplit('::', 1)[-1]}: {r.reason}" for r in firsts.values()]
    return f"{len(left)} items: {listed(said, _MOST_SUBJECTS, '; ')}"


_MOST_SUBJECTS = 5


def cause_of(claim: CauseClaim, results: RunResults) -> Cause:
    """The cause of a claim, with what it explains and what its kind has in the catalogue."""
    kind = CATALOGUE[claim.cause]
    ids = dict.fromkeys(record.id for record in claim.evidence)
    evidence = tuple(one for one in ids if not again.is_added(one))
    shown = set(ids)
    explained = [
        record
        for record in results.records.values()
        if not again.is_added(record.id)
        and record.id not in shown
        and _is_explained(claim, record, shown, results.platform)
    ]
    passes, misses = passes_and_misses(claim, explained, results)
    return Cause(
        cause=claim.cause,
        where=claim.where,
        says=claim.says,
        evidence=evidence,
        explains=tuple(record.id for record in explained),
        confidence=claim.confidence,
        would_decide=claim.would_decide,
        remedy=_remedy(claim, results),
        basis=kind.basis,
        passes=passes,
        misses=misses,
        course=claim.course,
        probability=claim.probability,
        rivals=claim.rivals,
    )


def _remedy(claim: CauseClaim, results: RunResults) -> str:
    kind, own = CATALOGUE[claim.cause], {record.remedy for record in claim.evidence}
    if claim.cause == TOOL and len(own) == 1 and any(own):
        return own.pop()  # what its own error asks for
    if kind.over_slurm and results.cluster.transport == _SLURM:
        return kind.over_slurm
    if kind.prepared_by in {step.name for step in results.platform.preparations}:
        return f"{kind.remedy}; pytest --prepare does this for the run"
    return kind.remedy


def _is_explained(
    claim: CauseClaim, record: ItemRecord, shown: set[str], platform: Platform
) -> bool:
    if record.outcome is Outcome.BLOCKED:
        return bool(shown.intersection(record.blocked_by))
    return record.outcome in WENT_WRONG and explains(claim, record, platform)
