"""Facts against expectations: an absent, empty or wrongly typed fact never meets one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.config.thresholds.model import Expectation
from railgauge.core.limits import Basis
from railgauge.core.model import Outcome
from railgauge.judging.judge import judge_fact


def outcome(rule, value, wanted=None, **context):
    basis = Basis("derived", "made up for a test")
    expectation = Expectation("subject", rule, wanted, basis, "/expected/subject")
    return judge_fact(expectation, value, **context).outcome


PASSED, FAILED = Outcome.PASSED, Outcome.FAILED


@pytest.mark.parametrize(
    ("rule", "value", "wanted", "expected"),
    [
        ("equals", "unlimited", "unlimited", PASSED),
        ("equals", ("performance",), ["performance"], PASSED),
        ("equals", ("performance", "powersave"), ["performance"], FAILED),
        ("equals", (), [], PASSED),
        ("equals", (1,), [2], FAILED),
        ("equals", ("a", "b"), "ab", FAILED),
        ("equals", 4096, "4096", FAILED),
        ("equals", 1, True, FAILED),
        ("equals", None, "unlimited", FAILED),
        ("one_of", 4096, [2048, 4096], PASSED),
        ("one_of", 1024, [2048, 4096], FAILED),
        ("one_of", True, [1], FAILED),
        ("contains", ("ib_umad", "mxcd"), ["mxcd"], PASSED),
        ("contains", ("ib_umad",), ["mxcd"], FAILED),
        ("contains", ("ib_umad",), ["ib_umad", "mxcd"], FAILED),
        ("contains", ("ib_umad",), [], FAILED),
        ("contains", None, ["mxcd"], FAILED),
        ("at_least", 1, 1, PASSED),
        ("at_least", 2, 1, PASSED),
        ("at_least", 0, 1, FAILED),
        ("at_least", "7", 1, FAILED),
        ("at_least", float("nan"), 1, FAILED),
        ("at_least", None, 1, FAILED),
        ("at_most", 0, 0, PASSED),
        ("at_most", 0, 1, PASSED),
        ("at_most", 1, 0, FAILED),
        ("at_most", None, 0, FAILED),
        ("at_most", float("nan"), 0, FAILED),
    ],
)
def test_each_rule_passes_and_fails_its_values(rule, value, wanted, expected):
    assert outcome(rule, value, wanted) is expected


@pytest.mark.parametrize(
    ("link", "need", "expected"),
    [
        ((8.0, 8), 32.0, PASSED),  # PCIe 3.0 x8, 63 Gb/s
        ((8.0, 16), 32.0, PASSED),
        ((16.0, 16), 32.0, PASSED),
        ((8.0, 4), 32.0, FAILED),  # 31.5 Gb/s
        ((16.0, 16), 400.0, FAILED),
        ((32.0, 16), 400.0, PASSED),
        ((64.0, 16), 400.0, PASSED),
        ((7.0, 16), 32.0, FAILED),  # no specification has 7 GT/s
        ((32.0, "16"), 32.0, FAILED),
        ((32.0,), 32.0, FAILED),
        (None, 32.0, FAILED),
        ((32.0, 16), None, FAILED),
    ],
)
def test_a_pcie_link_is_wide_enough_or_a_fault_and_never_too_wide(link, need, expected):
    assert outcome("carries_rate", link, True, declared=need) is expected


def test_a_missed_pcie_link_is_named_by_generation_width_and_rate():
    rule = Expectation("pcie_link", "carries_rate", True, Basis("derived", "test"), "/expected")
    missed = judge_fact(rule, (32.0, 8), declared=400.0)
    assert missed.reason == "pcie_link is PCIe 5.0 x8 (252.1 Gb/s), should be at least 400 Gb/s"


def test_at_least_the_declared_value_passes():
    assert outcome("at_least", 8, "declared", declared=8) is PASSED
    assert outcome("at_least", 9, "declared", declared=8) is PASSED
    assert outcome("at_least", 7, "declared", declared=8) is FAILED
    assert outcome("at_least", 7, "declared") is FAILED


def test_as_declared_needs_a_declaration():
    assert outcome("as_declared", 8, declared=8) is PASSED
    assert outcome("as_declared", 7, declared=8) is FAILED
    assert outcome("as_declared", None, declared=None) is FAILED
    assert outcome("by_model", "28.1", {"MT4129": "28.1"}, declared="28.1") is PASSED
    assert outcome("by_model", "28.1", {"MT4129": "28.1"}) is FAILED
    assert outcome("by_model", "28.2", {"MT4129": "28.1"}, declared="28.1") is FAILED


@pytest.mark.parametrize(
    ("value", "peers", "expected"),
    [
        ("6.1", ["6.1", "6.1", "5.4"], PASSED),
        ("5.4", ["6.1", "6.1", "5.4"], FAILED),
        ("6.1", ["6.1", "5.4"], FAILED),
        ("6.1", ["6.1"], PASSED),
        (1, [True, True], FAILED),
        (None, [None, None], FAILED),
        ("6.1", [], FAILED),
    ],
)
def test_alike_is_what_more_than_half_have(value, peers, expected):
    assert outcome("alike", value, peers=peers) is expected


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=7))
def test_at_most_one_value_is_the_majority_s(values):
    passing = {value for value in values if outcome("alike", value, peers=values) is PASSED}
    assert len(passing) <= 1
    assert all(values.count(value) * 2 > len(values) for value in passing)


@pytest.mark.parametrize("value", ["28.36", "28.39"])
def test_if_nodes_differ_those_of_the_majority_name_the_others(value):
    """Most nodes may have the wrong version: what passes names the others."""
    basis = Basis("derived", "made up")
    alike = Expectation("nic_firmware", "alike", "model", basis, "/expected/x")
    made = judge_fact(alike, value, peers=["28.36", "28.36", "28.39", "28.36"])
    own, others = {"28.36": (3, "28.39 (1)"), "28.39": (1, "28.36 (3)")}[value]
    assert made.outcome is (PASSED if own == 3 else FAILED)
    assert made.reason == f"nic_firmware is {value}, which {own} of 4 have; the others: {others}"
    assert judge_fact(alike, value, peers=[value] * 4).reason == ""


@pytest.mark.parametrize(("kinds", "first"), [(4, "1, 2, 3, 4"), (6, "1, 2, 3, 4")])
def test_of_many_other_values_the_first_four_are_listed(kinds, first):
    alike = Expectation("kernel", "alike", "nodes", Basis("derived", "made up"), "/expected/x")
    made = judge_fact(alike, "0", peers=[str(one) for one in range(kinds + 1)])
    listed = "; ".join(f"{one} (1)" for one in first.split(", "))
    assert made.reason == f"kernel is 0, which 1 of {kinds + 1} have; the others: {listed}"


def test_the_reason_has_the_found_and_the_required_value():
    basis = Basis("000", "2.3: performance")
    expectation = Expectation("cpu_governor", "equals", ["performance"], basis, "/expected/x")
    result = judge_fact(expectation, ("powersave",))
    assert result.reason == "cpu_governor is powersave, should be performance"
    assert result.basis == "000: 2.3: performance"
    assert result.pointer == "/expected/x"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *(({"0": "0-3", "1": "4-7"}, "0: 0-3; 1: 4-7"), ({}, "none")),
        *(((), "none"), (("a", "b"), "a, b"), (2.50, "2.5"), (True, "True")),
    ],
)
def test_a_value_is_reported_in_words(value, text):
    expectation = Expectation("numa_cpus", "equals", "x", Basis("000", "2.3"), "/expected/x")
    made = judge_fact(expectation, value, peers=["y"])
    assert (made.measured, made.reason) == (text, f"numa_cpus is {text}, should be x")


def test_only_the_required_members_of_a_list_are_reported():
    loaded = Expectation("modules", "contains", ["a", "b"], Basis("000", "2.3"), "/expected/x")
    made = judge_fact(loaded, ("x", "b", "y"))
    assert (made.measured, made.limit, made.outcome) == ("b", "with a, b", FAILED)


def test_values_of_which_none_has_a_majority_leave_undecided_what_is_right():
    alike = Expectation("kernel", "alike", "nodes", Basis("derived", "made up"), "/expected/x")
    made = judge_fact(alike, "5.15", peers=["5.15", "6.8"])
    undecided = "undecided (no value is held by more than half)"
    assert made.limit == f"the same as most: {undecided}"
