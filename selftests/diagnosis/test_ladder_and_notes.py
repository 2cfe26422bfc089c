"""Which rungs pass and fail around a cause, and which notes appear without blame."""

from dataclasses import replace

import pytest
from testing.diagnose_scenes import (
    blocked,
    causes,
    cluster,
    collective,
    collectives,
    fact,
    healthy,
    links,
    names,
    pairs_of,
    path,
    paths,
    planned,
    run_results,
)

from railgauge.core.model import Outcome
from railgauge.diagnosis import diagnose, notes
from railgauge.diagnosis.ladder import swing_of
from railgauge.facts.model import IrqFacts
from railgauge.verdict.decision import decide

# Document 001: iterations between 33 and 390 GB/s; a run with the mean only shows 170 GB/s.
SWING = (33.0,) * 8 + (390.0,) * 5


# --- rungs that hold and rungs that miss ---


def disabled_gdr():
    """Document 000: rungs 1 and 2 reach their limits, the collective does not."""
    fine = [path("n1", "n2", "mlx5_0", 390), path("n1", "n3", "gpu0-mlx5_0", 385)]
    slow = collectives(pairs_of(names(4), 2), {"n1": 4.57})
    return [fact("n1", "peer_memory"), *fine, *slow]


def test_holds_and_misses_list_the_ladder_rung_by_rung():
    cause = causes(disabled_gdr())[0]
    assert cause.passes == (
        "host_write_bandwidth bw_average 390 Gb/s (>= 372.4 Gb/s)",
        "gpu_write_bandwidth bw_average 385 Gb/s (>= 372.4 Gb/s)",
    )
    assert cause.misses == ("pair_all_reduce busbw 4.57 GB/s (>= 350 GB/s)",)


def test_blocked_items_are_not_listed_as_misses():
    first = fact("n1", "peer_memory")
    cause = causes(first, [blocked(collective((("n1"), "n2"), 1), first)])[0]
    assert cause.misses == ()
    assert len(cause.explains) == 1


def test_a_cause_without_higher_items_has_no_misses():
    (cause,) = causes(paths(pairs_of(names(4), 2), ("mlx5_0", "mlx5_1"), {"n1": 100.0}))
    assert (cause.cause, cause.misses) == ("slow-node", ())


def test_each_line_shows_the_value_closest_to_its_limit():
    more = [path("n1", "n3", nic, gbps) for nic, gbps in (("mlx5_1", 375), ("mlx5_2", 391))]
    cause = causes(disabled_gdr(), more)[0]
    assert cause.passes[0] == "host_write_bandwidth bw_average 375 Gb/s (>= 372.4 Gb/s)"
    assert len(cause.passes) == 2


def test_holds_lists_only_items_of_the_causes_nodes():
    elsewhere = links("n4", {})
    cause = causes(disabled_gdr(), elsewhere)[0]
    assert not [line for line in cause.passes if "gpu_copy_bandwidth" in line]


def test_a_measurement_that_misses_is_not_listed_as_holding():
    cause = causes(disabled_gdr(), collective(("n1", "n4"), 400))[0]
    assert not [line for line in cause.passes if "pair_all_reduce" in line]


def test_rungs_above_the_highest_miss_are_not_listed_as_holding():
    slow = [path("n1", "n2", "mlx5_0", 100), path("n1", "n3", "mlx5_0", 100)]
    records = [fact("n1", "cpu_governor"), *slow, *collectives([("n1", "n2")], {})]
    cause = causes(records)[0]
    assert not [line for line in cause.passes if "all_reduce" in line]


def test_facts_and_counts_are_not_lines_of_the_ladder():
    counted = collective(("n1",), 400)
    judged = replace(counted.judgements[0], unit="count")
    cause = causes(disabled_gdr(), replace(counted, judgements=(judged,)))[0]
    assert not [line for line in cause.passes if "node_all_reduce" in line]


# --- swings ---


def swing(*values):
    return swing_of(collective(("n1", "n2"), *values).judgements[0])


def test_two_groups_are_shown_with_their_range_and_mean():
    text = swing(*SWING)
    assert text == (
        "8 iterations around 33 GB/s, 5 around 390 GB/s; "
        "from 33 GB/s to 390 GB/s, which a mean of 170.3 GB/s would hide"
    )


@pytest.mark.parametrize("values", [(300.0,), (300.0,) * 12, (300.0, 305.0) * 8, ()])
def test_one_group_is_not_a_swing(values):
    judged = collective(("n1", "n2"), *(values or (300.0,))).judgements[0]
    assert swing_of(replace(judged, values=values)) == ""


def test_a_passed_judgement_is_not_a_swing():
    judged = collective(("n1", "n2"), *SWING).judgements[0]
    assert swing_of(replace(judged, outcome=Outcome.PASSED)) == ""


def test_the_ladder_of_a_background_diagnostic_shows_the_swing():
    busy = replace(healthy("n1"), gpu_processes=("dcgmi diag -r 4",))
    records = [fact("n1", "gpu_processes"), collective(("n1", "n2"), *SWING)]
    cause = causes(records, facts=[busy])[0]
    assert cause.cause == "background-gpu-diagnostics"
    assert "from 33 GB/s to 390 GB/s, which a mean of 170.3 GB/s would hide" in cause.misses[0]


# --- notes ---


def far(node, nic="eth3", cpus="104-155"):
    """A node with a NIC on NUMA node 0 whose interrupts go to CPUs of NUMA node 1."""
    facts = healthy(node, "h100-tcpx")
    nics = tuple(replace(one, numa_node=0) for one in facts.nics)
    return replace(
        facts, nics=nics, numa_cpus={"0": "0-51", "1": "104-155"}, irqs=(IrqFacts(nic, 16, cpus),)
    )


def noted(*changed, records=(), nodes=("n1", "n2")):
    return notes(run_results(records, *changed, on="h100-tcpx", nodes=nodes))


def test_interrupts_on_the_far_numa_node_are_noted_not_blamed():
    (line,) = noted(far("n1"), far("n2"))
    assert line.startswith("interrupts of eth3 on n[1-2] are served on the other NUMA node")
    assert "noted, not blamed (003" in line


def test_a_note_names_the_collective_that_was_fast_anyway():
    good = collective(("n1", "n2"), 392)
    (line,) = noted(far("n1"), records=[good])
    assert "beside it pair_all_reduce busbw 392 GB/s, limit >= 350 GB/s" in line


def test_a_note_does_not_name_collectives_of_other_nodes():
    other = collective(("n2", "n3"), 392)
    (line,) = noted(far("n1"), records=[other], nodes=names(3))
    assert "all_reduce" not in line


def test_a_note_does_not_name_a_slow_collective():
    (line,) = noted(far("n1"), records=[collective(("n1", "n2"), 100)])
    assert "all_reduce" not in line
    assert "003: full bandwidth was measured beside it" in line


@pytest.mark.parametrize("cpus", ["0-51", "40-110", "3", ""])
def test_interrupts_on_the_near_or_on_both_numa_nodes_are_not_noted(cpus):
    assert noted(far("n1", cpus=cpus)) == ()


def test_a_nic_with_an_unknown_numa_node_is_not_noted():
    facts = replace(far("n1"), numa_cpus={})
    assert noted(facts) == ()


def verdict_with(*changed, records):
    found = run_results(records, *changed, on="h100-tcpx", nodes=("n1", "n2"))
    return decide(planned(found), found)


def test_notes_change_no_verdict_and_no_cause():
    good = [collective(("n1", "n2"), 392)]
    plain, beside = verdict_with(records=good), verdict_with(far("n1"), records=good)
    assert (plain.verdict, plain.counts) == (beside.verdict, beside.counts)
    assert plain.counts.passed == 1
    assert (plain.notes, plain.causes, beside.causes) == ((), (), ())
    assert len(beside.notes) == 1


def test_notes_do_not_change_what_is_blamed():
    slow = collectives([("n1", "n2")], {"n1": 100.0})
    assert verdict_with(records=slow).causes == verdict_with(far("n1"), records=slow).causes


def test_a_far_interrupt_is_not_blamed_beside_a_slow_nic():
    pairs = list(pairs_of(names(4), 2))
    slow = {("n1", "eth1"): 100.0}
    records = paths(pairs, ("eth1", "eth3"), slow, "host_tcp_bandwidth")
    found = diagnose(run_results(records, far("n1"), on="h100-tcpx", nodes=names(4)))
    assert [(c.cause, str(c.where)) for c in found] == [("slow-nic", "n1, eth1")]


def test_only_nodes_of_the_cluster_are_noted():
    found = run_results([], far("n1"), far("elsewhere"), on="h100-tcpx", nodes=("n1",))
    (line,) = notes(replace(found, cluster=cluster(["n1"])))
    assert "elsewhere" not in line


def test_values_that_a_tool_does_not_show_are_noted_once():
    records = paths(pairs_of(names(4), 2), ("mlx5_0",), {})
    hidden = [
        replace(one, judgements=tuple(replace(j, not_shown=("MTU",)) for j in one.judgements))
        for one in records
    ]
    more = [replace(one, id=f"{one.id} again", subject="another") for one in hidden]
    assert notes(run_results(records)) == ()
    assert notes(run_results([*hidden, *more])) == (
        "the output of host_write_bandwidth, another does not show: MTU",
    )
