"""Training together: how fast the steps are, where their time goes, and whether weights agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector
from railgauge.tools.train_bench.lines import RankTrained, TrainBenchRun

_HALF_MS = 0.0005  # times have three decimals of a millisecond
_HALF_OF_STEPS = 0.5
_PASSES = 3  # over a product: forward, and twice backward


def incomplete(run: TrainBenchRun) -> Iterator[str]:
    """Yield what is missing: a rank, or steps of a rank."""
    ranks, steps = run.count("asked_ranks"), run.count("steps")
    if len(run.trained) != ranks:
        yield f"{len(run.trained)} of {ranks} ranks have a row"
    for rank, one in run.trained.items():
        if one.steps != steps:
            yield f"{run.at(rank)} made {one.steps} of {steps} steps"


def contradictions(run: TrainBenchRun) -> Iterator[str]:
    """Yield times that cannot be: a part that is longer than the step, steps longer than all."""
    for rank, one in run.trained.items():
        parts = max(one.load_ms, one.compute_ms, one.exchange_ms)
        if not one.compute_ms or not one.step_ms or parts > one.step_ms + 2 * _HALF_MS:
            yield f"the times of {run.at(rank)} do not fit its step of {one.step_ms:g} ms"
        if one.step_p99_ms < one.step_ms:
            yield f"the 99th percentile of {run.at(rank)} is below its median"
        # Half of the steps take the median or longer.
        least_s = _HALF_OF_STEPS * one.steps * (one.step_ms - _HALF_MS) / 1e3
        if run.seconds < least_s:
            yield f"{run.seconds:g} s are too short for the steps of {run.at(rank)}"
    if run.end and run.end[2] is None:
        yield "the closing line has no seconds"


def operations(run: TrainBenchRun) -> float:
    """Return the floating-point operations of one rank in one step.

    Two for each weight of a product and each token, and for each product of the attention, which
    counts whole, as if it were not causal; three passes. The embedding takes no product.
    """
    layers, width, sequence = (run.count(name) for name in ("layers", "width", "sequence"))
    tokens = run.count("batch") * sequence
    weights = layers * 12 * width**2 + run.count("vocabulary") * width
    attention = layers * 2 * sequence * width
    return float(_PASSES * 2 * tokens * (weights + attention))


def payload_bytes(run: TrainBenchRun) -> float:
    """Return the bytes that each node sends to the next in all steps, assuming a ring."""
    ranks = run.count("asked_ranks")
    times = run.count("steps") + run.count("warmup")
    return times * 4.0 * run.count("parameters") * 2 * (ranks - 1) / max(ranks, 1)


def add(run: TrainBenchRun, collector: OutputCollector) -> None:
    """Add the samples of the run and of each rank, and an error for weights that differ."""
    rows = list(run.trained.values())
    if not rows or not run.seconds or collector.has_errors:
        return
    steps, work = run.count("steps"), operations(run)
    tokens = run.count("asked_ranks") * run.count("batch") * run.count("sequence") * steps
    collector.add("tokens_per_s", "1/s", tokens / run.seconds)
    collector.add("model_tflops", "TFLOP/s", work * steps / run.seconds / 1e12)
    collector.add("step_p99", "1", max(one.step_p99_ms / one.step_ms for one in rows))
    # The rank that comes last to the exchange does not wait for others in it.
    shares = min(one.exchange_ms / one.step_ms for one in rows)
    collector.add("exchange_share", "1", shares, may_be_zero=True)
    collector.add("load_share", "1", max(map(_load, rows)), may_be_zero=True)
    wrong = _other_weights(run)
    for rank, one in run.trained.items():
        placement = run.placement(rank)
        collector.add("compute_tflops", "TFLOP/s", work / one.compute_ms / 1e9, placement)
        collector.add("wrong", "count", rank in wrong, placement, may_be_zero=True)
    if wrong:
        each = (f"{run.at(rank)}: other bits after step {steps - 1}" for rank in wrong)
        collector.error(ProblemKind.DATA_CORRUPTION, ", ".join(each))


def _load(one: RankTrained) -> float:
    return one.load_ms / one.step_ms


def _other_weights(run: TrainBenchRun) -> list[int]:
    """Return the ranks whose weights are not those of most: an all-reduce gives all the same."""
    common, _ = Counter(one.digest for one in run.trained.values()).most_common(1)[0]
    return [rank for rank, one in run.trained.items() if one.digest != common]
