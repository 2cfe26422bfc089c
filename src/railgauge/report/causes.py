"""The text of a cause, for the terminal and for HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from railgauge.diagnosis import UNDIAGNOSED, Cause
from railgauge.judging.record import ItemRecord
from railgauge.planning.soak import is_of_soak
from railgauge.report.soak import label
from railgauge.verdict.counts import RunVerdict

SEEN_IN = "seen in"
_SHOWN = 3
_MOST_UNEXPLAINED = 20


def leading(causes: Sequence[Cause], most: int) -> list[Cause]:
    """Return the first causes, and always the undiagnosed ones, so that nobody overlooks them."""
    late = [cause for cause in causes[most:] if cause.cause == UNDIAGNOSED]
    return [*causes[: most - len(late)], *late]


def about(cause: Cause) -> list[tuple[str, Sequence[str]]]:
    """Return (label, lines) of a cause, in printable characters; empty entries are left out."""
    most = _MOST_UNEXPLAINED if cause.cause == UNDIAGNOSED else _SHOWN
    rest = len(cause.evidence) - most
    seen = [name_of(item) for item in cause.evidence[:most]]
    lines: list[tuple[str, Sequence[str]]] = [
        ("why", [cause.says]),
        ("again", _again(cause)),
        ("holds", cause.passes),
        ("misses", cause.misses),
        ("decide", [cause.would_decide] if cause.would_decide else []),
        ("do", [cause.remedy]),
        (SEEN_IN, [*seen, *([f"and {rest} more"] if rest > 0 else [])]),
        ("explains", [f"{len(cause.explains)} more items"] if cause.explains else []),
        ("basis", [cause.basis]),
    ]
    shown = [(label, [one for t in texts if (one := printable(t))]) for label, texts in lines]
    return [(label, texts) for label, texts in shown if texts]


def name_of(item: str) -> str:
    """Return an item as a cause names it."""
    return label(item) if is_of_soak(item) else item.rsplit("::", 1)[-1]


def _again(cause: Cause) -> list[str]:
    """Return the result of measuring the suspects again; empty without ``--confirm``."""
    if cause.confirmation is None:
        return []
    return [cause.confirmation.state, *cause.confirmation.seen]


def printable(text: str) -> str:
    """Return text of a node or a tool without characters that could control a terminal."""
    return "".join(char if char.isprintable() else " " for char in text).strip()


def unexplained(verdict: RunVerdict, records: Mapping[str, ItemRecord]) -> list[ItemRecord]:
    """Return the items that no cause covers; the others need no line of their own."""
    covered = {i for cause in verdict.causes for i in (*cause.evidence, *cause.explains)}
    return [record for record in records.values() if record.id not in covered]
