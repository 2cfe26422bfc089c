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


@pytest.mark.parametrize(("usual", "lame"), [(330.0, 2), (LIMIT + 2, 1)])
def test_links_beside_healthy_ones_are_links(usual, lame):
    found = of_node(usual=usual, others=330.0, lame=lame)
    assert {cause for cause, _ in named(found)} == {"slow-gpu-link"}
