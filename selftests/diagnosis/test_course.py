"""Intermittent faults, and items that are marginal from one time on."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from testing.diagnose_scenes import (
    causes,
    collective,
    findings,
    measured,
    named,
    names,
    pairs_of,
    path,
    paths,
)
from testing.timed_scenes import (
    MINE,
    NICS,
    READ,
    ROUNDS,
    SEND,
    WRITE,
    of_n2,
    ordered,
    run,
    slow,
)

from railgauge.core.model import Outcome
from railgauge.diagnosis import diagnose, nodes_of, notes
from railgauge.diagnosis.confirm import follow_ups
from railgauge.judging.confirmation import Confirmed

EIGHT = tuple(f"mlx5_{number}" for number in range(8))


def summary(found):
    return [(cause.cause, str(cause.where), cause.confidence) for cause in found]


# --- an intermittent fault ---


def again(results, causes, slow_again):
    """The causes after two rounds of follow-ups; ``slow_again`` selects what misses the limit."""
    asked = follow_ups(results, causes)
    assert asked
    confirmed = [_measured_again(one, slow_again) for one in asked]
    told = replace(results, confirmed=tuple(confirmed))
    confirmed += [
        _measured_again(one, slow_again) for one in follow_ups(told, diagnose(told), asked)
    ]
    return diagnose(replace(results, confirmed=tuple(confirmed)))


def _measured_again(one, slow_again):
    case = one.question.case
    figure = 235.0 if slow_again(set(case.nodes), one.suspects) else 392.0
    item = path(*case.nodes, str(case.pairing), figure)
    return Confirmed(one, measured(item, figure).judgements[:1])


def test_two_slow_measurements_of_a_node_are_undecided_until_they_are_measured_again():
    """Two slow directions explain them as well as one node that comes and goes."""
    results = run(ordered(), of_n2(MINE[:2]))
    found = diagnose(results)
    assert [cause.cause for cause in found] == ["slow-direction", "slow-direction"]
    assert all(cause.confidence == "open" for cause in found)
    (cause,) = again(results, found, lambda nodes, suspects: False)
    assert (cause.cause, cause.confidence) == ("slow-node", "open")
    assert "n2" in nodes_of(cause.where.node)
    assert "it comes and goes: 2 of 4 measurements are slow" in cause.says
    assert "--confirm" in cause.would_decide
    assert cause.to_json()["course"] == {"kind": "intermittent", "since": "", "slow": 2, "of": 4}


def test_two_slow_directions_with_one_partner_are_named():
    results = run(ordered(), of_n2(MINE[:2]))
    found = diagnose(results)
    partners = nodes_of(found[0].where.node) | nodes_of(found[1].where.node)
    partners -= {"n2"}
    assert len(partners) == 2
    named_ = again(results, found, lambda nodes, suspects: bool(partners & set(nodes)))
    assert {cause.where.node for cause in named_} == partners
    assert {cause.confidence for cause in named_} == {"likely"}


@pytest.mark.parametrize(
    ("other", "expected"), [(235.0, {"slow-node"}), (300.0, {"slow-direction"})]
)
def test_a_node_that_slows_down_loses_the_same_share_each_time(other, expected):
    """Two parts that lose different shares since one moment are two faults."""
    last = MINE[-1]

    def figure(minute, subject, pair, nic):
        if "n2" not in pair or minute not in MINE[-2:]:
            return 392.0
        return other if minute == last else 235.0

    assert {cause.cause for cause in diagnose(run(ordered(), figure))} == expected


@pytest.mark.parametrize("fine", MINE[1:])
def test_a_node_with_a_slow_measurement_on_each_nic_is_one_intermittent_fault_or_two(fine):
    """A slow path and a slow NIC explain three slow measurements of four as well."""
    results = run(ordered(), of_n2(set(MINE) - {fine}))
    found = diagnose(results)
    (cause,) = found
    assert (cause.cause, cause.confidence) == ("slow-node", "open")
    assert "3 of 4 measurements are slow; the evidence fits each of n2, n2:n" in cause.says
    (cause,) = again(results, found, lambda nodes, suspects: "n2" in nodes)
    assert summary([cause]) == [("slow-node", "n2", "likely")]


def test_a_path_and_a_nic_of_one_node_are_not_one_intermittent_node():
    """That chance makes just the pairs of two places slow, of so many, is unlikely."""
    pairs, nics = list(pairs_of(names(5), 2)), [f"mlx5_{i}" for i in range(8)]
    pair = next(p for p in pairs if "n4" in p)
    slow_ = {frozenset(pair): 235.0, ("n4", "mlx5_3"): 235.0}
    found = causes(paths(pairs, nics, slow_))
    assert not any(c.cause == "slow-node" or c.course for c in found)
    assert ("slow-nic", "n4, mlx5_3") in named(found)
    assert any(f"{min(pair)}:{max(pair)}" in c.says for c in found)


def test_what_is_slow_at_times_in_one_direction_alone_is_undecided():
    """Its other direction was fine each time, but so were some measurements of this one."""
    pairs = [("n2", "n1"), ("n2", "n3"), ("n4", "n2"), ("n5", "n2"), ("n3", "n4"), ("n1", "n5")]
    items = paths(pairs, NICS[:1], {}) + paths(pairs, NICS[:1], {}, "host_send_bandwidth")
    once = {("n2", "n1"): 0, ("n2", "n3"): len(pairs)}
    at = {number + pairs.index(pair) for pair, number in once.items()}
    slow_ = [
        path(*i.nodes, NICS[0], 235.0, i.subject) if n in at else i for n, i in enumerate(items)
    ]
    for cause in causes(slow_):
        assert cause.confidence == "open", cause


def test_both_directions_together_are_slow_and_each_alone_was_fine():
    """A part that is slow all the time is slow alone as well: it slowed down, or comes and goes."""
    pairs = [("n2", "n1"), ("n3", "n2"), ("n1", "n4"), ("n4", "n3")]
    alone = paths(pairs, NICS, {})
    both = paths(pairs, NICS, {("n2", NICS[0]): 300.0}, "host_write_bandwidth_bidirectional")
    (cause,) = causes(alone, both)
    assert (cause.cause, str(cause.where), cause.confidence) == (
        "slow-nic",
        f"n2, {NICS[0]}",
        "open",
    )


def test_a_node_that_is_slow_at_times_on_most_of_its_nics_is_one_cause():
    """By chance one NIC was slow in both of its pairs, and another one in none."""
    nics = [f"mlx5_{i}" for i in range(8)]
    first, second = ("n2", "n3"), ("n3", "n1")
    slow_ = {(first, i) for i in (0, 3, 4, 6, 7)} | {(second, i) for i in (1, 2, 3)}
    items = [
        path(*pair, nic, 345.0 if (pair, i) in slow_ else 392.0)
        for pair in (first, second, ("n1", "n2"))
        for i, nic in enumerate(nics)
    ]
    (cause,) = causes(items)
    assert (cause.cause, cause.where.node, cause.where.device) == ("slow-node", "n3", "")
    assert "8 of 16 measurements are slow" in cause.says
    always = {(pair, i) for pair in (first, second) for i in range(5)}
    each = [
        path(
            *item.nodes,
            item.pairing,
            345.0 if (item.nodes, int(item.pairing[-1])) in always else 392.0,
        )
        for item in items
    ]
    assert {c.where.device for c in causes(each)} == set(nics[:5]), "five NICs, slow all the time"


def test_pairs_that_were_slow_once_do_not_hide_a_node_that_is_slow_at_times():
    """By place these are four slow NICs, and three paths that were fine once."""
    first, second = ("n2", "n3"), ("n3", "n1")
    sums = "host_write_bandwidth_bidirectional"
    slow_ = {(first, "", i) for i in (0, 1, 2, 6)} | {(second, "", i) for i in (1, 2)}
    slow_ |= {(first, sums, i) for i in (3, 4, 7)} | {(second, sums, i) for i in (1, 6, 7)}
    items = [
        path(*pair, nic, 235.0 if (pair, subject, i) in slow_ else 392.0, subject)
        for subject in ("", sums)
        for pair in (first, second, ("n1", "n2"))
        for i, nic in enumerate(EIGHT)
    ]
    (cause,) = causes(items)
    assert (cause.cause, cause.where.node, cause.where.device) == ("slow-node", "n3", "")
    assert "12 of 32 measurements are slow" in cause.says


@pytest.mark.parametrize("minute", MINE)
def test_one_slow_measurement_leaves_the_cause_undecided(minute):
    (cause,) = diagnose(run(ordered(), of_n2([minute])))
    assert cause.confidence == "open"
    assert "1 of 2 measurements are slow" in cause.says
    assert "n2" in {*cause.where.node.split("|"), cause.where.peer}
    assert cause.would_decide


def test_a_path_that_is_slow_with_one_of_three_tools_is_undecided():
    tests = ordered((WRITE, READ, SEND), NICS[:1])
    once = [m for m, (s, pair, _) in enumerate(tests) if s == READ and set(pair) == {"n1", "n2"}]
    (cause,) = diagnose(run(tests, of_n2(once)))
    assert cause.confidence == "open"
    assert "1 of 3 measurements are slow" in cause.says


def test_a_path_that_is_slow_for_sends_only_is_undecided():
    """Both slow tests are sends, but no fault of a path depends on the tool."""
    tests = ordered((WRITE, READ, SEND, "host_send_bandwidth_4qp"), NICS[:1])
    sends = [
        m for m, (s, p, _) in enumerate(tests) if s.startswith(SEND) and set(p) == {"n1", "n2"}
    ]
    (cause,) = diagnose(run(tests, of_n2(sends)))
    assert cause.confidence == "open"
    assert "2 of 4 measurements are slow" in cause.says


def test_an_intermittent_node_that_is_slow_with_both_partners_is_named():
    tests = ordered((WRITE, READ, SEND), NICS[:1])
    mine = [minute for minute, (_, pair, _) in enumerate(tests) if "n2" in pair]
    (cause,) = diagnose(run(tests, of_n2([mine[0], mine[5]])))
    assert summary([cause]) == [("slow-node", "n2", "likely")]
    assert "2 of 6 measurements are slow" in cause.says


def test_repeats_that_disagree_show_an_intermittent_fault():
    def figures(minute, subject, pair, nic):
        return (392.0, 235.0, 392.0) if minute == MINE[1] else (392.0, 391.0, 392.0)

    (cause,) = diagnose(run(ordered(), figures, repeats=3))
    assert cause.confidence == "open"
    assert cause.course.slow == 1
    assert "comes and goes: 1 of" in cause.says


def test_a_slow_direction_has_no_course():
    """n2 always receives slowly."""
    tests = ordered((WRITE, READ))
    holds = lambda m, s, pair, n: pair[s == WRITE] == "n2"  # noqa: E731 - reads flow backwards
    assert all(cause.course is None for cause in diagnose(run(tests, slow(holds))))


def test_a_mild_fault_near_the_limit_has_no_course():
    """A loss of 4.9 % passes and one of 5.1 % fails, but the fault is permanent."""

    def value(minute, subject, pair, nic):
        if "n2" not in pair:
            return 392.0
        return 372.0 if (minute + (subject == READ)) % 2 else 372.9

    found = diagnose(run(ordered((WRITE, READ)), value))
    assert all(cause.course is None for cause in found)


def test_another_fault_beside_an_intermittent_one_has_its_own_cause():
    def value(minute, subject, pair, nic):
        if set(pair) == {"n3", "n4"}:
            return 200.0
        return 235.0 if "n2" in pair and minute in MINE[:2] else 392.0

    assert {c.cause for c in diagnose(run(ordered(), value))} >= {"slow-path"}


def test_different_collectives_are_not_compared():
    """An all-to-all may be slow on a path where an all-reduce is fast."""
    items = [
        collective(pair, 250.0 if kind == "pair_alltoall" and "n2" in pair else 392.0, subject=kind)
        for kind in ("pair_all_reduce", "pair_alltoall")
        for pair in ((p.source, p.target) for turn in ROUNDS for p in turn)
    ]
    found = diagnose(findings(items))
    assert named(found) == [("slow-node", "n2")]
    assert found[0].course is None


@given(st.sets(st.sampled_from(range(len(ordered((WRITE, READ)))))))
def test_each_slow_item_has_a_cause_and_no_healthy_node_is_named(minutes):
    tests = ordered((WRITE, READ))
    results = run(tests, slow(lambda m, s, pair, n: m in minutes))
    found = diagnose(results)
    spoken = {i for cause in found for i in (*cause.evidence, *cause.explains)}
    assert spoken == {r.id for r in results.records.values() if r.outcome == "failed"}
    hit = {node for minute in minutes for node in tests[minute][1]}
    assert {n for c in found for n in (*c.where.node.split("|"), c.where.peer) if n} <= hit


@given(st.sets(st.sampled_from(MINE), min_size=1))
def test_a_single_intermittent_node_is_a_suspect_of_each_cause(minutes):
    for cause in diagnose(run(ordered(), of_n2(minutes))):
        assert "n2" in {*cause.where.node.split("|"), cause.where.peer}


# --- marginal items from one time on ---


def marginal(results, when):
    """The results with marginal items where ``when(number in the run, item)`` is true."""
    kept = {}
    for number, (name, item) in enumerate(results.records.items()):
        if when(number, item):
            judged = replace(item.judgements[0], outcome=Outcome.MARGINAL)
            kept[name] = replace(item, outcome=Outcome.MARGINAL, judgements=(judged,))
    return replace(results, records={**results.records, **kept})


TWICE = ordered((WRITE, READ))


@pytest.mark.parametrize("first", [6, 10])
def test_a_node_that_is_marginal_from_one_time_on_is_noted(first):
    healthy = run(TWICE, lambda *_: 392.0)
    found = marginal(healthy, lambda number, item: "n2" in item.nodes and number >= first)
    assert diagnose(found) == ()
    (line,) = [line for line in notes(found) if "marginal" in line]
    assert line.startswith("n2 is within its limits, but since 14:")
    count = sum("n2" in pair for _, pair, _ in TWICE[first:])
    assert f"all of its {count} measurements are marginal" in line


@pytest.mark.parametrize(
    "when",
    [
        lambda number, item: False,
        lambda number, item: "n2" in item.nodes,
        lambda number, item: "n2" in item.nodes and item.pairing == "mlx5_1",
        lambda number, item: "n2" in item.nodes and item.subject == READ,
        lambda number, item: number >= 9,
        lambda number, item: "n2" in item.nodes and number % 3,
        lambda number, item: "n2" in item.nodes and number >= 14,
    ],
)
def test_other_marginal_items_are_not_noted(when):
    found = marginal(run(TWICE, lambda *_: 392.0), when)
    assert not [line for line in notes(found) if "marginal" in line]


def test_without_times_marginal_items_are_not_noted():
    healthy = run(TWICE, lambda *_: 392.0, timed=False)
    found = marginal(healthy, lambda number, item: "n2" in item.nodes and number >= 6)
    assert not [line for line in notes(found) if "marginal" in line]
