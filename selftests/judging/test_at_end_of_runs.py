"""One end-of-run check of a node from those of several runs: the worst, and what all judged."""

import pytest
from testing.core_values import item, judgement

from railgauge.core.model import Case, Outcome
from railgauge.core.question import KERNEL, PEERS, Question
from railgauge.core.terms import Rung
from railgauge.judging.at_end import EndOfRunChecks, combined
from railgauge.judging.record import ItemRecord

LOGS = EndOfRunChecks("kernel", "kernel_log", "Nothing is logged.", Rung.PREFLIGHT, KERNEL, True)
BESIDE = EndOfRunChecks("peers", "behind_peers", "It keeps up.", Rung.NETWORK, PEERS)


def log(outcome, reason="", **more):
    return item("kernel::kernel_log[a]", outcome, nodes=("a",), reason=reason, **more)


@pytest.mark.parametrize(
    ("kind", "name", "rung", "title", "question"),
    [
        (
            LOGS,
            "kernel::kernel_log[a]",
            Rung.PREFLIGHT,
            "Nothing is logged.",
            Question(KERNEL, Case("kernel_log", ("a",), None, ()), None, "a", None, "kernel_log"),
        ),
        (
            BESIDE,
            "peers::behind_peers[a]",
            Rung.NETWORK,
            "It keeps up.",
            Question(PEERS, None, None, "a", None, "behind_peers"),
        ),
    ],
)
def test_an_item_of_a_node_has_its_question_and_no_result(kind, name, rung, title, question):
    """Its evidence is stored under a case of its own, if something is read of the node."""
    assert kind.item_id("a") == name
    assert kind.case_of("a") == question.case
    due = ItemRecord(
        name, rung, question.metric, title, Outcome.ERROR, ("a",), questions=(question,)
    )
    assert kind.begun("a") == due
    assert (LOGS.has(name), BESIDE.has(name)) == (kind is LOGS, kind is BESIDE)
    assert not kind.has(f"tests/{name}")


@pytest.mark.parametrize("worst", [Outcome.FAILED, Outcome.ERROR, Outcome.NOT_RUN])
def test_the_worst_reading_of_a_node_counts(worst):
    found = combined([log(Outcome.PASSED), log(worst, "why"), log(Outcome.MARGINAL)])
    assert found.outcome is worst
    assert found.reason == "why"


def test_one_reading_stays_as_it_is():
    one = log(Outcome.MARGINAL, "why", judgements=(judgement(),))
    assert combined([one]) == one
    failed = log(Outcome.FAILED, "why", beside="a part of it is lost")
    assert combined([failed]) == failed


def test_all_readings_are_judged_and_the_reasons_of_the_worst_are_listed_once():
    judged = [judgement(metric=name) for name in "abcd"]
    texts = [
        (Outcome.FAILED, ""),
        (Outcome.MARGINAL, "near"),
        (Outcome.FAILED, "odd"),
        (Outcome.FAILED, "slow"),
        (Outcome.FAILED, "odd"),
    ]
    read = [
        log(*text, judgements=(one,)) for text, one in zip(texts, [*judged, judged[0]], strict=True)
    ]
    found = combined(read)
    assert (found.outcome, found.reason, found.beside) == (Outcome.FAILED, "odd; slow", "")
    assert found.judgements == (*judged, judged[0])


@pytest.mark.parametrize("missing", [Outcome.ERROR, Outcome.NOT_RUN, Outcome.BLOCKED])
def test_a_failure_beside_a_reading_that_is_missing_was_not_judged_completely(missing):
    """Else an accepted deviation would cover what nobody has read."""
    read = [log(missing, "lost"), log(Outcome.FAILED, "odd"), log(missing, "lost")]
    found = combined([*read, log(Outcome.FAILED, "slow", beside="cut off")])
    assert (found.outcome, found.reason) == (Outcome.FAILED, "odd; slow")
    assert found.beside == "cut off; lost"


def test_items_that_did_not_fail_have_no_error_beside_them():
    assert combined([log(Outcome.ERROR, "lost"), log(Outcome.NOT_RUN, "no")]).beside == ""
