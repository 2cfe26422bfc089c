"""What the engine has answered is given to the items: each answer once for each item that asked."""

import pytest
from testing.assess_values import CASE, PLATFORM, SIZE, Kept, made_up_tool, out
from testing.core_values import item
from testing.in_threads import InThreads

from railgauge.core.errors import NoEvidence
from railgauge.core.model import Outcome
from railgauge.core.question import LIMITS, READ, Question
from railgauge.judging import by_evidence
from railgauge.judging.answers import AheadAssessor, ItemAssessor, KeptAnswers
from railgauge.judging.assess import Assessment
from railgauge.judging.assessor import Assessor

READS, LIMITED = Question(READ, CASE), Question(LIMITS, CASE, SIZE)


@pytest.fixture(autouse=True)
def tool(monkeypatch):
    return made_up_tool(monkeypatch)


@pytest.fixture
def evidence():
    return Kept(out())


@pytest.fixture
def sides(evidence):
    """The assessors of the engine and of the items."""
    known = (PLATFORM, evidence.found, evidence.result)
    kept = KeptAnswers()
    return AheadAssessor(kept, *known), ItemAssessor(kept, *known)


def test_a_case_that_the_engine_has_judged_is_not_read_again(sides, evidence):
    ahead, of_items = sides
    first = ahead.answers((READS, LIMITED))
    assert [judged.outcome for judged in first[0]] == [Outcome.PASSED]
    assert of_items.answers((READS, LIMITED)) == first
    assert evidence.asked == [CASE]


def test_what_the_engine_has_not_judged_is_read_for_the_item(sides, evidence):
    _, of_items = sides
    alone = Assessor(PLATFORM, evidence.found, evidence.result)
    assert of_items.answer(LIMITED) == alone.answer(LIMITED)
    assert evidence.asked == [CASE, CASE]


def test_each_item_takes_its_own_answer_and_none_is_left(sides, evidence):
    """Two items read the case; a third, which the engine has not judged, looks at the evidence."""
    ahead, of_items = sides
    for _ in range(2):
        ahead.answers((READS,))
    evidence.error = NoEvidence("was taken away")
    assert [bool(of_items.answer(READS).errors) for _ in range(3)] == [False, False, True]


def test_a_question_beside_those_of_an_item_keeps_no_answer(sides, evidence):
    """The engine looks for wrong results by itself; no item will ask for that."""
    ahead, of_items = sides
    ahead.answer(READS)
    of_items.answer(READS)
    assert evidence.asked == [CASE, CASE]


def test_an_error_reaches_the_item_that_asks(evidence):
    evidence.error = NoEvidence("the tool printed nothing", where="n1")
    kept, known = KeptAnswers(), (PLATFORM, evidence.found, evidence.result)
    by_evidence.judged(item("x", questions=(READS, LIMITED)), AheadAssessor(kept, *known))
    answer = ItemAssessor(kept, *known).answer(READS)
    assert answer.errors == (evidence.error,)
    assert kept.take(LIMITED) is None, "the item ends before it"


def test_two_threads_lose_no_answer_and_take_none_twice():
    kept, asked = KeptAnswers(), [Question(LIMITS, CASE, size) for size in range(500)]
    keeping = InThreads(*[lambda: [kept.keep(one, Assessment()) for one in asked]] * 2)
    keeping.ended()
    taking = InThreads(*[lambda: [kept.take(one) for one in asked]] * 2)
    assert [found for each in taking.ended() for found in each] == [Assessment()] * 1000
    assert not any(map(kept.take, asked))
