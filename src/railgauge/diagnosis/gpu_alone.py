"""Tell which of two nodes has a slow GPU, by measurements of each GPU by itself. Pure.

In a cluster of two nodes, or where no good partner is left, a pair that is slow with one GPU at
each end does not tell which of them is slow. What a level measures of single GPUs is behind the
gate of that pair, and is made up for after the run.

Example: ``mx01:mx02`` is slow over gpu3-mlx5_0 alone. gpu3 of mx02 reaches 142 TFLOP/s by itself,
and that of mx01 236: gpu3 of mx02 is slow. If both reach their limits, nothing is decided, because
it may be the way to a NIC.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from railgauge.core.model import Outcome
from railgauge.core.question import LIMITS, Question
from railgauge.core.terms import Rung
from railgauge.diagnosis.model import LIKELY, OPEN, Cause, Confirmation, RunResults
from railgauge.diagnosis.reach import nodes_of
from railgauge.diagnosis.remeasured import line
from railgauge.judging.confirmation import Confirmed, Remeasurement

_GPU = "slow-gpu"
_PAIR = 2


def suspected_gpu(cause: Cause) -> str:
    """Return ``gpu3`` if it is slow at one of two nodes, and which is not decided; else nothing."""
    gpu = cause.where.device.partition(",")[0]
    is_open = cause.cause == _GPU and cause.confidence == OPEN and not cause.where.peer
    return gpu if is_open and gpu and len(nodes_of(cause.where.node)) == _PAIR else ""


def requests(results: RunResults, cause: Cause) -> Iterator[Remeasurement]:
    """The suspected GPU of each node by itself, in each measurement that was blocked."""
    gpu, nodes, where = suspected_gpu(cause), nodes_of(cause.where.node), cause.where
    for record in results.records.values() if gpu else ():
        case = next((one.case for one in record.questions if one.case), None)
        alone = record.rung == Rung.INTRANODE and record.pairing == gpu and nodes >= {*record.nodes}
        if case is not None and alone and record.outcome is Outcome.BLOCKED:
            asked = Question(LIMITS, case, record.size_bytes, placement=gpu)
            yield Remeasurement(_GPU, where.node, where.device, "", record.nodes, asked)


def between_nodes(cause: Cause, results: Sequence[Confirmed]) -> list[Confirmed]:
    """The results without those of single GPUs, which clear a GPU and no path to a NIC."""
    gpu = suspected_gpu(cause)
    return [r for r in results if not gpu or r.asked.question.placement != gpu]


def decided(cause: Cause, results: Sequence[Confirmed]) -> Cause | None:
    """The cause at the one node whose GPU is slow by itself; ``None`` if that is not so."""
    gpu = suspected_gpu(cause)
    mine = [r for r in results if gpu and r.asked.question.placement == gpu]
    slow = {r.asked.suspects for r in mine if r.missed}
    told = {r.asked.suspects for r in mine if r.judgements and not r.error}
    if len(slow) != 1 or len(told) != _PAIR:
        return None
    ((node,),) = slow
    return replace(
        cause,
        where=replace(cause.where, node=node, device=gpu),
        says=f"{cause.headline}; by itself {gpu} of {node} is slow, and that of the other is not",
        confidence=LIKELY,
        would_decide="",
        confirmation=Confirmation("confirmed", tuple(map(line, mine))),
    )
