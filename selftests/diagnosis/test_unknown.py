"""The lines that list what is unknown of each node, with the reason."""

import json
import time
from dataclasses import replace

import pytest
from testing.core_values import judgement
from testing.diagnose_scenes import (
    blocked,
    broken,
    collective,
    counters,
    fact,
    names,
    pairs_of,
    path,
    paths,
    platform,
    record,
    run_results,
)

from railgauge.config.thresholds.storage import NODE_STORAGE, with_storage
from railgauge.core.model import Outcome
from railgauge.core.storage import StorageMount
from railgauge.diagnosis import diagnose, diagnosed
from railgauge.diagnosis.left_open.unknown import unknown
from railgauge.diagnosis.left_open.unplanned import unplanned
from railgauge.judging.correctness import CORRUPTION
from railgauge.planning.plan import level

NICS = tuple(nic.name for nic in platform().fabric_nics)


def lines(*records, nodes=()):
    flat = [r for one in records for r in (one if isinstance(one, list) else [one])]
    found = run_results(flat, nodes=nodes)
    return [str(one) for one in unknown(found, diagnosed(found))]


def right(item):
    """A blocked collective whose results were checked nevertheless."""
    found = judgement(metric=CORRUPTION, measured="0 wrong in 4 counts")
    return replace(item, judgements=(found,))


def link(node, one, other):
    return replace(
        record(3, "gpu_copy_bandwidth", node, part=f"gpu{one}>gpu{other}"), ways=("link",)
    )


# --- behind a gate ---


def test_training_and_storage_behind_a_gate_are_named_as_such():
    down = fact("n2", "nic_present", "mlx5_0", "absent")
    hidden = [blocked(record(5, name, "n2"), down) for name in (NODE_STORAGE, "node_training")]
    found = run_results([down, *hidden])
    pool = StorageMount("/pool", "a contract", least={"write_mb_per_s": 1.0})
    found = replace(found, platform=with_storage(found.platform, {"pool": pool}))
    assert [str(one) for one in unknown(found, diagnosed(found))] == [
        "unknown of n2: training, storage; blocked by nic-missing (n2, mlx5_0)"
    ]


def test_all_items_of_a_node_behind_one_gate_are_one_line():
    down = fact("n2", "nic_present", "mlx5_0", "absent")
    hidden = [
        *(path("n1", "n2", nic, 390.0) for nic in NICS),
        *(path("n1", "n2", f"gpu0-{nic}", 390.0) for nic in NICS[:2]),
        *(link("n2", 0, other) for other in range(1, 4)),
        collective(["n2"], 400.0),
        collective(["n1", "n2"], 400.0),
    ]
    alone = [collective(["n1"], 400.0), *paths([("n1", "n3")], NICS, {})]
    alone += [path("n1", "n3", f"gpu0-{nic}", 390.0) for nic in NICS[:2]]
    alone += [collective(["n1", "n3"], 400.0)]
    assert lines(down, alone, [blocked(one, down) for one in hidden]) == [
        "unknown of n2: right results and speed of collectives, 3 GPU links, "
        "host memory paths over 8 NICs, GPU memory RDMA over 2 pairings; "
        "blocked by nic-missing (n2, mlx5_0)"
    ]


def test_results_checked_despite_the_gate_are_not_unknown():
    slow = path("n1", "n2", "mlx5_0", 200.0)
    held = [blocked(collective(nodes, 400.0), slow) for nodes in (["n1"], ["n1", "n2"])]
    (before,) = {line.split(": ")[1] for line in lines(slow, held) if " n1" in line}
    assert before.startswith("right results and speed of collectives;")
    text = " ".join(lines(slow, list(map(right, held))))
    assert "right results" not in text
    assert "speed of collectives;" in text


def test_a_blocker_without_a_cause_is_named_by_its_item():
    by = fact("n1", "some_setting")
    item = blocked(collective(["n1"], 400.0), by)
    found = run_results([by, item])
    (line,) = unknown(found, replace(diagnosed(found), causes=()))
    assert line.why == "blocked by test_some_setting[n1]"


def test_of_a_path_measured_in_one_pair_the_direction_of_a_blocked_pair_is_unknown():
    slow = path("n2", "n3", "mlx5_0", 200.0)
    good = path("n1", "n2", "gpu0-mlx5_0", 390.0)
    held = blocked(path("n2", "n3", "gpu0-mlx5_0", 390.0), slow)
    of_n3, of_n2 = lines(slow, good, held)
    assert of_n3.startswith("unknown of n3: GPU memory RDMA over 1 pairing; ")
    assert of_n2.startswith("unknown of n2: GPU memory RDMA, sending over 1 pairing; ")


# --- errors, and what did not run ---


def test_an_error_is_listed_with_its_cause():
    item = broken(collective(["n1"], 400.0), "node-unreachable", "n1")
    assert lines(item) == [
        "unknown of n1: right results and speed of collectives inside the node; "
        "not measured: node-unreachable (n1)"
    ]


def test_items_not_run_after_a_stop_are_listed_with_the_reason():
    why = "the run was stopped: data corruption"
    items = [
        replace(one, outcome=Outcome.NOT_RUN, judgements=(), reason=why)
        for one in (collective(["n1"], 400.0), record(0, "kernel", "n1"))
    ]
    assert lines(items) == [
        "unknown of n1: right results and speed of collectives inside the node, "
        f"facts: kernel; not run: {why}"
    ]


def test_without_unknown_items_there_are_no_lines():
    good = [collective(["n1"], 400.0), *paths([("n1", "n2")], NICS, {}), record(0, "kernel", "n1")]
    assert lines(good) == []
    assert lines(collective(["n1"], 300.0)) == [], "a missed limit is an answer"


def test_the_speed_behind_errors_of_a_link_is_unknown():
    """The errors explain that the node's only NIC is slow. A slow node would look the same."""
    pairs = [("n1", "n2"), ("n2", "n3"), ("n3", "n1")]
    items = paths(pairs, ["mlx5_0"], {"n2": 200.0})
    errors = counters(
        ("n1", "n2"), "link_errors", ("n2", "mlx5_0"),
        "mlx5_0 symbol_error of n2 grew by 7", "mlx5_0",
    )  # fmt: skip
    assert [(c.cause, str(c.where)) for c in diagnose(run_results([*items, errors]))] == [
        ("link-error-rate", "n2, mlx5_0")
    ]
    found = lines(items, errors)
    assert found == [
        f"unknown of {nodes}: host memory paths, {way} over 1 NIC; "
        "measured only with link-error-rate (n2, mlx5_0)"
        for nodes, way in (("n[1-2]", "sending"), ("n[2-3]", "receiving"))
    ]
    fine = paths(pairs, ["mlx5_0"], {})
    assert lines(fine, errors) == [], "errors that cost no speed hide none"


# --- folded over nodes ---


def test_many_nodes_give_few_lines():
    nodes = names(32)
    slow = paths(pairs_of(nodes, 2), NICS, {"n7": 200.0})
    by = [one for one in slow if one.outcome is Outcome.FAILED]
    held = [blocked(collective(["n7"], 400.0), *by), blocked(collective(nodes, 400.0), *by)]
    found = lines(slow, held)
    assert len(found) == 5
    hidden = sorted(line for line in found if "measured only with slow-node (n7)" in line)
    assert "unknown of n7: paths to other nodes; measured only with slow-node (n7)" in hidden
    assert [line.partition(",")[2].partition(";")[0] for line in hidden if "n7:" not in line] == [
        " receiving over 8 NICs", " sending over 8 NICs"
    ]  # fmt: skip
    assert found[0].startswith("unknown of n[1-6,8-32]: right results and speed of collectives")


def test_the_cost_is_linear():
    def took_s(count):
        nodes = names(count)
        by = fact(nodes[0], "port_state", "mlx5_0")
        held = [blocked(one, by) for one in paths(pairs_of(nodes, 2), NICS, {})]
        found = run_results([by, *held])
        started = time.process_time()
        unknown(found, replace(diagnosed(found), causes=()))
        return time.process_time() - started

    took_s(10)
    small, large = (min(took_s(count) for _ in range(3)) for count in (32, 256))
    assert large < 8 * 4 * max(small, 1e-3)


# --- parts that the level does not measure ---


def of_plan(name, on="metax-c500", count=4):
    found = run_results([], nodes=names(count), on=on)
    declared = platform(on)
    return [str(one) for one in unplanned(declared, level(declared, found.cluster, name))]


def test_pairings_outside_the_plan_are_listed():
    """A replay visits each GPU by itself, so that none is left out."""
    (line,) = of_plan("smoke")
    assert line.startswith("unknown of n[1-4]: 14 of 16 pairings of GPU and NIC")
    assert line.endswith("the paths to 1 of 3 other nodes; level smoke does not measure this")


def test_a_level_with_all_pairings_leaves_no_gpu_out():
    printed = " ".join(of_plan("signoff", count=3))
    assert "alone" not in printed
    assert "pairings" not in printed


def test_links_that_the_level_measures_are_not_listed():
    assert "alone" not in of_plan("smoke", on="mi300x")[0]
    assert "links between GPUs" not in of_plan("smoke", on="mi300x")[0]


def test_links_that_no_level_measures_are_listed():
    assert "56 of 56 links between GPUs" in of_plan("signoff", count=3)[0]


@pytest.mark.parametrize("name", ["smoke", "nightly", "signoff"])
def test_without_gpus_no_gpu_is_listed(name):
    assert "GPU" not in " ".join(of_plan(name, on="connectx4-homelab", count=3))


def test_a_line_converts_to_plain_data():
    item = broken(collective(["n1"], 400.0), "node-unreachable", "n1")
    found = run_results([item])
    (one,) = unknown(found, diagnosed(found))
    assert set(json.loads(json.dumps(one.to_json()))) == {"nodes", "what", "why"}
