"""The order of causes: parts out of service, then the largest losses, then settings."""

import pytest
from testing.diagnose_scenes import (
    blocked,
    both_directions,
    broken,
    causes,
    collective,
    corrupt,
    fact,
    links,
    named,
    names,
    pairs_of,
    path,
    paths,
    record,
    unknown,
)

from railgauge.core.errors import NodeUnreachable
from railgauge.diagnosis import CATALOGUE
from railgauge.diagnosis.catalogue.effect import Harm


def kinds(found):
    return [cause.cause for cause in found]


OUT_OF_SERVICE = [
    ("nic-missing", lambda: [fact("n9", "nic_present", "mlx5_3", "absent")]),
    ("gpu-missing", lambda: [fact("n9", "gpu_count", "", "7")]),
    ("link-down", lambda: [fact("n9", "physical_state", "mlx5_3", "Polling")]),
    ("gpu-memory-errors", lambda: [fact("n9", "gpu_ecc_errors", "gpu3", "2")]),
    ("data-corruption", lambda: [corrupt(("n9",))]),
]


@pytest.mark.parametrize(
    ("cause", "records"), OUT_OF_SERVICE, ids=[cause for cause, _ in OUT_OF_SERVICE]
)
def test_a_part_out_of_service_comes_first(cause, records):
    slow = both_directions(pairs_of(names(8), 3), ("mlx5_0", "mlx5_1"), {"n2": 50.0})
    found = causes(fact("n1", "cpu_governor"), slow, records())
    assert kinds(found) == [cause, "slow-node", "cpu-governor"]


def test_an_unreachable_node_comes_first():
    lost = NodeUnreachable("no route", where="n9")
    error = broken(record(0, "memlock", "n9"), lost.kind, "n9")
    found = causes(fact("n1", "memlock"), collective(("n3",), 50), error, facts=[lost])
    assert kinds(found) == ["node-unreachable", "slow-node", "memlock-limited"]


def test_a_larger_loss_comes_before_a_smaller_one():
    """The loss is the worst shortfall times the number of items."""
    slow = paths(pairs_of(names(8), 3), ("mlx5_0", "mlx5_1"), {"n2": 300.0})
    found = causes(links("n5", {(0, 1): 150.0}), slow)
    assert named(found) == [("slow-node", "n2"), ("slow-gpu-link", "n5, gpu0>gpu1")]
    found = causes(links("n5", {(0, 1): 1.0}), slow)
    assert kinds(found) == ["slow-node", "slow-gpu-link"]


def test_a_setting_with_an_effect_comes_before_one_without():
    above = path("n1", "n2", "mlx5_0", 300)
    found = causes(fact("n4", "memlock"), fact("n1", "cpu_governor"), above)
    assert kinds(found) == ["cpu-governor", "memlock-limited"]
    gated = blocked(above, fact("n1", "cpu_governor"))
    degraded = fact("n5", "pcie_link", "mlx5_1")
    found = causes(fact("n1", "cpu_governor"), gated, fact("n4", "memlock"), degraded)
    assert kinds(found) == ["pcie-degraded", "cpu-governor", "memlock-limited"]


def test_an_undecided_cause_comes_last_in_its_class():
    undecided, decided = corrupt(("n1", "n2")), corrupt(("n7",))
    found = causes(undecided, decided, collective(("n4",), 50))
    assert [(cause.cause, cause.confidence) for cause in found] == [
        ("data-corruption", "certain"), ("data-corruption", "open"), ("slow-node", "open"),
    ]  # fmt: skip


def test_undiagnosed_items_come_last():
    own = broken(record(3, "node_all_reduce", "n1"), "bug", "")
    missing = broken(path("n4", "n5", "mlx5_0", 1), "tool-missing", "n4: ib_write_bw")
    found = causes(unknown("n2", "memlock"), own, fact("n3", "cpu_governor"), missing)
    assert kinds(found)[:2] == ["tool-missing", "cpu-governor"]
    assert set(kinds(found)[2:]) == {"suite-error", "undiagnosed"}


def test_each_cause_has_a_harm():
    harms = {name: kind.effect.harm for name, kind in CATALOGUE.items()}
    assert set(harms.values()) == set(Harm)
    out = {name for name, harm in harms.items() if harm is Harm.OUT_OF_SERVICE}
    assert out >= {
        "node-unreachable", "data-corruption", "gpu-missing", "nic-missing", "link-down",
        "gpu-memory-errors",
    }  # fmt: skip
