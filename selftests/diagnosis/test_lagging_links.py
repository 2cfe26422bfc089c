"""Links that are all behind other nodes' are one slow node, whichever miss their limits."""

from __future__ import annotations

import pytest
from testing.diagnose_scenes import causes, links, named

PAIRS = [(a, b) for a in range(8) for b in range(8) if a != b]
LIMIT = 300.0


def of_node(usual, others, lame=21):
    """``lame`` links of n1 are below the limit, the rest reach ``usual``; n2 reaches ``others``."""
    slow = {pair: LIMIT - 1 if number < lame else usual for number, pair in enumerate(PAIRS)}
    return causes(links("n1", slow), links("n2", dict.fromkeys(PAIRS, others)))


def test_links_that_all_lag_are_one_slow_node():
    (cause,) = of_node(usual=LIMIT + 2, others=330.0)
    assert (cause.cause, cause.where.node, cause.confidence) == ("slow-node", "n1", "likely")
    assert "behind other nodes' as well" in cause.says
    assert len(cause.evidence) == 21


@pytest.mark.parametrize("lame", [1, 2])
def test_links_beside_healthy_ones_are_links(lame):
    found = of_node(usual=330.0, others=330.0, lame=lame)
    assert {cause for cause, _ in named(found)} == {"slow-gpu-link"}


def test_a_link_that_is_no_slower_than_the_others_of_its_node_is_not_named():
    """Noise alone puts it below the limit; the node is slow if other nodes are faster."""
    (cause,) = of_node(usual=LIMIT + 2, others=330.0, lame=1)
    assert (cause.cause, cause.where.node, cause.confidence) == ("slow-node", "n1", "likely")
    (cause,) = causes(links("n1", {**dict.fromkeys(PAIRS, LIMIT + 2), PAIRS[0]: LIMIT - 1}))
    assert (cause.cause, cause.where.node, cause.confidence) == ("slow-node", "n1", "open")
    assert "the other links of n1 are hardly faster" in cause.says
