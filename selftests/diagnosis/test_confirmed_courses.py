"""An intermittent fault is measured again several times to find its node or device."""

from dataclasses import replace

import pytest
from testing.diagnose_scenes import measured, path
from testing.timed_scenes import MINE, NICS, of_n2, ordered, run

from railgauge.core.model import Pairing
from railgauge.diagnosis import diagnose
from railgauge.diagnosis.confirm import confirmations
from railgauge.diagnosis.confirmed import with_confirmation
from railgauge.diagnosis.model import Where
from railgauge.judging.confirmation import MOST_REPEATS, Confirmed


def planned_again(minutes, nics=NICS):
    found = run(ordered(nics=nics), of_n2(minutes))
    causes = diagnose(found)
    return causes, confirmations(found, causes)


def result(asked, figure):
    case = asked.question.case
    item = path(*case.nodes, str(case.pairing), figure)
    return Confirmed(asked, measured(item, figure).judgements[:1])


def after(causes, asked, slow):
    """The cause after the second measurements; those that ``slow`` selects miss the limit."""
    (cause,) = causes
    return with_confirmation(cause, [result(a, 235.0 if slow(a) else 392.0) for a in asked])


def where(asked):
    case = asked.question.case
    return asked.suspects, set(case.nodes), str(case.pairing)


def test_both_ends_of_a_path_that_was_slow_once_are_measured_over_two_nics():
    _, asked = planned_again(MINE[:1])
    suspects = {one.suspects for one in asked} - {
        ()
    }  # () stands for the pair in the other direction
    assert len(suspects) == 3
    assert {frozenset(s) for s in suspects} == {
        frozenset({"n2", "n3"}), frozenset({"n2"}), frozenset({"n3"}),
    }  # fmt: skip
    for node in ("n2", "n3"):
        mine = [where(one) for one in asked if one.suspects == (node,)]
        assert {nic for _, _, nic in mine} == set(NICS)
        assert all(nodes - {node} <= {"n1", "n4"} for _, nodes, _ in mine)


@pytest.mark.parametrize(("slow", "least"), [(1, 3), (2, 3)])
def test_an_intermittent_fault_is_repeated_until_it_would_show(slow, least):
    causes, asked = planned_again(MINE[:slow])
    repeats = {one.question.case.repeats for one in asked}
    assert all(least <= each <= MOST_REPEATS for each in repeats)
    course = causes[0].course
    (each,) = repeats
    assert (1 - course.slow / course.of) ** (2 * each) <= 0.05


@pytest.mark.parametrize(
    ("back", "named"), [(1, ("slow-node", "open")), (6, ("slow-direction", "likely"))]
)
def test_a_direction_that_was_fine_often_enough_is_not_slow(back, named):
    """Half of the repeats are slow: one fine repeat of the other direction may be chance."""
    causes, asked = planned_again(MINE[:1])
    (turned,) = [a for a in asked if not a.suspects]
    mine = [a for a in asked if a.suspects == ("n2",)]

    def several(one, *values):
        item = path(*one.question.case.nodes, str(one.question.case.pairing), min(values))
        return Confirmed(one, measured(item, *values).judgements[-1:])

    results = [several(a, 235.0, 392.0) for a in mine] + [several(turned, *[392.0] * back)]
    cause = with_confirmation(causes[0], results)
    assert (cause.cause, cause.confidence) == named
    assert cause.where.node == "n2"


def test_a_path_among_the_suspects_is_no_direction_of_its_end():
    """What is left of these suspects is n5 sending, although ``n2:n5`` ends with it as well."""
    causes, asked = planned_again(MINE[:1])
    says = "slow; the evidence fits each of n2 mlx5_0, n2 mlx5_0 receiving, n5 mlx5_0 sending, "
    cause = replace(
        causes[0], cause="slow-nic", says=f"{says}n2:n5 mlx5_0", confidence="open", course=None,
        where=Where("n2|n5", "mlx5_0"),
    )  # fmt: skip
    one = replace(asked[0], cause="slow-nic", node="n2|n5", device="mlx5_0", peer="")
    results = [
        result(replace(one, suspects=(node,)), value) for node, value in (("n2", 392), ("n5", 235))
    ]
    found = with_confirmation(cause, results)
    assert (found.cause, found.where.node, found.confidence) == ("slow-direction", "n5", "likely")


def test_a_permanent_fault_is_measured_once():
    _, asked = planned_again(MINE)
    assert {one.question.case.repeats for one in asked} == {1}


def test_an_end_that_is_slow_again_over_both_nics_is_a_slow_node():
    causes, asked = planned_again(MINE[:1])
    cause = after(causes, asked, lambda a: "n2" in a.question.case.nodes)
    assert (cause.cause, str(cause.where), cause.confidence) == ("slow-node", "n2", "likely")
    assert cause.confirmation.state == "confirmed"
    assert cause.would_decide == ""
    assert "compare clocks" in cause.remedy


def test_an_end_that_is_slow_again_over_one_nic_is_a_slow_nic():
    causes, asked = planned_again(MINE[:1])
    bad = Pairing("mlx5_0")
    cause = after(causes, asked, lambda a: "n2" in a.suspects and a.question.case.pairing == bad)
    assert (cause.cause, str(cause.where)) == ("slow-nic", "n2, mlx5_0")
    assert "swap it" in cause.remedy


def test_a_path_that_is_slow_again_with_good_ends_is_a_slow_path():
    causes, asked = planned_again(MINE[:1])
    cause = after(causes, asked, lambda a: len(a.suspects) != 1)
    assert (cause.cause, cause.confidence) == ("slow-path", "likely")
    assert {cause.where.node, cause.where.peer} == {"n2", "n3"}


def test_two_ends_that_are_slow_again_are_undecided():
    causes, asked = planned_again(MINE[:1])
    assert after(causes, asked, lambda a: True).confidence == "open"


THREE = (MINE[0], *MINE[2:])


def test_a_fault_that_does_not_show_again_is_undecided_and_not_cleared():
    causes, asked = planned_again(THREE)
    cause = after(causes, asked, lambda a: False)
    assert (cause.cause, cause.confidence) == ("slow-node", "open")
    assert cause.confirmation.state == "not reproduced"
    assert "intermittent" in cause.would_decide


def test_one_slow_repeat_of_several_confirms_an_intermittent_node():
    causes, asked = planned_again(THREE)
    first = next(a for a in asked if a.suspects == ("n2",))
    cause = after(causes, asked, lambda a: a is first)
    assert (cause.confidence, cause.where.node) == ("likely", "n2")
    assert cause.confirmation.state == "confirmed"


def test_failed_second_measurements_change_nothing():
    causes, asked = planned_again(MINE[:1])
    lost = [Confirmed(one, (), "connection lost") for one in asked]
    cause = with_confirmation(causes[0], lost)
    assert (cause.cause, cause.where) == (causes[0].cause, causes[0].where)
    assert cause.confirmation.state == "not measured"
