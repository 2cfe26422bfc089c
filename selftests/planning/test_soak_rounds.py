"""The rounds of a soak: the request, and the draws of each round."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from testing.places import ROOT

from railgauge.config.thresholds.model import Platform
from railgauge.core.errors import BadInput
from railgauge.core.model import Cluster
from railgauge.core.terms import Rung
from railgauge.planning import sample
from railgauge.planning.soak import SoakRounds, is_of_soak, planned, rate_per_h, round_s
from railgauge.run import inputs


def site(name: str) -> tuple[Cluster, Platform]:
    return inputs.site(ROOT / "hostfiles" / f"{name}.yaml", ROOT, None)


def rounds_of(name: str, seed: int = 7, level: str = "smoke", nodes: int = 0) -> SoakRounds:
    cluster, platform = site(name)
    if nodes:
        more = tuple(replace(cluster.nodes[0], name=f"n{i:02d}") for i in range(nodes))
        cluster = replace(cluster, nodes=more, groups={})
    wanted = sample.level(platform, cluster, level)
    return SoakRounds(planned("1h", seed), platform, cluster, wanted)


def drawn(rounds: SoakRounds, number: int) -> list[str]:
    return [one.case.key for one in rounds.cases(number)]


# --- what is asked for ---


@pytest.mark.parametrize(
    ("text", "seconds", "rounds"),
    [("24h", 86400.0, None), ("90m", 5400.0, None), ("0.5h", 1800.0, None), ("45s", 45.0, None),
     ("2d", 172800.0, None), ("5rounds", None, 5), ("1round", None, 1)],
)  # fmt: skip
def test_times_and_numbers_of_rounds_are_read(text, seconds, rounds):
    plan = planned(text, 1)
    assert (plan.seconds, plan.rounds) == (seconds, rounds)


@pytest.mark.parametrize(
    "text", ["", "0h", "24", "h", "-1h", "1e3h", "0rounds", "5 rounds", "infh"]
)
def test_anything_else_is_refused(text):
    with pytest.raises(BadInput, match="neither a time nor a number of rounds"):
        planned(text, 1)


def test_a_rate_is_read():
    assert rate_per_h("1/1000h") == 0.001
    for text in ("1/0h", "0/5h", "0.001", "1/1000"):
        with pytest.raises(BadInput, match="no rate of events"):
            rate_per_h(text)


def test_less_than_was_asked_for_is_not_reached():
    assert not planned("3m", 1).is_reached(179.9, 50)
    assert planned("3m", 1).is_reached(180.0, 1)
    assert not planned("3rounds", 1).is_reached(1e9, 2)
    assert planned("3rounds", 1).is_reached(0.0, 3)


# --- what is drawn ---


def test_the_same_seed_draws_the_same_rounds():
    one, other = rounds_of("lab-h200"), rounds_of("lab-h200")
    assert [drawn(one, n) for n in (1, 2, 3)] == [drawn(other, n) for n in (1, 2, 3)]
    assert drawn(one, 1) != drawn(rounds_of("lab-h200", seed=8), 1)


@pytest.mark.parametrize("name", ["lab-h200", "lab-metax-c500", "lab-connectx4-homelab"])
def test_every_round_has_as_many_cases_as_the_level_and_another_order(name):
    rounds = rounds_of(name)
    each = [drawn(rounds, number) for number in range(1, 6)]
    assert {len(keys) for keys in each} == {len(each[0])}
    assert all(len(set(keys)) == len(keys) for keys in each)
    assert len({tuple(keys) for keys in each}) == len(each)


def test_partners_and_gpus_change():
    rounds = rounds_of("lab-h200")
    cases = [one.case for number in range(1, 9) for one in rounds.cases(number)]
    pairs = {frozenset(case.nodes) for case in cases if len(case.nodes) == 2}
    gpus = {case.pairing.gpu for case in cases if case.pairing and case.pairing.gpu is not None}
    assert len(pairs) == 6
    assert len(gpus) > 4


def test_each_round_draws_its_own_sample_of_the_nodes():
    rounds = rounds_of("lab-h200", nodes=32)
    assert rounds.level.sample
    each = [
        {one.case.nodes[0] for one in rounds.cases(number) if len(one.case.nodes) == 1}
        for number in range(1, 41)
    ]
    assert all(len(nodes) == len(rounds.level.sample) for nodes in each)
    assert set.union(*each) == {f"n{i:02d}" for i in range(32)}


def test_gates_of_a_case_come_before_it_and_the_gpus_before_their_collectives():
    for name in ("lab-h200", "lab-metax-c500", "lab-mi300x"):
        cases = rounds_of(name).cases(1)
        for place, one in enumerate(cases):
            later = cases[place + 1 :]
            late = [x for x in later if x.rung < one.rung and set(x.gated) & set(one.gated)]
            assert not late, (one.case.key, late[0].case.key)


def test_compute_and_collectives_alternate():
    rungs = [one.rung for one in rounds_of("lab-h200").cases(1) if one.rung >= Rung.INTRANODE]
    changes = sum(a != b for a, b in pairwise(rungs))
    assert changes > 3, "compute, collectives, compute, collectives, …"


def test_the_order_does_not_depend_on_the_order_of_the_platform_file():
    rounds = rounds_of("lab-metax-c500")
    measured = dict(sorted(rounds.platform.measurements.items(), reverse=True))
    turned = replace(rounds, platform=replace(rounds.platform, measurements=measured))
    assert drawn(turned, 3) == drawn(rounds, 3)


def test_other_names_of_the_nodes_draw_the_same_places():
    rounds = rounds_of("lab-metax-c500")
    nodes = rounds.cluster.nodes
    names = {one.name: f"z{9 - number}" for number, one in enumerate(nodes)}
    groups = {g: tuple(names[n] for n in found) for g, found in rounds.cluster.groups.items()}
    renamed = replace(
        rounds.cluster,
        nodes=tuple(replace(one, name=names[one.name]) for one in nodes),
        groups=groups,
    )
    level = sample.level(rounds.platform, renamed, "smoke")
    other = replace(rounds, cluster=renamed, level=level)
    was = [
        (one.case.measurement, tuple(names[n] for n in one.case.nodes)) for one in rounds.cases(2)
    ]
    assert [(one.case.measurement, one.case.nodes) for one in other.cases(2)] == was


def test_a_round_takes_what_the_level_takes():
    took_s, of_nodes_s = round_s(rounds_of("lab-h200"))
    assert took_s > 60
    assert took_s < of_nodes_s < 4 * took_s, "most of it are pairs of four nodes"


def test_ids_of_a_soak_are_recognised():
    assert is_of_soak("soak/0007/passed::round[all]")
    assert not is_of_soak("tests/network/test_rdma.py::test_soak[a:b]")


def test_each_round_measures_the_step_that_others_are_compared_with():
    rounds = rounds_of("lab-h200", level="signoff")
    asked = [one for one in rounds.cases(2) if one.case.measurement == "scaling_all_reduce"]
    others = {d.question.other for one in asked for d in one.checks}
    assert [one.nodes for one in others] == [("h200-01", "h200-02")]
    assert others < {one.case for one in asked}
    assert len({one.case for one in asked}) == len(asked) == 3
