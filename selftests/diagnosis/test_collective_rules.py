"""Rungs 4 and 5: the path of the payload, and collectives that are slow over good paths."""

from dataclasses import replace

import pytest
from testing.diagnose_scenes import (
    accounted,
    asking,
    both_directions,
    broken,
    causes,
    collective,
    collectives,
    counters,
    fact,
    healthy,
    links,
    measured,
    named,
    names,
    pairs_of,
    path,
    paths,
    platform,
    record,
    run_results,
    transport,
)

from railgauge.core.devices import DeviceNames
from railgauge.core.model import Judgement, Outcome
from railgauge.diagnosis import diagnose

UNTUNED = dict.fromkeys(platform().environment, "")


# --- link errors ---


def errors_on(nodes, node, nic, part=""):
    reason = f"{nic} symbol_error of {node} grew by 7; mlx5_9 rx_errors of {node} grew by 1"
    return counters(nodes, "link_errors", (node, nic), reason, part)


def test_growing_error_counters_name_the_nic():
    found = causes(errors_on(("n1", "n2"), "n2", "mlx5_3"))
    assert named(found) == [("link-error-rate", "n2, mlx5_3")]
    assert found[0].says == "mlx5_3 symbol_error of n2 grew by 7"
    assert found[0].confidence == "certain"


def test_errors_of_one_nic_in_several_items_are_one_cause():
    seen = [errors_on(("n2", n), "n2", "mlx5_3", part) for n in ("n1", "n3") for part in ("a", "b")]
    found = causes(seen)
    assert named(found) == [("link-error-rate", "n2, mlx5_3")]
    assert len(found[0].evidence) == 4


def test_payload_that_bypassed_gpu_memory_is_a_wrong_transport():
    printed = "eth2 of n1 received 128.93 GB, 0 packets into GPU memory"
    past = counters(("n1", "n2"), "devmem", ("n1", "eth2"), printed)
    found = causes(past, on="h100-tcpx")
    assert named(found) == [("wrong-transport", "n1, eth2")]
    assert found[0].says == printed


def test_errors_on_one_nic_do_not_explain_another_slow_nic():
    dirty = errors_on(("n1", "n2"), "n2", "mlx5_3", "mlx5_3")
    slow = paths(pairs_of(names(4), 2), ("mlx5_3", "mlx5_4"), {("n2", "mlx5_4"): 200})
    found = causes(dirty, slow)
    assert named(found) == [("slow-nic", "n2, mlx5_4"), ("link-error-rate", "n2, mlx5_3")]


def test_errors_on_a_nic_explain_its_slow_paths():
    dirty = errors_on(("n1", "n2"), "n2", "mlx5_4", "mlx5_4")
    slow = paths(pairs_of(names(4), 2), ("mlx5_3", "mlx5_4"), {("n2", "mlx5_4"): 200})
    found = causes(dirty, slow)
    assert named(found) == [("link-error-rate", "n2, mlx5_4")]
    assert accounted(found) == {dirty.id} | {r.id for r in slow if r.outcome == "failed"}


# --- traffic ---


def test_an_idle_nic_is_named():
    idle = counters(
        ("n1", "n2"), "traffic_spread", ("n1", "mlx5_6"),
        "mlx5_6 of n1 carried 0 GB, the mean is 12 GB",
    )  # fmt: skip
    found = causes(idle)
    assert named(found) == [("nic-idle", "n1, mlx5_6")]
    assert "carried 0 GB" in found[0].says


def test_an_idle_nic_explains_a_slow_collective_and_no_slow_path():
    idle = counters(("n1", "n2"), "traffic_spread", ("n1", "mlx5_6"), "mlx5_6 of n1 carried 0")
    pairs = list(pairs_of(names(4), 2))
    slow = both_directions(pairs, ("mlx5_0", "mlx5_6"), {("n3", "mlx5_0"): 200})
    found = causes(idle, slow, collectives(pairs, {"n1": 300, "n3": 200}))
    assert named(found) == [("slow-nic", "n3, mlx5_0"), ("nic-idle", "n1, mlx5_6")]


# --- transports ---


def logs(printed, count=4, wanted="GDRDMA"):
    return [
        transport(pair, next((s for n, s in printed.items() if n in pair), wanted))
        for pair in pairs_of(names(count), 2)
    ]


@pytest.mark.parametrize(
    ("printed", "cause"),
    [
        ("Socket", "wrong-transport"),
        ("GDRDMA, Socket", "wrong-transport"),
        ("IB", "gpudirect-rdma-disabled"),
    ],
)
def test_the_log_distinguishes_sockets_from_missing_gpudirect(printed, cause):
    found = causes(logs({"n2": printed}))
    assert named(found) == [(cause, "n2")]
    assert f"the log names {printed}" in found[0].says


def test_a_wrong_transport_of_two_nodes_folds_only_if_it_is_a_setting():
    detour = causes(logs({"n2": "IB", "n5": "IB"}, 8))
    assert named(detour) == [("gpudirect-rdma-disabled", "n[2,5]")]
    sockets = causes(logs({"n2": "Socket", "n5": "Socket"}, 8))
    assert named(sockets) == [("wrong-transport", "n2"), ("wrong-transport", "n5")]


def test_a_wrong_transport_explains_a_slow_collective():
    slow = collectives(pairs_of(names(4), 2), {"n2": 5.0})
    found = causes(logs({"n2": "Socket"}), slow)
    assert named(found) == [("wrong-transport", "n2")]
    assert found[0].misses


def test_a_slow_pair_on_the_right_transport_has_another_cause():
    found = causes(logs({}), collectives(pairs_of(names(4), 2), {"n2": 300}))
    assert named(found) == [("slow-node", "n2")]


# --- tuning ---


def test_missing_variables_are_the_cause_if_no_pair_reaches_its_limit():
    slow = collectives(pairs_of(names(4), 2), dict.fromkeys(names(4), 337.0))
    found = causes(slow, collective(names(4), 337), environment=UNTUNED)
    assert [cause.cause for cause in found] == ["collective-tuning-missing"]
    assert found[0].where.node == ""
    assert "NCCL_MIN_NCHANNELS=(empty) instead of 32" in found[0].says
    assert "337 GB/s" in found[0].says
    assert len(found[0].evidence) == len(slow) + 1


def test_missing_variables_are_not_blamed_if_one_pair_reaches_its_limit():
    slow = collectives(pairs_of(names(4), 2), {"n2": 337.0})
    assert named(causes(slow, environment=UNTUNED)) == [("slow-node", "n2")]


def test_a_fast_pair_in_another_measurement_does_not_clear_the_variables():
    slow = collectives(pairs_of(names(4), 2), dict.fromkeys(names(4), 337.0))
    fine = collective(("n1", "n2"), 392, subject="pair_all_gather")
    assert {c.cause for c in causes(slow, fine, environment=UNTUNED)} == {
        "collective-tuning-missing"
    }


def test_a_good_transport_does_not_clear_slow_nodes():
    slow = collectives(pairs_of(names(4), 2), dict.fromkeys(names(4), 337.0))
    found = causes(slow, logs({}), environment=UNTUNED)
    assert [cause.cause for cause in found] == ["collective-tuning-missing"]
    alone = causes(collective(("n1", "n2"), 100), transport(("n1", "n3"), "GDRDMA"))
    assert named(alone) == [("slow-node", "n1|n2")]


def test_missing_variables_explain_a_collective_that_timed_out():
    slow = collectives(pairs_of(names(4), 2), dict.fromkeys(names(4), 337.0))
    late = broken(collective(names(4), 1), "command-timed-out", "n1: mpirun")
    (found,) = causes(slow, late, environment=UNTUNED)
    assert found.explains == (late.id,)


@pytest.mark.parametrize(
    "environment",
    [{}, {"NCCL_DEBUG": "INFO"}, dict(platform().environment)],
    ids=["nothing", "another variable", "the declared values"],
)
def test_variables_with_declared_values_are_not_blamed(environment):
    slow = collectives(pairs_of(names(4), 2), dict.fromkeys(names(4), 337.0))
    found = causes(slow, environment=environment)
    assert "collective-tuning-missing" not in {cause.cause for cause in found}


def test_a_variable_may_have_the_value_of_any_measurement():
    """The document uses mlx5_0 for one GPU per node, and both NICs for all GPUs."""
    slow = collectives(pairs_of(names(4), 2), dict.fromkeys(names(4), 337.0))
    for nics, blamed in (("mlx5_0,mlx5_1", False), ("mlx5_0", False), ("mlx5_7", True)):
        found = causes(slow, environment={"MCCL_IB_HCA": nics}, on="metax-c500")
        assert ("collective-tuning-missing" in {cause.cause for cause in found}) == blamed


# Who names all of the nodes' devices by hand does what the plan does by itself.
BOND = {"n2": {"mlx5_0": "mlx5_bond_0"}}
ANOTHER_NIC = {"n2": {"mlx5_0": "mlx5_2", "mlx5_2": "mlx5_0"}}


@pytest.mark.parametrize(
    ("devices", "nics", "blamed"),
    [
        (BOND, "mlx5_1,mlx5_bond_0,mlx5_0", False),
        (BOND, "mlx5_0,mlx5_1", False),
        (BOND, "mlx5_bond_0", True),
        (ANOTHER_NIC, "mlx5_0,mlx5_1,mlx5_2", False),
    ],
)
def test_a_list_of_the_devices_of_all_nodes_is_not_blamed(devices, nics, blamed):
    slow = collectives(pairs_of(names(4), 2), dict.fromkeys(names(4), 337.0))
    seen = run_results(slow, environment={"MCCL_IB_HCA": nics}, on="metax-c500")
    on = replace(seen.platform, devices=DeviceNames(devices))
    found = diagnose(replace(seen, platform=on))
    assert ("collective-tuning-missing" in {cause.cause for cause in found}) == blamed


def test_missing_variables_are_not_blamed_on_lower_rungs():
    slow = [path("n1", "n2", "mlx5_0", 200), collective(("n1",), 100)]
    found = causes(slow, environment=UNTUNED)
    assert "collective-tuning-missing" not in {cause.cause for cause in found}


def test_variables_are_not_blamed_for_what_a_slow_nic_explains():
    pairs = list(pairs_of(names(4), 2))
    slow = paths(pairs, ("mlx5_0", "mlx5_1"), {("n2", "mlx5_1"): 200})
    found = causes(slow, collectives(pairs, {"n2": 200}), environment=UNTUNED)
    assert named(found) == [("slow-nic", "n2, mlx5_1")]


# --- swings ---

SWING = (33.0, 390.0) * 6


def test_unexplained_iterations_in_two_groups_are_an_unstable_collective():
    records = [
        collective(pair, *(SWING if "n2" in pair else (392.0,) * 12))
        for pair in pairs_of(names(4), 2)
    ]
    found = causes(records)
    assert named(found) == [("unstable-collective", "n2")]
    assert "6 iterations around 33" in found[0].says
    assert "mean of 21" in found[0].says


def test_a_foreign_gpu_process_explains_the_swing():
    records = [collective(pair, *SWING) for pair in pairs_of(names(4), 2)]
    busy = fact("n1", "gpu_processes"), fact("n2", "gpu_processes")
    found = causes(records, busy)
    assert {cause.cause for cause in found} >= {"foreign-gpu-process"}
    assert found[0].where.node == "n[1-2]"


def test_a_swing_is_explained_by_processes_in_the_facts():
    records = [
        collective(pair, *(SWING if "n2" in pair else (392.0,) * 12))
        for pair in pairs_of(names(4), 2)
    ]
    busy = replace(healthy("n2"), gpu_processes=("dcgmi diag -r 4",))
    training = replace(healthy("n3"), gpu_processes=("python train.py",))
    found = causes(records, facts=[busy, training])
    assert named(found) == [("background-gpu-diagnostics", "n2")]
    assert "dcgmi diag -r 4" in found[0].says
    other = causes(records, facts=[replace(busy, gpu_processes=("python train.py",))])
    assert named(other) == [("unstable-collective", "n2")]


def test_slow_iterations_in_one_group_are_not_unstable():
    records = [
        collective(pair, *((300.0, 301.0) * 6 if "n2" in pair else (392.0,) * 12))
        for pair in pairs_of(names(4), 2)
    ]
    assert named(causes(records)) == [("slow-node", "n2")]


# --- slow collectives over good paths ---


def test_a_node_that_is_slow_in_its_pairs_explains_its_group():
    records = [*collectives(pairs_of(names(6), 2), {"n4": 300}), collective(names(6), 300)]
    found = causes(records)
    assert named(found) == [("slow-node", "n4")]
    assert len(found[0].evidence) == 3


def test_two_nodes_that_are_slow_only_together_are_a_slow_path():
    records = collectives(pairs_of(names(6), 2), {frozenset(("n1", "n6")): 300})
    assert named(causes(records)) == [("slow-path", "n1 and n6")]


def test_a_slow_group_with_fast_pairs_is_undecided():
    records = [*collectives(pairs_of(names(4), 2), {}), collective(names(4), 300)]
    found = causes(records)
    assert named(found) == [("slow-node", "n1|n2|n3|n4")]
    assert found[0].confidence == "open"


def test_a_slow_measurement_of_one_node_alone_blames_that_node():
    found = causes(serving(("n3",), 100), on="metax-c500")
    assert named(found) == [("slow-node", "n3")]


def served(pair, ratio):
    """An item of two nodes whose throughput is ``ratio`` of that of one node."""
    item = record(5, "pair_serving", *pair, part="scaling")
    bad = ratio < 0.5
    outcome = Outcome.FAILED if bad else Outcome.PASSED
    judged = Judgement(
        "scaling", outcome, f"{ratio:g}", ">= 0.5", "000: 1.2", values=(ratio,), worst=ratio,
        floor=0.5, margin=ratio / 0.5 - 1, reason="scaling" if bad else "", better="higher",
    )  # fmt: skip
    return asking(replace(item, outcome=outcome, judgements=(judged,), reason=judged.reason))


def serving(nodes, value):
    subject = "node_serving" if len(nodes) == 1 else "pair_serving"
    item = record(4, subject, *nodes)
    return asking(replace(measured(item, value, metric="output_throughput"), rung=5))


def test_nodes_that_are_slow_only_together_have_poor_scaling():
    pairs = list(pairs_of(names(4), 2))
    alone = [serving((node,), 392) for node in names(4)]
    slow = [serving(pair, 100) for pair in pairs]
    found = causes([served(pair, 0.1) for pair in pairs], slow, alone, on="metax-c500")
    assert named(found) == [("poor-scaling", "n1|n2|n3|n4")]
    assert len(found[0].evidence) == 2 * len(pairs)
    one = causes([served(p, 0.1 if "n3" in p else 0.97) for p in pairs], alone, on="metax-c500")
    assert named(one) == [("poor-scaling", "n3")]


def test_a_reduction_that_leaves_its_links_idle_is_no_poor_scaling():
    """Its bandwidth and the links are each within their limits, and too far apart."""
    item = asking(replace(served(("n2",), 0.4), rung=3, subject="node_all_reduce", pairing=""))
    fine = [*links("n2", {}), *links("n1", {}), *(collective((n,), 392) for n in ("n1", "n2"))]
    (found,) = causes(item, fine, nodes=names(2), on="mi300x")
    assert (found.cause, found.where.node, found.confidence) == ("undiagnosed", "n2", "open")
    assert "scaling" in found.says


def test_a_partner_of_slow_nodes_is_not_blamed():
    slow = [collective(p, 300) for p in (("n1", "n3"), ("n2", "n3"), ("n1", "n4"), ("n2", "n5"))]
    fine = [collective(p, 392) for p in (("n4", "n6"), ("n5", "n6"))]
    slow += [collective(("n1", "n6"), 300), collective(("n2", "n6"), 300)]
    found = causes(slow, fine)
    assert set(named(found)) == {("slow-node", "n1"), ("slow-node", "n2")}


def test_a_fast_pair_without_a_log_does_not_clear_the_transport():
    fast = [collective(pair, 392) for pair in (("n1", "n3"), ("n2", "n3"))]
    found = causes(transport(("n1", "n2"), "Socket"), fast)
    assert [(c.cause, c.where.node, c.confidence) for c in found] == [
        ("wrong-transport", "n1|n2", "open")
    ]


def test_two_paths_with_a_wrong_transport_are_two_causes():
    printed = [("n1", "n6"), ("n2", "n5")]
    pairs = [tuple(sorted(pair)) for pair in pairs_of(names(6), 5)]
    records = [transport(p, "IB" if p in printed else "GDRDMA") for p in pairs]
    wrong = {c.where for c in causes(records)}
    assert {(where.node, where.peer) for where in wrong} == {
        pair for pair in printed if any(r.nodes == pair and r.outcome == "failed" for r in records)
    }
    assert len(wrong) == 2


def test_the_cause_shows_the_worst_value():
    found = causes([collective((a, "n1"), 349 - 10 * i) for i, a in enumerate(("n2", "n3"))],
                   collective(("n2", "n3"), 392))  # fmt: skip
    assert "339 GB/s" in found[0].says


def test_a_cause_explains_nothing_on_lower_rungs():
    pairs = list(pairs_of(names(4), 2))
    hung = broken(record(3, "node_all_gather", "n1"), "tool-failed", "n1: all_gather_perf")
    found = causes(collectives(pairs, {"n1": 300.0}), hung)
    assert named(found) == [("slow-node", "n1"), ("tool-failing", "n1, all_gather_perf")]
