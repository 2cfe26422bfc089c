"""A tool that fails in a pair is run with good nodes, which shows on which node it fails."""

from dataclasses import replace

import pytest
from testing.asked_again import FINE, answered
from testing.diagnose_scenes import broken, named, names, path, run_results

from railgauge.core.errors import Unparsable
from railgauge.diagnosis import diagnose, diagnosed
from railgauge.planning.forecast import FOLLOW_UPS

GARBAGE = "no table in this text"


def runs(fails, fine, nodes=4):
    """Writes that print garbage between some pairs."""
    errors = [broken(path(*pair, "mlx5_0", FINE), Unparsable.kind, "") for pair in fails]
    others = [path(*pair, "mlx5_0", FINE) for pair in fine]
    return run_results([*errors, *others], nodes=names(nodes))


def failing():
    return runs([("n1", "n2")], [("n3", "n4"), ("n4", "n3")])


def on(*bad):
    return lambda case: GARBAGE if set(bad) & set(case.nodes) else FINE


@pytest.mark.parametrize("bad", ["n1", "n2"])
def test_it_is_run_with_good_nodes(bad):
    causes = answered(failing(), on(bad)).causes
    assert [(c.cause, c.where.node, c.confidence) for c in causes] == [
        ("tool-failing", bad, "likely")
    ]
    assert causes[0].would_decide == ""


def test_two_nodes_on_which_it_fails_are_both_named():
    """n1 with n2, and n3 with n4: n2 and n4 are fine with others."""
    found = runs([("n1", "n2"), ("n2", "n3"), ("n3", "n4")], [("n5", "n6"), ("n6", "n5")], 6)
    causes = answered(found, on("n1", "n3")).causes
    assert [(c.cause, c.where.node, c.confidence) for c in causes] == [
        ("tool-failing", "n[1,3]", "likely")
    ]


def test_it_stays_undecided_if_it_fails_nowhere_again():
    (cause,) = answered(failing(), lambda _case: FINE).causes
    assert cause.confidence == "open"


def test_one_that_fails_with_one_partner_alone_is_undecided():
    """It fails at times: a path between two nodes breaks no tool."""
    found = runs([("n1", "n2")], [("n3", "n4"), ("n4", "n3"), ("n2", "n3")])
    (before,) = diagnose(found)
    assert (before.where.node, before.confidence) == ("n1", "open")
    of_pair = {"n1", "n2"}
    both = answered(found, lambda case: GARBAGE if set(case.nodes) == of_pair else FINE).causes
    assert {cause.confidence for cause in both} == {"open"}


def test_it_is_not_run_where_no_node_is_good_and_no_more_often_than_forecast():
    alone = runs([("n1", "n2")], [], nodes=2)
    assert diagnosed(alone).follow_ups() == ()
    pairs = [(f"n{i}", f"n{i + 1}") for i in range(1, 41, 2)]
    many = diagnosed(runs(pairs, [("n41", "n42")], nodes=42))
    first = many.follow_ups()
    assert 0 < len(first) <= FOLLOW_UPS
    keys = {one.question.case.key for one in first}
    assert keys.isdisjoint(one.question.case.key for one in many.follow_ups(first))


def test_another_cause_of_the_pair_asks_nothing():
    lost = replace(failing(), found={})
    assert named(diagnose(lost))
    fine = runs([], [("n3", "n4"), ("n4", "n3")])
    assert diagnosed(fine).follow_ups() == ()
