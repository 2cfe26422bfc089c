"""What was measured to decide between suspects, as evidence like that of the plan. Pure.

Where a run measured the suspects of an undecided cause with other partners or over other paths, the
rules run once more with these results. They replace the causes if they leave less undecided. The
added results are no items: they are neither listed as evidence nor counted.

Example: ``mx02`` and ``mx05`` were slow together, and are suspects. ``mx02`` is slow with ``mx01``
too, and ``mx05`` is fine with it. With these two results the rules name ``mx02``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from railgauge.core.model import Outcome
from railgauge.core.naming import listed
from railgauge.core.terms import Rung
from railgauge.diagnosis.confirmed import is_about
from railgauge.diagnosis.gpu_or_path import suspected_path
from railgauge.diagnosis.model import (
    AGAIN,
    OPEN,
    WENT_WRONG,
    Cause,
    CauseClaim,
    Confirmation,
    RunResults,
    missed,
)
from railgauge.diagnosis.over_paths import is_path
from railgauge.diagnosis.reach import explains, goes_through, nodes_of
from railgauge.diagnosis.remeasured import line
from railgauge.judging.confirmation import Confirmed
from railgauge.judging.record import ItemRecord
from railgauge.tools.metric import LOWER

_PREFIX = "again::"
_NOISE = 0.02  # of a value; healthy like parts differ by up to 1.04 % in document 002


def follow_up_results(
    results: RunResults, before: Sequence[Cause], causes: Sequence[Cause]
) -> list[Confirmed]:
    """The results about causes that were undecided ``before`` them, or still are.

    A fault that comes and goes changes its results: a pair that was slow must be slow again if it
    was measured again, and if it looked like such a fault. Between a GPU and its path the limit of
    another path does not decide. Both have rules of their own.
    """
    open_ = [
        cause
        for cause in (*before, *causes)
        if cause.confidence == OPEN and _is_steady(results, cause) and not _is_gpu_or_path(cause)
    ]
    return [
        result
        for result in results.confirmed
        if result.judgements and any(is_about(result.asked, cause) for cause in open_)
    ]


def _is_steady(results: RunResults, cause: Cause) -> bool:
    """Whether the two suspects, measured with each other again, were slow again.

    What two causes ask for is measured for the first of them.
    """
    both = nodes_of(cause.where.node)
    again = [r for r in results.confirmed if len(both) > 1 and set(r.asked.suspects) == both]
    slow = [result.missed for result in again]
    return all(slow) and (bool(slow) or cause.course is None)


def _is_gpu_or_path(cause: Cause) -> bool:
    return bool(suspected_path(cause)) and len(nodes_of(cause.where.node)) == 1


def with_results(results: RunResults, added: Sequence[Confirmed]) -> RunResults:
    """The run with the added results among its records."""
    records = {record.id: record for record in records_of(results, added)}
    return replace(results, records={**results.records, **records})


def records_of(results: RunResults, added: Iterable[Confirmed]) -> Iterator[ItemRecord]:
    """What was measured again as records, with ids that no item has."""
    for number, result in enumerate(added):
        question = result.asked.question
        case = question.case
        if case is not None and (
            measurement := results.platform.measurements.get(case.measurement)
        ):
            yield ItemRecord(
                id=f"{_PREFIX}{number}",
                rung=measurement.rung,
                subject=case.measurement,
                title="",
                outcome=Outcome.FAILED if result.missed else Outcome.PASSED,
                nodes=case.nodes,
                pairing=str(case.pairing or ""),
                size_bytes=question.size_bytes,
                questions=(question,),
                judgements=result.judgements,
            )


def is_added(item: str) -> bool:
    """Whether an id is that of an added result."""
    return item.startswith(_PREFIX)


def doubted(claim: CauseClaim, claims: Iterable[CauseClaim]) -> CauseClaim:
    """The claim; undecided if it is about a path of which an end was as slow with others too.

    ``claims`` are all of the same rules. Those that rest on added results alone become no causes,
    but three paths of one node and device that lose the same share are hardly three faults.
    """
    ends = {claim.where.node, claim.where.peer}
    if not claim.where.peer or claim.confidence == OPEN or rests_on_added(claim):
        return claim
    met = [
        other
        for other in claims
        if rests_on_added(other) and other.cause.startswith("slow-")
        if goes_through(claim.where.device, other.where.device)
        if all(ends.intersection(record.nodes) for record in other.evidence)
        if _are_alike(claim, other)
    ]
    pairs = {":".join(record.nodes) for other in met for record in other.evidence}
    if not pairs:
        return claim
    says = f"{claim.says}; measured again, {listed(sorted(pairs))} are slow as well"
    decide = AGAIN.format(" and ".join(sorted(ends)))
    return replace(claim, says=says, confidence=OPEN, would_decide=decide)


def _are_alike(one: CauseClaim, other: CauseClaim) -> bool:
    """Whether the rates that both claims rest on are the same but for noise.

    Latencies have too much noise to tell.
    """
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for record in (*one.evidence, *other.evidence):
        for judged in missed(record):
            if judged.worst and judged.better != LOWER:
                found[record.subject, judged.metric].append(judged.worst)
    return all(min(v) >= (1 - _NOISE) * max(v) for v in found.values())


def of_items(results: RunResults, claims: Sequence[CauseClaim]) -> Iterator[CauseClaim]:
    """The claims that items of the run show.

    One that only added results show is of the items that it explains, if several partners show it,
    and no claim of items names its node: it was hidden behind a slower path.
    """
    known = [claim for claim in claims if not rests_on_added(claim)]
    named = {claim.where.node for claim in known if not claim.where.peer}
    for claim in claims:
        if not rests_on_added(claim):
            yield claim
        elif claim.where.node not in named and _is_shown_by_several(claim):
            wrong = (r for r in results.records.values() if r.outcome in WENT_WRONG)
            behind = tuple(r for r in wrong if explains(claim, r, results.platform))
            if behind:
                yield replace(claim, evidence=(*claim.evidence, *behind))


def _is_shown_by_several(claim: CauseClaim) -> bool:
    partners = {name for record in claim.evidence for name in record.nodes} - {claim.where.node}
    slow = claim.cause.startswith("slow-") and not claim.where.peer
    is_slow = slow and all(map(is_path, claim.evidence))
    return is_slow and len(partners) > 1


def rests_on_added(claim: CauseClaim) -> bool:
    """Whether no item of the run shows the claim."""
    return all(is_added(record.id) for record in claim.evidence)


def is_clearer(results: RunResults, causes: Sequence[Cause], before: Sequence[Cause]) -> bool:
    """Whether fewer causes are undecided, or slow parts of fewer nodes, or fewer causes suffice.

    More undecided causes are clearer too if more slow parts are decided and fewer nodes are
    suspects. They must account for all that went wrong and that the causes ``before`` account for,
    and name a node of each slow result of which those name one.
    Where all are decided and as many, those that all results together show are the better ones.
    """
    doubt, earlier = _doubt(causes), _doubt(before)
    is_decided = not earlier[0] and doubt == earlier
    decided, was = _decided(causes), _decided(before)
    less = doubt < earlier and (doubt[0] < earlier[0] or decided >= was)
    more = decided > was and doubt[1] < earlier[1]
    is_whole = _items(results, before) <= _items(results, causes)
    is_whole = is_whole and _slow_results(results, before) <= _slow_results(results, causes)
    return is_whole and (less or is_decided or more)


def _items(results: RunResults, causes: Sequence[Cause]) -> set[str]:
    wrong = {record.id for record in results.records.values() if record.outcome in WENT_WRONG}
    return {item for cause in causes for item in (*cause.evidence, *cause.explains)} & wrong


def _slow_results(results: RunResults, causes: Sequence[Cause]) -> set[int]:
    """The numbers of the results, slow at least at times, of which a slow part's cause has a node.

    They are those of host memory, which ``unexplained`` lists only if each repeat was slow. A path
    is at fault only where both of its ends take part.
    """
    ends = [
        ({cause.where.node, cause.where.peer}, 2) if cause.where.peer else (nodes, 1)
        for cause in causes
        if cause.cause.startswith("slow-") and (nodes := nodes_of(cause.where.node))
    ]
    return {
        number
        for number, result in enumerate(results.confirmed)
        if result.missed and (case := result.asked.question.case)
        if (measurement := results.platform.measurements.get(case.measurement))
        if measurement.rung == Rung.NETWORK
        if any(len(nodes.intersection(case.nodes)) >= least for nodes, least in ends)
    }


def _decided(causes: Iterable[Cause]) -> int:
    slow = (cause for cause in causes if cause.evidence and cause.cause.startswith("slow-"))
    return sum(cause.confidence != OPEN for cause in slow)


def _doubt(causes: Sequence[Cause]) -> tuple[int, int, int]:
    # What was found only by measuring again, and shows no item, makes nothing else less clear.
    causes = [cause for cause in causes if cause.evidence]
    open_ = [cause for cause in causes if cause.confidence == OPEN]
    slow = [cause.where.node for cause in open_ if cause.cause.startswith("slow-")]
    of_none = sum(not node for node in slow)  # the cluster: nothing is less clear
    return len(open_) + of_none, sum(len(nodes_of(node)) for node in slow if node), len(causes)


def told(cause: Cause, added: Sequence[Confirmed]) -> Cause:
    """The cause with what was measured again of its nodes."""
    nodes = nodes_of(cause.where.node) | ({cause.where.peer} - {""})
    seen = tuple(line(one) for one in added if nodes & set(one.asked.suspects))
    if cause.confirmation is not None or not seen or not cause.cause.startswith("slow-"):
        return cause
    return replace(cause, confirmation=Confirmation("confirmed", seen))
