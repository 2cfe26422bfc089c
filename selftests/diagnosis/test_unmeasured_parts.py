"""A collective that is slow on a node with good NICs: unmeasured parts are suspected."""

import pytest
from testing.diagnose_scenes import (
    causes,
    collective,
    links,
    measured,
    named,
    names,
    pairs_of,
    path,
    record,
)

NODES = names(4)
PAIRS = list(pairs_of(NODES, 2))
SMOKE = ("mlx5_0", "mlx5_1", "gpu3-mlx5_0", "gpu4-mlx5_1")
ALL = (*SMOKE, *(f"gpu{gpu}-mlx5_{int(gpu > 3)}" for gpu in (0, 1, 2, 5, 6, 7)))


def fine(parts, factor=1.0, node=""):
    return [path(*p, part, 392.0 * (factor if node in p else 1)) for p in PAIRS for part in parts]


def inside(slow=(), value=250.0):
    return [collective((node,), value if node in slow else 392.0) for node in NODES]


def only(found):
    (cause,) = found
    return cause


def test_unmeasured_gpus_are_suspects_and_their_level_is_named():
    cause = only(causes(fine(SMOKE), inside(["n2"]), on="metax-c500"))
    assert (cause.cause, cause.confidence) == ("slow-gpu", "open")
    assert str(cause.where) == "n2, gpu0,gpu1,gpu2,gpu5,gpu6,gpu7"
    assert "GPUs 0-2, 5-7 of n2 were not measured" in cause.says
    assert "host_write_bandwidth, gpu_write_bandwidth of the node reach their limits" in cause.says
    assert "gpu_write_bandwidth with GPUs 0-2, 5-7 of n2: --level nightly" in cause.would_decide


def test_a_single_unmeasured_gpu_is_suspected():
    parts = [part for part in ALL if not part.startswith("gpu6")]
    cause = only(causes(fine(parts), inside(["n2"]), on="metax-c500"))
    assert (cause.cause, str(cause.where)) == ("slow-gpu", "n2, gpu6")
    assert "GPU 6 of n2 was not measured by itself" in cause.says


def test_unmeasured_gpus_explain_slow_items_of_higher_rungs_on_the_node():
    above = [collective(pair, 250.0 if "n2" in pair else 392.0) for pair in PAIRS]
    cause = only(causes(fine(SMOKE), inside(["n2"]), above, on="metax-c500"))
    assert len(cause.explains) == len([pair for pair in PAIRS if "n2" in pair])


def test_links_are_suspected_if_all_gpus_are_good():
    cause = only(causes(fine(ALL), inside(["n2"]), on="metax-c500"))
    assert (cause.cause, cause.confidence, str(cause.where)) == ("slow-gpu-link", "open", "n2")
    assert "links between" in cause.would_decide


def test_the_node_is_suspected_if_gpus_and_links_are_good():
    """Each of its parts may have slowed down since it was measured."""
    cause = only(causes(fine(ALL), links("n2", {}), inside(["n2"]), on="metax-c500"))
    assert (cause.cause, cause.confidence) == ("slow-node", "open")
    assert "may have slowed down since it was measured" in cause.says


@pytest.mark.parametrize("lost", [0.04, 0.045])
def test_a_node_whose_nics_are_slower_by_the_same_share_is_a_slow_node(lost):
    """The limit of the NICs allows for 5 % noise, so NICs slower than all others still pass."""
    here = [collective((node,), 290.0 if node == "n2" else 303.0) for node in NODES]
    cause = only(causes(fine(SMOKE, 1 - lost, "n2"), here, on="metax-c500"))
    assert (cause.cause, cause.confidence, str(cause.where)) == ("slow-node", "likely", "n2")


def test_a_node_without_other_measurements_is_undecided():
    cause = only(causes(inside(["n2"]), on="metax-c500"))
    assert (cause.cause, cause.confidence) == ("slow-node", "open")
    assert "nothing else of the node was measured" in cause.says


def test_unmeasured_paths_are_suspected_if_a_node_is_slow_only_in_pairs():
    above = [collective(pair, 250.0 if "n2" in pair else 392.0) for pair in PAIRS]
    cause = only(causes(fine(SMOKE), inside(), above, on="metax-c500"))
    assert (cause.cause, cause.confidence) == ("slow-pcie-path", "open")
    assert cause.where.device.split(",") == [part for part in sorted(ALL) if part not in SMOKE]
    assert "--level nightly" in cause.would_decide
    cause = only(causes(fine(ALL), inside(), above, on="metax-c500"))
    assert (cause.cause, cause.confidence) == ("slow-node", "likely")


def test_a_measured_slow_gpu_is_blamed_instead_of_unmeasured_ones():
    slow = measured(record(3, "gpu_host_bandwidth", "n2", part="gpu5"), 100.0, metric="bandwidth")
    found = causes(fine(SMOKE), slow, inside(["n2"]), on="metax-c500")
    assert named(found) == [("slow-gpu", "n2, gpu5")]


def test_a_healthy_cluster_has_no_cause():
    assert causes(fine(SMOKE), inside(), on="metax-c500") == ()


def test_a_collective_that_is_slow_beside_another_one_that_is_fine_decides_nothing():
    """What is slow in one of two collectives of a node, of which all parts are fine, may go."""
    good = [collective((node,), 392.0, subject="node_all_gather") for node in NODES]
    cause = only(causes(fine(ALL), links("n2", {}), inside(["n2"]), good, on="metax-c500"))
    assert (cause.cause, str(cause.where), cause.confidence) == ("slow-node", "n2", "open")
    assert "node_all_gather" in cause.says
    lagging = [collective((node,), 380.0 if node == "n2" else 392.0, subject="node_all_gather")
               for node in NODES]  # fmt: skip
    cause = only(causes(fine(ALL), links("n2", {}), inside(["n2"]), lagging, on="metax-c500"))
    assert "node_all_gather" not in cause.says, "the other collective is behind as well"
    assert "may have slowed down since it was measured" in cause.says
