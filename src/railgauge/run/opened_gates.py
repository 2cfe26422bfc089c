"""Which failed pairs hold a node back no more, because their cause is known to lie elsewhere. Pure.

A pair that failed closes the gates of both nodes, unless one of them did well with another partner
(``judging.suspicion``). The diagnosis can tell more: it compares all figures of the nodes.

Example: ``a`` was measured with ``b`` and ``c`` alone over ``mlx5_0``, and both pairs are slow. The
pairs of ``b`` and ``c`` with other nodes show ``slow-nic`` at both of them. ``a`` is not to blame.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from railgauge.diagnosis import OPEN, Cause, nodes_of


def still_blocking(node: str, blockers: Sequence[str], causes: Iterable[Cause]) -> tuple[str, ...]:
    """The blockers of ``node`` without those whose decided causes all lie on other nodes."""
    elsewhere, here = set[str](), set[str]()
    for cause in causes:
        nodes, shown = nodes_of(cause.where.node), {*cause.evidence, *cause.explains}
        is_elsewhere = nodes and node not in nodes and not cause.where.peer
        decided = cause.confidence != OPEN
        (elsewhere if is_elsewhere and decided else here).update(shown)
    return tuple(one for one in blockers if one in here or one not in elsewhere)
