"""Find what is slower than the errors of a link explain. Pure.

Errors of a link explain any loss of speed over its NIC. They cost about the same in each
measurement, unless they come in a burst, and then they are counted. A measurement that lost much
more than all others over the NIC, while no error was counted, has another cause as well: the other
node's NIC, or the path between the two.

Example: writes and sends of ``n1`` over a link with errors reach 91 % of what other nodes reach;
writes to ``n2`` reach 60 %, and no counter moved. Something else was slow at that moment.
"""

from __future__ import annotations

from collections.abc import Iterator

from railgauge.core.model import Outcome
from railgauge.core.question import TRAFFIC
from railgauge.diagnosis.model import AGAIN, OPEN, CauseClaim, Scene, Where, missed
from railgauge.diagnosis.over_paths import has_rate, is_path
from railgauge.diagnosis.pattern import worst_of
from railgauge.diagnosis.reach import goes_through
from railgauge.diagnosis.shares import Shares
from railgauge.judging.record import ItemRecord

LINK_ERRORS = "link_errors"  # the metric of the counters
_MORE = 2.0
_FEW = 3  # other measurements over the NIC; fewer show nothing
_NOISE = 0.02  # of a healthy value
_COMPARED = (Outcome.PASSED, Outcome.MARGINAL, Outcome.FAILED)


def slower_than_errors(scene: Scene, errors: CauseClaim) -> Iterator[CauseClaim]:
    """Yield an undecided claim for a measurement that lost far more than all others over the NIC.

    ``errors`` is the claim for the errors of a link.
    """
    shares, nic = Shares(scene.results.records.values()), errors.where
    lost = [
        (1 - min(levels), record)
        for record in _over(scene, nic)
        if (levels := shares.levels([record], {nic.node}))
    ]
    if len(lost) <= _FEW:
        return
    *others, (most, worst) = sorted(lost, key=lambda one: one[0])
    usual = others[-1][0]
    (partner,) = set(worst.nodes) - {nic.node}
    if most <= _MORE * max(_NOISE, usual) or not missed(worst):
        return
    if _was_calm(scene, worst) and not _is_slow_elsewhere(scene, partner, nic.node):
        yield _claim(nic, partner, worst, usual)


def _over(scene: Scene, nic: Where) -> Iterator[ItemRecord]:
    """The rates over the NIC that were compared with a limit."""
    for record in scene.results.records.values():
        is_rate = is_path(record) and has_rate(record) and TRAFFIC not in record.ways
        here = is_rate and nic.node in record.nodes and record.outcome in _COMPARED
        if here and goes_through(nic.device, record.part_at(nic.node)):
            yield record


def _was_calm(scene: Scene, rate: ItemRecord) -> bool:
    """Whether the counters were read around this measurement, and none moved."""
    about = (rate.subject, rate.nodes, rate.pairing)
    counted = [
        judged
        for record in scene.results.records.values()
        if TRAFFIC in record.ways and (record.subject, record.nodes, record.pairing) == about
        for judged in record.judgements
        if judged.metric == LINK_ERRORS
    ]
    return bool(counted) and all(judged.outcome is Outcome.PASSED for judged in counted)


def _is_slow_elsewhere(scene: Scene, partner: str, node: str) -> bool:
    """Whether the partner was slow without the node: other rules find why."""
    return any(
        is_path(record) and missed(record) and partner in record.nodes and node not in record.nodes
        for record in scene.results.records.values()
    )


def _claim(nic: Where, partner: str, record: ItemRecord, usual: float) -> CauseClaim:
    says = (
        f"{worst_of([record])}; no error was counted meanwhile, and all other measurements over "
        f"{nic.device} of {nic.node} lost at most {100 * usual:.0f} %; {partner} or the path "
        f"between them may be at fault as well"
    )
    where = Where(nic.node, nic.device, partner)
    decide = AGAIN.format(f"{nic.node} and {partner}")
    return CauseClaim("slow-path", where, says, (record,), OPEN, decide)
