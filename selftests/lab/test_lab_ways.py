"""Only the NICs, GPUs and links that a simulated collective uses slow it and count traffic."""

from __future__ import annotations

from typing import Any

import pytest
from test_lab_collectives import over, sweep, table
from testing.lab_bench import Bench

from railgauge_lab import platforms
from railgauge_lab.sim import fabric, interference

ALL = list(range(8))


def nodes(platform: str, count: int = 2) -> list[dict[str, Any]]:
    data = platforms.load(platform)
    return [platforms.describe(data, f"n{index}", index, 0) for index in range(count)]


def path(found: list[dict[str, Any]], op: str) -> dict[str, Any]:
    return fabric.path(found, {}, {node["name"]: ALL for node in found}, op)


@pytest.mark.parametrize(("nic", "sendrecv"), [("mlx5_0", 0.6), ("mlx5_3", 1.0), ("mlx5_7", 0.6)])
def test_a_sendrecv_uses_the_nics_of_each_nodes_first_and_last_gpu(
    nic: str, sendrecv: float
) -> None:
    found = nodes("h200")
    found[1]["devices"][nic]["speed"] = 0.6
    assert path(found, "sendrecv")["share"] == sendrecv
    assert path(found, "alltoall")["share"] == path(found, "broadcast")["share"] == 0.6


@pytest.mark.parametrize(("gpu", "sendrecv"), [(0, 0.6), (4, 1.0), (7, 0.6)])
def test_a_sendrecv_is_as_slow_as_each_nodes_first_and_last_gpu(gpu: int, sendrecv: float) -> None:
    found = nodes("mi300x")
    found[0]["gpus"][gpu]["speed"] = 0.6
    assert path(found, "sendrecv")["share"] == sendrecv
    assert path(found, "all_gather")["share"] == 0.6


def test_broadcast_and_reduce_use_one_direction() -> None:
    found = path(nodes("metax-c500", 3), "broadcast")["ways"]
    both = ["mlx5_0", "mlx5_1"]
    assert found == {
        "n0": {"xmit": both, "rcv": []},
        "n1": {"xmit": both, "rcv": both},
        "n2": {"xmit": [], "rcv": both},
    }
    back = path(nodes("metax-c500"), "reduce")["ways"]
    assert back == {"n0": {"xmit": [], "rcv": both}, "n1": {"xmit": both, "rcv": []}}


def test_a_sendrecv_sends_over_one_nic_and_receives_over_another() -> None:
    found = path(nodes("h200"), "sendrecv")["ways"]
    assert found["n0"] == found["n1"] == {"xmit": ["mlx5_7"], "rcv": ["mlx5_0"]}


@pytest.mark.parametrize(("link", "of_one_node"), [("0>7", 1.0), ("2>3", 0.6), ("7>0", 0.6)])
def test_a_slow_link_slows_a_sendrecv_that_uses_it(link: str, of_one_node: float) -> None:
    found = nodes("mi300x", 1)
    found[0]["collectives"]["slow_links"] = {link: 0.6}
    job = {"nodes": found, "devices": {"n0": ALL}, "run": {"op": "sendrecv"}}
    assert interference.link_share(job) == of_one_node
    assert interference.link_share({**job, "run": {"op": "alltoall"}}) == 0.6


def counted(bench: Bench, index: int, way: str) -> list[int]:
    file = f"sys/class/infiniband/{{}}/ports/1/counters/port_{way}_data"
    return [int(bench.read(index, file.format(nic))) for nic in ("mlx5_0", "mlx5_1")]


def test_the_counters_of_a_broadcast_show_its_direction(metax: Bench) -> None:
    before = {(i, way): counted(metax, i, way) for i in (0, 1) for way in ("xmit", "rcv")}
    sweep(metax, over(metax, 2, 8), "broadcast_perf -b 1G -e 1G -n 10")
    grown = {key: sum(counted(metax, *key)) - sum(was) for key, was in before.items()}
    assert grown[0, "rcv"] == grown[1, "xmit"] == 0
    assert grown[0, "xmit"] == grown[1, "rcv"] > 4 * 2**30


def test_an_alltoall_of_a_metax_node_is_limited_by_the_link_between_its_halves(
    metax: Bench,
) -> None:
    (row,) = table(sweep(metax, over(metax, 1, 8), "alltoall_perf -b 1G -e 1G -n 10"))
    for _, _, busbw in row.sides:
        assert 0.95 * 65.06 * 7 / 16 < busbw < 65.06 * 7 / 16
