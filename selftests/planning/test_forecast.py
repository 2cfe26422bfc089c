"""What a level covers, and how long it takes with several measurements at once."""

import pytest
from testing.core_values import ROOT, cluster, document, measurement_of, put

from railgauge.config import thresholds
from railgauge.config.thresholds.storage import NODE_STORAGE, with_storage
from railgauge.core.storage import StorageMount
from railgauge.planning import forecast, plan
from railgauge.planning.forecast import Share

NODES = tuple(f"n{number:02}" for number in range(10))
GROUPS = {"a": NODES[:5], "b": NODES[5:9]}


@pytest.fixture(scope="module")
def metax():
    return thresholds.load("metax-c500", ROOT / "thresholds")


def level(platform, name="smoke", count=None, **changes):
    return plan.level(platform, cluster(*NODES, **changes), name, count)


@pytest.mark.parametrize("name", thresholds.LEVELS)
def test_the_counted_cases_are_the_planned_cases(metax, name):
    wanted = level(metax, name, groups=GROUPS)
    listed = [case for _, case in plan.cases(metax, wanted)]
    works = forecast.work(metax, wanted)
    assert {each.measurement.name: each.runs for each in works} == {
        each: sum(case.measurement == each for case in listed)
        for each, one in metax.measurements.items()
        if one.made_at(name)
    }
    seconds = sum(metax.measurements[case.measurement].typical_s * case.repeats for case in listed)
    compared = sum(each.case_s for each in works if each.measurement.ladder and each.runs)
    assert forecast.takes_s(works) == seconds + compared, "the smallest step is no place"


@pytest.mark.parametrize(
    ("workers", "turns"), [(1, 10), (2, 6), (3, 4), (4, 4), (5, 2), (8, 2), (99, 2)]
)
def test_a_round_ends_before_the_next_begins(tmp_path, workers, turns):
    """Two rounds of five pairs; each pair takes 10 s over one NIC."""
    platform = thresholds.load("bench", put(tmp_path / "thresholds", document()))
    works = forecast.work(platform, level(platform, count=2))
    assert forecast.widest(works) == 5
    assert forecast.takes_s(works, workers) == turns * 10


def test_groups_that_share_a_node_wait_for_each_other(metax):
    wanted = level(metax, groups={**GROUPS, "c": NODES[3:7], "d": NODES[:3]})
    (over_groups,) = [w for w in forecast.work(metax, wanted) if w.measurement.scope == "group"]
    assert over_groups.waves == (2, 2, 1)  # a and b together, then c and d, then all nodes
    assert over_groups.takes_s(8) == 3 * over_groups.measurement.typical_s


@pytest.mark.parametrize("shared", [False, True])
def test_nodes_that_share_a_mount_wait_for_each_other(metax, shared):
    mount = StorageMount("/pool", "a contract", shared=shared, least={"write_mb_per_s": 1.0})
    works = forecast.work(with_storage(metax, {"pool": mount}), level(metax))
    (stored,) = [w for w in works if w.measurement.name == NODE_STORAGE]
    assert stored.waves == ((1,) * 10 if shared else (10,))


def test_coverage_counts_declared_leaves(metax):
    wanted = level(metax, groups=GROUPS)
    met = {frozenset((pair.source, pair.target)) for pair in wanted.pairs}
    within = sum(any(pair <= set(leaf) for leaf in GROUPS.values()) for pair in met)
    alone = sum(NODES[9] in pair for pair in met)
    assert forecast.coverage(metax, wanted) == {
        "nodes": Share(10, 10),
        "pairs": Share(10, 45),
        "rails": Share(2, 2),
        "leaves": Share(2, 2),
        "pairs_within_leaves": Share(within, 10 + 6),
        "pairs_between_leaves": Share(10 - within - alone, 20),
    }


def test_one_node_has_no_pairs_and_no_rails(metax):
    wanted = plan.level(metax, cluster("n1"), "smoke")
    shares = forecast.coverage(metax, wanted)
    assert (shares["pairs"], shares["rails"]) == (Share(0, 0), Share(0, 2))
    assert shares["nodes"] == Share(1, 1)


def test_nodes_without_node_measurements_are_covered_by_their_pairs(tmp_path):
    doc = document()
    assert "scope" not in measurement_of(doc)
    platform = thresholds.load("bench", put(tmp_path / "thresholds", doc))
    assert forecast.coverage(platform, level(platform))["nodes"] == Share(10, 10)
    alone = plan.level(platform, cluster("n1"), "smoke")
    assert forecast.coverage(platform, alone)["nodes"] == Share(0, 1)
