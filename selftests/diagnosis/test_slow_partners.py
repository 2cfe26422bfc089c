"""A slow direction is not the whole node because one partner is slow in the other direction."""

from dataclasses import replace

import pytest
from testing.diagnose_scenes import measured, path
from testing.timed_scenes import WRITE, run

from railgauge.core.model import Case, Pairing
from railgauge.core.question import LIMITS, Question
from railgauge.diagnosis import diagnose
from railgauge.diagnosis.hidden import hidden
from railgauge.diagnosis.model import Where
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


def again(*nodes, figure=SLOW, suspects=()):
    question = Question(LIMITS, Case(WRITE, nodes, Pairing(NIC), (), 3))
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
    says = with_their_names(cause, [again("n2", "n1")]).says
    assert says.startswith(cause.says)
    assert "with n1 alone it is slow in the other direction too" in says


def test_paths_of_a_slow_direction_are_unknown():
    """What each of its paths would reach without it was not measured."""
    found = scene(RECEIVES, SENDS)
    lines = dict(hidden(found, [cause_of(found)]))
    assert lines["n2"] == (("paths to other nodes",), "measured only with slow-direction (n2)")
