"""Judge whether a tool computed right results, at any speed. Pure.

Every item of such a tool asks this, because wrong results make a measurement fail when it is read.
Behind a gate it is the only question: speed is not judged there.
"""

from __future__ import annotations

from collections.abc import Iterable

from railgauge.core.errors import DataCorrupted, MetricMissing
from railgauge.core.model import Judgement, Outcome, Parsed
from railgauge.judging.record import ItemRecord
from railgauge.tools import declared_metric

# The metric of a judgement on results; the tools that count wrong values declare it.
CORRUPTION = "wrong"
_LIMIT = "no wrong result"
# Bundles of older versions hold this text, and are compared with it word by word.
_BASIS = "derived: a collective that changes data cannot be used at any speed"


def checks_results(tool: str) -> bool:
    """Whether the tool counts the wrong values among its results."""
    return declared_metric(tool, CORRUPTION) is not None


def judge_corruption(error: DataCorrupted) -> Judgement:
    """The failed judgement for wrong results: a single one fails, at any speed."""
    return Judgement(
        metric=CORRUPTION,
        outcome=Outcome.FAILED,
        measured=error.what,
        limit=_LIMIT,
        basis=_BASIS,
        reason=str(error),
    )


def judge_correct(parsed: Parsed) -> Judgement:
    """The passed judgement for a run that was read, and whose tool counted no wrong value.

    Raises ``MetricMissing`` if a message size has no count: an absent count is no proof.
    """
    counts = [one for one in parsed.samples if one.metric == CORRUPTION]
    measured = {sample.size_bytes for sample in parsed.samples}
    if not counts or {one.size_bytes for one in counts} != measured:
        raise MetricMissing("the tool counted no wrong results at some message size")
    return Judgement(
        metric=CORRUPTION,
        outcome=Outcome.PASSED,
        measured=f"0 wrong in {len(counts)} counts",
        limit=_LIMIT,
        basis=_BASIS,
    )


def has_right_results(item: ItemRecord) -> bool:
    """Whether results were checked behind a gate, and were right."""
    return any(
        judged.metric == CORRUPTION and judged.outcome is Outcome.PASSED
        for judged in item.judgements
    )


def is_corrupt(items: Iterable[ItemRecord]) -> bool:
    """Whether wrong results were seen, which stop a run."""
    judged = (judged for item in items for judged in item.judgements)
    return any(one.metric == CORRUPTION and one.outcome is Outcome.FAILED for one in judged)
