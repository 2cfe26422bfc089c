"""Rung 5: ranks of a training that are late, and hosts that keep its GPUs waiting for data."""

from __future__ import annotations

from collections.abc import Iterator

from railgauge.core.terms import Rung
from railgauge.diagnosis.model import CauseRule, Context, Finding, Where, worst_of


def late_ranks(context: Context) -> Iterator[Finding]:
    """Ranks that compute slowly in a training, on nodes whose GPUs alone are not slow."""
    yield from _on_one_node(context, "compute_tflops", "late-rank")


def starved_loaders(context: Context) -> Iterator[Finding]:
    """Hosts that take too large a part of a step to load its data."""
    yield from _on_one_node(context, "load_share", "starved-loader")


def _on_one_node(context: Context, metric: str, cause: str) -> Iterator[Finding]:
    for record, _ in context.judged(metric):
        if len(record.nodes) == 1 and not context.on(Rung.INTRANODE, record.nodes[0]):
            (node,) = record.nodes
            yield Finding(cause, Where(node, record.part_at(node)), worst_of([record]), (record,))


RULES: tuple[CauseRule, ...] = (late_ranks, starved_loaders)
