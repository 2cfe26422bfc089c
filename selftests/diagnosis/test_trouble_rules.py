"""Causes of errors: unreachable nodes, and tools that are missing or fail."""

from dataclasses import replace

import pytest
from testing.diagnose_scenes import (
    accounted,
    blocked,
    broken,
    causes,
    collective,
    corrupt,
    fact,
    links,
    named,
    names,
    path,
    record,
    run_results,
    unknown,
)

from railgauge.core.errors import (
    AuthenticationFailed,
    BecomeRefused,
    CommandTimedOut,
    ConnectionLost,
    HostKeyRejected,
    NodeUnreachable,
    OtherMachine,
    SetupFailed,
)
from railgauge.diagnosis import CATALOGUE, diagnose
from railgauge.plugin.recording import of_the_suite


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        *((kind, "node-unreachable") for kind in (NodeUnreachable, ConnectionLost)),
        (AuthenticationFailed, "node-unreachable"),
        (HostKeyRejected, "host-key-rejected"),
        (SetupFailed, "setup-failed"),
        (BecomeRefused, "become-refused"),
        (OtherMachine, "other-machine"),
    ],
)
def test_an_unreachable_node_is_one_cause(error, cause):
    lost = error("no route", where="n2")
    items = [broken(record(0, s, "n2"), error.kind, "n2") for s in ("memlock", "cpu_governor")]
    waits = blocked(path("n1", "n2", "mlx5_0", 1), items[0])
    found = causes(items, waits, fact("n1", "cpu_governor"), facts=[lost])
    assert named(found) == [(cause, "n2"), ("cpu-governor", "n1")]
    assert found[0].says == "no route"
    assert found[0].explains == (waits.id,)


@pytest.mark.parametrize(("transport", "says"), [("ssh", "sshd"), ("slurm", "scontrol show node")])
def test_the_remedy_speaks_of_how_the_node_is_reached(transport, says):
    lost = NodeUnreachable("its Slurm state is down", where="n2")
    found = run_results([broken(record(0, "memlock", "n2"), lost.kind, "n2")], lost)
    (cause,) = diagnose(replace(found, cluster=replace(found.cluster, transport=transport)))
    assert says in cause.remedy
    assert ("sshd" in cause.remedy) is (transport == "ssh")


def test_a_probe_that_timed_out_does_not_make_a_node_unreachable():
    slow = CommandTimedOut("the probe hung", where="n2")
    item = broken(record(0, "memlock", "n2"), "command-timed-out", "n2")
    assert "node-unreachable" not in {c.cause for c in causes(item, facts=[slow])}


def test_a_node_that_stops_answering_during_the_run_is_unreachable():
    items = [
        broken(path("n1", "n2", f"mlx5_{i}", 1), "connection-lost", "n2: ib_write_bw")
        for i in range(3)
    ]
    found = causes(items, path("n1", "n3", "mlx5_0", 392))
    assert named(found) == [("node-unreachable", "n2")]
    assert "stopped answering" in found[0].says
    assert accounted(found) == {item.id for item in items}


def test_another_machine_is_the_cause_also_of_the_connection_that_was_lost_before():
    lost = broken(path("n1", "n2", "mlx5_0", 1), "connection-lost", "n2")
    other = broken(path("n1", "n2", "mlx5_1", 1), "other-machine", "n2")
    (cause,) = causes([lost, other], path("n1", "n3", "mlx5_0", 392))
    assert (cause.cause, cause.where.node) == ("other-machine", "n2")
    assert "stopped answering" not in cause.says
    assert accounted([cause]) == {lost.id, other.id}


def test_items_measured_before_a_node_was_lost_keep_their_cause():
    gone = broken(path("n1", "n2", "mlx5_0", 1), "connection-lost", "n2")
    narrow = [path(a, b, "mlx5_1", 200) for a, b in (("n2", "n3"), ("n2", "n4"))]
    fine = [path(a, b, "mlx5_1", 392) for a, b in (("n1", "n3"), ("n1", "n4"))]
    fine += [path("n2", "n3", "mlx5_2", 392), path("n2", "n4", "mlx5_2", 392)]
    found = causes(gone, narrow, fine)
    assert named(found) == [("node-unreachable", "n2"), ("slow-nic", "n2, mlx5_1")]


def test_an_error_without_a_node_does_not_blame_all_nodes():
    nameless = broken(path("n1", "n2", "mlx5_0", 1), "connection-lost", "")
    found = causes(nameless, collective(("n3",), 10), fact("n4", "memlock"))
    assert ("slow-node", "n3") in named(found)
    assert "node-unreachable" not in {cause.cause for cause in found}


def test_items_measured_after_a_failed_survey_keep_their_cause():
    lost = NodeUnreachable("no route", where="n2")
    error = broken(record(0, "memlock", "n2"), lost.kind, "n2")
    found = causes(error, links("n2", {(0, 7): 200.0}), facts=[lost])
    assert named(found) == [("node-unreachable", "n2"), ("slow-gpu-link", "n2, gpu0>gpu7")]


def test_a_missing_tool_is_named_with_its_node():
    items = [
        broken(path("n1", "n2", f"mlx5_{i}", 1), "tool-missing", "n2: ib_write_bw")
        for i in range(3)
    ]
    found = causes(items)
    assert named(found) == [("tool-missing", "n2, ib_write_bw")]
    assert len(found[0].evidence) == 3


def test_a_tool_that_all_nodes_lack_is_one_cause():
    items = [
        broken(path("n1", "n2", "mlx5_0", 1), "tool-missing", f"{node}: ib_write_bw")
        for node in ("n1", "n2")
    ]
    items[1:] = [
        broken(path(f"n{i}", f"n{i + 1}", "mlx5_0", 1), "tool-missing", f"n{i}: ib_write_bw")
        for i in range(2, 5)
    ]
    found = causes(items)
    assert named(found) == [("tool-missing", "n[1-4], ib_write_bw")]
    assert len(found[0].evidence) == 4
    assert found[0].says == "ib_write_bw was not found"


def test_two_missing_tools_are_two_causes():
    one = broken(record(3, "gpu_copy_bandwidth", "n1"), "tool-missing", "n1: nvbandwidth")
    two = broken(record(3, "node_all_reduce", "n1"), "tool-missing", "n1: all_reduce_perf")
    assert set(named(causes(one, two))) == {
        ("tool-missing", "n1, nvbandwidth"),
        ("tool-missing", "n1, all_reduce_perf"),
    }


def test_a_missing_tool_does_not_explain_measured_values():
    gone = broken(path("n1", "n2", "mlx5_0", 1), "tool-missing", "n1: ib_write_bw")
    found = causes(gone, links("n1", {(0, 7): 200.0}))
    assert named(found) == [
        ("slow-gpu-link", "n1, gpu0>gpu7"), ("tool-missing", "n1, ib_write_bw"),
    ]  # fmt: skip


# --- tools that fail ---


def failing(a, b, kind="unparsable", where=""):
    return broken(path(a, b, "mlx5_0", 1), kind, where or f"{a}: ib_write_bw")


FAILING = (
    "tool", "tool-failed", "command-timed-out", "unparsable", "metric-missing",
    "implausible", "unit-unknown",
)  # fmt: skip


@pytest.mark.parametrize("kind", FAILING)
def test_a_tool_that_fails_in_all_pairs_of_a_node_blames_that_node(kind):
    wrong = [failing("n1", "n2", kind), failing("n4", "n1", kind)]
    fine = [path(a, b, "mlx5_0", 392) for a, b in (("n2", "n3"), ("n3", "n4"))]
    found = causes(wrong, fine)
    assert named(found) == [("tool-failing", "n1, ib_write_bw")]
    assert found[0].confidence == "likely"


def test_a_tool_that_fails_inside_a_node_blames_that_node():
    wrong = broken(record(3, "gpu_copy_bandwidth", "n3"), "tool-failed", "n3: nvbandwidth", "rc 1")
    found = causes(wrong)
    assert named(found) == [("tool-failing", "n3, nvbandwidth")]
    assert "rc 1" in found[0].says


def test_a_tool_that_fails_in_one_pair_only_is_undecided():
    found = causes(failing("n1", "n2"))
    assert named(found) == [("tool-failing", "n1|n2, ib_write_bw")]
    assert found[0].confidence == "open"
    assert "good" in found[0].would_decide


def test_an_error_of_the_suite_is_not_blamed_on_a_tool():
    """The message must not read as if the cluster had a file name that is too long."""
    printed = of_the_suite(OSError(36, "File name too long"))
    assert printed.startswith("an error inside railgauge, not of the cluster: OSError: ")
    strange = broken(record(3, "node_all_reduce", "n1"), "bug", "", printed)
    found = causes(strange, unknown("n2", "memlock"))
    assert named(found) == [("suite-error", "n1"), ("undiagnosed", "n2")]
    assert printed in found[0].says
    assert "the hardware was not judged" in CATALOGUE["suite-error"].means


def test_a_missing_fact_is_not_blamed_on_a_tool():
    assert [c.cause for c in causes(unknown("n1", "memlock"))] == ["undiagnosed"]


# --- wrong results ---


def test_wrong_results_inside_a_node_blame_that_node():
    found = causes(corrupt(("n2",)), collective(("n1", "n3"), 392))
    assert named(found) == [("data-corruption", "n2")]
    assert found[0].confidence == "certain"


def test_wrong_results_inside_a_node_explain_those_of_its_pairs():
    found = causes(corrupt(("n2",)), corrupt(("n1", "n2")), corrupt(("n2", "n3")))
    assert named(found) == [("data-corruption", "n2")]
    assert len(found[0].evidence) + len(found[0].explains) == 3


def test_wrong_results_in_one_pair_only_are_undecided():
    found = causes(corrupt(("n1", "n2")))
    assert len(found) == 1
    assert found[0].cause == "data-corruption"
    assert {"n1", "n2"} <= set(found[0].where.node.replace(":", "|").split("|"))
    assert "inside each" in found[0].would_decide


def test_wrong_results_of_two_nodes_that_are_right_with_others_are_of_either():
    """A path corrupts nothing; one of the two does at times."""
    fine = [collective(pair, 392) for pair in (("n1", "n3"), ("n2", "n4"), ("n3", "n4"))]
    (cause,) = causes(corrupt(("n1", "n2")), fine)
    assert (cause.cause, cause.where.node, cause.where.peer) == ("data-corruption", "n1|n2", "")
    assert cause.confidence == "open"
    assert "the evidence fits each of n1, n2" in cause.says


def test_wrong_results_in_all_pairs_of_a_node_are_one_cause():
    wrong = [corrupt(pair) for pair in (("n1", "n2"), ("n1", "n3"))]
    fine = [collective(pair, 392) for pair in (("n2", "n4"), ("n3", "n4"))]
    assert named(causes(wrong, fine)) == [("data-corruption", "n1")]


def test_wrong_results_at_several_sizes_are_one_cause():
    sizes = [corrupt(("n2",), subject) for subject in ("node_all_reduce", "node_all_gather")]
    found = causes(sizes)
    assert named(found) == [("data-corruption", "n2")]
    assert len(found[0].evidence) == 2


def test_wrong_results_of_gpus_that_the_tool_names_are_a_cause_for_each():
    bad = corrupt(("n2",), "gpu_matrix_bf16")
    says = "n2: gemm-bench: gpu3: 7 wrong values, gpu5: 1 wrong values (data-corruption)"
    judged = replace(bad.judgements[0], reason=says)
    found = causes(replace(bad, judgements=(judged,), reason=says))
    assert sorted((c.cause, str(c.where)) for c in found) == [
        ("data-corruption", "n2, gpu3"), ("data-corruption", "n2, gpu5"),
    ]  # fmt: skip


def test_a_slow_collective_is_not_called_corrupt():
    assert "data-corruption" not in {c.cause for c in causes(collective(("n1",), 10))}


# --- the other items ---


def test_items_that_no_rule_explains_are_undiagnosed():
    left = [unknown(node, "memlock") for node in names(3)]
    found = causes(left)
    assert [c.cause for c in found] == ["undiagnosed"]
    assert set(found[0].evidence) == {item.id for item in left}
    assert found[0].confidence == "open"
    assert found[0].says.startswith("3 items: test_memlock[n1]")
    assert found[0].where.node == "n1|n2|n3"


def test_a_healthy_run_has_no_cause():
    assert causes(path("n1", "n2", "mlx5_0", 392), collective(("n1", "n2"), 392)) == ()
    assert causes() == ()


def test_a_program_that_the_probe_did_not_find_is_a_missing_tool():
    lacking = "n2: gpus is not known: nvidia-smi: command not found (exit 127)"
    items = [
        broken(record(0, subject, "n2"), "fact-missing", "n2", lacking)
        for subject in ("gpu_count", "gpu_processes")
    ]
    other = broken(record(0, "memlock", "n2"), "fact-missing", "n2", "limits: access denied")
    found = causes(items, other)
    assert named(found) == [("tool-missing", "n2, nvidia-smi"), ("undiagnosed", "n2")]
