"""A part inside a slow node is compared with the node's own level."""

import pytest
from testing.diagnose_scenes import READS, causes, collective, links, named, names, pairs_of, path

NICS = ("mlx5_0", "mlx5_1", "mlx5_2")
PAIRS = list(pairs_of(names(6), 2))
FAR = next(frozenset(pair) for pair in PAIRS if "n3" in pair)
(OTHER,) = FAR - {"n3"}


def reached(slow, pair, part=""):
    """392 Gb/s times the shares of all slow parts of the path, with noise as in the lab."""
    keys = (*pair, *((node, part) for node in pair), frozenset(pair))
    value = 392.0
    for key in keys:
        value *= slow.get(key, 1.0)
    return value * (1 - 0.002 * (sum(map(ord, "".join((*pair, part)))) % 7) / 7)


def over_paths(slow, parts=NICS, pairs=PAIRS):
    return [path(*pair, part, reached(slow, pair, part)) for pair in pairs for part in parts]


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("inner", [0.6, 0.9])
def test_a_slow_path_of_a_slow_node_is_named_too(share, inner):
    found = causes(over_paths({"n3": share, FAR: inner}))
    assert named(found) == [("slow-node", "n3"), ("slow-path", f"n3 and {OTHER}")]
    assert all(
        set(item.split("[")[1].split("-")[0].split(":")) == FAR for item in found[1].evidence
    )
    assert "is expected of n3, slow as a whole" in found[1].says


def test_the_cause_shows_the_value_and_what_such_a_node_should_reach():
    def value(pair):
        return 392.0 * (0.6 if "n3" in pair else 1) * (0.6 if set(pair) == FAR else 1)

    (_, inner) = causes([path(*pair, nic, value(pair)) for pair in PAIRS for nic in NICS])
    assert "141.12 Gb/s where 235.20 Gb/s is expected of n3, slow as a whole" in inner.says


def test_a_slow_nic_of_a_slow_node_is_named_too():
    found = causes(over_paths({"n3": 0.6, ("n3", "mlx5_1"): 0.6}))
    assert named(found) == [("slow-node", "n3"), ("slow-nic", "n3, mlx5_1")]


def test_a_slow_path_of_a_node_with_a_slow_nic_is_slow_over_all_nics():
    slow = {("n3", "mlx5_1"): 0.6, FAR: 0.6}
    reads = [
        path(*pair, nic, reached(slow, pair, nic), READS) for pair in PAIRS for nic in NICS
    ]  # without reads, an end that is slow in one direction would fit as well as the path
    found = causes(over_paths(slow), reads)
    assert named(found) == [("slow-path", f"n3 and {OTHER}"), ("slow-nic", "n3, mlx5_1")]
    assert len(found[0].evidence) == 2 * len(NICS)


def test_a_direction_of_a_slow_node_that_is_slower_still_is_no_path():
    """n3 is 8 % slow, and receives at 0.55. Each partner shows it once: a write, and a read."""
    pairs, nics = [("n4", "n3"), ("n3", "n1"), ("n1", "n2"), ("n2", "n4")], NICS[:1]

    def value(pair, subject):
        receiver = pair[0 if subject == READS else 1]
        return 400.0 * (0.92 if "n3" in pair else 1) * (0.55 if receiver == "n3" else 1)

    subjects = ("", READS)
    found = causes([path(*p, nics[0], value(p, s), s) for s in subjects for p in pairs])
    assert named(found) == [("slow-node", "n3"), ("slow-direction", "n3")]


@pytest.mark.parametrize("share", [0.3, 0.6, 0.8, 0.93])
def test_a_slow_node_without_slow_parts_is_one_cause(share):
    assert named(causes(over_paths({"n3": share}))) == [("slow-node", "n3")]


@pytest.mark.parametrize("share", [0.3, 0.8])
def test_the_path_between_two_slow_nodes_is_not_blamed(share):
    pairs = list(pairs_of(names(8), 4))
    one, other = next(pair for pair in pairs)
    found = causes(over_paths({one: 0.6, other: share}, pairs=pairs))
    assert sorted(named(found)) == sorted([("slow-node", one), ("slow-node", other)])
    slower = [path(a, b, n, min(reached({x: {one: 0.6, other: share}.get(x, 1)}, (a, b), n)
                                for x in (a, b))) for a, b in pairs for n in NICS]  # fmt: skip
    assert sorted(named(causes(slower))) == sorted([("slow-node", one), ("slow-node", other)])


def test_a_slow_node_does_not_clear_its_slow_partner():
    """The slow node hides its slow partner, but the partner's other path is not faulty."""
    found = causes(over_paths({"n3": 0.6, OTHER: 0.8}))
    assert not [cause for cause in found if cause.cause == "slow-path"]


def test_parts_without_a_healthy_value_to_compare_are_not_blamed():
    found = causes(links("n1", {(i, j): 150.0 if (i, j) == (3, 5) else 240.0
                                for i in range(8) for j in range(8)}))  # fmt: skip
    assert named(found) == [("slow-node", "n1")]


def test_a_slow_link_of_a_slow_node_is_named_too():
    slow = {(i, j): 144.0 if (i, j) == (3, 5) else 240.0 for i in range(8) for j in range(8)}
    found = causes(links("n1", slow), links("n2", {}))
    assert named(found) == [("slow-node", "n1"), ("slow-gpu-link", "n1, gpu3>gpu5")]
    assert "55 of 56 links are no slower than n1 as a whole" in found[1].says


def test_a_link_is_compared_with_the_same_link_of_other_nodes():
    """Link 3>5 reaches 10 % less than the others on every node."""
    usual = {(i, j): 360.0 if (i, j) == (3, 5) else 400.0 for i in range(8) for j in range(8)}
    slow = {link: value * 0.6 for link, value in usual.items()}
    assert named(causes(links("n1", slow), links("n2", usual))) == [("slow-node", "n1")]


def test_a_slow_path_of_a_slow_node_is_named_from_collectives():
    kinds = ("pair_all_reduce", "pair_alltoall")

    def items(slow):
        return [collective(p, reached(slow, p), subject=kind) for p in PAIRS for kind in kinds]

    found = causes(items({"n3": 0.6, FAR: 0.6}))
    assert named(found) == [("slow-node", "n3"), ("slow-path", f"n3 and {OTHER}")]
    assert named(causes(items({"n3": 0.6}))) == [("slow-node", "n3")]


def test_a_node_that_only_a_slow_node_was_measured_with_may_be_slower_still():
    """n1 reaches 93 % with n3 and n4, and 80 % with n2, which was measured with n1 alone."""
    shares = {("n1", "n2"): 0.8, ("n1", "n3"): 0.93, ("n4", "n1"): 0.93, ("n3", "n4"): 1.0}
    first, second = causes(
        path(*pair, "mlx5_0", 392.0 * share, subject)
        for pair, share in shares.items()
        for subject in ("", READS)
    )
    assert (named([first]), first.confidence) == ([("slow-node", "n1")], "likely")
    assert (named([second]), second.confidence) == ([("slow-node", "n2")], "open")
    assert "fits each of n2, n1:n2" in second.says


def test_a_path_that_is_fine_backwards_is_not_decided():
    """n4 comes and goes, n2 receives slowly, and n4 was never seen to send at its limit."""
    writes = {("n4", "n3"): 0.83, ("n1", "n2"): 0.6, ("n5", "n4"): 0.83, ("n4", "n2"): 0.6,
              ("n2", "n5"): 1.0, ("n3", "n1"): 1.0}  # fmt: skip
    found = causes(
        [path(*pair, "mlx5_0", 392.0 * share) for pair, share in writes.items()],
        [path(*pair, "mlx5_0", 392.0 * share, "host_send_bandwidth")
         for pair, share in writes.items()],
        [path(*pair, "mlx5_0", 392.0 * (0.6 if pair == ("n2", "n5") else 1.0), READS)
         for pair in writes],
    )  # fmt: skip
    assert ("slow-direction", "n2") in named(found)
    paths_ = [cause for cause in found if {cause.where.node, cause.where.peer} == {"n3", "n4"}]
    assert all(cause.confidence == "open" for cause in paths_), named(found)
    assert paths_
