"""Several faults at once, one entry per root cause, and evidence that does not decide."""

from dataclasses import replace

import pytest
from testing.diagnose_scenes import (
    accounted,
    blocked,
    both_directions,
    broken,
    causes,
    collective,
    collectives,
    fact,
    healthy,
    links,
    named,
    names,
    pairs_of,
    path,
    paths,
    record,
    transport,
    unknown,
)

from railgauge.core.errors import NodeUnreachable
from railgauge.core.model import Outcome
from railgauge.diagnosis import OPEN

NICS = ("mlx5_0", "mlx5_1", "mlx5_2")


def red(records):
    return {r.id for r in records if r.outcome in (Outcome.FAILED, Outcome.ERROR)}


# --- several at once ---


@pytest.mark.parametrize("slow", [("n1", "n2"), ("n1", "n5"), ("n3", "n8"), ("n7", "n8")])
def test_three_rounds_name_two_slow_nodes_among_eight(slow):
    records = both_directions(pairs_of(names(8), 3), NICS, dict.fromkeys(slow, 200.0))
    found = causes(records)
    assert set(named(found)) == {("slow-node", node) for node in slow}
    assert {cause.confidence for cause in found} == {"likely"}
    assert accounted(found) == red(records)


def test_three_rounds_of_collectives_name_two_slow_nodes():
    records = collectives(pairs_of(names(8), 3), {"n2": 300.0, "n5": 200.0})
    assert set(named(causes(records))) == {("slow-node", "n2"), ("slow-node", "n5")}


def test_a_slow_nic_and_a_slow_path_of_other_nodes_are_both_named():
    pairs = list(pairs_of(names(8), 3))
    far = next(p for p in pairs if "n2" not in p and not set(p) & _partners(pairs, "n2"))
    records = both_directions(pairs, NICS, {("n2", "mlx5_1"): 200.0, frozenset(far): 250.0})
    found = causes(records)
    assert set(named(found)) == {
        ("slow-nic", "n2, mlx5_1"),
        ("slow-path", " and ".join(sorted(far))),
    }
    assert accounted(found) == red(records)


def _partners(pairs, node):
    return {name for pair in pairs if node in pair for name in pair}


def test_an_unreachable_node_and_a_governor_elsewhere_are_both_named():
    lost = NodeUnreachable("no route", where="n2")
    errors = [broken(record(0, s, "n2"), lost.kind, "n2") for s in ("memlock", "gpu_count")]
    governor = fact("n3", "cpu_governor")
    gone = blocked(path("n1", "n2", "mlx5_0", 1), errors[0])
    both = blocked(path("n2", "n3", "mlx5_0", 1), errors[0], governor)
    found = causes(errors, governor, gone, both, facts=[lost])
    assert named(found) == [("node-unreachable", "n2"), ("cpu-governor", "n3")]
    assert [len(cause.explains) for cause in found] == [2, 1]


def test_a_governor_on_one_node_does_not_hide_a_slow_nic_on_another():
    governor = fact("n1", "cpu_governor")
    slow = paths(pairs_of(names(6), 4), NICS, {"n1": 300.0, ("n4", "mlx5_2"): 200.0})
    assert named(causes(governor, slow)) == [("cpu-governor", "n1"), ("slow-nic", "n4, mlx5_2")]


def test_a_slow_link_and_another_slow_node_are_both_named():
    pairs = list(pairs_of(names(6), 4))
    found = causes(links("n1", {(0, 1): 100.0}), collectives(pairs, {"n1": 300.0, "n3": 300.0}))
    assert found[0].cause == "slow-gpu-link"
    assert ("slow-node", "n3") in named(found)
    others = [cause.where.node for cause in found[1:] if cause.confidence != OPEN]
    assert "n1" not in others, "whether its link explains all of its loss is not known"


# --- folding ---


@pytest.mark.parametrize(
    ("subject", "cause"),
    [("cpu_governor", "cpu-governor"), ("memlock", "memlock-limited"),
     ("numa_balancing", "numa-balancing-enabled"), ("gpu_processes", "foreign-gpu-process")],
)  # fmt: skip
def test_a_setting_that_is_wrong_everywhere_is_one_entry(subject, cause):
    wrong = [fact(f"mx{i:02}", subject) for i in range(1, 17)]
    above = path("mx03", "mx09", "gpu0-mlx5_0", 100)
    found = causes(wrong, above)
    *others, setting = found
    assert named([setting]) == [(cause, "mx[01-16]")]
    assert len(setting.evidence) == 16
    if cause in ("cpu-governor", "foreign-gpu-process"):
        assert setting.explains == (above.id,)
        assert not others


def test_a_fold_explains_nothing_on_other_nodes():
    found = causes(fact("n1", "cpu_governor"), fact("n2", "cpu_governor"), collective(("n3",), 1))
    assert named(found) == [("slow-node", "n3"), ("cpu-governor", "n[1-2]")]
    assert found[1].explains == ()


def test_the_text_of_a_folded_cause_is_short():
    alike = causes([fact(n, "cpu_governor", measured="powersave") for n in names(9)])
    assert alike[0].says == "cpu_governor powersave"
    apart = causes([fact(n, "cpu_governor", measured=f"odd{n}") for n in names(9)])
    assert apart[0].says.endswith("; and 6 more")


def test_one_setting_on_several_nics_has_an_entry_for_each_nic():
    wrong = [fact(n, "active_mtu", nic) for n in names(3) for nic in NICS[:2]]
    assert named(causes(wrong)) == [
        ("mtu-mismatch", "n[1-3], mlx5_0"), ("mtu-mismatch", "n[1-3], mlx5_1"),
    ]  # fmt: skip


def test_faulty_parts_of_several_nodes_do_not_fold():
    wrong = [fact(n, "gpu_ecc_errors", "gpu0") for n in names(3)]
    wrong += [fact(n, "pcie_link", "mlx5_0") for n in names(3)]
    assert len(causes(wrong)) == 6


def test_two_undecided_groups_are_two_entries():
    found = causes([transport(p, "IB") for p in (("n1", "n2"), ("n3", "n4"))])
    open_ = [cause for cause in found if cause.cause == "gpudirect-rdma-disabled"]
    assert all(cause.would_decide for cause in open_)
    fine = [transport(p, "GDRDMA") for p in (("n5", "n6"), ("n7", "n8"))]
    apart = causes([transport(p, "IB") for p in (("n1", "n5"), ("n2", "n3"))], fine)
    assert len(apart) == 2
    assert {c.confidence for c in apart} == {"open"}
    assert all("n1" in c.would_decide or "n2" in c.would_decide for c in apart)


# --- one entry per root cause ---


def test_a_missing_nic_with_two_hundred_items_is_one_cause():
    away = healthy("n2")
    away = replace(away, nics=tuple(nic for nic in away.nics if nic.name != "mlx5_3"))
    first = fact("n2", "nic_present", "mlx5_3", "absent")
    facts = [unknown("n2", s, "mlx5_3") for s in ("port_state", "lid", "link_rate", "pcie_link")]
    through = [
        broken(path("n2", n, f"{memory}mlx5_3", 1), "tool-failed", "n2: ib_write_bw")
        for n in ("n1", "n3", "n4")
        for memory in ("", *(f"gpu{i}-" for i in range(8)))
    ]
    above = [
        blocked(collective(("n2", "n1"), 1, subject=f"pair_{i}"), first, facts[0])
        for i in range(168)
    ]
    items = [first, *facts, *through, *above]
    assert len(items) == 200
    found = causes(items, facts=[away], nodes=names(4))
    assert named(found) == [("nic-missing", "n2, mlx5_3")]
    assert set(found[0].evidence) == {item.id for item in (first, *facts)}
    assert len(found[0].explains) == 200 - 5
    assert accounted(found) == {item.id for item in items}


def test_evidence_and_explained_items_are_disjoint_and_exist():
    records = [fact("n1", "cpu_governor"), *collectives(pairs_of(names(4), 2), {"n1": 100.0})]
    cause = causes(records)[0]
    known = {item.id for item in records}
    assert set(cause.evidence) <= known
    assert set(cause.explains) <= known
    assert not set(cause.evidence) & set(cause.explains)
    assert len(cause.evidence) == len(set(cause.evidence))


def test_causes_are_ordered_by_loss_and_open_ones_follow_decided_ones():
    pairs = list(pairs_of(names(6), 4))
    records = [
        path("n8", "n9", "mlx5_2", 100),
        *both_directions(pairs, ("mlx5_0", "mlx5_1"), {("n2", "mlx5_1"): 200.0, "n3": 340.0}),
        fact("n1", "memlock"),
    ]
    found = causes(records)
    assert [(cause.cause, cause.confidence) for cause in found] == [
        ("slow-nic", "likely"), ("slow-node", "likely"), ("slow-node", "open"),
        ("memlock-limited", "certain"),
    ]  # fmt: skip


# --- undecided causes ---


def two_nodes():
    yield "host memory", [path("n1", "n2", nic, 200) for nic in NICS]
    yield "one NIC", [path("n1", "n2", nic, 200 if nic == "mlx5_0" else 392) for nic in NICS]
    yield "collective", [collective(("n1", "n2"), 200)]
    yield "transport", [transport(("n1", "n2"), "Socket")]
    yield "swing", [collective(("n1", "n2"), *(33.0, 390.0) * 6)]


@pytest.mark.parametrize("records", [r for _, r in two_nodes()], ids=[n for n, _ in two_nodes()])
def test_two_nodes_alone_are_undecided(records):
    found = causes(records)
    assert len(found) == 1
    assert found[0].confidence == "open"
    assert set(found[0].where.node.split("|")) == {"n1", "n2"}
    assert "measure" in found[0].would_decide
    assert "the evidence fits " in found[0].says
    assert accounted(found) == red(records)


def test_a_node_with_one_other_partner_is_not_named_as_slow():
    records = [path("n1", "n2", "mlx5_0", 200), path("n2", "n3", "mlx5_0", 392)]
    found = causes(records)
    assert [cause.confidence for cause in found] == ["open"]
    assert found[0].cause == "slow-direction"
    assert set(found[0].where.node.split("|")) == {"n1", "n2"}
    assert "n2 where it receives" in found[0].says


def test_too_few_rounds_name_no_healthy_node_as_likely():
    slow = ("n1", "n8")
    for rounds in (1, 2):
        records = paths(pairs_of(names(8), rounds), NICS, dict.fromkeys(slow, 200.0))
        for cause in causes(records):
            assert cause.confidence == "open" or cause.where.node in slow
