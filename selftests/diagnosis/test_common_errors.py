"""The same error of a tool on several nodes is one cause, and on all of them it is everywhere."""

from dataclasses import replace

import pytest
from testing.diagnose_scenes import (
    accounted,
    blocked,
    broken,
    causes,
    collective,
    named,
    names,
    pairs_of,
    path,
    record,
)

EIGHT = names(8)
SLOTS = "There are not enough slots available in the system to satisfy the 8 slots"


def alone(node, what=SLOTS, kind="launch-failed", tool="mpirun", subject="node_all_reduce"):
    return broken(record(3, subject, node), kind, f"{node}: {tool}", what)


def between(*nodes, what=SLOTS, kind="launch-failed", subject="", where=""):
    subject = subject or ("pair_all_reduce" if len(nodes) == 2 else "group_all_reduce")
    return broken(record(4, subject, *nodes), kind, where or f"mpirun on {nodes[0]}", what)


def over(one, other, part="mlx5_0", what="Couldn't open libcuda.so.1 (tool-failed)", **more):
    subject = more.get("subject", "")
    return broken(path(one, other, part, 1, subject), "tool-failed", f"{one}: ib_write_bw", what)


PAIRS = list(pairs_of(EIGHT, 3))
IN_NODE = [alone(node) for node in EIGHT]
IN_PAIRS = [between(*pair) for pair in PAIRS]


@pytest.mark.parametrize(
    ("items", "confidence"),
    [
        (IN_NODE, "certain"),
        (IN_PAIRS, "likely"),
        ([*IN_NODE, *IN_PAIRS, between(*EIGHT)], "certain"),
        ([between(*pair, where=f"{pair[0]}: mpirun") for pair in PAIRS], "likely"),
    ],
)
def test_the_same_error_of_each_launch_is_one_cause_everywhere(items, confidence):
    (cause,) = causes(items)
    assert (cause.cause, str(cause.where)) == ("tool-failing", "n[1-8], mpirun")
    assert (cause.says, cause.confidence) == (f"everywhere: mpirun: {SLOTS}", confidence)
    assert accounted([cause]) == {item.id for item in items}


@pytest.mark.parametrize(
    "what",
    [
        "ended with exit code 127: error while loading shared libraries: libcuda.so.1",
        "ended with exit code 126: Permission denied",
        "unrecognized option '--report-both' (unknown-flag)",
    ],
)
def test_the_same_error_between_all_nodes_is_no_list_of_suspects(what):
    (cause,) = causes([over(*pair, part, what) for pair in PAIRS for part in ("mlx5_0", "mlx5_1")])
    assert (cause.says, cause.confidence) == (f"everywhere: ib_write_bw: {what}", "likely")
    assert str(cause.where) == "n[1-8], ib_write_bw"
    assert not cause.would_decide


def test_names_of_nodes_numbers_and_durations_do_not_make_an_error_another_one():
    nodes = ("alpha", "beta", "gamma")
    items = [
        alone(node, f"no slots left on {node}: pid {pid}, waited {pid}.5 s, at 0x{pid:x}f")
        for node, pid in zip(nodes, (71, 8200, 9), strict=True)
    ]
    (cause,) = causes(items)
    assert cause.where.node == "alpha,beta,gamma"
    assert cause.says.startswith("everywhere: mpirun: no slots left on alpha")


def test_a_launcher_that_fails_for_several_programs_is_one_cause():
    items = [
        alone(node, f"cannot start {program}", subject=subject)
        for node in EIGHT
        for subject, program in (
            ("node_all_reduce", "all_reduce_perf"), ("node_all_gather", "all_gather_perf"),
        )
    ]  # fmt: skip
    (cause,) = causes(items)
    assert str(cause.where) == "n[1-8], mpirun"


def test_a_library_that_several_programs_of_one_make_lack_is_one_cause():
    what = "ended with exit code 127: libnccl.so.2: cannot open shared object file"
    items = [
        alone(node, what, "tool-failed", subject=subject)
        for node in EIGHT
        for subject in ("node_all_reduce", "node_all_gather")
    ]
    (cause,) = causes(items)
    assert str(cause.where) == "n[1-8], ccl-tests"
    assert cause.says == f"everywhere: all_gather_perf, all_reduce_perf: {what}"


def test_output_that_cannot_be_read_is_one_error_whatever_is_in_it():
    texts = ["invalid JSON: column 3 (unparsable)", "no table of perftest (no-table)"]
    items = [
        broken(path(*pair, "mlx5_0", 1), "unparsable", f"{pair[0]}: ib_write_bw", texts[at % 2])
        for at, pair in enumerate(PAIRS)
    ]
    nameless = broken(path(*PAIRS[0], "mlx5_1", 1), "metric-missing", "", "no bw_average")
    (cause,) = causes(items, replace(nameless, reason="no bw_average"))
    assert cause.says == f"everywhere: ib_write_bw: {texts[0]}"
    assert len(cause.evidence) == len(PAIRS) + 1


def test_its_own_remedy_is_what_to_do():
    asks = "use fewer ranks a node, or give the launcher more slots"
    (cause,) = causes([replace(item, remedy=asks) for item in IN_NODE])
    assert cause.remedy == asks
    (cause,) = causes(replace(alone("n1"), remedy=asks), collective(("n2",), 390.0))
    assert cause.remedy == asks
    two = [replace(alone("n1"), remedy=asks), replace(alone("n1", subject="other"), remedy="wait")]
    (cause,) = causes(two)
    assert "transcript" in cause.remedy, "its errors ask for different things"


def test_a_program_that_all_nodes_lack_is_missing_everywhere():
    items = [alone(n, "not found", "tool-missing", "all_reduce_perf") for n in EIGHT]
    (cause,) = causes(items)
    assert named([cause]) == [("tool-missing", "n[1-8], all_reduce_perf")]
    assert cause.says == "everywhere: all_reduce_perf was not found"
    (cause,) = causes(items[1:], collective(("n1",), 390.0))
    assert cause.says == "all_reduce_perf was not found", "n1 has it"


# --- only on some nodes ---


def test_the_same_error_on_some_nodes_is_one_cause_with_these_nodes():
    (cause,) = causes(IN_NODE[1:], collective(("n1",), 390.0))
    assert str(cause.where) == "n[2-8], mpirun"
    assert cause.says == f"mpirun: {SLOTS}"


def test_other_errors_on_other_nodes_are_other_causes():
    other = "unrecognized option (unknown-flag)"
    items = [alone(n, other, "tool-failed") if n in ("n3", "n4") else alone(n) for n in EIGHT]
    found = causes(items)
    assert {str(cause.where) for cause in found} == {
        "n[1-2,5-8], mpirun",
        "n[3-4], all_reduce_perf",
    }
    assert not any("everywhere" in cause.says for cause in found)


def test_one_node_whose_pairs_all_fail_is_named_as_before():
    wrong = [over("n1", other) for other in ("n2", "n3", "n4")]
    fine = [path(a, b, "mlx5_0", 392) for a, b in (("n2", "n3"), ("n3", "n4"))]
    assert named(causes(wrong, fine)) == [("tool-failing", "n1, ib_write_bw")]


def test_two_nodes_whose_pairs_all_fail_with_one_error_are_one_cause():
    wrong = [over(one, other) for one in ("n1", "n2") for other in ("n3", "n4", "n5")]
    fine = [path(a, b, "mlx5_0", 392) for a, b in (("n3", "n4"), ("n4", "n5"), ("n3", "n5"))]
    (cause,) = causes(wrong, fine)
    assert (str(cause.where), cause.confidence) == ("n[1-2], ib_write_bw", "likely")


def test_a_node_that_fails_alone_and_in_its_pairs_is_one_cause():
    what = "ended with exit code 1"
    wrong = [alone("n2", what, "tool-failed"), between("n1", "n2", what=what, kind="tool-failed")]
    fine = [collective(nodes, 390.0) for nodes in (("n1",), ("n3",), ("n1", "n3"))]
    (cause,) = causes(wrong, fine)
    assert str(cause.where) == "n2, all_reduce_perf"
    assert len(cause.evidence) == 2


def test_a_node_that_all_failed_pairs_have_in_common_is_not_everywhere():
    """Nothing else was measured: that the other nodes have the fault too is not shown."""
    found = causes([over("n1", other) for other in ("n2", "n3", "n4")])
    assert not any("everywhere" in cause.says for cause in found)
    assert found[0].confidence == "open"


def test_one_pair_is_not_everywhere():
    (cause,) = causes(over("n1", "n2"))
    assert (cause.where.node, cause.confidence) == ("n1|n2", "open")


def test_nodes_on_which_the_tool_works_are_not_named():
    wrong = [over(*pair) for pair in PAIRS if not {"n7", "n8"} & set(pair)]
    found = causes(wrong, path("n8", "n7", "mlx5_0", 392))
    assert not any("everywhere" in cause.says for cause in found)
    assert not any("n7" in cause.where.node or "n8" in cause.where.node for cause in found)


def test_a_lost_node_is_its_own_cause_beside_the_error_of_the_others():
    lost = [broken(between("n1", n), "connection-lost", "n1: mpirun") for n in ("n2", "n3")]
    found = causes(IN_NODE[1:], broken(IN_NODE[0], "connection-lost", "n1: mpirun"), lost)
    assert sorted(named(found)) == [("node-unreachable", "n1"), ("tool-failing", "n[2-8], mpirun")]
    (tool,) = (cause for cause in found if cause.cause == "tool-failing")
    assert tool.says == f"everywhere: mpirun: {SLOTS}", "n1 tells nothing of its tools"


def test_blocked_items_are_explained_and_clear_no_node():
    waits = [blocked(collective(pair, 390.0), alone(pair[0])) for pair in PAIRS]
    (cause,) = causes(IN_NODE, waits)
    assert set(cause.explains) == {item.id for item in waits}
    assert cause.says.startswith("everywhere")


def test_an_error_over_one_nic_of_each_node_names_the_nic():
    wrong = [over(*pair, "mlx5_3") for pair in PAIRS]
    fine = [path(*pair, "mlx5_0", 392) for pair in PAIRS]
    (cause,) = causes(wrong, fine)
    assert cause.says.endswith("(tool-failed); only over mlx5_3")


def test_parts_that_are_repaired_one_by_one_stay_causes_of_their_own():
    gone = [
        broken(path(a, b, "mlx5_0", 1), "device-missing", f"{a}: ib_write_bw", "no device mlx5_0")
        for a, b in (("n1", "n3"), ("n2", "n4"))
    ]
    assert sorted(named(causes(gone))) == [
        ("nic-missing", "n1, mlx5_0"),
        ("nic-missing", "n2, mlx5_0"),
    ]
