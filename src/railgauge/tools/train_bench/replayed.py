"""Replays: whether all ranks computed the same bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector
from railgauge.tools.train_bench.lines import TrainBenchRun, joined

_GROUPS = 2


def incomplete(run: TrainBenchRun) -> Iterator[str]:
    """Yield what is missing: a rank, a step, or the steps of a rank."""
    ranks, steps = run.count("asked_ranks"), run.count("steps")
    if len(run.replayed) != ranks:
        yield f"{len(run.replayed)} of {ranks} ranks replayed"
    if not steps or len(run.steps) != steps:
        yield f"{len(run.steps)} of {steps} steps are printed"
    for rank, one in run.replayed.items():
        if one.steps != steps:
            yield f"{run.at(rank)} made {one.steps} of {steps} steps"


def contradictions(run: TrainBenchRun) -> Iterator[str]:
    """Yield what cannot be: other chains than the steps', or no training at all."""
    if len(set(run.steps)) < len(run.steps):
        yield "two steps have one digest: the weights did not change"
    common = joined(run.steps)
    for rank, one in run.replayed.items():
        if (one.chain != common) != (rank in run.differs):
            yield f"the chain of {run.at(rank)} is not what its lines say"
        if not one.seconds:
            yield f"{run.at(rank)} took no time"
    for rank, (step, _) in run.differs.items():
        if rank not in run.replayed or step >= len(run.steps):
            yield f"{run.at(rank)} differs where it has no step"
    if run.end and run.end[1] != len(run.differs):
        yield f"{len(run.differs)} ranks differ, but the closing line counts {run.end[1]}"


def add(run: TrainBenchRun, collector: OutputCollector) -> None:
    """Add the samples, and what ranks that differ mean."""
    for rank, one in run.replayed.items():
        placement = run.placement(rank)
        agreed, _ = run.differs.get(rank, (one.steps, ""))
        collector.add("agreed", "count", agreed, placement, may_be_zero=True)
        collector.add("wrong", "count", rank in run.differs, placement, may_be_zero=True)
    if run.differs and not collector.has_errors:
        collector.error(*_verdict(run))


def _verdict(run: TrainBenchRun) -> tuple[ProblemKind, str]:
    """Return what ranks that differ mean. One wrong GPU makes two groups, however many there are.

    Of three groups and more without a majority, nobody can tell that any is wrong: the library may
    have no deterministic algorithm on these GPUs.
    """
    chains = Counter(one.chain for one in run.replayed.values())
    if 2 * chains.most_common(1)[0][1] > len(run.replayed):
        each = (
            f"{run.at(rank)}: other bits from step {step} on, first in {tensor}"
            for rank, (step, tensor) in run.differs.items()
        )
        return ProblemKind.DATA_CORRUPTION, ", ".join(each)
    first = min(step for step, _ in run.differs.values())
    if len(chains) == _GROUPS:
        one = next(rank for rank in run.replayed if rank not in run.differs)
        other, (_, tensor) = next(iter(run.differs.items()))
        return (
            ProblemKind.DATA_CORRUPTION,
            f"half of the ranks ({run.at(one)}) have other bits than half ({run.at(other)}) from "
            f"step {first} on, first in {tensor}: which of them is right is not known",
        )
    return (
        ProblemKind.INCONSISTENT,
        f"{len(run.replayed)} ranks have {len(chains)} results from step {first} on: the library "
        "is not deterministic on these GPUs, or many of them compute wrong",
    )
