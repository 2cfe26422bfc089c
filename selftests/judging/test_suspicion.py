"""A failed pair blocks what goes on inside a node only if it leaves the node under suspicion."""

import pytest

from railgauge.core.model import Outcome
from railgauge.judging.gates import NodeOutcomes

FAILED, ERROR, PASSED = Outcome.FAILED, Outcome.ERROR, Outcome.PASSED


def rdma(one, other, part="mlx5_0", size="8MiB", test="test_write_bandwidth"):
    return f"tests/network/test_rdma.py::{test}[{one}:{other}-{part}-{size}]", (one, other)


def outcomes(node, *ended):
    found = NodeOutcomes(node)
    for (item, nodes), outcome in ended:
        found.note(item, nodes, outcome)
    return found


def suspicious(node, *ended):
    return list(outcomes(node, *ended).suspicious())


@pytest.mark.parametrize("outcome", [FAILED, ERROR])
def test_a_node_that_was_fine_with_another_partner_is_under_no_suspicion(outcome):
    slow = rdma("a", "b")
    assert suspicious("a", (slow, outcome), (rdma("a", "c"), PASSED)) == []
    assert suspicious("a", (rdma("c", "a"), Outcome.MARGINAL), (slow, outcome)) == []
    assert suspicious("b", (slow, outcome)) == [slow[0]]


def test_a_node_that_fails_with_each_partner_is_under_suspicion():
    wrong = [rdma("a", "b"), rdma("b", "c")]
    assert suspicious("b", *((one, FAILED) for one in wrong)) == [one for one, _ in wrong]


@pytest.mark.parametrize(
    "fine",
    [
        rdma("a", "c", part="mlx5_1"),
        rdma("a", "c", test="test_read_bandwidth"),
        rdma("a", "b", size="64KiB"),
        rdma("b", "a"),
    ],
    ids=["over another NIC", "in another test", "at another size", "the other way"],
)
def test_a_pass_of_another_test_clears_no_node(fine):
    slow = rdma("a", "b")
    assert suspicious("a", (slow, FAILED), (fine, PASSED)) == [slow[0]]


def test_a_partner_with_which_another_size_failed_clears_no_node():
    slow, worse = rdma("a", "b"), rdma("a", "c", size="64KiB")
    ended = [(slow, FAILED), (worse, FAILED), (rdma("a", "c"), PASSED)]
    assert suspicious("a", *ended) == [slow[0], worse[0]]


@pytest.mark.parametrize("outcome", [Outcome.BLOCKED, Outcome.NOT_RUN, Outcome.RECORD_ONLY])
def test_an_outcome_without_a_reached_limit_clears_no_node(outcome):
    slow = rdma("a", "b")
    assert suspicious("a", (slow, FAILED), (rdma("a", "c"), outcome)) == [slow[0]]


def test_a_failure_on_the_node_alone_or_in_a_group_stays():
    alone = "tests/preflight/test_host.py::test_memlock[a]", ("a",)
    group = (
        "tests/collective/test_groups.py::test_collective[group_all_reduce-leaf-8GiB]",
        ("a", "b", "c"),
    )
    found = suspicious("a", (alone, FAILED), (group, FAILED), (rdma("a", "c"), PASSED))
    assert found == [alone[0], group[0]]


def test_the_latest_outcome_counts():
    slow = rdma("a", "b")
    assert suspicious("a", (slow, FAILED), (slow, PASSED)) == []
    assert suspicious("a", (rdma("a", "c"), PASSED), (rdma("a", "c"), FAILED)) == [
        rdma("a", "c")[0]
    ]
