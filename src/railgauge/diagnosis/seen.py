"""The slow and the fine measurements of one part, and whether a place tells them apart. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from railgauge.diagnosis.history import RECEIVES, SENDS, Event, History
from railgauge.diagnosis.model import Course

SOME = 2  # one measurement before or after a moment may be slow by itself
_HALF = 0.5
_LIKE = 0.02  # of a healthy value; noise, and what healthy parts differ by, is less


@dataclass(frozen=True, slots=True)
class Seen:
    """The slow and the fine events of one part that can be compared."""

    slow: tuple[Event, ...]
    fine: tuple[Event, ...]

    @property
    def course(self) -> Course:
        """How many measurements were slow; one may have several kinds of values."""
        slow = {event.key for event in self.slow}
        return Course(len(slow), len(slow | {event.key for event in self.fine}))


def seen_of(
    history: History, node: str, slow: Sequence[Event], near: Callable[[Event], bool]
) -> Seen:
    """The events of ``node`` for which ``near`` holds, of the kinds of the ``slow`` ones.

    A fine event counts only if the fault would have shown in it: it reached clearly more of the
    peers' value than the slow ones did, in each of its directions.
    """
    kinds = {event.kind for event in slow}
    events = [event for event in history.of(node) if event.kind in kinds and near(event)]
    shares = [event.share for event in slow if event.share is not None]
    least = 1 - _HALF * (1 - max(shares)) if shares else 0.0
    one_way = [e.least for e in slow if not e.both and e.least is not None]
    hidden = max(one_way, default=0.0) * (1 + _LIKE)
    fine = (
        event
        for event in events
        if not event.slow
        and (event.share is None or event.share > least)
        and not (event.both and event.least is not None and event.least <= hidden)
    )
    return Seen(tuple(e for e in events if e.slow), tuple(fine))


def has_a_place(history: History, node: str, seen: Seen, *, of_path: bool = False) -> bool:
    """Whether a tool, a size or a direction tells all slow events of a part from all fine ones.

    A path between two nodes does not know the tool. One slow event of a tool tells nothing of it.
    What is slow in both directions at once, and was fine in each alone, is no matter of the tool.
    """
    each_was_fine = {SENDS, RECEIVES} <= {history.sends(event, node) for event in seen.fine}
    is_sum = each_was_fine and all(event.both for event in seen.slow)
    keys: list[Callable[[Event], object]] = [
        lambda event: event.rung,
        lambda event: event.size_bytes,
        *(() if is_sum else (lambda event: history.sends(event, node),)),
        *(() if is_sum or of_path else (lambda event: event.subject,)),
    ]
    for key in keys:
        slow = Counter(map(key, seen.slow))
        if max(slow.values(), default=0) >= SOME and slow.keys().isdisjoint(map(key, seen.fine)):
            return True
    return False


def cost_alike(slow: Sequence[Event]) -> bool:
    """Whether the slow events of each measurement lost the same share, as those of one part do."""
    shares: dict[tuple[str, int | None], list[float]] = {}
    for event in slow:
        if event.share is not None:
            shares.setdefault((event.subject, event.size_bytes), []).append(event.share)
    return all(max(some) - min(some) <= _LIKE for some in shares.values())


# --- in words ---


def told(seen: Seen) -> str:
    course = seen.course
    return f"it comes and goes: {course.slow} of {course.of} measurements are slow"


def count(fine: Sequence[Event]) -> str:
    count = len({event.key for event in fine})
    return f"{count} of {count}"


def clock(seen: Seen) -> str:
    start = seen.slow[0].start
    return f"{start.astimezone(timezone.utc):%H:%M:%S} UTC" if start else "a moment"


def iso(start: datetime | None) -> str:
    return start.astimezone(timezone.utc).isoformat(timespec="seconds") if start else ""
