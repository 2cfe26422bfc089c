"""What a run measures at its end to decide between suspects, and what the results decide."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from testing.core_values import judgement
from testing.diagnose_scenes import (
    asking,
    broken,
    collective,
    collectives,
    fact,
    findings,
    names,
    pairs_of,
    path,
    paths,
)

from railgauge.core.errors import Unparsable
from railgauge.core.model import Outcome
from railgauge.diagnosis import diagnose
from railgauge.diagnosis.confirm import follow_ups
from railgauge.diagnosis.confirmed import with_confirmation
from railgauge.diagnosis.partners import good_nodes
from railgauge.judging.confirmation import Confirmed
from railgauge.planning.forecast import FOLLOW_UPS
from railgauge.run import confirming

NICS = ("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3")
RING = list(pairs_of(names(4), 2))
FINE = 392.0


def run(*items, nodes=4):
    asked = (replace(asking(item), ways=("size",)) for item in items)
    return findings(asked, nodes=names(nodes))


def answered(found, value):
    """The causes after two rounds; ``value`` gives the rate of a question, or an error."""
    results = ()
    for _ in range(2):
        known = replace(found, confirmed=results)
        asked = confirming.lacking_partners(known, lambda _line: None, [r.asked for r in results])
        results += tuple(_result(one, value(one.question.case)) for one in asked)
    return diagnose(replace(found, confirmed=results))


def _result(one, value):
    if isinstance(value, str):
        return Confirmed(one, (), value)
    outcome = Outcome.FAILED if value < 372.4 else Outcome.PASSED
    return Confirmed(one, (judgement(outcome, worst=value, floor=372.4),))


def slow_of(causes):
    return [
        (one.cause, one.where.node, one.where.device, one.confidence)
        for one in causes
        if one.cause.startswith("slow-")
    ]


def collectives_only(slow="n2"):
    fine = paths(RING, NICS, {})
    return run(*fine, *collectives(RING, {slow: 200.0}))


# --- one answer for two causes ---


def test_two_slow_receivers_that_met_in_the_other_order_are_both_named():
    """n1 to n4 is slow because n4 receives slowly; both causes ask for that pair once more."""
    rounds = [("n1", "n4"), ("n5", "n2"), ("n2", "n1"), ("n4", "n3"), ("n3", "n1"), ("n4", "n5")]
    receives = {"n1": 357.0, "n4": 313.6}

    def rate(nodes, nic):
        return receives.get(nodes[1], FINE) if nic == NICS[1] else FINE

    items = [path(*nodes, nic, rate(nodes, nic)) for nodes in rounds for nic in NICS[:2]]
    found = answered(run(*items, nodes=5), lambda case: rate(case.nodes, case.pairing.nic))
    assert sorted(slow_of(found)) == [
        ("slow-direction", "n1", NICS[1], "likely"), ("slow-direction", "n4", NICS[1], "likely"),
    ]  # fmt: skip


# --- a tool fails in a pair ---


def failing():
    """ib_write_bw prints garbage between n1 and n2; n3 lacks nothing but a version."""
    errors = [
        broken(asking(path(*pair, "mlx5_0", FINE)), Unparsable.kind, "") for pair in (("n1", "n2"),)
    ]
    fine = [asking(path("n3", "n4", "mlx5_0", FINE)), asking(path("n4", "n3", "mlx5_0", FINE))]
    return findings([*errors, *fine], nodes=names(4))


@pytest.mark.parametrize("bad", ["n1", "n2"])
def test_a_tool_that_fails_in_a_pair_is_run_with_good_nodes(bad):
    def value(case):
        return "no table in this text" if bad in case.nodes else FINE

    causes = answered(failing(), value)
    assert [(c.cause, c.where.node, c.confidence) for c in causes] == [
        ("tool-failing", bad, "likely")
    ]
    assert f"it fails on {bad} alone" in causes[0].says


def test_two_nodes_on_which_a_tool_fails_are_both_named():
    """n1 with n2, and n3 with n4: n2 and n4 are fine with others."""
    bad = {"n1", "n3"}
    pairs = [("n1", "n2"), ("n2", "n3"), ("n3", "n4")]
    errors = [broken(asking(path(*p, "mlx5_0", FINE)), Unparsable.kind, "") for p in pairs]
    fine = [asking(path(*p, "mlx5_0", FINE)) for p in (("n5", "n6"), ("n6", "n5"))]
    causes = answered(
        findings([*errors, *fine], nodes=names(6)),
        lambda case: "no table in this text" if bad & set(case.nodes) else FINE,
    )
    assert [(c.cause, c.where.node, c.confidence) for c in causes] == [
        ("tool-failing", "n[1,3]", "likely")
    ]


def test_a_tool_that_fails_everywhere_or_nowhere_leaves_both_suspects():
    for value in ("no table in this text", FINE):
        (cause,) = answered(failing(), lambda _case, value=value: value)
        assert (cause.where.node, cause.confidence) == ("n1|n2", "open")


def test_a_tool_that_fails_with_one_partner_alone_is_undecided():
    """It fails at times: a path between two nodes breaks no tool."""
    found = failing()
    of_n2 = asking(path("n2", "n3", "mlx5_0", FINE))
    found = replace(found, records={**found.records, of_n2.id: of_n2})
    (before,) = diagnose(found)
    assert (before.where.node, before.confidence) == ("n1", "open")

    def value(case):
        return "no table in this text" if {"n1", "n2"} == set(case.nodes) else FINE

    assert {cause.confidence for cause in answered(found, value)} == {"open"}


# --- a slow path ---


def test_a_pair_that_is_slow_both_ways_between_two_good_ends_has_a_slow_path():
    """The pair is measured in the other direction too, which says nothing of its ends."""
    pairs = [("n1", "n2"), ("n2", "n3"), ("n4", "n1"), ("n3", "n4")]
    found = run(*paths(pairs, NICS, {frozenset(("n1", "n2")): 235.0}))
    (before,) = diagnose(found)
    assert (before.cause, before.where.node, before.confidence) == (
        "slow-direction", "n1|n2", "open",
    )  # fmt: skip
    asked = follow_ups(found, [before])
    assert any(not one.suspects for one in asked)

    def value(case):
        return 235.0 if {"n1", "n2"} == set(case.nodes) else FINE

    results = [_result(one, value(one.question.case)) for one in asked]
    cause = with_confirmation(before, results)
    assert (cause.cause, cause.confidence) == ("slow-path", "likely")
    assert {cause.where.node, cause.where.peer} == {"n1", "n2"}


# --- two small losses add up in a collective ---


def test_two_nodes_that_are_behind_together_have_no_slow_path():
    """Each keeps its limit with others, n2 by little; together they miss it."""
    usual = {("n1", "n2"): 348.4, ("n3", "n4"): 385.0, ("n4", "n3"): 385.0}
    found = run(*(collective(pair, value) for pair, value in usual.items()))

    def value(case):
        behind = 0.9 if "n2" in case.nodes else 1.0
        return FINE * behind * (0.97 if "n1" in case.nodes else 1.0) + 20

    assert not any(
        cause.where.peer and cause.confidence == "likely" for cause in answered(found, value)
    )


# --- a pairing of a GPU is slow, and both nodes are suspects ---


@pytest.mark.parametrize(
    ("elsewhere", "named"),
    [(300.0, ("slow-gpu", "gpu3")), (390.0, ("slow-pcie-path", "gpu3-mlx5_3"))],
)
def test_the_node_is_found_first_and_then_its_gpu_or_the_path(elsewhere, named):
    """Both nodes were measured over this pairing once, with each other."""
    alone = path("n1", "n2", "gpu3-mlx5_3", 320.0)
    others = [path(*pair, f"gpu3-{nic}", FINE) for pair in (("n3", "n4"), ("n4", "n3"))
              for nic in ("mlx5_3",)]  # fmt: skip
    hosts = paths(RING, NICS, {})
    found = run(*hosts, *others, alone)
    (cause,) = diagnose(found)
    assert (cause.where.device, cause.confidence) == ("gpu3,gpu3-mlx5_3", "open")

    def value(case):
        if "n1" not in case.nodes or not str(case.pairing).startswith("gpu"):
            return FINE
        return 320.0 if str(case.pairing) == "gpu3-mlx5_3" else elsewhere

    (cause,) = answered(found, value)
    assert (cause.cause, cause.where.device, cause.where.node) == (*named, "n1")
    assert cause.confidence == "likely"


# --- nodes that differ are good partners ---


def test_what_differs_without_effect_leaves_its_nodes_good_partners():
    """Firmware of two versions names all nodes, and makes no measurement go wrong."""
    differs = fact("n1", "nic_firmware", "mlx5_0")
    (cause,) = diagnose(findings([differs], nodes=names(3)))
    assert cause.cause == "firmware-mismatch"
    harmless = replace(cause, where=replace(cause.where, node="n[1-3]"))
    found = findings([differs], nodes=names(3))
    assert good_nodes(found, [harmless]) == names(3)
    slow = replace(harmless, cause="slow-node")
    assert good_nodes(found, [slow]) == ()


# --- a suspect that is fine now ---


def test_the_partner_is_a_suspect_too_if_the_suspect_is_fine_now():
    """A GPU of n1 is slow at times. It was fast with n4, which leaves n2 as the only suspect."""
    others = [path(*pair, "gpu3-mlx5_3", FINE) for pair in (("n4", "n1"), ("n3", "n4"))]
    found = run(*paths(RING, NICS, {}), *others, path("n1", "n2", "gpu3-mlx5_3", 320.0))
    (before,) = diagnose(found)
    assert (before.where.node, before.confidence) == ("n2", "open")
    (cause,) = answered(found, lambda _case: FINE)
    assert (cause.where.node, cause.confidence) == ("n1|n2", "open")
    assert "took part in each slow measurement" in cause.says


# --- what no cause explains has no suspects ---


def test_items_without_a_cause_are_not_measured_again():
    lost = replace(asking(path("n1", "n2", "mlx5_0", FINE)), outcome=Outcome.ERROR)
    found = findings([lost, *map(asking, paths([("n3", "n4")], NICS, {}))], nodes=names(4))
    assert [cause.cause for cause in diagnose(found)] == ["undiagnosed"]
    assert follow_ups(found, diagnose(found)) == ()


# --- one direction was measured only ---


def test_the_direction_that_was_not_measured_is_measured():
    """n3 received slowly from n1 and n2, and sent to nobody."""
    pairs = [("n1", "n3"), ("n2", "n3"), ("n1", "n4"), ("n4", "n2"), ("n2", "n1")]
    found = run(*paths(pairs, NICS[:2], {("n3", NICS[1]): 300.0}))
    assert slow_of(diagnose(found)) == [("slow-nic", "n3", NICS[1], "likely")]
    (asked,) = follow_ups(found, diagnose(found))
    assert (asked.question.case.nodes[0], asked.question.case.pairing.nic) == ("n3", NICS[1])
    assert slow_of(answered(found, lambda _case: FINE)) == [
        ("slow-direction", "n3", NICS[1], "likely")
    ]
    assert slow_of(answered(found, lambda _case: 300.0)) == [("slow-nic", "n3", NICS[1], "likely")]


def test_a_pair_that_is_slow_again_is_no_fault_that_comes_and_goes():
    """n2 is slow over one NIC; over it n1 is slow with n3 as well, for another reason."""
    pairs = [("n1", "n2"), ("n3", "n4"), ("n4", "n1")]
    found = run(*paths(pairs, NICS, {("n2", NICS[1]): 333.0}))
    (before,) = [c for c in diagnose(found) if c.confidence == "open"]
    assert "n1 mlx5_1 sending" in before.says

    def value(case):
        if case.pairing.nic != NICS[1]:
            return FINE
        return 333.0 if "n2" in case.nodes else 341.0 if {"n1", "n3"} == set(case.nodes) else FINE

    assert ("slow-nic", "n2", NICS[1], "likely") in slow_of(answered(found, value))


def test_a_pair_that_is_fine_now_is_no_evidence_against_others():
    """n2 is slow at times: its partners' results of another moment do not clear or blame them."""
    pairs = [("n1", "n2"), ("n3", "n4")]
    found = run(*paths(pairs, NICS[:1], {frozenset(("n1", "n2")): 300.0}))

    def value(case):
        return 300.0 if {"n2", "n3"} == set(case.nodes) else FINE

    assert not any(cause.confidence == "likely" for cause in answered(found, value))


# --- results as evidence ---


def test_two_nodes_that_are_slow_for_reasons_of_their_own_are_both_named():
    """n1 and n2 are slow with each other and with n3 alone; n4 and n5 show who is slow."""
    pairs = [("n1", "n2"), ("n2", "n3"), ("n3", "n1"), ("n4", "n5"), ("n5", "n4")]
    found = run(*paths(pairs, NICS[:1], {"n1": 300.0, "n2": 300.0}), nodes=5)
    causes = answered(found, lambda case: 300.0 if {"n1", "n2"} & set(case.nodes) else FINE)
    assert {node for _, node, _, sure in slow_of(causes) if sure == "likely"} == {"n1", "n2"}


def test_added_results_are_no_evidence_of_their_own():
    found = collectives_only()
    causes = answered(found, lambda _case: FINE)
    ids = {item for cause in causes for item in (*cause.evidence, *cause.explains)}
    assert ids <= set(found.records)


def test_the_second_round_asks_nothing_twice_and_keeps_the_limit():
    found = collectives_only()
    first = confirming.lacking_partners(found, lambda _line: None)
    assert not confirming.lacking_partners(found, lambda _line: None, first)
    assert len(first) <= FOLLOW_UPS


def test_a_node_with_a_version_of_its_own_is_a_partner():
    old = fact("n3", "ofed", "", "old")
    found = findings([old, *map(asking, [path("n1", "n2", "mlx5_0", 300.0),
                                         path("n3", "n4", "mlx5_0", FINE)])])  # fmt: skip
    partners = {
        name for one in follow_ups(found, diagnose(found)) for name in one.question.case.nodes
    }
    assert {"n3", "n4"} & partners


_SCENE = """
from test_measured_again import FINE, NICS, run
from railgauge.diagnosis.hidden import hidden
from railgauge.diagnosis import diagnose
from railgauge.diagnosis.confirm import follow_ups
from railgauge.diagnosis.confirmed import with_confirmation
from testing.diagnose_scenes import blocked, fact, names, pairs_of, path, paths
slow = {"n3": 300.0, frozenset(("n5", "n6")): 330.0, ("n1", NICS[3], "sending"): 350.0}
found = run(*paths(pairs_of(names(6), 2), NICS, slow), nodes=6)
causes = diagnose(found)
print([(str(c.where), c.says, c.evidence) for c in causes], list(hidden(found, causes)))
print(follow_ups(found, causes))
down = fact("n8", "port_state", "mlx5_7")
pairs = [("n8", "n1"), ("n8", "n3"), ("n2", "n8"), ("n4", "n8")]
gated = [blocked(path(*pair, nic, FINE), down) for pair in pairs for nic in NICS]
found = run(down, *paths([("n1", "n2"), ("n3", "n4")], NICS, {}), *gated, nodes=8)
lines = list(hidden(found, diagnose(found)))
assert len(lines) == 4
print(lines)
"""


def test_every_process_finds_the_same_in_the_same_order():
    """A bundle is judged in another process, where sets have another order."""
    here = Path(__file__).parent
    folders = os.pathsep.join([str(here), str(here.parent)])
    said = {
        subprocess.run(
            [sys.executable, "-c", _SCENE], check=True, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": folders, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(said) == 1


# --- an end that was fine at first ---


def test_a_path_is_no_cause_if_one_of_its_ends_is_slow_with_others_too():
    """gpu0 of n1 was fine twice, and is slow in all later measurements: in three paths."""
    part, pairs = "gpu0-mlx5_0", [("n3", "n1"), ("n2", "n1"), ("n4", "n3"), ("n1", "n4")]
    others = paths(pairs, ("mlx5_0", "mlx5_1", "gpu1-mlx5_1"), {})
    found = run(*others, *paths(pairs[:-1], [part], {}), path("n1", "n4", part, 235.0))

    def slow_if(*nodes, by=None, value=235.0):
        """By default each measurement that all these nodes take part in is as slow."""

        def rate(case):
            slow = {*nodes} <= {*case.nodes}
            return (by or {}).get(tuple(sorted(case.nodes)), value) if slow else FINE

        causes = answered(found, rate)
        return next((one.cause, one.confidence, one.says) for one in causes)

    cause, confidence, _ = slow_if("n1")
    assert cause != "slow-path" or confidence == "open"
    assert slow_if("n1", "n4")[:2] == ("slow-path", "likely"), "its ends are fine"
    assert slow_if("n1", by={("n1", "n4"): 235.0}, value=340.0)[:2] == ("slow-path", "likely")
