"""What the model of slow parts does grows with the readings, not with what they could mean."""

import pytest
from drawn_results import big_cluster, costs

from railgauge.diagnosis.slow.readings import evidence
from railgauge.diagnosis.slow.search import searched


@pytest.mark.parametrize("faults", [0, 3])
def test_the_slow_parts_of_a_large_cluster_are_named(faults):
    found = costs(32, faults, 1)
    assert (found["named"], found["wrong"]) == (faults, 0)


def test_the_search_tries_no_more_parts_of_a_cluster_four_times_as_large():
    """A collective of all nodes that is slow alone has all of their links as candidates."""
    drawn = [big_cluster(nodes, 3, 4).results() for nodes in (8, 32)]
    tried = [len(searched(evidence(one)).pool) for one in drawn]
    assert tried[1] < 1.5 * tried[0]
