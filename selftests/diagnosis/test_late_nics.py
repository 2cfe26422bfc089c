"""A NIC that was the last to be measured: another one is measured again, which decides."""

from dataclasses import replace

import pytest
from testing.diagnose_scenes import measured, path
from testing.timed_scenes import WRITE, run

from railgauge.diagnosis import diagnose
from railgauge.diagnosis.late_paths import doubted_at_times, doubted_nic, is_late
from railgauge.diagnosis.model import Where
from railgauge.diagnosis.telling_apart import telling_apart
from railgauge.judging.confirmation import Confirmed

LAST, OTHER = "mlx5_0", "mlx5_1"
PAIRS = (("n1", "n2"), ("n2", "n3"), ("n3", "n4"), ("n4", "n1"))
ORDER = [(pair, OTHER) for pair in PAIRS] + [(pair, LAST) for pair in reversed(PAIRS)]
SLOW = ("n1", "n2")


def scene():
    """n2 sends over its last NIC as it should, and then receives slowly over it."""
    return run(
        [(WRITE, pair, nic) for pair, nic in ORDER],
        lambda minute, subject, pair, nic: 300.0 if (pair, nic) == (SLOW, LAST) else 392.0,
    )


def cause_of(found, peer=""):
    (first,) = diagnose(found)
    name = "slow-path" if peer else "slow-direction"
    where = Where("n1" if peer else "n2", LAST, peer)
    return replace(first, cause=name, where=where, confidence="likely", course=None)


@pytest.mark.parametrize(("peer", "ends"), [("", ("n4", "n2")), ("n2", ("n1", "n2"))])
def test_another_nic_is_measured_again(peer, ends):
    found = scene()
    doubted = doubted_nic(found, cause_of(found, peer))
    assert is_late(doubted)
    (one,) = [
        one
        for one in telling_apart(found, [doubted], doubted, ("n4",))
        if str(one.question.case.pairing) == OTHER
    ]
    assert (one.question.case.nodes, one.device, one.peer) == (ends, OTHER, peer)


@pytest.mark.parametrize(("figure", "confidence"), [(392.0, "likely"), (300.0, "open")])
def test_that_decides(figure, confidence):
    found = scene()
    cause = cause_of(found)
    doubted = doubted_nic(found, cause)
    (one,) = telling_apart(found, [doubted], doubted, ("n4",))
    item = replace(path(*one.question.case.nodes, OTHER, figure), judgements=())
    results = (Confirmed(one, measured(item, figure).judgements),)
    assert doubted_nic(replace(found, confirmed=results), cause).confidence == confidence


def test_a_cause_that_is_not_doubted_asks_for_nothing_over_another_nic():
    found = scene()
    cause = cause_of(found)
    assert not is_late(cause)
    asked = telling_apart(found, [cause], cause, ("n4",))
    assert OTHER not in {str(one.question.case.pairing) for one in asked}


# --- a NIC that comes and goes ---


def again(nic, *figures, suspects=("n2",)):
    """One measurement again for each figure, of n2 receiving from n4."""
    found = scene()
    cause = replace(cause_of(found), cause="slow-nic")
    doubted = doubted_nic(found, cause_of(found))
    (one,) = telling_apart(found, [doubted], doubted, ("n4",))
    case = replace(one.question.case, pairing=replace(one.question.case.pairing, nic=nic))
    asked = replace(one, suspects=suspects, question=replace(one.question, case=case))
    items = [replace(path("n4", "n2", nic, figure), judgements=()) for figure in figures]
    made = zip(items, figures, strict=True)
    return cause, tuple(
        Confirmed(asked, measured(item, figure).judgements) for item, figure in made
    )


@pytest.mark.parametrize(
    ("own", "others", "confidence"),
    [
        ((300.0, 300.0), (), "likely"),  # slow each time
        ((300.0, 392.0), (), "open"),  # half of the time, and fine twice over the other NIC
        ((300.0, 392.0), (392.0,) * 3, "likely"),  # fine five times
        ((300.0, 392.0), (392.0, 392.0, 300.0), "open"),
    ],
)
def test_a_nic_is_told_from_its_node_by_how_often_the_others_were_fine(own, others, confidence):
    cause, results = again(LAST, *own)
    found = replace(scene(), confirmed=(*results, *again(OTHER, *others)[1]))
    told = doubted_at_times(found, cause)
    assert told.confidence == confidence
    assert is_late(told) is (confidence == "open"), "one more measurement over another NIC decides"


def test_the_other_direction_of_a_slow_one_is_no_sign_that_it_comes_and_goes():
    """n2 receives slowly; that it sends as it should was measured again as well."""
    cause, results = again(LAST, 300.0, 300.0)
    asked = results[0].asked
    case = replace(asked.question.case, nodes=("n2", "n4"))
    back = replace(asked, question=replace(asked.question, case=case))
    fine = replace(again(LAST, 392.0)[1][0], asked=back)
    found = replace(scene(), confirmed=(*results, fine))
    direction = replace(cause, cause="slow-direction")
    assert doubted_at_times(found, direction) == direction
    assert doubted_at_times(found, cause).confidence == "open"


def test_only_nics_that_were_suspects_are_doubted():
    cause, results = again(LAST, 300.0, 392.0, suspects=())
    assert doubted_at_times(replace(scene(), confirmed=results), cause) == cause
    cause, results = again(LAST, 300.0, 392.0)
    of_node = replace(cause, where=Where("n2"))
    assert doubted_at_times(replace(scene(), confirmed=results), of_node) == of_node
