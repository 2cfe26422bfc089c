"""A node judged by itself: the growth of its counters between two checks, and what is left out."""

from __future__ import annotations

from dataclasses import replace

from testing.core_values import ROOT
from testing.surveyed import node

from railgauge.config import thresholds
from railgauge.core.errors import CommandTimedOut, CountersUnread
from railgauge.core.model import Cluster, Node
from railgauge.core.terms import Verdict
from railgauge.facts.counters import CounterReading
from railgauge.verdict.one_node import NodeReading, judged

H200 = thresholds.load("h200", ROOT / "thresholds")
ONE = Cluster("c", "h200", "local", (Node("n1", "n1", "n1"),), "c.yaml")
PORTS = dict.fromkeys(("symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors"), 0)
FACTS = node("n1")


def reading(boot="b1", up_s=1000.0, **port):
    nics = {f"mlx5_{index}": PORTS for index in range(8)}
    return CounterReading(boot, {**nics, "mlx5_2": {**PORTS, **port}}, (), up_s)


def found(seen, **options):
    ports = {name: limit for name, limit in H200.growth.items() if name == "port_errors"}
    on = replace(H200, expected={}, growth=ports, kernel_log=None)
    return judged(on, ONE, seen, has_jobs=False, **options)


def test_the_first_reading_since_boot_judges_no_growth():
    for earlier in (None, reading("b0"), reading(up_s=None)):
        one = found(NodeReading(FACTS, reading(), earlier))
        assert one.records == ()
        assert one.verdict is Verdict.INCOMPLETE
        assert one.not_yet[0].startswith("growth of the error counters")


def test_counters_that_grew_since_an_earlier_check_have_a_cause():
    one = found(NodeReading(FACTS, reading(up_s=4600.0, symbol_error=900), reading()))
    assert one.verdict is Verdict.REJECTED
    (cause,) = one.causes
    assert (cause.cause, str(cause.where)) == ("link-error-rate", "n1, mlx5_2")
    assert "in 1.00 h of the time since an earlier check" in one.records[0].reason


def test_counters_that_did_not_grow_are_accepted():
    one = found(NodeReading(FACTS, reading(up_s=4600.0), reading()))
    assert (one.verdict, one.causes, one.not_yet) == (Verdict.ACCEPTED, (), ())


def test_counters_that_cannot_be_read_are_an_error():
    one = found(NodeReading(FACTS, CountersUnread("no ethtool", where="n1")))
    assert one.verdict is Verdict.INCOMPLETE
    assert [item.reason for item in one.undecided] == ["n1: no ethtool"]


def test_a_node_that_was_not_surveyed_is_known_in_nothing():
    lost = CommandTimedOut("was not read within 50 s", where="n1")
    one = judged(H200, ONE, NodeReading(lost), has_jobs=False)
    assert one.verdict is Verdict.INCOMPLETE
    assert len(one.undecided) == len(one.records)
    assert not any(cause.drains for cause in one.causes)
