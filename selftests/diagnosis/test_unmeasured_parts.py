"""A collective that is slow on a node with good NICs: unmeasured parts are suspected."""

import pytest
from testing.diagnose_scenes import (
    causes,
    collective,
    names,
    pairs_of,
    path,
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


def suspects(cause):
    """The parts of which each is as likely as the one that is named first."""
    return {cause.says.partition(" is ")[0].rpartition(" ")[2]} | {
        rival.where.device for rival in cause.rivals
    }


def test_unmeasured_gpus_are_suspects_and_their_level_is_named():
    cause = only(causes(fine(SMOKE), inside(["n2"]), on="metax-c500"))
    assert (cause.cause, cause.confidence) == ("slow-gpu", "open")
    assert suspects(cause) == {f"gpu{gpu}" for gpu in (0, 1, 2, 5, 6, 7)}
    assert cause.would_decide.startswith("measure gpu_write_bandwidth[n2:")


def test_a_single_unmeasured_gpu_is_suspected():
    parts = [part for part in ALL if not part.startswith("gpu6")]
    cause = only(causes(fine(parts), inside(["n2"]), on="metax-c500"))
    assert (cause.cause, str(cause.where)) == ("slow-gpu", "n2")
    assert suspects(cause) == {"gpu6"}
    assert "the evidence fits n2 gpu6, or a part that is less likely than 5%" in cause.says


def test_links_are_suspected_if_all_gpus_are_good():
    cause = only(causes(fine(ALL), inside(["n2"]), on="metax-c500"))
    assert (cause.cause, cause.confidence, str(cause.where)) == ("slow-gpu-link", "open", "n2")


@pytest.mark.parametrize("lost", [0.04, 0.045])
def test_a_node_whose_nics_are_slower_by_the_same_share_is_a_slow_node(lost):
    """The limit of the NICs allows for 5 % noise, so NICs slower than all others still pass."""
    here = [collective((node,), 290.0 if node == "n2" else 303.0) for node in NODES]
    cause = only(causes(fine(SMOKE, 1 - lost, "n2"), here, on="metax-c500"))
    assert (cause.cause, cause.confidence, str(cause.where)) == ("slow-node", "likely", "n2")


def test_a_node_without_other_measurements_is_undecided():
    cause = only(causes(inside(["n2"]), on="metax-c500"))
    assert (cause.cause, cause.confidence) == ("slow-node", "open")


def test_unmeasured_paths_are_suspected_if_a_node_is_slow_only_in_pairs():
    above = [collective(pair, 250.0 if "n2" in pair else 392.0) for pair in PAIRS]
    cause = only(causes(fine(SMOKE), inside(), above, on="metax-c500"))
    assert (cause.cause, cause.confidence) == ("slow-pcie-path", "open")
    assert suspects(cause) == set(ALL).difference(SMOKE)
    assert set(cause.where.device.split("|")) == suspects(cause)
    assert cause.would_decide.startswith("measure gpu_write_bandwidth[n2:")


def test_a_healthy_cluster_has_no_cause():
    assert causes(fine(SMOKE), inside(), on="metax-c500") == ()
