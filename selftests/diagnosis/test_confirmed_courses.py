"""A fault that comes and goes is measured again several times, and its device is found."""

import pytest
from testing.diagnose_scenes import measured, path
from testing.timed_scenes import MINE, NICS, of_n2, ordered, run

from railgauge.core.model import Pairing
from railgauge.diagnosis import diagnose
from railgauge.diagnosis.confirm import confirmations
from railgauge.diagnosis.confirmed import with_confirmation
from railgauge.judging.confirmation import MOST_REPEATS, Confirmed


def asked_of(minutes, nics=NICS):
    found = run(ordered(nics=nics), of_n2(minutes))
    causes = diagnose(found)
    return causes, confirmations(found, causes)


def result(asked, figure):
    case = asked.question.case
    item = path(*case.nodes, str(case.pairing), figure)
    return Confirmed(asked, measured(item, figure).judgements[:1])


def after(causes, asked, slow):
    """The one cause after measurements of which those that ``slow`` selects missed their limit."""
    (cause,) = causes
    return with_confirmation(cause, [result(a, 235.0 if slow(a) else 392.0) for a in asked])


def where(asked):
    case = asked.question.case
    return asked.suspects, set(case.nodes), str(case.pairing)


def test_a_path_that_was_slow_once_is_measured_with_both_ends_over_two_nics():
    _, asked = asked_of(MINE[:1])
    suspects = {one.suspects for one in asked} - {()}  # () is the pair in the other direction
    assert len(suspects) == 3
    assert {frozenset(s) for s in suspects} == {
        frozenset({"n2", "n3"}), frozenset({"n2"}), frozenset({"n3"}),
    }  # fmt: skip
    for node in ("n2", "n3"):
        mine = [where(one) for one in asked if one.suspects == (node,)]
        assert {nic for _, _, nic in mine} == set(NICS)
        assert all(nodes - {node} <= {"n1", "n4"} for _, nodes, _ in mine)


@pytest.mark.parametrize(("slow", "least"), [(1, 3), (2, 3)])
def test_it_is_measured_so_often_that_it_shows(slow, least):
    causes, asked = asked_of(MINE[:slow])
    repeats = {one.question.case.repeats for one in asked}
    assert all(least <= each <= MOST_REPEATS for each in repeats)
    course = causes[0].course
    (each,) = repeats
    assert (1 - course.slow / course.of) ** (2 * each) <= 0.05


def test_a_fault_that_is_always_there_is_measured_once():
    _, asked = asked_of(MINE)
    assert {one.question.case.repeats for one in asked} == {1}


def test_the_end_that_is_slow_again_over_both_nics_is_a_slow_node():
    causes, asked = asked_of(MINE[:1])
    cause = after(causes, asked, lambda a: "n2" in a.suspects)
    assert (cause.cause, str(cause.where), cause.confidence) == ("slow-node", "n2", "likely")
    assert cause.confirmation.state == "confirmed"
    assert cause.would_decide == ""
    assert "compare clocks" in cause.remedy


def test_the_end_that_is_slow_again_over_one_nic_is_a_slow_nic():
    causes, asked = asked_of(MINE[:1])
    bad = Pairing("mlx5_0")
    cause = after(causes, asked, lambda a: "n2" in a.suspects and a.question.case.pairing == bad)
    assert (cause.cause, str(cause.where)) == ("slow-nic", "n2, mlx5_0")
    assert "swap it" in cause.remedy


def test_a_path_that_alone_is_slow_again_is_the_path():
    causes, asked = asked_of(MINE[:1])
    cause = after(causes, asked, lambda a: len(a.suspects) != 1)
    assert (cause.cause, cause.confidence) == ("slow-path", "likely")
    assert {cause.where.node, cause.where.peer} == {"n2", "n3"}


def test_two_ends_that_are_slow_again_stay_undecided():
    causes, asked = asked_of(MINE[:1])
    assert after(causes, asked, lambda a: True).confidence == "open"


def test_what_is_fine_every_time_stays_undecided_and_is_not_cleared():
    causes, asked = asked_of(MINE[:2])
    assert causes[0].confidence == "likely"
    cause = after(causes, asked, lambda a: False)
    assert (cause.cause, cause.confidence) == ("slow-node", "open")
    assert cause.confirmation.state == "not reproduced"
    assert "intermittent" in cause.would_decide


def test_a_slow_and_a_fast_repeat_do_not_put_a_node_that_comes_and_goes_in_doubt():
    causes, asked = asked_of(MINE[:2])
    cause = after(causes, asked, lambda a: a is asked[0])
    assert (cause.confidence, cause.where.node) == ("likely", "n2")
    assert cause.confirmation.state == "confirmed"


def test_results_without_a_measurement_change_nothing():
    causes, asked = asked_of(MINE[:1])
    lost = [Confirmed(one, (), "connection lost") for one in asked]
    cause = with_confirmation(causes[0], lost)
    assert (cause.cause, cause.where) == (causes[0].cause, causes[0].where)
    assert cause.confirmation.state == "not measured"
