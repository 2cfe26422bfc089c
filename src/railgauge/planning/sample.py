"""A sample of the nodes for a smoke run of which all would take too long. Pure.

A smoke run shows within half an hour whether a cluster works, at any size. Above ``WHOLE`` nodes it
measures as many by themselves and in pairs as that time allows, spread evenly over the hostfile: of
64 H200 nodes ``gpu01``, ``gpu22`` and ``gpu43``. The survey, rung 0 and the collective over all
nodes cover every node. ``--rounds`` and the other levels measure every node.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from railgauge.config.thresholds.model import LEVELS, Platform
from railgauge.core.model import Cluster
from railgauge.planning import plan
from railgauge.planning.forecast import MEANT_S, takes_s, work
from railgauge.planning.pairing import BOTH_WAYS
from railgauge.planning.plan import Level

SMOKE = LEVELS[0]

WHOLE = 4
"""Up to this number of nodes all are measured, however long it takes."""


def level(
    platform: Platform,
    cluster: Cluster,
    name: str,
    count: int | None = None,
    directions: int = BOTH_WAYS,
    *,
    sampled: bool = True,
) -> Level:
    """Return the level ``name`` as a run measures it, with a sample of the nodes if need be.

    ``sampled`` is false for runs of versions that measured every node at smoke. The other arguments
    are those of ``plan.level``. Raises ``BadInput`` as that does.
    """
    whole = plan.level(platform, cluster, name, count, directions)
    if not sampled or name != SMOKE or count or len(whole.nodes) <= WHOLE or _fits(platform, whole):
        return whole
    return _largest(platform, cluster, whole)


def _largest(platform: Platform, cluster: Cluster, whole: Level) -> Level:
    """Return the level with the most nodes that ends in time, or with two."""

    def of(size: int) -> Level:
        nodes = spread(whole.nodes, size)
        return plan.level(platform, cluster, whole.name, None, whole.directions, sample=nodes)

    # An odd number takes one more round, which pays only for three: each has two partners.
    sizes = [2, 3, *range(4, len(whole.nodes), 2)]
    fitting = bisect_right(sizes, False, key=lambda size: not _fits(platform, of(size)))
    return of(sizes[max(fitting - 1, 0)])


def _fits(platform: Platform, wanted: Level) -> bool:
    return takes_s(work(platform, wanted)) <= MEANT_S[wanted.name]


def spread(nodes: Sequence[str], size: int) -> tuple[str, ...]:
    """Return ``size`` nodes at even distances, the first one among them."""
    return tuple(nodes[number * len(nodes) // size] for number in range(size))


def notes(wanted: Level) -> tuple[str, ...]:
    """The note that only some nodes are measured, and how to measure all; empty if all are."""
    if not wanted.sample:
        return ()
    return (
        f"SAMPLE, {len(wanted.sample)} of {len(wanted.nodes)} nodes by themselves and in pairs; of "
        "the others only rung 0 and what runs over all nodes at once; --rounds 2, or nightly, "
        "measures them all",
    )
