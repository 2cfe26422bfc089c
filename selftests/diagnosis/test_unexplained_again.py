"""What was slow when it was measured again, and no cause explains, is listed as undecided."""

from dataclasses import replace

import pytest
from test_confirmations import asking
from testing.diagnose_scenes import findings, measured, path

from railgauge.core.model import Case, Outcome, Pairing
from railgauge.core.question import LIMITS, Question
from railgauge.diagnosis import diagnose
from railgauge.diagnosis.again import is_clearer
from railgauge.diagnosis.other_way import by_direction
from railgauge.diagnosis.unexplained import slow_again
from railgauge.judging.confirmation import Confirmed, Remeasurement

NIC, WRITE = "mlx5_0", "host_write_bandwidth"
RING = [("n1", "n2"), ("n3", "n4"), ("n2", "n3"), ("n4", "n1")]
SLOW, FINE = 200.0, 390.0


def scene(*slow):
    return findings(
        [asking(path(*pair, NIC, SLOW if {*slow} & {*pair} else FINE)) for pair in RING]
    )


def again(*nodes, figure=SLOW, suspects=(), error="", cause="slow-node", **more):
    question = Question(LIMITS, Case(WRITE, nodes, Pairing(NIC), (), 3))
    asked = Remeasurement(cause, "n2", "", "", suspects, question)
    judged = replace(measured(path(*nodes, NIC, figure), figure).judgements[0], **more)
    return Confirmed(asked, () if error else (judged,), error)


def told(found, *results):
    """What the causes of these results do not explain."""
    found = replace(found, confirmed=results)
    return [cause for cause in diagnose(found) if not cause.evidence]


def test_two_nodes_that_no_cause_names_are_suspects():
    (cause,) = told(scene("n2"), again("n3", "n4"))
    assert (cause.where.node, cause.confidence, cause.explains) == ("n3|n4", "open", ())
    assert "when measured again, which no other cause explains" in cause.says
    assert "n3 and n4" in cause.would_decide


@pytest.mark.parametrize(
    "result",
    [
        again("n3", "n4", figure=FINE),
        again("n3", "n4", error="no-output"),
        again("n4", "n2"),  # the slow node is in it
    ],
    ids=["fine", "error", "explained"],
)
def test_nothing_else_is_listed(result):
    assert told(scene("n2"), result) == []


def test_what_was_slow_in_some_repeats_only_is_not_listed():
    one = again("n3", "n4", values=(SLOW, FINE, FINE), floor=372.4)
    assert told(scene("n2"), one) == []


def test_a_straggler_explains_what_is_as_slow_as_its_best_item():
    found = scene("n2")
    (cause,) = [c for c in diagnose(found) if c.where.node == "n2"]
    evidence = tuple(item for item in found.records if "n3" in item)
    straggler = replace(cause, cause="straggler", where=replace(cause.where, node="n3"))
    straggler = replace(straggler, evidence=evidence)  # n3 reached 390 with n4, and 200 with n2
    for figure, listed in ((0.96 * FINE, 1), (0.98 * FINE, 0)):
        result = again("n3", "n4", figure=figure, values=(), outcome=Outcome.FAILED)
        results = replace(found, confirmed=(result,))
        assert len(list(slow_again(results, [straggler]))) == listed


def test_it_makes_no_other_cause_less_clear():
    found = scene("n2")
    causes = diagnose(found)
    more = (*causes, *told(found, again("n3", "n4")))
    assert len(more) > len(causes)
    assert is_clearer(found, more, causes)


# --- the slow pair turned round ---


def direction(*results):
    found = scene("n2")
    (cause,) = [c for c in diagnose(found) if c.where.node == "n2"]
    cause = replace(cause, cause="slow-direction", confidence="likely", course=None)
    return by_direction(cause, results)


def test_the_slow_pair_turned_round_does_not_tell_of_the_node():
    """Their path may be slow, or the partner; one more partner decides."""
    pair = again("n1", "n2", suspects=("n1", "n2"), cause="slow-direction")
    own = again("n3", "n2", suspects=("n2",), cause="slow-direction")
    turned = again("n2", "n1", cause="slow-direction")
    found = direction(own, pair, turned)
    assert (found.cause, found.confidence) == ("slow-direction", "open")
    assert "n2" in found.would_decide
    assert direction(own, pair, again("n2", "n4")).cause == "slow-node"
    fine = again("n2", "n1", figure=FINE, outcome=Outcome.PASSED)
    found = direction(own, pair, fine)
    assert (found.cause, found.confidence) == ("slow-direction", "likely")


def test_fewer_suspects_are_no_gain_if_one_of_them_was_slow_again_without_the_others():
    found = scene("n2")
    (cause,) = [c for c in diagnose(found) if c.where.node == "n2"]
    alone = replace(cause, confidence="open")
    among = replace(alone, where=replace(cause.where, node="n2|n3"))
    assert is_clearer(found, [alone], [among])
    n3_again = replace(found, confirmed=(again("n3", "n4", values=(SLOW, FINE, FINE)),))
    assert not is_clearer(n3_again, [alone], [among])
