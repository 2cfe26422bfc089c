"""Suspects without a measured partner are measured with good nodes, which decides the cause."""

from dataclasses import replace

import pytest
from test_confirmations import asking
from testing.assess_values import PLATFORM
from testing.core_values import cluster as of_nodes
from testing.core_values import judgement
from testing.diagnose_scenes import READS, blocked, fact, findings, path

from railgauge.core.model import Outcome
from railgauge.diagnosis import RunResults, confirm, diagnose
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
    third = [("n4", "n2"), ("n2", "n5")]
    assert planned_again(scene({"n2"}, gated="", extra=third)) == []
    assert planned_again(scene(set())) == []


def test_a_slow_node_that_met_two_others_is_measured_with_a_third():
    """Its paths to both may be slow: then it is fine with the third, and undecided.

    It received from one of them, and sent to the other one, so both directions are measured.
    """
    found = scene({"n2"}, gated="")
    assert planned_again(found) == [(("n2",), ("n4", "n2")), ((), ("n2", "n4"))]
    assert [one.question.case.repeats for one in follow_ups(found, diagnose(found))] == [3, 3]
    for slow, confidence in (([{"n2"}], "likely"), ([("n1", "n2"), ("n2", "n3")], "open")):
        (cause,) = answered(found, slow)
        assert (cause.cause, cause.where.node, cause.confidence) == ("slow-node", "n2", confidence)


def test_one_round_is_made_up_for_by_good_nodes():
    """One round cannot separate a node from its partner; each is measured with a good node."""
    found = findings(
        [asking(path("n1", "n2", "mlx5_0", SLOW)), asking(path("n3", "n4", "mlx5_0", FINE))]
    )
    (cause,) = diagnose(found)
    assert cause.confidence == "open"
    asked = planned_again(found)
    assert {suspects for suspects, _ in asked} == {("n1",), ("n2",), ("n1", "n2"), ()}
    assert {node for _, pair in asked for node in pair} == {"n1", "n2", "n3", "n4"}
    assert {one.where.node for one in answered(found, [{"n2"}])} == {"n2"}


def test_a_suspect_is_not_measured_with_a_suspect_or_the_gated_node():
    for (suspect,), nodes in planned_again(scene({"n2"}))[:2]:
        assert set(nodes) - {suspect} == {"n4"}


def answered(found, slow):
    """The causes after the added measurements; ``slow`` holds sets of nodes, or pairs in order."""
    results = []
    for one in follow_ups(found, diagnose(found)):
        taken = one.question.case.nodes
        is_slow = taken in slow or any(some <= {*taken} for some in slow if isinstance(some, set))
        figure, outcome = (SLOW, Outcome.FAILED) if is_slow else (FINE, Outcome.PASSED)
        values = (figure,) * one.question.case.repeats
        judged = judgement(outcome, worst=figure, floor=372.6, values=values)
        results.append(Confirmed(one, (judged,)))
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
        "confirm: the plan does not tell some suspects apart; good nodes help to decide",
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


# --- a node behind a gate as a partner ---


def three_nodes(gate, part):
    """n3 sends to n1 slowly; n2 is behind a gate."""
    down = fact("n2", gate, part)
    pairs = [("n1", "n2"), ("n2", "n3"), ("n3", "n1")]
    items = [asking(path(*pair, "mlx5_0", SLOW)) for pair in pairs]
    return findings([down, *(blocked(i, down) if "n2" in i.nodes else i for i in items)])


def test_a_gated_node_takes_part_if_its_cause_cannot_reach_the_measurement():
    found = three_nodes("gpu_links", "gpu3")
    assert planned_again(found) == [
        (("n1",), ("n2", "n1")), ((), ("n1", "n2")),
        (("n3",), ("n3", "n2")), ((), ("n2", "n3")),
        (("n3", "n1"), ("n3", "n1")),
    ]  # fmt: skip


@pytest.mark.parametrize(("gate", "part"), [("port_state", "mlx5_0"), ("memlock", "")])
def test_a_gated_node_whose_cause_can_reach_it_takes_no_part(gate, part):
    partners = {name for _, nodes in planned_again(three_nodes(gate, part)) for name in nodes}
    assert "n2" not in partners


@pytest.mark.parametrize(
    ("slow", "named"),
    [
        ({("n2", "n1")}, ("slow-direction", "n1", "")),
        ({("n2", "n1"), ("n1", "n2")}, ("slow-nic", "n1", "")),
        ({("n3", "n2")}, ("slow-direction", "n3", "")),
        ({("n3", "n2"), ("n2", "n3")}, ("slow-nic", "n3", "")),
        (set(), ("slow-path", "n1", "n3")),
    ],
)
def test_both_directions_of_a_suspect_tell_a_direction_from_a_nic(slow, named):
    found = three_nodes("gpu_links", "gpu3")
    results = []
    for one in follow_ups(found, diagnose(found)):
        nodes = one.question.case.nodes
        is_slow = nodes in slow or set(nodes) == {"n1", "n3"}
        results.append(Confirmed(one, (judgement(Outcome.FAILED if is_slow else Outcome.PASSED),)))
    causes = diagnose(replace(found, confirmed=tuple(results)))
    (cause,) = [one for one in causes if one.cause.startswith("slow")]
    name = cause.cause.replace("slow-node", "slow-nic")  # one NIC: the two look alike
    assert (name, cause.where.node, cause.where.peer) == named
    assert cause.confidence == "likely"


def test_a_direction_that_was_fine_with_one_partner_is_not_slow():
    """The other partner, which was slow with it, may be slow itself."""
    found = three_nodes("gpu_links", "gpu3")
    asked = follow_ups(found, diagnose(found))
    slow = {("n2", "n1"), ("n1", "n2"), ("n1", "n3"), ("n3", "n1")}
    results = [
        Confirmed(one, (judgement(Outcome.FAILED if is_slow else Outcome.PASSED),))
        for one in asked
        for is_slow in [one.question.case.nodes in slow]
    ]
    (back,) = [one for one in results if not one.asked.suspects and one.missed]
    fine = Confirmed(back.asked, (judgement(Outcome.PASSED),))
    for more, name in (((), "slow-node"), ((fine,), "slow-direction")):
        causes = diagnose(replace(found, confirmed=(*results, *more)))
        (cause,) = [one for one in causes if one.cause.startswith("slow")]
        assert (cause.cause.replace("slow-nic", "slow-node"), cause.where.node) == (name, "n1")


def one_sender():
    """n2 answers a read of n1 slowly, and sends to nobody else: n3 is behind a gate."""
    down = fact("n3", "nic_present", "mlx5_0")
    pairs = [("n1", "n2"), ("n2", "n3"), ("n3", "n4"), ("n4", "n1")]
    writes = [asking(path(*pair, "mlx5_0", FINE)) for pair in pairs]
    reads = [
        asking(path(*pair, "mlx5_0", SLOW if pair == ("n1", "n2") else FINE, READS))
        for pair in pairs
    ]
    items = [*writes, *reads]
    return findings([down, *(blocked(i, down) if "n3" in i.nodes else i for i in items)])


def test_a_sender_that_nobody_else_measured_is_measured_with_a_good_node():
    found = one_sender()
    (cause,) = [one for one in diagnose(found) if one.cause == "slow-direction"]
    assert (cause.where.node, cause.confidence) == ("n2", "open")
    assert planned_again(found) == [
        (("n2",), ("n4", "n2")), ((), ("n2", "n4")), (("n1", "n2"), ("n1", "n2"))
    ]  # fmt: skip
    repeats = [one.question.case.repeats for one in follow_ups(found, diagnose(found))]
    assert repeats == [1, 3, 1], "what is slow at times only may be fine once"


@pytest.mark.parametrize(
    ("slow", "named"),
    [
        ([("n4", "n2"), ("n1", "n2")], ("slow-direction", "n2", "")),
        ([{"n2"}], ("slow-node", "n2", "")),
        ([{"n1", "n2"}], ("slow-path", "n1", "n2")),
    ],
)
def test_that_decides_between_the_sender_and_the_path(slow, named):
    (cause,) = [one for one in answered(one_sender(), slow) if one.cause.startswith("slow")]
    assert (cause.cause, cause.where.node, cause.where.peer) == named
    assert cause.confidence == "likely"


def two_directions():
    """n1 to n2 is slow over mlx5_0, n3 to n4 over mlx5_1: all four nodes are suspects."""
    pairs = [("n1", "n2"), ("n2", "n3"), ("n3", "n4"), ("n4", "n1")]
    slow = {(("n1", "n2"), "mlx5_0"), (("n3", "n4"), "mlx5_1")}
    return findings(
        asking(path(*pair, nic, SLOW if (pair, nic) in slow else FINE))
        for pair in pairs
        for nic in ("mlx5_0", "mlx5_1")
    )


def test_suspects_on_another_nic_take_part_where_no_node_is_good():
    found = two_directions()
    causes = diagnose(found)
    assert [cause.where.node for cause in causes] == ["n1|n2", "n3|n4"]
    both = [(one.device, one.suspects) for one in follow_ups(found, causes)]
    for device, ends in (("mlx5_0", ("n1", "n2")), ("mlx5_1", ("n3", "n4"))):
        mine = [suspects for nic, suspects in both if nic == device]
        assert mine == [ends[:1], ends[1:], ends, ()]


def test_a_difference_of_all_nodes_elsewhere_leaves_partners():
    """Nobody knows which firmware of mlx5_7 is right; the NICs that are measured are others."""
    found = three_nodes("gpu_links", "gpu3")
    differing = [fact(node, "nic_firmware", "mlx5_7", node) for node in ("n1", "n2", "n3")]
    found = replace(found, records=found.records | {one.id: one for one in differing})
    assert {name for _, nodes in planned_again(found) for name in nodes} == {"n1", "n2", "n3"}


def with_repeats(one, repeats):
    case = replace(one.question.case, repeats=repeats)
    return replace(one, question=replace(one.question, case=case))


def test_follow_ups_of_one_case_share_their_repeats(monkeypatch):
    """A case has one file of transcripts; with other repeats the second would replace the first."""
    found = scene({"n2"})
    first, *others = follow_ups(found, diagnose(found))
    both = [first, with_repeats(first, 3), *others]
    monkeypatch.setattr(confirm, "telling_apart", lambda *_: both)
    asked = follow_ups(found, diagnose(found))
    assert asked == (with_repeats(first, 3), *others)
    assert confirmations(found, diagnose(found)) == asked


def test_a_case_is_not_measured_again_with_other_repeats(monkeypatch):
    found = scene({"n2"})
    first, *others = before = follow_ups(found, diagnose(found))
    monkeypatch.setattr(confirm, "telling_apart", lambda *_: [with_repeats(first, 3), *others])
    assert follow_ups(found, diagnose(found), before) == ()
    assert follow_ups(found, diagnose(found), [first]) == tuple(others)


def test_a_traffic_check_tells_nothing_of_the_other_direction():
    """n3 received slowly from n4, and sent to n6 alone, which is slow; its traffic was right."""
    ring = [("n4", "n3"), ("n3", "n6"), ("n6", "n5"), ("n5", "n1"), ("n1", "n2"), ("n2", "n4")]
    speed = {("n4", "n3"): SLOW, ("n3", "n6"): 150.0, ("n6", "n5"): 150.0}
    items = [asking(path(*pair, "mlx5_0", speed.get(pair, FINE))) for pair in ring]
    traffic = [
        replace(one, id=f"{one.id} traffic", outcome=Outcome.PASSED, judgements=(told,))
        for one in items
        for told in [replace(judgement(Outcome.PASSED), metric="traffic", unit="")]
    ]
    found = findings([*items, *traffic])
    first = follow_ups(found, diagnose(found))
    results = []
    for one in first:
        nodes = one.question.case.nodes
        is_slow = nodes[1] == "n3" or "n6" in nodes
        results.append(Confirmed(one, (judgement(Outcome.FAILED if is_slow else Outcome.PASSED),)))
    told = replace(found, confirmed=tuple(results))
    back = [one.question.case.nodes for one in follow_ups(told, diagnose(told), first)]
    assert [nodes[0] for nodes in back] == ["n3"]
