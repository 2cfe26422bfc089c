"""Nodes whose measurements come close to their limits from one moment on. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from railgauge.core.model import Outcome
from railgauge.diagnosis.history import History
from railgauge.diagnosis.model import RunResults
from railgauge.diagnosis.seen import SOME, Seen, clock, count, has_a_place


def marginal_since(results: RunResults) -> Iterator[str]:
    """One line for each node whose measurements are all marginal since a moment, and none before.

    Nothing is said if a partner, a NIC, a tool, a size or a direction tells them apart as well, or
    if measurements without the node are marginal too.
    """
    marginal = [r for r in results.records.values() if r.outcome is Outcome.MARGINAL]
    if not marginal:
        return
    history = History(results)
    for node in dict.fromkeys(node for record in marginal for node in record.nodes):
        if any(node not in record.nodes for record in marginal):
            continue
        events = [event for event in history.of(node) if event.start is not None]
        close = tuple(event for event in events if event.marginal)
        kinds = {event.kind for event in close}
        seen = Seen(close, tuple(e for e in events if not e.marginal and e.kind in kinds))
        if _is_a_moment(history, node, seen):
            said = f"since {clock(seen)} all of its {seen.course.slow} measurements are marginal"
            yield f"{node} is within its limits, but {said}; before, {count(seen.fine)} were not"


def _is_a_moment(history: History, node: str, seen: Seen) -> bool:
    if min(len(seen.slow), len(seen.fine)) <= SOME or any(event.slow for event in seen.fine):
        return False
    ends = (lambda event: frozenset(event.nodes), lambda event: event.part)
    apart = any(set(map(key, seen.slow)).isdisjoint(map(key, seen.fine)) for key in ends)
    ordered = max(e.start for e in seen.fine if e.start) < min(
        e.start for e in seen.slow if e.start
    )
    return ordered and not apart and not has_a_place(history, node, seen)
