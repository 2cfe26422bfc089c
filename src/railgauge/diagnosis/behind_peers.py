"""The items that a limit on stragglers requires: one a node, judged when all others have ended.

A part that is further behind its peers than the platform file allows fails the item of its node. If
the evidence fits several nodes, or a single measurement shows it, the item is an error: it is not
known whether the node keeps the limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from railgauge.config.thresholds.model import Peers
from railgauge.core.errors import ConditionsUnmet, MetricMissing, NoEvidence
from railgauge.core.model import Judgement, Outcome
from railgauge.core.question import PEERS
from railgauge.core.terms import Rung
from railgauge.diagnosis.model import RunResults
from railgauge.diagnosis.slow.nodes import BehindPart, ComparedNode
from railgauge.diagnosis.whole import BEHIND_PEERS, diagnosed
from railgauge.judging.at_end import EndOfRunChecks
from railgauge.judging.record import ItemRecord, settled
from railgauge.tools.metric import LOWER

ITEMS = EndOfRunChecks(
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
    known = diagnosed(results).inference.nodes()
    for node in nodes:
        yield _item(node.name, known.get(node.name), limit)


def _item(node: str, one: ComparedNode | None, limit: Peers) -> ItemRecord:
    if one is None:
        what = "nothing was measured that two other nodes were measured with as well"
        return settled(ITEMS.begun(node), (), MetricMissing(what, where=node))
    return settled(ITEMS.begun(node), (_judged(one, limit),), _doubt(node, one.parts, limit))


def _judged(one: ComparedNode, limit: Peers) -> Judgement:
    """The judgement on the part that is furthest behind; if none is, on the node as a whole."""
    decided = [part for part in one.parts if part.is_decided]
    worst = max(decided, key=lambda part: part.share, default=None)
    share = worst.share if worst else one.share
    outcome = Outcome.MARGINAL if worst else Outcome.PASSED
    outcome = Outcome.FAILED if worst and share > limit.behind_max else outcome
    required = f"<= {100 * limit.behind_max:g} %"
    return Judgement(
        metric=BEHIND_PEERS,
        outcome=outcome,
        measured=f"{100 * share:.1f} %",
        limit=required,
        basis=str(limit.basis),
        reason=f"{worst.says}, limit {required}" if worst else "",
        unit="%",
        values=(100 * share,),
        worst=100 * share,
        ceiling=100 * limit.behind_max,
        margin=(limit.behind_max - share) / limit.behind_max,
        pointer="/peers",
        better=LOWER,
    )


def _doubt(node: str, parts: Sequence[BehindPart], limit: Peers) -> NoEvidence | None:
    """Why it is not known whether the node keeps the limit."""
    over = [one for one in parts if not one.is_decided and one.share > limit.behind_max]
    if not over:
        return None
    return ConditionsUnmet(over[0].says, where=node, remedy=over[0].would_decide)
