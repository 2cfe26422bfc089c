"""The best that the hardware can do: each ideal is checked by counting a collective's messages."""

import math
from itertools import pairwise
from types import SimpleNamespace

import pytest
from testing.core_values import PLATFORMS, ROOT, limit

from railgauge.config import thresholds
from railgauge.config.thresholds import physical_ceiling
from railgauge.config.thresholds.physics import bus_factor, ideal, ideal_busbw, most_busbw
from railgauge.core.model import Pairing

NIC = 50.0
SHAPES = [(8, 2), (8, 4), (1, 2), (4, 3)]


def platform(name):
    return thresholds.load(name, ROOT / "thresholds")


def crossing(messages, gpus):
    """Bytes that leave the busiest node, from a list of (from, to, share of the message)."""
    sent = {}
    for source, target, share in messages:
        if source // gpus != target // gpus:
            sent[source // gpus] = sent.get(source // gpus, 0.0) + share
    return max(sent.values())


def ring(ranks, rounds, share):
    return [(r, (r + 1) % ranks, share) for r in range(ranks) for _ in range(rounds)]


def messages(operation, ranks):
    """What the GPUs send each other, with the message as nccl-tests defines it."""
    if operation == "all_reduce":
        return ring(ranks, 2 * (ranks - 1), 1 / ranks)
    if operation in ("all_gather", "reduce_scatter"):
        return ring(ranks, ranks - 1, 1 / ranks)
    if operation == "alltoall":
        return [(a, b, 1 / ranks) for a in range(ranks) for b in range(ranks) if a != b]
    if operation in ("gather", "scatter"):
        return [(0, rank, 1 / ranks) for rank in range(1, ranks)]
    return [(a, b, 1.0) for a, b in pairwise(range(ranks))]


@pytest.mark.parametrize("operation", [
    "all_reduce", "all_gather", "reduce_scatter", "alltoall", "gather", "scatter", "broadcast",
    "reduce",
])  # fmt: skip
@pytest.mark.parametrize(("gpus", "nodes"), SHAPES)
def test_the_ideal_is_what_the_nics_carry_of_every_message(operation, gpus, nodes):
    ranks, together = gpus * nodes, gpus * NIC
    algbw = together / crossing(messages(operation, ranks), gpus)
    wanted = pytest.approx(algbw * bus_factor(operation, ranks))
    assert ideal_busbw(operation, gpus, nodes, [NIC] * gpus) == wanted


@pytest.mark.parametrize("operation", ["all_reduce", "alltoall", "broadcast", "sendrecv"])
@pytest.mark.parametrize(("gpus", "nodes"), SHAPES)
def test_no_ideal_is_above_what_no_algorithm_can_pass(operation, gpus, nodes):
    shape = (operation, gpus, nodes, [NIC] * gpus)
    assert ideal_busbw(*shape) <= most_busbw(*shape) * (1 + 1e-12)


def test_an_alltoall_of_two_nodes_sends_half_of_its_data_over_the_nics():
    """93.75 GB/s of eight NICs of 400 Gb/s, 91.9 of the 392 Gb/s that document 001 measures."""
    assert ideal_busbw("alltoall", 8, 2, [50.0] * 8) == pytest.approx(93.75)
    assert ideal_busbw("alltoall", 8, 2, [49.0] * 8) == pytest.approx(91.875)


def test_a_sendrecv_leaves_a_node_through_one_nic():
    assert ideal_busbw("sendrecv", 8, 2, [50.0] * 8) == 50.0


@pytest.mark.parametrize(("operation", "nodes"), [("all_reduce", 1), ("hypercube", 2)])
def test_unknown_operations_have_no_ideal(operation, nodes):
    assert ideal_busbw(operation, 8, nodes, [50.0] * 8) is None
    assert most_busbw(operation, 8, nodes, [50.0] * 8) is None


# --- on the platforms ---


def best(name, measurement, nodes=2, metric="busbw", pairing=None):
    found = platform(name)
    one = found.measurements[measurement]
    of = (found, one, pairing, limit(metric=metric, unit="GB/s"), nodes)
    return SimpleNamespace(ideal=ideal(*of), most=physical_ceiling(*of))


@pytest.mark.parametrize(("name", "gb_per_s"), [("h200", 50), ("mi300x", 50), ("metax-c500", 50)])
def test_one_gpu_a_node_has_the_one_nic_beside_it(name, gb_per_s):
    found = best(name, "pair_all_reduce_one_gpu")
    assert found.ideal == gb_per_s
    slot = 64 * 128 / 130 if name != "metax-c500" else 100  # no document names its slots
    assert found.most == pytest.approx(slot)


@pytest.mark.parametrize("gpu", [None, 0, 4])
def test_the_nic_is_that_of_the_gpu_that_takes_part(gpu):
    pairing = None if gpu is None else Pairing("mlx5_0", gpu, "near")
    assert best("metax-c500", "pair_all_reduce_one_gpu", pairing=pairing).ideal == 50


def test_all_gpus_have_all_nics():
    assert best("h200", "pair_all_reduce").ideal == 400
    assert best("h200", "pair_all_reduce").most == pytest.approx(750)
    assert best("h200", "group_all_reduce", 4).most == pytest.approx(775)
    assert best("h200", "pair_alltoall").ideal == pytest.approx(93.75)
    assert best("h200", "pair_alltoall").most == pytest.approx(93.75)


def test_the_floor_of_an_alltoall_is_three_quarters_of_its_ideal():
    """A floor of 37.5 GB/s, 75 % of one NIC, let a node pass that had lost half of its NICs."""
    one = platform("h200").measurements["pair_alltoall"]
    assert one.limits[0].floor == pytest.approx(
        0.75 * best("h200", "pair_alltoall").ideal, rel=1e-3
    )
    assert "93.75" in one.limits[0].basis.says


def test_the_algorithm_bandwidth_is_the_bus_bandwidth_over_the_factor():
    assert best("h200", "pair_all_reduce", metric="algbw").ideal == pytest.approx(400 * 16 / 30)


def test_measurements_that_are_no_collective_between_nodes_have_no_ideal():
    assert best("h200", "node_all_reduce").ideal is None
    assert best("h200", "host_write_bandwidth", pairing=Pairing("mlx5_0")).ideal is None
    assert best("h200", "pair_all_reduce", metric="bw_received").ideal is None


@pytest.mark.parametrize("name", PLATFORMS)
def test_every_floor_of_a_collective_is_below_its_ideal(name):
    found = platform(name)
    for one in found.measurements.values():
        for asked in thresholds.limits_in_use(found, one):
            nodes = 4 if one.scope == "group" else 2
            most = ideal(found, one, None, asked, nodes) if one.scope != "path" else None
            floors = asked.floor.points if hasattr(asked.floor, "points") else [(0, asked.floor)]
            assert most is None or all((floor or 0) < most < math.inf for _, floor in floors)
