"""What slower parts hide of the nodes that they were measured with."""

from __future__ import annotations

from dataclasses import replace

from testing.asked_again import FINE, NICS, RING, answered, run
from testing.diagnose_scenes import (
    blocked,
    collective,
    counters,
    fact,
    measured,
    names,
    path,
    paths,
    record,
    run_results,
)

from railgauge.diagnosis import diagnosed
from railgauge.diagnosis.left_open.hidden import hidden
from railgauge.diagnosis.model import LIKELY


def test_a_direction_that_only_a_slow_node_was_measured_with_is_unknown():
    """n1 receives from n3 alone, which is slow; it sends to n2, which is fine."""
    found = run(*paths([("n1", "n2"), ("n2", "n3"), ("n3", "n1")], NICS, {"n3": 300.0}), nodes=3)
    lines = dict(hidden(found, answered(found, lambda case: 300.0 if "n3" in case.nodes else FINE)))
    assert set(lines) == {"n1", "n2", "n3"}
    assert lines["n1"] == (
        ("host memory paths, receiving over 3 NICs",), "measured only with slow-node (n3)"
    ), "it was measured with n2 over one NIC, to decide"  # fmt: skip
    assert lines["n2"][0] == ("host memory paths, sending over 3 NICs",)
    assert lines["n3"] == (("paths to other nodes",), "measured only with slow-node (n3)")


def test_a_sum_that_is_fine_does_not_show_a_direction_that_only_a_slow_node_was_measured_with():
    """Both directions with n2 are within the limit of their sum, which allows one to be slow."""
    sums = paths([("n1", "n2")], NICS, {}, "host_write_bandwidth_bidirectional")
    ring = [("n1", "n2"), ("n2", "n3"), ("n3", "n1")]
    found = run(*paths(ring, NICS, {"n3": 300.0}), *sums, nodes=3)
    lines = dict(hidden(found, answered(found, lambda case: 300.0 if "n3" in case.nodes else FINE)))
    assert lines["n1"] == (
        ("host memory paths, receiving over 4 NICs",), "measured only with slow-node (n3)"
    )  # fmt: skip


def test_a_direction_whose_only_partner_was_behind_a_gate_is_unknown():
    """n1 received from n4, and would have sent to n2, whose port is down."""
    down = fact("n2", "port_state", "mlx5_7")
    ways = [("n1", "n2"), ("n4", "n1"), ("n3", "n4"), ("n2", "n3")]
    items = [replace(path(*pair, "mlx5_0", FINE), ways=("size",)) for pair in ways]
    gated = [blocked(item, down) if "n2" in item.nodes else item for item in items]
    found = run_results([down, *gated], nodes=names(4))
    lines = dict(hidden(found, diagnosed(found)))
    assert set(lines) == {"n1", "n3"}, "nothing at all was measured of n2: another line says so"
    assert lines["n1"][0] == ("host memory paths, sending over 1 NIC",)
    assert lines["n3"][0] == ("host memory paths, receiving over 1 NIC",)
    assert "not measured in this direction" in lines["n1"][1]


def test_a_direction_that_was_measured_in_sums_alone_is_unknown():
    """A sum within its limit lets one of its directions be slow."""
    down = fact("n2", "port_state", "mlx5_7")
    ways = [("n1", "n2"), ("n4", "n1")]
    writes = [path(*pair, "mlx5_0", FINE) for pair in ways]
    sums = paths([("n1", "n3")], NICS[:1], {}, "host_write_bandwidth_bidirectional")
    items = [replace(item, ways=("size",)) for item in (*writes, *sums)]
    gated = [blocked(item, down) if "n2" in item.nodes else item for item in items]
    found = run_results([down, *gated], nodes=names(4))
    lines = dict(hidden(found, diagnosed(found)))
    assert lines["n1"][0] == ("host memory paths, sending over 1 NIC",)
    assert "measured only together with the other direction" in lines["n1"][1]


def test_the_pairings_of_gpus_are_told_as_the_nics_are():
    down = fact("n2", "port_state", "mlx5_7")
    items = [path(*pair, "gpu0-mlx5_0", FINE) for pair in (("n1", "n2"), ("n4", "n1"))]
    items = [replace(blocked(i, down) if "n2" in i.nodes else i, ways=("size",)) for i in items]
    found = run_results([down, *items], nodes=names(4))
    lines = dict(hidden(found, diagnosed(found)))
    assert lines["n1"][0] == ("GPU memory RDMA, sending over 1 pairing",)


def test_nothing_is_hidden_in_a_healthy_run_or_behind_suspects():
    healthy = run(*paths(RING, NICS, {}))
    assert not list(hidden(healthy, diagnosed(healthy)))
    open_ = run(path("n1", "n2", "mlx5_0", 300.0), path("n3", "n4", "mlx5_0", FINE))
    assert not list(hidden(open_, diagnosed(open_)))


def test_the_collectives_of_a_node_with_an_idle_nic_say_nothing_of_the_paths_to_it():
    """n2 carries nothing over mlx5_0, and n4 was measured with n2 alone."""
    idle = counters(("n1", "n2"), "traffic_spread", ("n2", "mlx5_0"), "mlx5_0 of n2 carried 0")
    reached = {("n1", "n2"): 200.0, ("n2", "n4"): 200.0, ("n1", "n3"): 370.0}
    found = run_results([idle, *(collective(*one) for one in reached.items())], nodes=names(4))
    why = "measured only with nic-idle (n2, mlx5_0)"
    assert dict(hidden(found, diagnosed(found))) == dict.fromkeys(
        ("n2", "n4"), (("speed of collectives with other nodes",), why)
    )


def test_a_direction_that_another_tool_measured_is_known_by_its_share():
    """n2 sends writes to n3 alone, which is slow. Its reads are as fast as those of others, so that
    a loss which misses the limit of writes would show, although the limit of reads is lower."""
    nic = NICS[:1]
    slow = {"n3": 300.0}
    writes = paths([("n2", "n3"), ("n3", "n1"), ("n1", "n4"), ("n4", "n1")], nic, slow)
    reads = paths([("n1", "n2"), ("n4", "n1")], nic, {}, "host_read_bandwidth")
    low = [
        replace(i, judgements=tuple(replace(j, floor=340.0) for j in i.judgements)) for i in reads
    ]
    for some in (reads, low):
        found = run(*writes, *some, nodes=4)
        lines = dict(hidden(found, answered(found, lambda c: 300.0 if "n3" in c.nodes else FINE)))
        assert set(lines) == {"n3"}


def test_a_direction_that_only_a_lower_limit_tells_of_is_unknown_to_the_higher_one():
    """Nothing was read by others: what a healthy read reaches is unknown."""
    nics = NICS[:2]
    of_n3 = [("n2", "n3"), ("n3", "n1"), ("n3", "n4"), ("n4", "n3"), ("n1", "n3")]
    writes = paths([*of_n3, ("n1", "n4"), ("n4", "n1")], nics, {"n3": 300.0})
    (read,) = paths([("n1", "n2")], nics[:1], {}, "host_read_bandwidth")
    low = replace(read, judgements=tuple(replace(j, floor=300.0) for j in read.judgements))
    found = run(*writes, low, nodes=4)
    diagnosis = diagnosed(found)
    (cause,) = (one for one in diagnosis.causes if one.where.node == "n3")
    assert cause.confidence == LIKELY
    assert dict(hidden(found, diagnosis))["n2"] == (
        ("host memory paths, sending over 2 NICs",), "measured only with slow-node (n3)"
    )  # fmt: skip


def sized(pair, size, value):
    item = record(4, "pair_all_reduce", *pair, size_bytes=size)
    return measured(replace(item, ways=("size",)), value)


def test_a_cause_of_a_node_may_cost_each_message_size_something_else():
    """No part is called slow beside it. Small messages do not show how fast large ones would be."""
    values = {1024: 380.0, 2**20: 250.0, 2**30: 40.0}
    items = [
        sized(pair, size, value if "n2" in pair else FINE)
        for pair in RING
        for size, value in values.items()
    ]
    found = run_results([fact("n2", "peer_memory", measured="none"), *items], nodes=names(4))
    diagnosis = diagnosed(found)
    assert [one.cause for one in diagnosis.causes] == ["gpudirect-rdma-disabled"]
    assert dict(hidden(found, diagnosis)) == {
        "n2": (
            ("speed of collectives with other nodes",),
            "measured only with gpudirect-rdma-disabled (n2)",
        )
    }
