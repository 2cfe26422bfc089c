"""A plot, and the parts common to all plots: heading, key and the choice of the value shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from railgauge.core.model import Judgement, Outcome
from railgauge.judging.record import ItemRecord
from railgauge.judging.stamp import Evidence
from railgauge.report.plots import svg

LETTERS = {
    Outcome.MARGINAL: "M",
    Outcome.RECORD_ONLY: "R",
    Outcome.FLAKY: "K",
    Outcome.BLOCKED: "B",
    Outcome.ERROR: "E",
    Outcome.FAILED: "F",
}
WORDS = {letter: str(outcome).replace("_", " ") for outcome, letter in LETTERS.items()}


@dataclass(frozen=True, slots=True)
class Plot:
    """One plot. ``name`` is its file's stem, ``caption`` the text below it.

    ``subject`` is the measurement that it shows; empty if it shows several.
    """

    name: str
    rung: int
    title: str
    caption: str
    svg: str
    subject: str = ""


def heading(title: str, unit: str, evidence: str, width: float) -> list[str]:
    """Draw title and unit, and on the right the kind of evidence unless it is hardware."""
    shapes = [svg.text(8, 16, title, size=12.5, bold=True), svg.text(8, 31, unit, fill=svg.QUIET)]
    if evidence != Evidence.HARDWARE:
        label = f"{evidence.upper()} evidence"
        shapes.append(svg.text(width - 8, 31, label, anchor="end", fill=svg.BAD, bold=True))
    return shapes


def key_of(letters: Sequence[str]) -> str:
    """Return the meaning of the letters in a plot."""
    return ", ".join(f"{letter} {WORDS[letter]}" for letter in WORDS if letter in letters)


def worst_judged(record: ItemRecord) -> Judgement | None:
    """Return the measured judgement of an item with the smallest margin; ``None`` if none.

    A passed count (64 of 64 requests) is chosen only if there is no other value.
    """
    measured = [j for j in record.judgements if j.margin is not None and j.worst is not None]
    speeds = [j for j in measured if j.unit != "count" or j.outcome is Outcome.FAILED]
    return min(speeds or measured, key=lambda judged: judged.margin or 0.0, default=None)
