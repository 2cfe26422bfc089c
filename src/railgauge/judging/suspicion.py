"""Decide which nodes of a failed pair are still under suspicion. Pure.

A failed pair does not show which of its two nodes is at fault. A node that reached all limits of
the same test over the same part with another partner is not: the fault is at its partner, or
between the two. Measurements inside such a node may run.

Example: ``a`` and ``b`` are slow with each other over ``mlx5_0``. ``a`` was fast with ``c`` over
``mlx5_0`` at all sizes, and ``b`` was measured with ``a`` only. ``b`` is under suspicion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from railgauge.core.model import Outcome

_PAIR = 2
_SIZE = re.compile(r"-[0-9]+(?:[KMG]i)?B\]")
_FINE = frozenset({Outcome.PASSED, Outcome.MARGINAL})
_BLOCKING = frozenset({Outcome.FAILED, Outcome.ERROR})


def asked(item_id: str, nodes: Sequence[str]) -> str:
    """The question of an item: its id without nodes and message size."""
    return _SIZE.sub("]", item_id.replace(":".join(nodes), "", 1))


@dataclass(slots=True)
class NodeOutcomes:
    """Passed and failed questions of one node, with its partners.

    ``wrong`` has, by the id of each item, its question and its partner; both are empty for an item
    that is not of a pair.
    """

    node: str
    wrong: dict[str, tuple[str, str]] = field(default_factory=dict)
    fine: dict[str, set[str]] = field(default_factory=dict)

    def note(self, item_id: str, nodes: Sequence[str], outcome: Outcome) -> None:
        """Take the outcome of an item; the latest one counts."""
        is_pair = len(nodes) == _PAIR
        partner = next((other for other in nodes if other != self.node), "") if is_pair else ""
        self.wrong.pop(item_id, None)
        if outcome in _BLOCKING:
            self.wrong[item_id] = (asked(item_id, nodes) if partner else "", partner)
        elif outcome in _FINE and partner:
            self.fine.setdefault(asked(item_id, nodes), set()).add(partner)

    def suspicious(self) -> Iterator[str]:
        """Yield the failed items that leave the node under suspicion."""
        bad: dict[str, set[str]] = {}
        for about, partner in self.wrong.values():
            bad.setdefault(about, set()).add(partner)
        cleared = {about for about in bad if self.fine.get(about, set()) - bad[about]}
        return (item for item, (about, _) in self.wrong.items() if about not in cleared)
