"""Slow paths are blamed on a node, NIC, GPU, PCIe path or cable between nodes."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from testing.physics import Cable, across, measured, named, on_paths, pairs_of

from railgauge.diagnosis.localise import Part, PathResult, blame, blame_paths
from railgauge.diagnosis.localise.parts import ONE_NIC
from railgauge.diagnosis.localise.paths import Located
from railgauge.planning.pairing import tournament

NODES = named(8)
PAIRS = pairs_of(tournament(NODES, 2))
HOST = ((None, "mlx5_0"), (None, "mlx5_1"))
ALL = tuple((gpu, nic) for gpu in range(4) for nic in ("mlx5_0", "mlx5_1"))
NEAR = ((0, "mlx5_0"), (1, "mlx5_0"), (2, "mlx5_1"), (3, "mlx5_1"))
ONE_EACH = ((1, "mlx5_0"), (2, "mlx5_1"))
PARTS = {
    "": "node", "mlx5_0": "nic", "mlx5_1": "nic", "gpu0": "gpu", "gpu3": "gpu",
    "gpu0-mlx5_0": "path", "gpu3-mlx5_0": "path",
}  # fmt: skip


def located(paths, parts=(), cables=(), pairs=PAIRS):
    return blame_paths(on_paths(pairs, paths, set(parts), cables))


def test_without_slow_paths_nothing_is_blamed():
    assert located((*HOST, *ALL)) == Located((), ())
    assert blame_paths([]) == Located((), ())


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("device", PARTS)
def test_one_faulty_part_is_named(node, device):
    for paths in ((*HOST, *ALL), ALL):
        found = located(paths, [(node, device)])
        assert found == Located((Part(PARTS[device], node, device),), ())


def test_several_faulty_parts_are_all_named():
    bad = [("n001", "gpu2"), ("n001", "gpu3-mlx5_1"), ("n004", "mlx5_0"), ("n006", "")]
    pairs = pairs_of(tournament(NODES, 4))
    found = located((*HOST, *ALL), bad, pairs=pairs)
    assert [str(part) for part in found.parts] == [" ".join(each).strip() for each in bad]
    assert found.undecided == ()


@pytest.mark.parametrize("paths", [HOST, (*HOST, *NEAR), (*HOST, *ONE_EACH), NEAR])
def test_a_slow_nic_is_named_from_host_memory_or_from_all_its_gpus(paths):
    found = located(paths, [("n002", "mlx5_1")])
    assert found == Located((Part("nic", "n002", "mlx5_1"),), ())


def test_paths_that_a_faulty_nic_explains_do_not_blame_gpus():
    gpu_paths = [(gpu, nic) for gpu in (0, 1) for nic in ("mlx5_0", "mlx5_1")]
    found = located((HOST[0], *gpu_paths, (2, "mlx5_2")), [("n002", "mlx5_0"), ("n002", "mlx5_1")])
    assert found == Located((Part("nic", "n002", "mlx5_0"), Part("nic", "n002", "mlx5_1")), ())


def test_a_nic_measured_with_one_gpu_is_undecided():
    (item,) = located(ONE_EACH, [("n002", "mlx5_1")]).undecided
    assert set(item.among) == {"n002 gpu2", "n002 mlx5_1", "n002 gpu2-mlx5_1"}
    assert item.would_decide == (
        "measure on n002: gpu2 with mlx5_0 (found good) and mlx5_1 with host memory"
    )


def test_a_gpu_measured_with_one_nic_is_undecided():
    (item,) = located((*HOST, *NEAR), [("n002", "gpu3")]).undecided
    assert set(item.among) == {"n002 gpu3", "n002 gpu3-mlx5_1"}
    assert item.would_decide == "measure on n002: gpu3 with mlx5_0 (found good)"


def test_two_gpus_and_two_nics_that_are_slow_only_together_are_undecided():
    paths = (*[(g, n) for g in (0, 1) for n in ("mlx5_0", "mlx5_1")], (2, "mlx5_2"), (3, "mlx5_2"))
    by_nics = located(paths, [("n002", "mlx5_0"), ("n002", "mlx5_1")])
    assert by_nics == located(paths, [("n002", "gpu0"), ("n002", "gpu1")])
    assert by_nics.parts == ()
    (item,) = by_nics.undecided
    assert {"n002 gpu0", "n002 gpu1", "n002 mlx5_0", "n002 mlx5_1"} <= set(item.among)
    found = located((*paths, *HOST), [("n002", "gpu0"), ("n002", "gpu1")])
    assert found.parts == (Part("gpu", "n002", "gpu0"), Part("gpu", "n002", "gpu1"))


@pytest.mark.parametrize("paths", [HOST[:1], (HOST[0], *NEAR[:2]), NEAR[:2]])
def test_a_single_nic_cannot_be_separated_from_its_node(paths):
    for device in ("", "mlx5_0"):
        found = located(paths, [("n002", device)])
        assert found == Located((Part("node", "n002", note=ONE_NIC),), ())


def test_one_gpu_that_is_slow_over_all_nics_may_be_the_node():
    for device in ("", "gpu0"):
        found = located(ALL[:2], [("n002", device)])
        assert found.parts == ()
        (item,) = found.undecided
        assert item.among == ("n002", "n002 gpu0")
        assert item.would_decide == "measure n002 with host memory or another of its GPUs"


def test_a_single_slow_path_may_be_any_part_of_it():
    (item,) = located(ALL[:1], [("n002", "gpu0-mlx5_0")]).undecided
    assert item.among == ("n002", "n002 gpu0", "n002 mlx5_0", "n002 gpu0-mlx5_0")


def test_a_node_measured_over_one_of_several_nics_is_undecided():
    results = [r for r in on_paths(PAIRS, HOST, {("n002", "")}) if r.nic == "mlx5_0" or not r.slow]
    (item,) = blame_paths(results).undecided
    assert item.among == ("n002", "n002 mlx5_0")
    assert item.would_decide == "measure n002 over another NIC"


@pytest.mark.parametrize(("nics", "device"), [(("mlx5_0", "mlx5_1"), ""), (("mlx5_1",), "mlx5_1")])
def test_a_faulty_cable_is_a_pair_over_its_nic(nics, device):
    a, b = PAIRS[0]
    cables = {(Cable((a, b)), nic) for nic in nics}
    found = located((*HOST, *ALL), cables=cables)
    assert found == Located((Part("pair", min(a, b), device, max(a, b)),), ())


def test_a_faulty_gpu_does_not_hide_a_cable_that_is_slow_with_all_gpus():
    pairs = pairs_of(tournament(NODES, 4))
    a, b = pairs[0]
    cables = {(Cable((a, b)), nic) for nic in ("mlx5_0", "mlx5_1")}
    found = located((*HOST, *ALL), [(a, "gpu3")], cables, pairs)
    assert found == Located((Part("gpu", a, "gpu3"), Part("pair", min(a, b), "", max(a, b))), ())


@pytest.mark.parametrize("device", ["mlx5_1", "gpu3", "gpu3-mlx5_1", ""])
def test_two_nodes_alone_are_undecided_over_their_slow_paths(device):
    pairs = pairs_of(tournament(NODES[:2]))
    found = located((*HOST, *ALL), [("n001", device)], pairs=pairs)
    assert found.parts == ()
    (item,) = found.undecided
    assert item.among == tuple(f"{name} {device}".strip() for name in ("n000", "n001", "n000:n001"))
    with_it = f", with {device}" if device else ""
    assert (
        item.would_decide == f"measure n000 and n001 with nodes that are known to be good{with_it}"
    )


def test_a_node_proven_slow_on_one_nic_explains_pairs_over_another():
    """Over mlx5_1 the slow node has one partner only; the other NIC proves that it is slow."""
    kept = [
        r
        for r in on_paths(PAIRS, (*HOST, (None, "mlx5_2")), {("n002", "")})
        if r.nic != "mlx5_2" or "n002" not in r.nodes or r.nodes == PAIRS[2]
    ]
    assert "n002" in PAIRS[2]
    assert blame_paths(kept) == Located((Part("node", "n002"),), ())


def test_the_slow_one_of_contradicting_repeats_counts():
    results = on_paths(PAIRS, HOST, {("n002", "mlx5_1")})
    flaky = next(r for r in results if r.slow)
    fine = PathResult(flaky.nodes, False, flaky.gpu, flaky.nic)
    found = blame_paths([*results, fine])
    assert found == blame_paths(results)
    assert found.parts == (Part("nic", "n002", "mlx5_1"),)


def test_host_memory_over_one_nic_gives_the_same_as_pair_results():
    draw = random.Random(8)
    for _ in range(50):
        slow = draw.sample(NODES, draw.randint(0, 3))
        nodes = blame(measured(PAIRS, slow))
        paths = located(HOST[:1], [(node, "") for node in slow])
        assert [part.node for part in paths.parts] == [*nodes.nodes]
        assert paths.undecided == nodes.undecided


# --- from one rail to another ---

RAILS = (((None, "mlx5_0"), (None, "mlx5_1")), ((None, "mlx5_1"), (None, "mlx5_0")))
GPU_RAILS = (((0, "mlx5_0"), (3, "mlx5_1")), ((3, "mlx5_1"), (0, "mlx5_0")))


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("device", ["mlx5_0", "mlx5_1", ""])
def test_cross_rail_paths_alone_name_a_faulty_end_by_node_and_nic(node, device):
    found = blame_paths(across(PAIRS, RAILS, {(node, device)}))
    assert found == Located((Part("nic" if device else "node", node, device),), ())


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("device", PARTS)
def test_cross_rail_results_do_not_change_findings_on_one_rail(node, device):
    results = [
        *on_paths(PAIRS, (*HOST, *ALL), {(node, device)}),
        *across(PAIRS, (*RAILS, *GPU_RAILS), {(node, device)}),
    ]
    assert blame_paths(results) == Located((Part(PARTS[device], node, device),), ())


def test_a_pair_that_is_slow_only_across_rails_is_named_with_both_nics():
    a, b = PAIRS[0]
    bad = {(Cable((a, b)), *RAILS[1])}
    found = blame_paths([*on_paths(PAIRS, HOST), *across(PAIRS, RAILS, cables=bad)])
    one, other = ((a, "mlx5_1"), (b, "mlx5_0"))
    (node, nic), (peer, its) = sorted((one, other))
    assert found == Located((Part("pair", node, f"{nic}:{its}", peer),), ())


def test_a_gpu_measured_only_across_rails_is_undecided_between_its_parts():
    found = blame_paths(across(PAIRS, GPU_RAILS, {("n002", "mlx5_1")}))
    assert found.parts == ()
    (item,) = found.undecided
    assert set(item.among) == {"n002 gpu3", "n002 mlx5_1", "n002 gpu3-mlx5_1"}


def test_two_nodes_alone_across_rails_are_undecided_between_their_ends():
    pairs = pairs_of(tournament(NODES[:2]))
    found = blame_paths(across(pairs, RAILS[:1], {("n001", "")}))
    assert found.parts == ()
    (item,) = found.undecided
    assert {name.partition(" ")[0] for name in item.among} >= {"n000", "n001"}


def test_the_slow_one_of_contradicting_cross_rail_repeats_counts():
    results = across(PAIRS, RAILS, {("n002", "mlx5_1")})
    flaky = next(r for r in results if r.slow)
    fine = PathResult(flaky.nodes, False, flaky.gpu, flaky.nic, flaky.peer)
    assert blame_paths([*results, fine]) == blame_paths(results)


# --- no healthy part is blamed ---


@st.composite
def broken_parts(draw):
    """Nodes with faulty parts; each keeps a good path, and no two faulty PCIe paths meet."""
    parts = set()
    for node in draw(st.sets(st.sampled_from(NODES), max_size=3)):
        bad = draw(st.sets(st.sampled_from(["gpu0", "gpu1", "gpu2", "mlx5_1"])))
        paths = draw(st.sampled_from([(), ("gpu0-mlx5_0",), ("gpu0-mlx5_0", "gpu3-mlx5_1")]))
        parts |= {(node, part) for part in draw(st.sampled_from([{""}, {*bad, *paths}]))}
    return parts


@given(broken_parts(), st.integers(1, 7), st.booleans())
def test_each_blamed_part_is_faulty(parts, rounds, cable):
    pairs = pairs_of(tournament(NODES, rounds))
    cables = {(Cable(pairs[0]), "mlx5_0")} if cable else set()
    found = located((*HOST, *ALL), parts, cables, pairs)
    for part in found.parts:
        if part.kind == "pair":
            assert (Cable((part.node, part.peer)), part.device) in cables
        else:
            assert (part.node, part.device) in parts


@given(broken_parts(), st.integers(1, 7), st.booleans())
def test_each_part_blamed_across_rails_is_faulty(parts, rounds, cable):
    pairs = pairs_of(tournament(NODES, rounds))
    cables = {(Cable(pairs[0]), *RAILS[0])} if cable else set()
    results = [
        *on_paths(pairs, (*HOST, *ALL), parts),
        *across(pairs, (*RAILS, *GPU_RAILS), parts, cables),
    ]
    for part in blame_paths(results).parts:
        if part.kind == "pair":
            assert cable
            assert {part.node, part.peer} == set(pairs[0])
        else:
            assert (part.node, part.device) in parts


@given(broken_parts())
def test_all_visible_faulty_parts_are_named(parts):
    """With all pairs and paths, only a faulty part of the same node can hide another one."""
    found = located((*HOST, *ALL), parts, pairs=pairs_of(tournament(NODES)))
    named_parts = {(part.node, part.device) for part in found.parts}
    for node, device in parts - named_parts:
        assert on_paths(PAIRS, (*HOST, *ALL), parts - {(node, device)}) == on_paths(
            PAIRS, (*HOST, *ALL), parts
        ) or any(node in name for item in found.undecided for name in item.among)
