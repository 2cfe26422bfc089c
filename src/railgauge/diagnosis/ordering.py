"""Order causes by their harm: what to repair first comes first. Pure.

1. What takes a node, or a part of it, out of service.
2. What makes measurements worthless: a busy control host, stolen CPU time.
3. What cost most, as measured: the worst shortfall times the number of items that missed a limit.
4. What makes a part slower, where nothing measured shows by how much.
5. What leaves a part of the cluster unmeasured.
6. Settings that cost nothing that was measured.
7. Errors of the suite, and what nothing explains.

In each class what is not decided comes last, then what cost least, then what fewer items show. For
example, a slow node (by 40 % in 9 items) comes before a slow link (by 60 % in one item), and both
come before a governor whose node was not measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from railgauge.diagnosis.catalogue import CATALOGUE
from railgauge.diagnosis.catalogue.effect import Harm
from railgauge.diagnosis.model import OPEN, Cause, missed
from railgauge.judging.record import ItemRecord

_UNEXPLAINED = ("suite-error", "undiagnosed")
_CLASSES = (
    Harm.OUT_OF_SERVICE,
    Harm.DOUBTS,
    "measured",
    Harm.DEGRADED,
    Harm.UNMEASURED,
    Harm.SETTING,
)


def by_harm(causes: Iterable[Cause], records: Mapping[str, ItemRecord]) -> tuple[Cause, ...]:
    """Return the causes in this order; equals keep theirs."""

    def key(cause: Cause) -> tuple[int, bool, float, int]:
        items = [records[item] for item in (*cause.evidence, *cause.explains)]
        lost = _lost(items)
        return _class(cause, lost), cause.confidence == OPEN, -lost, -len(items)

    return tuple(sorted(causes, key=key))


def _class(cause: Cause, lost: float) -> int:
    if cause.cause in _UNEXPLAINED:
        return len(_CLASSES)
    harm = CATALOGUE[cause.cause].effect.harm
    is_own = harm in (Harm.OUT_OF_SERVICE, Harm.DOUBTS)
    return _CLASSES.index("measured" if lost and not is_own else harm)


def _lost(items: Iterable[ItemRecord]) -> float:
    """The worst shortfall, as a fraction of its limit, times the number of items with one."""
    short = [max(_shortfalls(item)) for item in items if any(_shortfalls(item))]
    return max(short, default=0.0) * len(short)


def _shortfalls(item: ItemRecord) -> list[float]:
    return [-one.margin for one in missed(item) if one.margin is not None and one.margin < 0]
