"""The items that a limit on stragglers demands: one a node, judged when all others have ended.

A part that is further behind its peers than the platform file allows fails the item of its node. If
the evidence fits several nodes, or a single measurement shows it, the item is an error: it is not
known whether the node keeps the limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from railgauge.config.thresholds.model import Peers
from railgauge.core.errors import ConditionsUnmet, MetricMissing, NoEvidence
from railgauge.core.model import Judgement, Outcome
from railgauge.core.question import PEERS
from railgauge.core.terms import Rung
from railgauge.diagnosis.model import OPEN, RunResults
from railgauge.diagnosis.peers.alone import every_standing
from railgauge.diagnosis.peers.claims import BEHIND_PEERS, says
from railgauge.diagnosis.peers.rule import Straggler, found
from railgauge.diagnosis.peers.standing import Standing
from railgauge.judging.closing import ClosingItems
from railgauge.judging.record import ItemRecord, settled
from railgauge.tools.metric import LOWER

ITEMS = ClosingItems(
    "peers",
    BEHIND_PEERS,
    "No part of a node is further behind the same part of the other nodes than declared.",
    Rung.NETWORK,
    PEERS,
)


def compared(results: RunResults) -> Iterator[ItemRecord]:
    """The items, one a node; none without a limit, or in a cluster of fewer than three nodes."""
    limit, nodes = results.platform.peers, results.cluster.nodes
    if limit is None or len(nodes) <= 2:  # noqa: PLR2004 - two nodes have no majority
        return
    seen = every_standing(results)
    stragglers = found(seen)
    by_node: dict[str, list[Standing]] = {node.name: [] for node in nodes}
    for one in seen:
        by_node[one.node].append(one)
    for node, mine in by_node.items():
        yield _item(node, mine, [one for one in stragglers if node in one.suspects], limit)


def _item(
    node: str, mine: Sequence[Standing], stragglers: Sequence[Straggler], limit: Peers
) -> ItemRecord:
    judged = _judged(mine, stragglers, limit)
    return settled(ITEMS.begun(node), judged, _doubt(node, mine, stragglers, limit))


def _judged(
    mine: Sequence[Standing], stragglers: Sequence[Straggler], limit: Peers
) -> tuple[Judgement, ...]:
    """The judgement on the part that is furthest behind; if none is, on the node as a whole."""
    if not mine:
        return ()
    decided = [one for one in stragglers if one.confidence != OPEN]
    worst = max(decided, key=lambda one: one.behind, default=None)
    share = worst.behind if worst else max(0.0, median(o.behind for o in mine if not o.way))
    outcome = Outcome.MARGINAL if worst else Outcome.PASSED
    outcome = Outcome.FAILED if worst and share > limit.behind_max else outcome
    required = f"<= {100 * limit.behind_max:g} %"
    return (
        Judgement(
            metric=BEHIND_PEERS,
            outcome=outcome,
            measured=f"{100 * share:.1f} %",
            limit=required,
            basis=str(limit.basis),
            reason=f"{says(worst)}, limit {required}" if worst else "",
            unit="%",
            values=(100 * share,),
            worst=100 * share,
            ceiling=100 * limit.behind_max,
            margin=(limit.behind_max - share) / limit.behind_max,
            pointer="/peers",
            better=LOWER,
        ),
    )


def _doubt(
    node: str, mine: Sequence[Standing], stragglers: Sequence[Straggler], limit: Peers
) -> NoEvidence | None:
    """Why it is not known whether the node keeps the limit."""
    if not mine:
        what = "nothing was measured that two other nodes were measured with as well"
        return MetricMissing(what, where=node)
    doubted = [one for one in stragglers if one.confidence == OPEN]
    over = [one for one in doubted if one.behind > limit.behind_max]
    if not over:
        return None
    return ConditionsUnmet(says(over[0]), where=node, remedy=over[0].would_decide)
