"""Diagnosis of cross-rail paths: a fault is named at its own node and NIC."""

from dataclasses import replace

import pytest
from testing.diagnose_scenes import accounted, broken, causes, named, names, pairs_of, path, paths

from railgauge.core.model import Judgement, Outcome

NICS = ("mlx5_0", "mlx5_1")
ACROSS = ("mlx5_0:mlx5_1", "mlx5_1:mlx5_0")
GPU_PATHS = ("gpu0-mlx5_0", "gpu0-mlx5_1", "gpu4-mlx5_0", "gpu4-mlx5_1")
GPU_ACROSS = ("gpu0-mlx5_0:gpu4-mlx5_1", "gpu4-mlx5_1:gpu0-mlx5_0")
SLOW, FINE = 200.0, 392.0


def crossing(pairs, parts, bad):
    """``bad`` holds (node, part); a path is slow if one of its ends has a bad part."""
    return [
        path(a, b, part, SLOW if is_slow((a, b), part, bad) else FINE)
        for a, b in pairs
        for part in parts
    ]


def is_slow(nodes, part, bad):
    ends = part.split(":") * (1 if ":" in part else 2)
    return any(
        (node, end) in bad or any((node, word) in bad for word in end.split("-"))
        for node, end in zip(nodes, ends, strict=True)
    )


PAIRS = list(pairs_of(names(6), 2))


@pytest.mark.parametrize("nic", NICS)
def test_cross_rail_paths_alone_name_a_slow_nic(nic):
    records = crossing(PAIRS, ACROSS, {("n3", nic)})
    found = causes(records)
    assert named(found) == [("slow-nic", f"n3, {nic}")]
    assert accounted(found) == {r.id for r in records if r.outcome == "failed"}


@pytest.mark.parametrize("nic", NICS)
def test_a_slow_nic_explains_all_paths_that_end_on_it(nic):
    everything = (*NICS, *ACROSS, *GPU_PATHS, *GPU_ACROSS)
    records = crossing(PAIRS, everything, {("n3", nic)})
    found = causes(records)
    assert named(found) == [("slow-nic", f"n3, {nic}")]
    assert accounted(found) == {r.id for r in records if r.outcome == "failed"}


def test_a_slow_gpu_is_named_with_cross_rail_paths():
    found = causes(crossing(PAIRS, (*NICS, *GPU_PATHS, *GPU_ACROSS), {("n3", "gpu4")}))
    assert named(found) == [("slow-gpu", "n3, gpu4")]


def test_a_slow_nic_does_not_explain_paths_of_the_nodes_other_nic():
    """mlx5_1 of n3 is slow; a slow path to mlx5_0 of n3 has another cause."""
    one, other = next(pair for pair in PAIRS if pair[1] == "n3")
    records = crossing(PAIRS, NICS, {("n3", "mlx5_1")})
    odd = path(one, other, "mlx5_1:mlx5_0", SLOW)
    for cause in causes(records, odd):
        assert not (cause.where.device == "mlx5_1" and odd.id in cause.evidence)
    right = path(other, one, "mlx5_1:mlx5_0", SLOW)
    (blamed,) = causes(records, right)
    assert right.id in (*blamed.evidence, *blamed.explains)


def test_a_pair_that_is_slow_only_across_rails_is_a_path_between_two_nics():
    one, other = PAIRS[0]
    bad = path(one, other, "mlx5_1:mlx5_0", SLOW)
    rest = [r for r in crossing(PAIRS, (*NICS, *ACROSS), set()) if r.id != bad.id]
    (found,) = causes(rest, bad)
    low, high = sorted((one, other))
    ends = {one: "mlx5_1", other: "mlx5_0"}
    assert found.cause == "slow-path"
    assert (found.where.node, found.where.peer) == (low, high)
    assert found.where.device == f"{ends[low]}:{ends[high]}"


@pytest.mark.parametrize(("node", "nic"), [("n1", "mlx5_1"), ("n2", "mlx5_0")])
def test_a_missing_device_is_the_nic_of_the_failing_end(node, nic):
    lost = broken(path("n1", "n2", "gpu4-mlx5_1:gpu0-mlx5_0", FINE), "device-missing", node)
    (found,) = causes(replace(lost, outcome=Outcome.ERROR, judgements=()))
    assert named([found]) == [("nic-missing", f"{node}, {nic}")]


def test_paths_on_one_rail_name_a_slow_nic_as_before():
    found = causes(paths(PAIRS, NICS, {("n3", "mlx5_1"): SLOW}))
    assert named(found) == [("slow-nic", "n3, mlx5_1")]


# --- far paths, whose floor is lower than that of near ones ---

NEAR = ("gpu0-mlx5_0", "gpu1-mlx5_0", "gpu4-mlx5_1", "gpu5-mlx5_1")
FAR = ("gpu0-mlx5_1", "gpu1-mlx5_1", "gpu4-mlx5_0", "gpu5-mlx5_0")
FAR_FLOOR = 150.0


def with_far_floor(record):
    """The record judged with the lower floor of far paths."""
    (judged,) = record.judgements
    outcome = Outcome.PASSED if judged.worst >= FAR_FLOOR else Outcome.FAILED
    judged = replace(judged, floor=FAR_FLOOR, outcome=outcome, reason="")
    return replace(record, outcome=outcome, judgements=(judged,), reason="")


def near_and_far(bad):
    """Near and far paths with their traffic counters, which all pass."""
    far = map(with_far_floor, crossing(PAIRS, FAR, bad))
    both = [*crossing(PAIRS, (*NICS, *NEAR), bad), *far]
    return [*both, *map(counters_of, both)]


def counters_of(item):
    judged = Judgement("traffic", Outcome.PASSED, "100 %", "90 to 130 %", "derived: payload")
    name = item.id.replace("test_x.py::test_", "test_x.py::test_traffic_")
    return replace(item, id=name, outcome=Outcome.PASSED, judgements=(judged,), size_bytes=None)


def test_a_far_path_that_passes_its_lower_floor_shows_a_slow_nic_as_well():
    """At 200 Gb/s the slow NIC is above the floor of far paths, but below that of near ones."""
    found = causes(near_and_far({("n3", "mlx5_1")}))
    assert named(found) == [("slow-nic", "n3, mlx5_1")]


def test_a_far_path_that_passes_its_lower_floor_shows_a_slow_gpu_as_well():
    (found,) = causes(near_and_far({("n3", "gpu4")}))
    assert named([found]) == [("slow-gpu", "n3, gpu4")]


def test_a_far_path_that_reaches_the_near_floor_clears_its_gpu():
    found = causes(near_and_far({("n3", "gpu4-mlx5_1")}))
    assert named(found) == [("slow-pcie-path", "n3, gpu4-mlx5_1")]
