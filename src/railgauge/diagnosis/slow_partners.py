"""Leave out what was measured again with a partner that is slow itself. Pure.

Example: ``viper`` receives slowly from everybody, and sent as fast as others to ``columbia`` since.
It was measured again sending to ``prometheus`` and was slow: that is their path, or ``prometheus``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from railgauge.core.naming import listed
from railgauge.diagnosis.alike import CLEARLY
from railgauge.diagnosis.course import DIRECTION
from railgauge.diagnosis.history import BOTH, RECEIVES, SENDS, Event, History
from railgauge.diagnosis.model import AGAIN, OPEN, Cause, RunResults
from railgauge.diagnosis.other_way import measured_nodes
from railgauge.diagnosis.reach import goes_through
from railgauge.judging.confirmation import Confirmed

_OTHER = {SENDS: RECEIVES, RECEIVES: SENDS}


def with_good_partners(cause: Cause, results: RunResults) -> tuple[Confirmed, ...]:
    """What was measured again, but for the other direction of a slow one with a slow partner.

    The run tells it: after the first slow item, the cause's node was as fast as others in that
    direction with another partner.
    """
    node, taken = cause.where.node, results.confirmed
    back = [r for r in taken if not r.asked.suspects and r.missed and node in measured_nodes(r)]
    if not back or cause.cause != DIRECTION or cause.confidence == OPEN or cause.course:
        return taken
    history = History(results)
    over = [event for event in history.of(node) if goes_through(cause.where.device, event.part)]
    fast = {name for event in _fast_since(history, node, over) for name in event.nodes} - {node}
    return tuple(r for r in taken if not fast or r not in back or fast & {*measured_nodes(r)})


def with_their_names(cause: Cause, left_out: Iterable[Confirmed]) -> Cause:
    """The cause, undecided for the partners that were left out, which its text names.

    The node may be slow at times, and was fast in the other direction by chance.
    """
    node = cause.where.node
    names = sorted({name for one in left_out for name in measured_nodes(one)} - {node})
    if not names:
        return cause
    said = f"with {listed(names)} alone it is slow in the other direction too: their path, or"
    says = f"{cause.says}; {said} {listed(names)}, may be slow as well, or {node} at times"
    return replace(cause, says=says, confidence=OPEN, would_decide=AGAIN.format(node))


def _fast_since(history: History, node: str, events: list[Event]) -> list[Event]:
    """The events in the direction that was not slow, which began after the first slow one."""
    slow = [event for event in events if event.slow and event.start is not None]
    ways = {history.sends(event, node) for event in slow} - {BOTH}
    kinds = {event.kind for event in slow}
    other = _OTHER.get(ways.pop()) if len(ways) == 1 else None
    starts = [event.start for event in slow if event.start is not None]
    return [
        event
        for event in events
        if other is not None and history.sends(event, node) == other and event.kind in kinds
        if event.start is not None and event.start > min(starts)
        if not event.slow and event.share is not None and event.share > CLEARLY
    ]
