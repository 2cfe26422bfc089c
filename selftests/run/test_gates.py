"""A failure on a lower rung blocks the rungs above it on the same nodes."""

import threading
import time

import pytest

from railgauge.core.errors import NoEvidence
from railgauge.core.model import Outcome
from railgauge.judging.prevention import Prevents
from railgauge.leases.files import Leases
from railgauge.run.gates import Gates
from railgauge.run.store import Store

ITEMS = [
    ("rdma[a:b]", 1, ("a", "b")),
    ("facts[a]", 0, ("a",)),
    ("facts[b]", 0, ("b",)),
    ("facts[c]", 0, ("c",)),
    ("gdr[a:b]", 2, ("a", "b")),
    ("rdma[a:c]", 1, ("a", "c")),
]


@pytest.fixture
def store(tmp_path):
    Leases(tmp_path / "leases")
    return Store(tmp_path)


def gates(store, wait_limit_s=5.0):
    made = Gates(store, wait_limit_s)
    made.expect(ITEMS)
    return made


def finish(gate, **changes):
    outcomes = {name: Outcome.PASSED for name, _, _ in ITEMS} | changes
    for name, outcome in outcomes.items():
        gate.finished(name, outcome)


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.ERROR])
def test_what_went_wrong_below_is_named(store, outcome):
    gate = gates(store)
    finish(gate, **{"facts[b]": outcome})
    assert gate.blockers(1, ("a", "b")) == ("facts[b]",)
    assert gate.blockers(2, ("a", "b")) == ("facts[b]",)


def test_other_nodes_are_not_blocked(store):
    gate = gates(store)
    finish(gate, **{"facts[b]": Outcome.FAILED})
    assert gate.blockers(1, ("a", "c")) == ()


def test_the_same_rung_and_those_above_do_not_block(store):
    gate = gates(store)
    finish(gate, **{"rdma[a:b]": Outcome.FAILED, "gdr[a:b]": Outcome.FAILED})
    assert gate.blockers(1, ("a", "b")) == ()
    assert gate.blockers(0, ("a",)) == ()


def test_a_pair_s_failure_blocks_both_of_its_nodes_above(store):
    gate = gates(store)
    finish(gate, **{"rdma[a:c]": Outcome.FAILED})
    assert gate.blockers(2, ("a", "b")) == ("rdma[a:c]",)


@pytest.mark.parametrize(
    "outcome", [Outcome.PASSED, Outcome.MARGINAL, Outcome.RECORD_ONLY, Outcome.BLOCKED]
)
def test_only_what_went_wrong_itself_blocks(store, outcome):
    """A blocked item blocks nothing; the failure that blocked it does."""
    gate = gates(store)
    finish(gate, **{"facts[a]": outcome})
    assert gate.blockers(1, ("a", "b")) == ()


def test_each_blocker_is_named_once(store):
    gate = gates(store)
    finish(gate, **{"rdma[a:b]": Outcome.FAILED})
    assert gate.blockers(2, ("a", "b")) == ("rdma[a:b]",)


def test_blockers_are_in_the_order_of_the_ladder(store):
    gate = gates(store)
    finish(gate, **{"rdma[a:b]": Outcome.FAILED, "facts[b]": Outcome.FAILED})
    assert gate.blockers(2, ("a", "b")) == ("facts[b]", "rdma[a:b]")


def test_lower_rungs_are_waited_for(store):
    gate, other = gates(store), gates(store)
    later = threading.Timer(0.2, finish, [other], {"facts[a]": Outcome.FAILED})
    started = time.monotonic()
    later.start()
    assert gate.blockers(1, ("a", "b")) == ("facts[a]",)
    assert time.monotonic() - started > 0.15


def test_nobody_waits_for_ever(store):
    gate = gates(store, wait_limit_s=0.15)
    gate.finished("facts[a]", Outcome.PASSED)
    with pytest.raises(
        NoEvidence, match=r"while 1 items of lower rungs are open, first facts\[b\]"
    ):
        gate.blockers(1, ("a", "b"))


def test_a_rung_without_anything_below_does_not_wait(store):
    assert gates(store, wait_limit_s=0).blockers(0, ("a", "b")) == ()
    assert gates(store, wait_limit_s=0).blockers(1, ("unknown",)) == ()


def test_the_last_word_on_an_item_counts(store):
    """The item failed, its worker died before it reported, and another worker ran it again."""
    gate = gates(store)
    finish(gate, **{"facts[a]": Outcome.ERROR})
    assert gate.blockers(1, ("a", "b")) == ("facts[a]",)
    gate.finished("facts[a]", Outcome.PASSED)
    assert gate.blockers(1, ("a", "b")) == ()


# --- collectives whose results are still checked behind a gate ---


@pytest.mark.parametrize(
    ("prevents", "alone", "pair"),
    [
        (Prevents.NONE, False, False),
        (Prevents.BETWEEN_NODES, False, True),
        (Prevents.ALL, True, True),
    ],
)
def test_what_went_wrong_may_leave_collectives_possible(store, prevents, alone, pair):
    gate = gates(store)
    finish(gate)
    gate.finished("facts[b]", Outcome.FAILED, prevents)
    assert gate.blockers(3, ("b",)) == ("facts[b]",)
    assert (gate.prevented(3, ("b",)), gate.prevented(4, ("a", "b"))) == (alone, pair)
    assert not gate.prevented(4, ("a", "c")), "on other nodes nothing is prevented"


def test_an_item_that_ran_again_and_passed_prevents_nothing_any_more(store):
    gate = gates(store)
    finish(gate)
    gate.finished("facts[b]", Outcome.ERROR, Prevents.ALL)
    gate.finished("facts[b]", Outcome.PASSED)
    assert not gate.prevented(4, ("a", "b"))


# --- a run that is stopped ---


def test_nobody_waits_in_a_run_that_was_stopped(store):
    gate, other = gates(store), gates(store)
    assert other.stopped == ""
    gate.stop("the run was stopped: data corruption")
    assert other.blockers(4, ("a", "b")) == ()
    assert other.stopped == "the run was stopped: data corruption"


def test_the_first_reason_for_a_stop_counts(store):
    gate = gates(store)
    gate.stop("data corruption")
    gate.stop("the run ended before this item")
    assert gate.stopped == "data corruption"


def test_what_goes_on_inside_a_node_waits_for_no_fault_of_its_partner(store):
    """``b`` is slow with both; ``a`` and ``c`` are fine with each other."""
    pairs = [("a", "b"), ("b", "c"), ("a", "c")]
    made = Gates(store, 5.0)
    made.expect((f"rdma[{one}:{other}-mlx5_0-8MiB]", 1, (one, other)) for one, other in pairs)
    for one, other in pairs:
        slow = "b" in (one, other)
        made.finished(
            f"rdma[{one}:{other}-mlx5_0-8MiB]", Outcome.FAILED if slow else Outcome.PASSED
        )
    assert made.blockers(3, ("a",)) == made.blockers(3, ("c",)) == ()
    assert made.blockers(3, ("b",)) == ("rdma[a:b-mlx5_0-8MiB]", "rdma[b:c-mlx5_0-8MiB]")
    assert made.blockers(4, ("a", "c")) == ("rdma[a:b-mlx5_0-8MiB]", "rdma[b:c-mlx5_0-8MiB]")
