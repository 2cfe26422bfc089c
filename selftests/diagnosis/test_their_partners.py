"""An undecided node is named with the partner that may be slow in its place."""

from dataclasses import replace

import pytest
from test_confirmations import asking
from testing.core_values import cluster
from testing.diagnose_scenes import findings, measured, path

from railgauge.core.model import Case, Pairing
from railgauge.core.question import LIMITS, Question
from railgauge.diagnosis.doubts import doubted_paths
from railgauge.diagnosis.model import Cause, Confirmation, Where
from railgauge.diagnosis.partners import good_nodes
from railgauge.diagnosis.paths_again import was_fast
from railgauge.diagnosis.telling_apart import telling_apart
from railgauge.diagnosis.their_partners import named_too
from railgauge.judging.confirmation import Confirmed, Remeasurement

NIC, WRITE = "mlx5_0", "host_write_bandwidth"
SLOW, FINE = 200.0, 392.0
PAIRS = (("n1", "n2"), ("n2", "n3"), ("n3", "n4"), ("n4", "n1"))


def scene(*slow):
    return findings([path(*pair, NIC, SLOW if pair in slow else FINE) for pair in PAIRS])


def cause(found, node, *pairs, peer="", confidence="open", state="not reproduced", **more):
    shown = [item for item, record in found.records.items() if record.nodes in pairs]
    name, says = "slow-path" if peer else "slow-node", "slow"
    made = Cause(name, Where(node, "", peer), says, tuple(shown), (), confidence, "", "", "")
    return replace(made, confirmation=Confirmation(state, ()), **more)


def again(*nodes, figure=SLOW, suspects=("n2",), nic=NIC, repeats=1):
    asked = Question(LIMITS, Case(WRITE, nodes, Pairing(nic), (), repeats))
    item = replace(path(*nodes, nic, figure), judgements=())
    one = Remeasurement("slow-node", "n2", "", "", suspects, asked)
    return Confirmed(one, measured(item, figure, metric="bw_average").judgements)


def test_a_node_that_is_fine_without_the_one_partner_of_its_other_items():
    """The path to n1 explains the first item; of the second one n3 is a suspect as well."""
    found = scene(*PAIRS[:2])
    whole = cause(found, "n2", *PAIRS[:2])
    known = cause(found, "n1", PAIRS[0], peer="n2", confidence="likely")
    _, told = named_too(found, [known, whole])
    assert told.where.node == "n2|n3"
    assert told.says.endswith("n2 is fine with others, and slow with n3")
    assert named_too(found, [whole]) == [whole], "with both partners it may be n2"
    seen = cause(found, "n2", *PAIRS[:2], state="confirmed")
    assert named_too(found, [known, seen])[1] == seen
    sure = replace(whole, confidence="likely")
    assert named_too(found, [known, sure])[1] == sure


@pytest.mark.parametrize(
    ("results", "node"),
    [
        ([again("n1", "n2", suspects=("n1", "n2")), again("n4", "n2", figure=FINE)], "n1|n2"),
        ([again("n1", "n2", suspects=("n1", "n2")), again("n4", "n2")], "n2"),
        (
            [
                again("n1", "n2", suspects=("n1", "n2")),
                again("n4", "n2", figure=FINE, nic="mlx5_1"),
            ],
            "n2",
        ),
        (
            [
                again("n1", "n2", suspects=("n1", "n2"), figure=FINE),
                again("n4", "n2", figure=FINE),
            ],
            "n2",
        ),
    ],
    ids=["fine-with-n4", "slow-with-n4", "over-another-nic", "fine-with-both"],
)
def test_the_partner_of_a_pair_that_is_slow_again(results, node):
    found = replace(scene(PAIRS[0]), confirmed=tuple(results))
    (told,) = named_too(found, [cause(found, "n2", PAIRS[0], state="confirmed")])
    assert told.where.node == node


def test_nodes_that_reached_a_limit_are_the_first_partners():
    """n1 was not measured, because of a missing disk: it may be slow."""
    items = [path(*pair, NIC, FINE) for pair in (("n2", "n3"), ("n3", "n4"))]
    found = replace(findings(items), cluster=cluster("n1", "n2", "n3", "n4"))
    assert good_nodes(found, ()) == ("n2", "n3", "n4", "n1")


@pytest.mark.parametrize(("figure", "is_fast"), [(390.0, True), (375.0, False)])
def test_a_test_within_its_limit_that_is_behind_others_is_not_fast(figure, is_fast):
    send = "host_send_bandwidth"
    items = [path(*pair, NIC, FINE, send) for pair in PAIRS[1:]]
    (slow,) = [path(*PAIRS[0], NIC, SLOW)]
    found = findings([slow, *items, path(*PAIRS[0], NIC, figure, send)])
    assert was_fast(found, slow) is is_fast
    beside = [path("n1", "n3", NIC, FINE, send), path("n2", "n3", NIC, FINE, send)]
    found = findings([slow, *beside, path(*PAIRS[0], NIC, figure, send)])
    assert was_fast(found, slow) is is_fast, "its nodes are in all other pairs"


def test_the_other_direction_is_measured_with_a_partner_that_it_was_not_measured_with():
    """n3 may cost more than n2 does, in both directions."""
    items = [asking(path(*pair, NIC, SLOW if pair == PAIRS[0] else FINE)) for pair in PAIRS]
    items += [asking(path("n3", "n5", NIC, FINE)), asking(path("n5", "n4", NIC, FINE))]
    found = findings(items)
    slow = replace(cause(found, "n2", PAIRS[0]), cause="slow-nic", confirmation=None)
    slow = replace(slow, where=Where("n2", NIC))

    def back(*results):
        told = replace(found, confirmed=results)
        asked = telling_apart(told, [slow], slow, ("n4", "n5"))
        return [one.question.case.nodes for one in asked if not one.suspects]

    assert back() == [("n2", "n4")]
    assert back(again("n2", "n4", suspects=())) == [("n2", "n5")]


# --- the ends of a path ---


def ends_asked(found, state):
    slow = cause(found, "n1", PAIRS[0], peer="n2", confidence="likely", state=state)
    slow = slow if state else replace(slow, confirmation=None)
    asked = telling_apart(found, [slow], slow, ("n3", "n4"))
    return [(one.suspects, one.question.case.nodes, one.question.case.repeats) for one in asked]


def test_an_end_that_was_fine_once_is_measured_with_another_node_several_times():
    items = [asking(path(*pair, NIC, SLOW if pair == PAIRS[0] else FINE)) for pair in PAIRS]
    found = findings(items)
    assert ends_asked(found, "") == [
        (("n1",), ("n1", "n3"), 3), (("n2",), ("n4", "n2"), 3), (("n1", "n2"), ("n1", "n2"), 1),
    ]  # fmt: skip
    once = (again("n3", "n2", figure=FINE), again("n1", "n3", figure=FINE, suspects=("n1",)))
    told = replace(found, confirmed=once)
    assert ends_asked(told, "confirmed") == [
        (("n1",), ("n1", "n4"), 3), (("n2",), ("n4", "n2"), 3),
    ]  # fmt: skip
    often = tuple(again("n3", "n2", figure=FINE, repeats=3) for _ in range(2))
    assert ends_asked(replace(found, confirmed=often), "confirmed") == []


@pytest.mark.parametrize(
    ("result", "confidence"),
    [
        (again("n4", "n2"), "open"),  # as slow as the path
        (again("n4", "n2", figure=300.0), "likely"),  # slow, and faster than the path
        (again("n4", "n2", figure=FINE), "likely"),
        (again("n4", "n2", suspects=("n4", "n2")), "likely"),  # a suspect path of its own
    ],
    ids=["as-slow", "faster", "fine", "another-path"],
)
def test_a_path_is_undecided_if_its_end_is_as_slow_with_others(result, confidence):
    found = replace(scene(PAIRS[0]), confirmed=(result,))
    slow = cause(found, "n1", PAIRS[0], peer="n2", confidence="likely", state="confirmed")
    (told,) = doubted_paths(found, [slow])
    assert told.confidence == confidence
