"""Facts and the model of slow parts give one list: what a fact explains is blamed on no part."""

from __future__ import annotations

from dataclasses import replace

import pytest
from testing.diagnose_scenes import (
    blocked,
    both_directions,
    broken,
    collective,
    collectives,
    counters,
    fact,
    links,
    named,
    names,
    pairs_of,
    path,
    paths,
    record,
    run_results,
)

from railgauge.core.errors import NodeUnreachable
from railgauge.core.model import Outcome
from railgauge.diagnosis import diagnosed
from railgauge.diagnosis.model import LIKELY, OPEN
from railgauge.judging.confirmation import Confirmed
from railgauge.planning.forecast import FOLLOW_UPS

NODES = names(4)
PAIRS = list(pairs_of(NODES, 3))
NICS = ("mlx5_0", "mlx5_1")


def diagnose(*records, **known):
    flat = [one for some in records for one in (some if isinstance(some, list) else [some])]
    return diagnosed(run_results(flat, nodes=NODES, **known))


def causes(*records, **known):
    return diagnose(*records, **known).causes


# --- what facts explain ---


def test_errors_of_a_link_explain_what_is_slow_over_it_and_nothing_else():
    errors = counters(("n2", "n3"), "link_errors", ("n2", "mlx5_0"), "errors on mlx5_0 of n2", "x")
    over_it = both_directions(PAIRS, NICS, {("n2", "mlx5_0"): 330.0})
    assert named(causes(errors, over_it)) == [("link-error-rate", "n2, mlx5_0")]
    over_another = both_directions(PAIRS, NICS, {("n2", "mlx5_1"): 330.0})
    assert named(causes(errors, over_another)) == [
        ("slow-nic", "n2, mlx5_1"),
        ("link-error-rate", "n2, mlx5_0"),
    ]


def test_a_setting_of_all_nodes_hides_no_slow_nic():
    governors = [fact(node, "cpu_governor") for node in NODES]
    slow = both_directions(PAIRS, NICS, {("n2", "mlx5_1"): 200.0})
    assert set(named(causes(governors, slow))) == {
        ("slow-nic", "n2, mlx5_1"),
        ("cpu-governor", "n[1-4]"),
    }


def test_a_setting_of_one_node_explains_its_loss_and_not_that_of_others():
    governor = fact("n2", "cpu_governor")
    mine = both_directions(PAIRS, NICS, {"n2": 330.0})
    assert named(causes(governor, mine)) == [("cpu-governor", "n2")]
    other = both_directions(PAIRS, NICS, {"n3": 330.0})
    assert named(causes(governor, other)) == [("slow-node", "n3"), ("cpu-governor", "n2")]


def test_a_fact_of_gpus_explains_no_slow_pair_over_host_memory():
    """Its effects reach no measurement of the network."""
    slow = both_directions(PAIRS, NICS, {"n2": 330.0})
    found = causes(fact("n2", "acs"), slow)
    assert ("slow-node", "n2") in named(found)


def test_what_goes_another_way_is_explained_by_a_slow_nic():
    idle = counters(("n1", "n2"), "traffic_spread", ("n2", "mlx5_1"), "mlx5_1 of n2 carried less")
    slow = both_directions(PAIRS, NICS, {("n2", "mlx5_1"): 200.0})
    assert named(causes(idle, slow)) == [("slow-nic", "n2, mlx5_1")]
    fine = both_directions(PAIRS, NICS, {})
    assert named(causes(idle, fine)) == [("nic-idle", "n2, mlx5_1")]


def test_an_error_of_a_tool_is_a_cause_beside_a_slow_part():
    slow = both_directions(PAIRS, NICS, {"n2": 200.0})
    lost = broken(collective(("n4",), 392.0), "tool-missing", "n4: all_reduce_perf")
    assert set(named(causes(slow, lost))) == {
        ("slow-node", "n2"),
        ("tool-missing", "n4, all_reduce_perf"),
    }


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_what_hardly_works_is_a_slow_part(rate):
    dead = collective(("n3",), rate)
    (found,) = causes(dead, [collective((node,), 392.0) for node in ("n1", "n2")])
    assert (found.cause, found.where.node, found.evidence) == ("slow-node", "n3", (dead.id,))
    assert "98.0% behind its peers" in found.says


# --- parts ---


def test_two_slow_links_of_one_node_are_two_causes_without_a_peer():
    found = causes(links("n1", {(0, 1): 100.0, (3, 5): 200.0}))
    assert set(named(found)) == {
        ("slow-gpu-link", f"n1, {link}") for link in ("gpu0>gpu1", "gpu3>gpu5")
    }


def test_all_links_of_a_gpu_are_one_slow_gpu():
    slow = {(i, j): 200.0 for i in range(8) for j in range(8) if 4 in (i, j)}
    (found,) = causes(links("n1", slow))
    assert (found.cause, str(found.where)) == ("slow-gpu", "n1, gpu4")
    assert "in 1 of 1 measurements" in found.says


def test_a_path_that_is_slow_over_one_nic_only_is_named_with_it():
    here = frozenset(("n1", "n2"))
    slow = [
        path(*one.nodes, one.pairing, 200.0, one.subject)
        if set(one.nodes) == here and one.pairing == "mlx5_1"
        else one
        for one in both_directions(PAIRS, NICS, {})
    ]
    (found,) = causes(slow)
    assert (found.cause, str(found.where)) == ("slow-path", "n1 and n2, mlx5_1")


def test_a_node_that_sends_slowly_over_all_nics_is_one_direction():
    slow = {("n4", nic, "sending"): 200.0 for nic in NICS}
    (found,) = causes(both_directions(PAIRS, NICS, slow))
    assert (found.cause, str(found.where), found.confidence) == ("slow-direction", "n4", LIKELY)
    assert "where it sends" in found.says


# --- how sure it is, and what would decide ---


def test_a_decided_cause_has_its_probability_and_what_shows_it():
    (found,) = causes(both_directions(PAIRS, NICS, {"n2": 330.0}))
    printed = found.to_json()
    assert found.confidence == LIKELY
    assert 0.97 <= printed["probability"] <= 1
    assert printed["rivals"] == []
    first, second, _ = found.says.split("; ")
    assert first == "host_read_bandwidth bw_average 330 Gb/s, limit >= 372.4 Gb/s"
    assert second == "n2 is 15.8% behind its peers in 12 of 12 measurements"


def test_an_undecided_cause_lists_its_rivals_and_the_measurement_that_decides():
    """Two nodes that only met each other, in both directions."""
    (found,) = causes(both_directions([("n1", "n2"), ("n3", "n4")], NICS, {"n1": 330.0}))
    printed = found.to_json()
    assert (found.cause, found.confidence) == ("slow-node", OPEN)
    assert set(found.where.node.split("|")) == {"n1", "n2"}
    suspects = {(one["where"]["node"], one["where"]["peer"]) for one in printed["rivals"]}
    assert {("n1", "n2")} < suspects
    assert printed["probability"] + sum(one["probability"] for one in printed["rivals"]) <= 1.001
    assert found.would_decide.startswith("measure host_")


def test_what_a_fact_shows_has_no_probability():
    (found,) = causes(fact("n1", "cpu_governor"))
    assert "probability" not in found.to_json()


def answered(found, asked, rate):
    made = []
    for one in asked:
        case = one.question.case
        item = path(*case.nodes, str(case.pairing), rate(case))
        made.append(Confirmed(one, item.judgements))
    return diagnosed(replace(found.results, confirmed=tuple(made)))


def test_what_is_asked_decides_and_is_not_asked_again():
    found = diagnose(both_directions([("n1", "n2"), ("n3", "n4")], NICS, {"n1": 330.0}))
    asked = found.follow_ups()
    assert 0 < len(asked) <= FOLLOW_UPS
    then = answered(found, asked, lambda case: 330.0 if "n1" in case.nodes else 392.0)
    (cause,) = then.causes
    assert (cause.cause, cause.where.node, cause.confidence) == ("slow-node", "n1", LIKELY)
    assert cause.confirmation is not None
    assert cause.confirmation.state == "confirmed"
    keys = {one.question.case.key for one in asked}
    assert keys.isdisjoint(one.question.case.key for one in then.follow_ups(asked))


def test_decided_parts_are_measured_again_if_that_is_asked_for():
    found = diagnose(both_directions(PAIRS, NICS, {"n2": 330.0}))
    asked = found.confirmations()
    assert asked
    assert all("n2" in one.question.case.nodes for one in asked)


def test_a_part_that_is_fast_when_measured_again_stays_in_doubt_or_is_so_at_times():
    found = diagnose(both_directions(PAIRS, NICS, {"n2": 330.0}))
    then = answered(found, found.confirmations(), lambda case: 392.0)
    assert then.causes
    assert all(one.confirmation.state == "not reproduced" for one in then.causes)


def test_a_healthy_run_has_no_cause_and_asks_nothing():
    found = diagnose(both_directions(PAIRS, NICS, {}), collectives(PAIRS, {}))
    assert found.causes == ()
    assert (found.follow_ups(), found.confirmations()) == ((), ())


@pytest.mark.parametrize("outcome", [Outcome.BLOCKED, Outcome.NOT_RUN])
def test_what_was_not_measured_blames_nobody(outcome):
    items = [
        replace(one, outcome=outcome, judgements=()) for one in paths(PAIRS, NICS, {"n2": 1.0})
    ]
    assert causes(items) == ()


# --- what a measurement is made with ---


def gated(part, *stops, on="n2"):
    """n1 sends slowly to n3, both are suspects; what is over ``part`` of a third node has no
    figures."""
    pairs = [("n1", "n3"), ("n2", "n4"), ("n4", "n2")]
    items = paths(pairs, NICS, {"n1": 330.0})
    open_ = [one for one in items if on in one.nodes and part in ("", one.pairing)]
    held = [blocked(one, *stops) if one in open_ else one for one in items]
    return diagnose(list(stops), held)


def asked_with(found, node):
    cases = [one.question.case for one in found.follow_ups()]
    assert cases
    return {str(case.pairing) for case in cases if node in case.nodes}


def test_a_node_takes_part_if_what_stops_it_cannot_reach_the_measurement():
    assert asked_with(gated("", fact("n2", "acs")), "n2")
    assert not asked_with(gated("", fact("n2", "memlock")), "n2")


def test_a_part_that_is_out_of_service_takes_part_in_nothing():
    down = gated("mlx5_1", fact("n2", "physical_state", "mlx5_1", "Polling"))
    assert "mlx5_1" not in asked_with(down, "n2")
    assert asked_with(down, "n2")


def test_a_node_that_gave_figures_takes_part_although_it_differs():
    other = [fact(node, "memlock") for node in ("n2", "n4")]
    found = diagnose(other, paths([("n1", "n3"), ("n2", "n4"), ("n4", "n2")], NICS, {"n1": 330.0}))
    assert asked_with(found, "n2") | asked_with(found, "n4")


def test_a_node_that_does_not_answer_takes_part_in_nothing():
    lost = NodeUnreachable("no route", where="n2")
    error = broken(record(0, "memlock", "n2"), lost.kind, "n2")
    found = diagnosed(run_results(
        [error, *paths([("n1", "n3"), ("n4", "n3")], NICS, {"n1": 330.0})], lost, nodes=NODES
    ))  # fmt: skip
    assert not asked_with(found, "n2")
