"""Slow measurements are traced to the part that all of them share."""

import pytest
from testing.diagnose_scenes import (
    accounted,
    blocked,
    both_directions,
    causes,
    collective,
    collectives,
    links,
    measured,
    named,
    names,
    pairs_of,
    path,
    paths,
    record,
)

NICS = ("mlx5_0", "mlx5_1", "mlx5_2")


def cluster_of(count, capacity, parts=NICS, rounds=2):
    return paths(pairs_of(names(count), rounds), parts, capacity)


def both_of(count, capacity, parts=NICS, rounds=2):
    return both_directions(pairs_of(names(count), rounds), parts, capacity)


@pytest.mark.parametrize(
    ("capacity", "cause"),
    [
        ({"n3": 200}, ("slow-node", "n3")),
        ({("n3", "mlx5_1"): 200}, ("slow-nic", "n3, mlx5_1")),
        ({frozenset(("n1", "n6")): 200}, ("slow-path", "n1 and n6")),
    ],
)
def test_one_slow_part_is_named_from_host_memory(capacity, cause):
    records = both_of(6, capacity)
    found = causes(records)
    assert named(found) == [cause]
    assert found[0].confidence == "likely"
    assert accounted(found) == {r.id for r in records if r.outcome == "failed"}
    assert "200 Gb/s" in found[0].says


GPU_PATHS = ("gpu0-mlx5_0", "gpu1-mlx5_0", "gpu0-mlx5_1", "gpu1-mlx5_1")


@pytest.mark.parametrize(
    ("capacity", "cause"),
    [
        ({("n2", "gpu0-mlx5_0"): 200}, ("slow-pcie-path", "n2, gpu0-mlx5_0")),
        ({("n2", p): 200 for p in GPU_PATHS if "gpu1" in p}, ("slow-gpu", "n2, gpu1")),
    ],
)
def test_one_slow_part_is_named_from_gpu_memory(capacity, cause):
    records = cluster_of(4, capacity, (*NICS, *GPU_PATHS))
    assert named(causes(records)) == [cause]


def test_a_nic_that_is_slow_with_host_memory_explains_gpu_memory_paths():
    slow = {("n2", part): 200 for part in ("mlx5_0", "gpu0-mlx5_0", "gpu1-mlx5_0")}
    records = cluster_of(4, slow, (*NICS, *GPU_PATHS))
    found = causes(records)
    assert named(found) == [("slow-nic", "n2, mlx5_0")]
    assert accounted(found) == {r.id for r in records if r.outcome == "failed"}


def test_unmeasured_pairs_clear_no_node():
    slow = [path("n1", n, "mlx5_0", 200) for n in ("n2", "n3")]
    waits = [blocked(path("n2", "n3", "mlx5_0", 1)), blocked(path("n3", "n4", "mlx5_0", 1))]
    found = causes(slow, waits)
    assert [cause.confidence for cause in found] == ["open"]


def test_a_path_that_is_slow_in_one_of_two_measurements_is_slow():
    both = cluster_of(6, {"n3": 200})
    other = paths(pairs_of(names(6), 2), NICS, {})
    again = [r for r in other if "n3" in r.nodes]
    again = [path(*r.nodes, r.pairing, 392, "host_write_bandwidth_bidirectional") for r in again]
    assert named(causes(both, again)) == [("slow-node", "n3")]


# --- directions ---


def test_a_node_that_receives_slowly_over_one_nic_is_named():
    records = both_of(6, {("n3", "mlx5_1", "receiving"): 200})
    (found,) = causes(records)
    assert named([found]) == [("slow-direction", "n3, mlx5_1")]
    assert found.confidence == "likely"
    assert "n3 mlx5_1 is 49.0% behind its peers where it receives in 2 of 2" in found.says
    assert set(found.evidence) == {r.id for r in records if r.outcome == "failed"}


def test_a_node_that_sends_slowly_over_all_nics_is_named():
    (found,) = causes(both_of(6, {("n4", nic, "sending"): 200 for nic in NICS}))
    assert named([found]) == [("slow-direction", "n4")]
    assert "n4 is 49.0% behind its peers where it sends in 6 of 6 measurements" in found.says


def test_a_slow_direction_in_both_memories_is_one_cause():
    slow = {("n2", part, "sending"): 200 for part in ("mlx5_0", "gpu0-mlx5_0", "gpu1-mlx5_0")}
    pairs = list(pairs_of(names(4), 2))
    on_gpus = paths(pairs, GPU_PATHS, slow)
    found = causes(both_directions(pairs, NICS, slow), on_gpus)
    assert named(found) == [("slow-direction", "n2, mlx5_0")]


def test_writes_alone_are_undecided_and_the_cause_says_what_would_decide():
    pairs = list(pairs_of(names(6), 2))
    sender, receiver = pairs[0]
    for slow in ((sender, "mlx5_1", "sending"), (receiver, "mlx5_1", "receiving")):
        (found,) = causes(paths(pairs, NICS, {slow: 200}))
        assert (found.cause, found.confidence) == ("slow-direction", "open")
        assert set(found.where.node.split("|")) == {sender, receiver}
        assert found.where.device == "mlx5_1"
        assert found.would_decide.startswith("measure host_write_bandwidth[")
        assert f"{sender} mlx5_1 where it sends" in found.says
        assert f"{receiver} mlx5_1 where it receives" in found.says


def test_a_bidirectional_test_decides():
    """A slow end is slow with another partner too; a slow path is not."""
    pairs, both = list(pairs_of(names(6), 2)), "host_write_bandwidth_bidirectional"
    sender, receiver = pairs[0]
    for slow in (sender, receiver):
        way = "sending" if slow == sender else "receiving"
        writes = paths(pairs, NICS, {(slow, nic, way): 200 for nic in NICS})
        (found,) = causes(writes, paths(pairs, NICS, {slow: (200 + 392) / 2}, both))
        assert named([found]) == [("slow-direction", slow)]
        assert len([item for item in found.evidence if both in item]) == 2 * len(NICS)
    path_slow = {frozenset(pairs[0]): 200}
    (found,) = causes(paths(pairs, NICS, path_slow), paths(pairs, NICS, path_slow, both))
    assert found.cause == "slow-path"


def test_an_unknown_tool_gives_no_direction():
    pairs = list(pairs_of(names(6), 2))
    slow = {("n3", nic, "receiving"): 200 for nic in NICS}
    found = causes(paths(pairs, NICS, slow, "host_other_bandwidth"))
    assert "slow-direction" not in {cause.cause for cause in found}


# --- links and GPUs inside a node ---


def test_one_slow_link_is_named():
    found = causes(links("n1", {(3, 5): 200.0}), links("n2", {}))
    assert named(found) == [("slow-gpu-link", "n1, gpu3>gpu5")]


def test_two_slow_links_are_two_causes():
    found = causes(links("n1", {(3, 5): 200.0, (0, 1): 100.0}))
    assert set(named(found)) == {
        ("slow-gpu-link", "n1, gpu3>gpu5"),
        ("slow-gpu-link", "n1, gpu0>gpu1"),
    }


def test_all_links_of_a_gpu_slow_are_a_slow_gpu():
    slow = {(i, j): 200.0 for i in range(8) for j in range(8) if 4 in (i, j)}
    found = causes(links("n1", slow))
    assert named(found) == [("slow-gpu", "n1, gpu4")]
    assert len(found[0].evidence) == 14


def test_a_gpu_that_only_sends_slowly_is_one_cause():
    (found,) = causes(links("n1", {(4, j): 200.0 for j in range(8)}))
    assert named([found]) == [("slow-gpu", "n1, gpu4")]
    assert len(found.evidence) == 7


def test_all_links_of_a_node_slow_are_a_slow_node():
    slow = {(i, j): 200.0 for i in range(8) for j in range(8)}
    assert named(causes(links("n1", slow))) == [("slow-node", "n1")]


def test_a_slow_link_explains_the_collective_of_its_node_only():
    records = [*links("n1", {(0, 7): 200.0}), collective(("n1",), 250), collective(("n2",), 250)]
    found = causes(records)
    assert named(found) == [("slow-gpu-link", "n1, gpu0>gpu7"), ("slow-node", "n2")]


def single(node, gpu, value):
    item = record(3, "gpu_host_bandwidth", node, part=f"gpu{gpu}")
    return measured(item, value, metric="bandwidth")


def test_one_gpu_that_is_slow_by_itself_is_named():
    found = causes([single("n1", gpu, 100 if gpu == 2 else 400) for gpu in range(8)])
    assert named(found) == [("slow-gpu", "n1, gpu2")]


def test_all_gpus_that_are_slow_are_a_slow_node():
    assert named(causes([single("n1", gpu, 100) for gpu in range(8)])) == [("slow-node", "n1")]


def test_a_slow_collective_inside_a_node_with_good_links_leaves_its_gpus():
    (found,) = causes(links("n1", {}), collective(("n1",), 250))
    assert (found.cause, found.where.node, found.confidence) == ("slow-gpu", "n1", "open")
    assert "250 GB/s" in found.says


def test_a_slow_path_and_a_slow_node_keep_their_own_items():
    pairs = list(pairs_of(names(8), 4))
    far = next(p for p in pairs if "n3" not in p)
    found = causes(both_directions(pairs, NICS, {"n3": 200.0, frozenset(far): 250.0}))
    by = {cause.cause: cause for cause in found}
    assert set(by) == {"slow-node", "slow-path"}
    assert len(by["slow-path"].evidence) == 2 * len(NICS)
    assert all(":".join(far) in item for item in by["slow-path"].evidence)


def test_a_slow_path_is_the_cause_of_the_collective_over_it_and_no_other():
    pairs = list(pairs_of(names(6), 5))
    far = frozenset(pairs[0])
    slow = paths(pairs, NICS, {far: 200.0})
    over = collectives(pairs, {far: 200.0})
    one = causes(slow, over)
    assert [cause.cause for cause in one] == ["slow-path"]
    assert accounted(one) == {r.id for r in (*slow, *over) if r.outcome == "failed"}
    more = causes(slow, collectives(pairs, {pairs[0][0]: 300.0}))
    assert [(cause.where.node, cause.confidence) for cause in more[1:]] == [(pairs[0][0], "open")]


def test_a_node_with_slow_partners_only_is_not_blamed():
    slow = (("n1", "n3"), ("n2", "n3"), ("n1", "n4"), ("n2", "n5"), ("n1", "n6"), ("n2", "n6"))
    fine = (("n4", "n6"), ("n5", "n6"))
    records = paths((*slow, *fine), NICS, {"n1": 200.0, "n2": 200.0})
    assert set(named(causes(records))) == {("slow-node", "n1"), ("slow-node", "n2")}
