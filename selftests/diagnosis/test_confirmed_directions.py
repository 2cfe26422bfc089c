"""A slow direction is measured again: both ends with good nodes, and the pair both ways."""

from dataclasses import replace

import pytest
from testing.diagnose_scenes import (
    asking,
    both_directions,
    findings,
    measured,
    names,
    pairs_of,
    path,
    paths,
)

from railgauge.core.model import Pairing
from railgauge.diagnosis import CATALOGUE, diagnose
from railgauge.diagnosis.confirm import confirmations
from railgauge.diagnosis.confirmed import with_confirmation
from railgauge.diagnosis.model import Course
from railgauge.judging.confirmation import Confirmed

NICS = ("mlx5_0", "mlx5_1")
PAIRS = list(pairs_of(names(6), 2))
SENDER, RECEIVER = PAIRS[0]


def open_cause():
    """From writes only: the sender, the receiver or the path may be slow."""
    slow = {(RECEIVER, nic, "receiving"): 200.0 for nic in NICS}
    return findings([asking(item) for item in paths(PAIRS, NICS, slow)])


def likely_cause():
    slow = {("n3", nic, "receiving"): 200.0 for nic in NICS}
    return findings([asking(item) for item in both_directions(PAIRS, NICS, slow)])


def again(found, slow):
    """The cause after a second measurement, slow where ``slow(sender, receiver)`` is true."""
    results = []
    for one in confirmations(found, diagnose(found)):
        nodes = one.question.case.nodes
        flow = nodes[::-1] if "read" in one.question.case.measurement else nodes
        bare = replace(path(*nodes, "mlx5_0", 1.0), judgements=())
        judged = measured(bare, 200.0 if slow(*flow) else 390.0).judgements
        results.append(Confirmed(one, judged))
    (cause,) = diagnose(replace(found, confirmed=tuple(results)))
    return cause


def planned_again(found):
    asked = confirmations(found, diagnose(found))
    return [(one.suspects, one.question.case.nodes) for one in asked]


def test_both_ends_are_measured_with_good_nodes_and_the_pair_both_ways():
    asked = planned_again(open_cause())
    for name, place in ((SENDER, 0), (RECEIVER, 1)):
        mine = [nodes for suspects, nodes in asked if suspects == (name,)]
        assert len(mine) == 2
        assert all(nodes[place] == name for nodes in mine)
        assert all({SENDER, RECEIVER} - set(nodes) for nodes in mine)
    assert ((SENDER, RECEIVER), (SENDER, RECEIVER)) in asked
    assert ((), (RECEIVER, SENDER)) in asked
    assert len(asked) == 6


@pytest.mark.parametrize(
    ("slow", "cause", "node", "peer"),
    [
        (lambda a, _: a == SENDER, "slow-direction", SENDER, ""),
        (lambda _, b: b == RECEIVER, "slow-direction", RECEIVER, ""),
        (lambda a, b: {a, b} == {SENDER, RECEIVER}, "slow-path", *sorted(PAIRS[0])),
        (lambda a, b: (a, b) == (SENDER, RECEIVER), "slow-path", *sorted(PAIRS[0])),
    ],
    ids=["sender", "receiver", "path", "path-one-way"],
)
def test_the_second_measurement_decides(slow, cause, node, peer):
    found = again(open_cause(), slow)
    assert (found.cause, found.where.node, found.where.peer) == (cause, node, peer)
    assert (found.confidence, found.would_decide) == ("likely", "")
    assert found.confirmation.state == "confirmed"
    assert (found.remedy, found.basis) == (CATALOGUE[cause].remedy, CATALOGUE[cause].basis)


def test_two_slow_ends_leave_the_cause_undecided():
    found = again(open_cause(), lambda a, b: a == SENDER or b == RECEIVER)
    assert (found.confidence, found.cause) == ("open", "slow-direction")
    assert set(found.where.node.split("|")) == {SENDER, RECEIVER}


def _comes_and_goes(is_slow):
    """The open cause, slow once in four, after its second measurements."""
    found = open_cause()
    (cause,) = diagnose(found)
    cause = replace(cause, course=Course(1, 4))
    results = []
    for one in confirmations(found, diagnose(found)):
        bare = replace(path(*one.question.case.nodes, "mlx5_0", 1.0), judgements=())
        judged = measured(bare, 200.0 if is_slow(one) else 390.0).judgements
        results.append(Confirmed(one, judged))
    return with_confirmation(cause, results)


def _first_of(name):
    """Select the first measurement of this suspect with a good node."""
    asked = confirmations(found := open_cause(), diagnose(found))
    first = next(one for one in asked if one.suspects == (name,))
    return lambda one: one == first


def test_an_end_that_is_slow_again_with_one_of_two_good_nodes_comes_and_goes():
    """Each slow measurement has this end, and one of them has another node than the first one."""
    slow = _first_of(RECEIVER)
    found = _comes_and_goes(slow)
    assert (found.where.node, found.where.peer) == (RECEIVER, "")
    both = _comes_and_goes(lambda one: slow(one) or one.question.case.nodes[0] == RECEIVER)
    assert (both.cause, both.where.node, both.confidence) == ("slow-node", RECEIVER, "likely")


def test_two_ends_that_are_slow_once_each_leave_the_cause_undecided():
    first, second = _first_of(RECEIVER), _first_of(SENDER)
    found = _comes_and_goes(lambda one: first(one) or second(one))
    assert (found.cause, found.confidence) == ("slow-direction", "open")
    assert set(found.where.node.split("|")) == {SENDER, RECEIVER}


def test_a_fault_that_does_not_show_again_is_not_reproduced():
    found = again(open_cause(), lambda *_: False)
    assert (found.confidence, found.cause) == ("open", "slow-direction")
    assert found.confirmation.state == "not reproduced"


def test_a_named_direction_is_measured_with_two_good_nodes_and_back():
    asked = planned_again(likely_cause())
    flows = [nodes for suspects, nodes in asked if suspects == ("n3",)]
    back = {nodes for suspects, nodes in asked if suspects == ()}
    assert len(flows) == 2
    assert flows[0][::-1] in back
    assert all("n3" in nodes for nodes in back)


@pytest.mark.parametrize(
    ("slow", "state", "last"),
    [
        (lambda _, b: b == "n3", "confirmed", "within its limit"),
        (lambda a, b: "n3" in {a, b}, "confirmed", "slow in this direction too"),
        (lambda a, _: a == "n3", "not reproduced", "slow in this direction too"),
        (lambda *_: False, "not reproduced", "within its limit"),
    ],
    ids=["again", "both-ways", "only-back", "nothing"],
)
def test_the_opposite_direction_is_shown_but_confirms_nothing(slow, state, last):
    found = again(likely_cause(), slow)
    assert found.confirmation.state == state
    assert found.confirmation.seen[-1].endswith(last)


def test_cross_rail_paths_are_not_measured_in_the_opposite_direction():
    """The opposite direction would use the other NIC of the suspected node."""
    found = likely_cause()
    crossing = Pairing("mlx5_0", peer=Pairing("mlx5_1"))

    def across(item):
        case = item.questions[-1].case
        asked = replace(item.questions[-1], case=replace(case, pairing=crossing))
        return replace(item, questions=(item.questions[0], asked))

    records = {name: across(item) for name, item in found.records.items()}
    turned = replace(found, records=records)
    assert () not in [suspects for suspects, _ in planned_again(turned)]
