"""A slow direction is not the whole node because one partner is slow in the other direction."""

from dataclasses import replace

import pytest
from testing.core_values import judgement
from testing.diagnose_scenes import measured, path
from testing.timed_scenes import WRITE, run

from railgauge.core.model import Case, Outcome, Pairing
from railgauge.core.question import LIMITS, Question
from railgauge.diagnosis import diagnose
from railgauge.diagnosis.again import is_clearer
from railgauge.diagnosis.confirmed import with_partner
from railgauge.diagnosis.doubts import doubted_paths
from railgauge.diagnosis.hidden import hidden
from railgauge.diagnosis.model import Confirmation, Where
from railgauge.diagnosis.other_way import by_direction
from railgauge.diagnosis.slow_partners import with_good_partners, with_their_names
from railgauge.judging.confirmation import Confirmed, Remeasurement

NIC = "mlx5_0"
SLOW, FINE = 348.0, 392.0
RECEIVES, SENDS = ("n1", "n2"), ("n2", "n3")  # n2 receives slowly, and sends to n3 as it should


def scene(*pairs, sent=FINE):
    """These pairs, a minute apart; n2 receives slowly."""
    value = {RECEIVES: SLOW, SENDS: sent}
    return run(
        [(WRITE, pair, NIC) for pair in (*pairs, ("n3", "n4"), ("n4", "n1"))],
        lambda minute, subject, pair, nic: value.get(pair, FINE),
    )


def cause_of(found):
    cause = replace(diagnose(found)[0], cause="slow-direction", where=Where("n2"))
    return replace(cause, confidence="likely", course=None)


def again(*nodes, figure=SLOW, suspects=(), of=WRITE):
    question = Question(LIMITS, Case(of, nodes, Pairing(NIC), (), 3))
    asked = Remeasurement("slow-direction", "n1|n2", "", "", suspects, question)
    item = replace(path(*nodes, NIC, figure), judgements=())
    return Confirmed(asked, measured(item, figure).judgements)


def left(found, *results):
    return with_good_partners(cause_of(found), replace(found, confirmed=results))


def test_what_was_slow_with_one_partner_alone_is_left_out():
    found = scene(RECEIVES, SENDS)
    own, back = again("n4", "n2", suspects=("n2",)), again("n2", "n1")
    assert left(found, own, back) == (own,)


@pytest.mark.parametrize(
    ("found", "back"),
    [
        (scene(SENDS, RECEIVES), again("n2", "n1")),  # it may have become slow in between
        (
            scene(RECEIVES, SENDS, sent=0.95 * FINE),
            again("n2", "n1"),
        ),  # within its limit, but behind
        (scene(RECEIVES), again("n2", "n1")),  # nothing was measured of the other direction
        (scene(RECEIVES, SENDS), again("n2", "n3")),  # the same partner: it is slow since
        (scene(RECEIVES, SENDS), again("n2", "n1", figure=FINE)),
    ],
    ids=["before", "behind", "not-measured", "same-partner", "fine"],
)
def test_all_else_is_kept(found, back):
    assert left(found, back) == (back,)


def test_the_cause_names_the_partner_that_was_left_out():
    cause = cause_of(scene(RECEIVES, SENDS))
    assert with_their_names(cause, ()) == cause
    told = with_their_names(cause, [again("n2", "n1")])
    assert told.says.startswith(cause.says)
    assert "with n1 alone it is slow in the other direction too" in told.says
    assert told.confidence == "open", "it may be slow at times, and was fast by chance"


def test_paths_of_a_slow_direction_are_unknown():
    """What each of its paths would reach without it was not measured."""
    found = scene(RECEIVES, SENDS)
    lines = dict(hidden(found, [cause_of(found)]))
    assert lines["n2"] == (("paths to other nodes",), "measured only with slow-direction (n2)")


@pytest.mark.parametrize(
    ("figures", "named"),
    [
        ((SLOW, 320.0), "slow-node"),  # the path to one partner costs more
        ((320.0, 320.0), "slow-direction"),
        ((SLOW, SLOW), "slow-node"),
    ],
)
def test_a_direction_is_less_slow_only_if_each_measurement_of_the_other_is_slower(figures, named):
    own = [
        again(name, "n2", figure=figure, suspects=("n2",))
        for name, figure in zip(("n3", "n4"), figures, strict=True)
    ]
    cause = cause_of(scene(RECEIVES))
    assert by_direction(cause, [*own, again("n2", "n3")]).cause == named


@pytest.mark.parametrize(
    ("partner", "figure", "named", "confidence"),
    [
        ("n3", 320.0, "slow-direction", "open"),  # the path to n3 is slower both ways
        ("n4", SLOW, "slow-node", "likely"),
        ("n4", FINE, "slow-direction", "likely"),
    ],
)
def test_a_partner_that_costs_more_tells_nothing_of_the_other_direction(
    partner, figure, named, confidence
):
    own = [
        again(name, "n2", figure=value, suspects=("n2",))
        for name, value in (("n3", 320.0), ("n4", SLOW))
    ]
    cause = replace(cause_of(scene(RECEIVES)), would_decide="")
    told = by_direction(cause, [*own, again("n2", partner, figure=figure)])
    assert (told.cause, told.confidence) == (named, confidence)
    assert ("n2" in told.would_decide) is (confidence == "open")


@pytest.mark.parametrize(("both", "confidence"), [(True, "likely"), (False, "open")])
def test_a_direction_that_costs_more_with_several_good_nodes_is_the_nodes_own(both, confidence):
    """n2 is slow, and receives slower still; with one partner alone, that may be the partner's."""
    slower, send = 300.0, "host_send_bandwidth"
    results = [again("n2", "n3", suspects=("n2",)), again("n4", "n2", figure=slower)]
    if both:
        results.append(again("n3", "n2", figure=slower, suspects=("n2",), of=send))
        results.append(again("n2", "n4", of=send))
    cause = replace(cause_of(scene(RECEIVES)), cause="slow-node")
    told = by_direction(cause, results)
    assert (told.cause, told.confidence) == ("slow-node", confidence)


def path_of(found):
    """The path from n1 to n2, where n2 is slow as a whole."""
    (first,) = diagnose(found)
    path = replace(first, cause="slow-path", where=Where("n1", NIC, "n2"), confidence="likely")
    path = replace(path, says="slow; measured again, both are fine with others", course=None)
    whole = replace(first, cause="slow-node", where=Where("n2"), confidence="likely", evidence=())
    return doubted_paths(found, [path, whole])[0]


def test_a_path_is_not_told_from_a_nic_of_a_slow_node_that_nobody_else_sent_to():
    both = [(WRITE, RECEIVES, "mlx5_1"), (WRITE, RECEIVES, NIC)]

    def speed(minute, subject, pair, nic):
        return SLOW if pair == RECEIVES and nic == NIC else FINE

    rest = [(WRITE, ("n3", "n4"), NIC), (WRITE, ("n4", "n1"), NIC)]
    told = path_of(run([*both, *rest], speed))
    assert told.confidence == "open"
    assert told.says == "slow; n2 is slow as a whole, and may be slower over this NIC"
    assert path_of(run([*both, *rest, (WRITE, ("n3", "n2"), NIC)], speed)).confidence == "likely"


def test_who_took_part_in_each_slow_measurement_is_a_suspect_of_an_open_cause():
    found = scene(RECEIVES)
    shown = tuple(r for r in found.records.values() if set(r.nodes) == set(RECEIVES))
    cause = replace(cause_of(found), cause="slow-nic", confidence="open")
    cause = replace(cause, confirmation=Confirmation("confirmed", ()))
    own = again("n1", "n2", suspects=("n2",))
    mine = replace(own, asked=replace(own.asked, cause="slow-nic", node="n2"))
    told = with_partner(cause, shown, [mine])
    assert told.where.node == "n1|n2"
    other = again("n4", "n2", suspects=("n2",))
    apart = replace(other, asked=replace(other.asked, cause="slow-nic", node="n2"))
    assert with_partner(cause, shown, [mine, apart]) == cause
    assert with_partner(replace(cause, confidence="likely"), shown, [mine]).where.node == "n2"


def traffic(record):
    """The check of what the item moved, which passed: no rate."""
    told = replace(judgement(Outcome.PASSED), metric="traffic", unit="")
    return replace(record, id=f"{record.id} traffic", outcome=Outcome.PASSED, judgements=(told,))


def test_the_traffic_of_a_path_is_no_sign_that_it_is_fine_over_another_nic():
    """Over the other NIC its rate was explained by another fault, or not measured."""
    found = scene(RECEIVES)
    over_other = traffic(path(*RECEIVES, "mlx5_1", FINE))
    found = replace(found, records={**found.records, over_other.id: over_other})
    (first,) = diagnose(found)
    one = replace(first, cause="slow-path", where=Where("n1", NIC, "n2"), confidence="likely")
    (told,) = doubted_paths(found, [replace(one, course=None)])
    assert told.confidence == "open"
    assert "nothing is known of the path over other NICs" in told.says
    rate = path(*RECEIVES, "mlx5_1", FINE)
    found = replace(found, records={**found.records, rate.id: rate})
    assert doubted_paths(found, [replace(one, course=None)])[0].confidence == "likely"


def test_a_slow_part_of_no_node_is_the_least_clear():
    found = scene(RECEIVES)
    cause = replace(cause_of(found), confidence="open")
    nowhere = replace(cause, where=Where(""))
    assert is_clearer(found, [cause], [nowhere])
    assert not is_clearer(found, [nowhere], [cause])
    assert is_clearer(found, [cause], [replace(cause, where=Where("n1|n2"))])
