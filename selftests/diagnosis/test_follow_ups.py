"""Suspects without a measured partner are measured with good nodes, which decides the cause."""

from dataclasses import replace

import pytest
from test_confirmations import asking
from testing.assess_values import PLATFORM
from testing.core_values import cluster as of_nodes
from testing.core_values import judgement
from testing.diagnose_scenes import blocked, fact, findings, path

from railgauge.core.model import Outcome
from railgauge.diagnosis import RunResults, diagnose
from railgauge.diagnosis.confirm import confirmations, follow_ups
from railgauge.judging.confirmation import Confirmed
from railgauge.planning.forecast import FOLLOW_UPS
from railgauge.run import confirming

RING = [("n1", "n2"), ("n3", "n4"), ("n2", "n3"), ("n4", "n1")]
SLOW, FINE = 200.0, 390.0


def scene(slow, gated="n3", extra=()):
    """Two rounds of four nodes over one NIC; items of the node ``gated`` are blocked."""
    down = fact(gated, "nic_present", "mlx5_0") if gated else None
    items = []
    for pair in (*RING, *extra):
        item = asking(path(*pair, "mlx5_0", SLOW if set(pair) & slow else FINE))
        items.append(blocked(item, down) if down and gated in pair else item)
    return findings([*([down] if down else []), *items])


def planned_again(found):
    return [(one.suspects, one.question.case.nodes) for one in follow_ups(found, diagnose(found))]


def test_a_good_node_replaces_the_gated_partner_of_a_suspect():
    """n1 has sent to n2 only, so each of the two is measured, and the pair both ways."""
    assert planned_again(scene({"n2"})) == [
        (("n1",), ("n1", "n4")), (("n2",), ("n4", "n2")),
        (("n1", "n2"), ("n1", "n2")), ((), ("n2", "n1")),
    ]  # fmt: skip


def test_nothing_is_measured_again_if_no_partner_is_missing():
    assert planned_again(scene({"n2"}, gated="")) == []
    assert planned_again(scene(set())) == []


def test_too_few_planned_rounds_cause_no_follow_up():
    """One round cannot separate a node from its partner, but no partner is missing."""
    found = findings(
        [asking(path("n1", "n2", "mlx5_0", SLOW)), asking(path("n3", "n4", "mlx5_0", FINE))]
    )
    (cause,) = diagnose(found)
    assert cause.confidence == "open"
    assert planned_again(found) == []


def test_a_suspect_is_not_measured_with_a_suspect_or_the_gated_node():
    for (suspect,), nodes in planned_again(scene({"n2"}))[:2]:
        assert set(nodes) - {suspect} == {"n4"}


def answered(found, slow):
    """The causes after the added measurements; ``slow`` holds sets of nodes that are slow."""
    results = []
    for one in follow_ups(found, diagnose(found)):
        is_slow = any(nodes <= set(one.question.case.nodes) for nodes in slow)
        outcome = Outcome.FAILED if is_slow else Outcome.PASSED
        results.append(Confirmed(one, (judgement(outcome),)))
    return diagnose(replace(found, confirmed=tuple(results)))


@pytest.mark.parametrize(
    ("slow", "named"),
    [
        ([{"n2"}], ("slow-node", "n2", "")),
        ([{"n1", "n2"}], ("slow-path", "n1", "n2")),
    ],
)
def test_a_follow_up_decides_between_a_node_and_its_path(slow, named):
    found = scene({"n2"})
    (before,) = [cause for cause in diagnose(found) if cause.confidence == "open"]
    assert before.where.node == "n1|n2"
    (cause,) = [one for one in answered(found, slow) if one.cause.startswith("slow")]
    assert (cause.cause, cause.where.node, cause.where.peer) == named
    assert (cause.confidence, cause.would_decide) == ("likely", "")
    assert cause.confirmation


def test_a_fault_that_does_not_show_again_is_undecided():
    (cause,) = [one for one in answered(scene({"n2"}), []) if one.cause.startswith("slow")]
    assert (cause.confidence, cause.confirmation.state) == ("open", "not reproduced")


def test_confirm_makes_the_same_measurements_for_a_missing_partner():
    """With a partner that was measured before, a slow path would look like an intermittent node."""
    found = scene({"n2"})
    causes = diagnose(found)
    assert confirmations(found, causes) == follow_ups(found, causes) != ()


def test_there_are_no_more_follow_ups_than_the_forecast_allows():
    parts = [f"mlx5_{number}" for number in range(8)]
    gated = fact("n3", "nic_present", "mlx5_0")
    items = []
    for number, part in enumerate(parts):
        for pair in RING:
            item = asking(path(*pair, part, SLOW if "n2" in pair else FINE, subject=f"m{number}"))
            items.append(blocked(item, gated) if "n3" in pair else item)
    assert 0 < len(planned_again(findings([gated, *items]))) <= FOLLOW_UPS


def test_a_run_announces_follow_ups_only_if_there_are_any():
    lines = []
    assert not confirming.lacking_partners(RunResults({}, {}, PLATFORM, of_nodes()), lines.append)
    assert lines == []
    assert confirming.lacking_partners(scene({"n2"}), lines.append)
    assert lines == [
        "",
        "confirm: a partner of a suspect could not be measured; good nodes take its place",
    ]


def test_a_slow_pair_is_not_a_slow_path_if_one_end_was_not_measured():
    found = scene({"n2"})
    results = [
        Confirmed(one, (judgement(Outcome.FAILED),))
        for one in follow_ups(found, diagnose(found))
        if len(one.suspects) == 2
    ]
    causes = diagnose(replace(found, confirmed=tuple(results)))
    (cause,) = [one for one in causes if one.cause.startswith("slow")]
    assert (cause.cause, cause.confidence) == ("slow-direction", "open")
