"""An item of a live run waits for the rungs below it, and all processes have the same gates."""

import threading
import time

import pytest
from testing.core_values import ROOT, item

from railgauge.config import thresholds
from railgauge.core.errors import NoEvidence
from railgauge.core.model import Outcome
from railgauge.core.terms import Rung
from railgauge.leases.files import Leases
from railgauge.run.gates import RunGates
from railgauge.run.store import Store

H200 = thresholds.load("h200", ROOT / "thresholds")
# In the order of the ladder; the last one has two rows.
ITEMS = [
    (Rung.PREFLIGHT, ("a",), 1),
    (Rung.PREFLIGHT, ("b",), 1),
    (Rung.PREFLIGHT, (), 1),
    (Rung.NETWORK, ("a", "b"), 2),
]
FACT_A, FACT_B, OF_SUBNET, PAIR = range(4)


@pytest.fixture
def store(tmp_path):
    Leases(tmp_path / "leases")
    return Store(tmp_path)


def gates(store, wait_limit_s=5.0):
    made = RunGates(store, wait_limit_s)
    made.expect(ITEMS)
    return made


def end(gate, place, outcome=Outcome.PASSED, **more):
    rung, nodes, _ = ITEMS[min(place, PAIR)]
    more = {"by_evidence": True, "subject": "kernel", **more}
    gate.ended(item(f"item{place}", outcome, rung=rung, nodes=nodes, **more), place, nodes)


def end_all(gate, **changes):
    for place in range(PAIR + 2):
        end(gate, place, **changes.get(f"item{place}", {}))


def test_another_process_learns_what_blocks_and_what_keeps_results_from_being_checked(store):
    gate, other = gates(store), gates(store)
    end_all(gate, item1={"outcome": Outcome.FAILED, "subject": "port_state"})
    assert other.blockers(1, ("a", "b")) == other.blockers(3, ("b",)) == ("item1",)
    assert other.is_checked(H200.measurements["node_all_reduce"], ("b",))
    assert not other.is_checked(H200.measurements["pair_all_reduce"], ("a", "b"))


def test_another_process_learns_that_evidence_shows_nothing(store):
    gate, other = gates(store), gates(store)
    end_all(gate, item1={"outcome": Outcome.ERROR, "by_evidence": False})
    assert other.blockers(1, ("a", "b")) == ()
    lines, _ = store.lines("outcomes.jsonl")
    assert [(one["outcome"], one.get("shown")) for one in lines[:2]] == [
        ("passed", None), ("error", "not_run"),
    ]  # fmt: skip


def test_lower_rungs_are_waited_for(store):
    gate, other = gates(store), gates(store)
    end(gate, FACT_B)
    later = threading.Timer(0.2, end, [other, FACT_A, Outcome.FAILED])
    started = time.monotonic()
    later.start()
    assert gate.blockers(1, ("a", "b")) == ("item0",)
    assert time.monotonic() - started > 0.15


def test_all_rows_of_an_item_are_waited_for(store):
    gate = gates(store, wait_limit_s=0.1)
    for place in (FACT_A, FACT_B, PAIR):
        end(gate, place)
    with pytest.raises(NoEvidence, match="lower rungs are open on a, b"):
        gate.blockers(2, ("a", "b"))
    end(gate, PAIR + 1, Outcome.FAILED)
    assert gate.blockers(2, ("a", "b")) == ("item4",)


def test_an_item_that_ends_twice_ends_for_no_other_one(store):
    """Its worker died before it reported, or a plugin has run it again."""
    gate = gates(store, wait_limit_s=0.1)
    end(gate, FACT_A)
    end(gate, FACT_B)
    end(gate, PAIR)
    end(gate, PAIR)
    with pytest.raises(NoEvidence, match="lower rungs are open"):
        gate.blockers(2, ("a", "b"))


def test_nobody_waits_for_ever(store):
    gate = gates(store, wait_limit_s=0.15)
    end(gate, FACT_A)
    said = "no item has ended for 0 s while items of lower rungs are open on b$"
    with pytest.raises(NoEvidence, match=said):
        gate.blockers(1, ("a", "b"))


def test_a_rung_without_anything_below_does_not_wait(store):
    assert gates(store, wait_limit_s=0).blockers(0, ("a", "b")) == ()
    assert gates(store, wait_limit_s=0).blockers(1, ("unknown",)) == ()


def test_a_scan_of_the_subnet_keeps_nobody_waiting_and_closes_no_gate(store):
    gate = gates(store, wait_limit_s=0)
    end(gate, FACT_A)
    assert gate.blockers(1, ("a",)) == ()
    end(gate, OF_SUBNET, Outcome.FAILED)
    assert gate.blockers(1, ("a",)) == ()


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
