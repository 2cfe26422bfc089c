"""The changes over the nights, for the end of a run: those up to tonight, and which are new.

A change is new if the nights up to the last one did not show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from railgauge.core.errors import BadInput
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.trend.findings import findings
from railgauge.trend.read import night_of, read
from railgauge.trend.sentences import sentence, summary
from railgauge.trend.values import (
    FEWEST_NIGHTS,
    IMPROVEMENT,
    Night,
    Trend,
    TrendFinding,
    TrendScope,
)

# Comparing a year takes seconds, and a change of more than two months ago is not news.
_MOST_NIGHTS = 60


@dataclass(frozen=True, slots=True)
class NightsTold:
    """``summary`` is one line; ``new`` and ``earlier`` are sentences, one for each change."""

    summary: str
    new: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()


@PROGRESS_OF_PROCESS.during("earlier nights")
def since_last_night(folder: Path) -> NightsTold | None:
    """Compare a finished run with the earlier ones beside its folder.

    ``None`` if it is no night (a replay, a part of a level), or if there are too few to compare.
    """
    try:
        tonight = night_of(folder)
        nights = read(folder.parent, tonight.fleet.cluster, _MOST_NIGHTS).of(tonight.fleet)
    except BadInput:
        return None
    return summarized([night for night in nights if night.run_id <= tonight.run_id], tonight.run_id)


def summarized(nights: Sequence[Night], tonight: str) -> NightsTold | None:
    """Divide the changes up to the last of these nights into new ones and others. Pure."""
    if len(nights) < FEWEST_NIGHTS or nights[-1].run_id != tonight:
        return None
    trend = findings(nights[:-1], nights[-1])
    known = findings(nights[:-2], nights[-2])
    new = [one for one in trend.findings if _is_new(one, known, trend)]
    # The summary is for what needs action; an improvement that lasts needs none.
    earlier = [one for one in trend.findings if one not in new and one.verdict != IMPROVEMENT]
    line = f"{summary(trend)}, {len(new)} change{'' if len(new) == 1 else 's'} new tonight"
    return NightsTold(line, tuple(map(sentence, new)), tuple(map(sentence, earlier)))


def _is_new(one: TrendFinding, known: Trend, trend: Trend) -> bool:
    """Whether no change of this kind, place and time was known; its scope may have grown."""

    def is_same(other: TrendFinding) -> bool:
        apart = abs(trend.nights.index(one.since) - trend.nights.index(other.since))
        return one.verdict == other.verdict and apart <= 1 and _may_be_one(one.scope, other.scope)

    return not any(map(is_same, known.findings))


def _may_be_one(one: TrendScope, other: TrendScope) -> bool:
    """Whether the scopes share a node, and name no different part; an empty field is any."""
    named = (
        (one.subject, other.subject),
        (one.metric, other.metric),
        (one.pairing, other.pairing),
    )
    shares = not one.nodes or not other.nodes or set(one.nodes) & set(other.nodes)
    return bool(shares) and all(not a or not b or a == b for a, b in named)
