"""Stragglers: parts within their limits but slower than their peers are named."""

import random
import time
from dataclasses import replace

import pytest
from testing.diagnose_scenes import (
    causes,
    cluster,
    collective,
    fact,
    findings,
    measured,
    named,
    names,
    pairs_of,
    path,
    paths,
    planned,
    record,
)
from testing.straggler_scenes import FEW, GOOD, MANY, NICS, rates, run

from railgauge.core.model import Case, Outcome
from railgauge.core.question import LIMITS, Question
from railgauge.core.terms import Rung
from railgauge.diagnosis import diagnose
from railgauge.diagnosis.peers import rule
from railgauge.diagnosis.peers.standing import Standing, shortfalls, spread, standings
from railgauge.verdict.decision import decide


def test_all_items_of_these_runs_pass_their_limits():
    assert {item.outcome for item in run(capacity={"n2": 0.96})} == {Outcome.PASSED}


@pytest.mark.parametrize("nodes", [names(3), FEW, MANY, names(33)])
def test_a_slower_node_is_named_and_its_partners_are_not(nodes):
    (cause,) = causes(run(nodes, {"n2": 0.96}))
    assert (cause.cause, str(cause.where), cause.confidence) == ("straggler", "n2", "likely")
    assert cause.says.startswith("n2 is 4.0% behind its peers in 11 of 11 measurements; ")
    assert all("n2" in item for item in cause.evidence)


@pytest.mark.parametrize("part", ["mlx5_1", "gpu1-mlx5_1"])
def test_a_slower_nic_or_path_is_named_and_not_its_node(part):
    (cause,) = causes(run(MANY, {("n3", part): 0.96}))
    wanted = part if part == "mlx5_1" else "gpu1-mlx5_1|gpu1"
    assert (cause.cause, cause.where.node) == ("straggler", "n3")
    assert cause.where.device in wanted.split("|")


def test_a_slow_nic_within_its_limit_is_the_cause_of_slow_collectives_of_its_node():
    """Each NIC is measured by one tool; a collective inside the node is no evidence about a NIC."""
    pairs = list(pairs_of(FEW, 2))
    over = paths(pairs, NICS, {("n2", "mlx5_1"): 376.0})
    inside = [collective([node], 392.0) for node in FEW]
    both = [collective(pair, 349.0 if "n2" in pair else 364.0) for pair in pairs]
    found = causes([rates(item) for item in (*over, *inside, *both)])
    assert named(found) == [("slow-nic", "n2, mlx5_1")]
    assert "2 of 2 measurements" in found[0].says


def test_two_slow_nodes_are_both_named():
    found = causes(run(MANY, {"n2": 0.96, "n7": 0.97}))
    assert named(found) == [("straggler", "n2"), ("straggler", "n7")]


def test_a_straggler_does_not_change_a_cause_on_another_node():
    found = causes(run(MANY, {"n2": 0.96, ("n7", "mlx5_1"): 0.94}))
    assert named(found)[:2] == [("slow-nic", "n7, mlx5_1"), ("straggler", "n2")]
    assert all("n7" in item for item in found[0].evidence)


@pytest.mark.parametrize("nodes", [names(2), names(3), FEW, MANY])
def test_healthy_runs_have_no_cause(nodes):
    assert [causes(run(nodes, seed=seed)) for seed in range(20)] == [()] * 20


@pytest.mark.parametrize("nodes", [FEW, MANY])
@pytest.mark.parametrize("noise", [0.01, 0.03, 0.045])
def test_noise_is_not_taken_for_a_straggler(nodes, noise):
    """The noise of these measurements is as large as the difference."""
    assert [causes(run(nodes, seed=seed, noise=noise)) for seed in range(100)] == [()] * 100


def test_a_difference_of_one_percent_is_healthy():
    assert causes(run(capacity={"n2": 0.99})) == ()


def test_one_outlier_names_no_node_as_likely():
    """The node is good in all its other measurements."""
    records = run(MANY, seed=4)
    outlier = next(n for n, item in enumerate(records) if item.nodes == ("n5",))
    records[outlier] = rates(collective(("n5",), 380.0))
    assert all(cause.confidence == "open" for cause in causes(records))


def test_two_nodes_measured_only_together_are_both_suspects():
    slow = {"n1": 0.96}
    pairs = [("n1", "n2"), ("n3", "n4"), ("n5", "n6"), ("n7", "n8")]
    records = [rates(r) for r in paths(pairs, NICS, {"n1": GOOD * slow["n1"]})]
    more = [rates(path(a, b, nic, 376.0 if a == "n1" else GOOD, "host_read_bandwidth"))
            for a, b in pairs for nic in NICS]  # fmt: skip
    (cause,) = causes([*records, *more])
    assert (cause.cause, cause.where.node, cause.confidence) == ("straggler", "n1|n2", "open")
    assert cause.would_decide == "measure each of them with another partner"


def test_a_part_with_another_cause_is_not_named_as_a_straggler_too():
    """The MTU of the slower NIC explains it; the MTU of another NIC does not."""
    slow = run(MANY, {("n3", "mlx5_1"): 0.96})
    assert named(causes([fact("n3", "active_mtu", "mlx5_1"), *slow])) == [
        ("mtu-mismatch", "n3, mlx5_1")
    ]
    assert ("straggler", "n3, mlx5_1") in named(causes([fact("n3", "active_mtu", "mlx5_0"), *slow]))


def test_a_setting_of_all_nodes_explains_no_straggler():
    settings = [fact(node, "active_mtu", nic) for node in MANY for nic in NICS]
    assert ("straggler", "n3") in named(causes([*settings, *run(MANY, {"n3": 0.96})]))


LINKS = [(a, b) for a in range(4) for b in range(4) if a != b]


def link(node, a, b, value):
    item = record(3, "gpu_copy_bandwidth", node, part=f"gpu{a}>gpu{b}")
    return rates(measured(item, value, metric="bandwidth"))


def test_a_slow_node_with_some_links_below_the_limit_is_one_cause():
    """The links below the limit are no causes of their own."""

    def reached(node, a, b):
        return (310.0 if (a, b) in LINKS[:3] else 340.0) * (0.96 if node == "n2" else 1.0)

    inside = [link(node, a, b, reached(node, a, b)) for node in FEW for a, b in LINKS]
    found = causes([*run(capacity={"n2": 0.96}), *inside])
    assert named(found) == [("slow-node", "n2")]
    assert len(found[0].evidence) == 3


def test_a_faulty_link_in_a_slow_node_is_a_cause_of_its_own():
    def reached(node, a, b):
        return 200.0 if (node, a, b) == ("n2", 0, 1) else 326.4 if node == "n2" else 340.0

    inside = [link(node, a, b, reached(node, a, b)) for node in FEW for a, b in LINKS]
    found = named(causes([*run(capacity={"n2": 0.96}), *inside]))
    assert ("slow-gpu-link", "n2, gpu0>gpu1") in found


def test_a_slow_link_does_not_blame_its_gpu():
    """The link lowers the sum of the GPU's links and the collectives of the node."""

    def reached(node, a, b):
        return 290.0 if (node, a, b) == ("n2", 0, 1) else 305.0

    def total(node):
        item = record(3, "gpu_copy_bandwidth", node, part="gpu0")
        return rates(measured(item, 320.0 if node == "n2" else 335.0, metric="sum"))

    inside = [link(node, a, b, reached(node, a, b)) for node in FEW for a, b in LINKS]
    alone = [rates(collective((n,), 380.0 if n == "n2" else 400.0)) for n in FEW]
    found = causes([*run(), *inside, *map(total, FEW), *alone])
    assert ("slow-gpu-link", "n2, gpu0>gpu1") in named(found)
    assert not any(cause.cause == "slow-gpu" for cause in found)


def test_latencies_are_not_compared():
    """One node may have longer cables."""
    far = [replace(item, judgements=tuple(replace(j, better="lower") for j in item.judgements))
           for item in run(capacity={"n2": 0.9}, noise=0)]  # fmt: skip
    assert standings(findings(far)) == []


def test_groups_are_not_compared():
    groups = [collective(FEW, 380.0), collective(MANY, 380.0)]
    assert causes([*run(MANY), *map(rates, groups)]) == ()


def test_pairs_between_leaves_are_compared_with_such_pairs_only():
    """A node without a partner in its own leaf is compared with other pairs between leaves."""
    leaves = {"one": names(5), "two": tuple(f"n{i}" for i in range(6, 9))}
    home = [("n1", "n2"), ("n3", "n4"), ("n6", "n7")]
    away = [("n1", "n6"), ("n2", "n7"), ("n3", "n8"), ("n5", "n8"), ("n4", "n6")]
    subjects = ("host_write_bandwidth", "host_read_bandwidth")
    records = [
        rates(path(a, b, nic, 380.0 if (a, b) in away else GOOD, subject))
        for subject in subjects for a, b in (*home, *away) for nic in NICS
    ]  # fmt: skip
    found = findings(records, nodes=MANY)
    assert named(diagnose(found)) == [("straggler", "n8")]
    assert diagnose(replace(found, cluster=replace(cluster(MANY), groups=leaves))) == ()


def test_each_repeat_counts_as_a_measurement():
    """One measurement leaves the cause undecided; three repeats decide it."""

    def over_one_nic(repeats):
        records = [rates(path(a, b, "mlx5_0", 375.0 if "n3" in (a, b) else GOOD))
                   for a, b in pairs_of(names(16), 2)]  # fmt: skip
        return [
            replace(r, questions=(Question(LIMITS, Case(r.subject, r.nodes, None, (), repeats)),))
            for r in records
        ]

    (once,), (thrice,) = causes(over_one_nic(1)), causes(over_one_nic(3))
    assert (once.confidence, once.would_decide) == (
        "open", "one measurement shows it: measure it again",
    )  # fmt: skip
    assert (thrice.confidence, str(thrice.where)) == ("likely", "n3")


# --- in the verdict ---


def test_a_straggler_does_not_reject_an_accepted_run():
    found = findings(run(capacity={"n2": 0.96}))
    items = planned(found)
    verdict = decide(items, found)
    assert "straggler" in [cause.cause for cause in verdict.causes]
    assert verdict.counts.failed == 0


# --- the parts of the rule ---


def test_two_nodes_alone_are_not_compared():
    assert shortfalls({"a": 1.0, "b": 0.5}) == {}


def test_a_node_is_compared_with_the_median_of_the_others():
    assert shortfalls({"a": 90.0, "b": 100.0, "c": 100.0, "d": 120.0}) == pytest.approx(
        {"a": 0.1, "b": 0.0, "c": 0.0, "d": -0.2}
    )


@pytest.mark.parametrize("count", [3, 4, 5, 8, 9])
def test_the_fast_median_without_one_node_agrees_with_a_plain_one(count):
    chance = random.Random(count)
    values = {f"n{i}": chance.choice([1.0, 2.0, chance.random() + 1]) for i in range(count)}
    for name, share in shortfalls(values).items():
        others = sorted(value for other, value in values.items() if other != name)
        middle = (others[(count - 2) // 2] + others[(count - 1) // 2]) / 2
        assert share == pytest.approx(1 - values[name] / middle)


def test_the_spread_of_few_values_is_estimated_high():
    chance = random.Random(1)
    many = [chance.gauss(0, 1) for _ in range(10_000)]
    assert spread(many) == pytest.approx(1.0, abs=0.06)
    below = [spread([chance.gauss(0, 1) for _ in range(8)]) < 0.5 for _ in range(1000)]
    assert sum(below) < 25 + 3 * 25**0.5


def test_the_cost_of_a_hundred_thousand_items_is_linear():
    """Twice as many nodes take twice as long; the bound allows for a busy machine."""

    def took_s(count):
        found = findings(run(names(count), rounds=8), nodes=names(2))
        started = time.process_time()
        assert standings(found)
        return time.process_time() - started

    took_s(50)
    assert took_s(400) < 8 * 4 * max(took_s(50), 0.01)


@pytest.mark.parametrize(
    ("suspects", "undecided"), [({"n1"}, "another partner than n1"), (set(), "")]
)
def test_a_node_with_one_partner_is_not_told_from_the_path_between_them(suspects, undecided):
    """Over a NIC that no other node used with the partner, it is a suspect; alone, the node is."""
    one = Standing("n2", "s", NICS[0], Rung.NETWORK, 0.06, 1, frozenset({"n1"}), frozenset(), ())
    other = replace(one, part=NICS[1], cleared=frozenset(), suspects=frozenset(suspects))
    assert undecided in rule.doubt_of([one, other], lone=False, shared=())
    assert bool(undecided) is bool(rule.doubt_of([one, other], lone=False, shared=()))
