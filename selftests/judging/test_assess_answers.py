"""Answers to questions from the evidence: ratio, subnet, facts, limits; an item's questions."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from testing.assess_values import (
    BASIS,
    CASE,
    NAME,
    PLAIN,
    PLATFORM,
    SCALED,
    SIZE,
    Kept,
    judged,
    made_up_tool,
    measured,
    out,
    outcomes,
    platform,
)
from testing.core_values import limit, transcript

from railgauge.config.thresholds.model import (
    Assertion,
    FabricLimits,
    Results,
    Traffic,
    Transport,
)
from railgauge.core.errors import DataCorrupted, FactMissing, MetricMissing, NoEvidence
from railgauge.core.model import Fabric, Outcome
from railgauge.core.question import (
    FABRIC,
    FACT,
    LIMITS,
    RATIO,
    READ,
    RESULTS,
    TRAFFIC,
    TRANSPORT,
    FactAt,
    Question,
)
from railgauge.facts import NodeFacts
from railgauge.facts.model import GpuFacts
from railgauge.judging import assess
from railgauge.judging.assess import Assessment, Measured, fabric, ratio
from railgauge.judging.assessor import Assessor


@pytest.fixture(autouse=True)
def made_up(monkeypatch):
    return made_up_tool(monkeypatch)


# --- ratio, subnet ---


def scaled(one, other):
    """The outcome for these values over those, with one value in each run."""
    both = (
        measured(*[out(value) for value in values], on=SCALED) if values else None
        for values in (one, other)
    )
    return outcomes(ratio(*both, "bw_average"))


@pytest.mark.parametrize(
    ("one", "other", "outcome"),
    [
        ((90,), (100,), "passed"),
        ((89,), (100,), "failed"),
        ((100, 89), (100,), "failed"),
        ((89, 100), (100,), "failed"),
        ((90,), (100, 101), "failed"),
        ((90,), (101, 100), "failed"),
        ((90,), (1, 100), "passed"),
        ((1000,), (0.5,), "passed"),
    ],
)
def test_a_ratio_is_that_of_the_least_favourable_values(one, other, outcome):
    assert scaled(one, other) == ([outcome], [])


@pytest.mark.parametrize(("one", "other"), [((0,), (100,)), ((90,), (0,)), ((-1,), (-1,))])
def test_a_ratio_of_nothing_is_an_error(one, other):
    assert scaled(one, other) == ([], ["metric-missing"])


def test_a_ratio_needs_its_metric_on_both_sides():
    one = measured(out(), on=SCALED)
    assert outcomes(ratio(one, one, "bw_peak")) == ([], ["metric-missing"])
    (found,) = ratio(one, one, "bw_average").judgements
    assert (found.metric, found.unit, found.values) == ("scaling", "1", (1.0,))
    assert (found.size_bytes, found.physical_ceiling) == (None, None)


NAMED = Results(("pcie",), BASIS)
SUBNET = Fabric("n1", "topology", "file")
ASKED = FabricLimits(BASIS)


@pytest.fixture
def scans(monkeypatch):
    """The arguments of the judge of a scan, and its answer."""
    seen = SimpleNamespace(given=None, says=([], []))

    def judge_scan(*given):
        seen.given = given
        if isinstance(seen.says, NoEvidence):
            raise seen.says
        return seen.says

    monkeypatch.setattr(assess, "judge_scan", judge_scan)
    return seen


def scanned(text, **more):
    run = transcript("n1", stdout=text, started_at=f"began {text}", **more)
    return Measured(CASE, replace(PLAIN, fabric=ASKED, tool="iblinkinfo"), (), ((run,),))


def test_a_scan_is_judged_for_a_switch_and_by_an_earlier_one(scans):
    fabric(SUBNET, scanned("now"), "s1", scanned("then"))
    subject, declared, asked, now, then = scans.given
    assert (subject, declared, asked) == (("iblinkinfo", "s1"), SUBNET, ASKED)
    assert [(s.text, s.began) for s in (now, then)] == [
        ("now", "began now"), ("then", "began then"),
    ]  # fmt: skip
    fabric(SUBNET, scanned("now", stderr="err"))
    assert scans.given[0] == ("iblinkinfo", "")
    assert (scans.given[3].text, scans.given[4]) == ("now\nerr", None)


def test_a_scan_is_the_output_of_the_first_command_of_the_first_run(scans):
    first, other, again = (transcript("n1", stdout=text) for text in ("first", "other", "again"))
    fabric(SUBNET, replace(scanned("x"), transcripts=((first, other), (again,))))
    assert scans.given[3].text == "first"


def test_judgements_and_errors_of_a_scan_are_both_kept(scans):
    missed = MetricMissing("torn")
    scans.says = (["judged"], [missed])
    assert fabric(SUBNET, scanned("x")) == Assessment(("judged",), (missed,))
    scans.says = missed
    assert fabric(SUBNET, scanned("x")) == Assessment((), (missed,))


def test_without_a_declared_subnet_a_scan_is_an_error(scans):
    for found in (fabric(None, scanned("x")), fabric(SUBNET, measured(out()))):
        assert outcomes(found) == ([], ["metric-missing"])
    assert scans.given is None


# --- questions ---


def assessor_of(kept, on=PLATFORM, declared=None):
    return Assessor(on, kept.found, kept.result, declared)


def answer(question, *transcripts, on=PLATFORM, declared=None, **more):
    return assessor_of(Kept(*transcripts, **more), on, declared).answer(question)


AT_SIZE = Question(LIMITS, CASE, SIZE)


def test_a_question_of_limits_is_of_a_size_or_a_part():
    assert outcomes(answer(AT_SIZE, out())) == (["passed"], [])
    assert outcomes(answer(replace(AT_SIZE, size_bytes=2), out())) == ([], ["metric-missing"])
    on = platform(asserts=(Assertion("bw_average", per="gpu"),))
    asked = Question(LIMITS, CASE, placement="gpu0")
    assert outcomes(answer(asked, out(1, place="gpu0"), on=on)) == (["failed"], [])


def test_a_question_of_limits_knows_the_facts():
    share = limit(floor=0.5, of="gpu_slot")
    on = platform(asserts=(Assertion("bw_average", per="gpu"),), limits=(share,), scope="node")
    gpu = GpuFacts(0, "x", "0000:1a:00.0", None, pcie_max_gen=4, pcie_max_width=16)
    asked, output = Question(LIMITS, CASE, placement="gpu0"), out(130, place="gpu0")
    facts = {"n1": NodeFacts("n1", gpus=(gpu,))}
    assert outcomes(answer(asked, output, on=on, found=facts)) == (["passed"], [])
    assert outcomes(answer(asked, output, on=on)) == ([], ["fact-missing"])


def test_reading_alone_judges_nothing_and_still_finds_errors():
    assert answer(Question(READ, CASE), out(1)) == Assessment()
    assert outcomes(answer(Question(READ, CASE), out(exit_code=1))) == ([], ["tool-failed"])


def test_wrong_results_fail_every_question():
    corrupt = transcript("n1", stdout="error data-corruption")
    for kind in (READ, LIMITS, TRAFFIC):
        assert outcomes(answer(Question(kind, CASE, SIZE), corrupt)) == (["failed"], [])
    assert isinstance(DataCorrupted("x"), NoEvidence)


def test_a_question_without_a_limit_is_an_error():
    found = answer(AT_SIZE, out(), on=platform(limits=()))
    assert outcomes(found) == ([], ["metric-missing"])
    assert "has no limit" in str(found.errors[0])
    undeclared = answer(AT_SIZE, out(), on=platform(tool="ccl-tests"))
    assert undeclared.errors[0].where == PLAIN.limits[0].pointer


# A placement for which the file has limits of every kind.
FULL = platform(
    traffic=Traffic((0.9, 1.1), None, BASIS), transport=Transport(("IB",), (), BASIS),
    fabric=ASKED, limits=SCALED.measurements[NAME].limits, results=NAMED,
)  # fmt: skip


def test_each_kind_of_question_is_answered_by_its_own_judge(scans):
    read_as = {
        TRAFFIC: "the counters of the NICs were not read",
        TRANSPORT: "the log names no transport",
        RESULTS: "pcie",
    }
    for kind, says in read_as.items():
        assert says in str(answer(Question(kind, CASE), out(), on=FULL).errors[0])
    asked = Question(RATIO, CASE, other=CASE, metric="bw_average")
    assert answer(asked, out(), on=FULL).judgements[0].metric == "scaling"
    answer(Question(FABRIC, CASE, placement="s1"), out(), on=FULL, declared=SUBNET)
    assert (scans.given[0], scans.given[1], scans.given[4]) == (("perftest", "s1"), SUBNET, None)
    answer(Question(FABRIC, CASE, other=CASE), out(), on=FULL, declared=SUBNET)
    assert scans.given[4].text == out().stdout


@pytest.mark.parametrize("kind", ["", "a", "limit", "limits ", "m", "s", "u", "wish"])
def test_a_kind_of_question_that_is_not_known_has_no_answer(kind):
    found = answer(Question(kind, CASE, SIZE, other=CASE, metric="bw_average"), out(), on=FULL)
    assert f"unknown kind of question: {kind!r}" in str(found.errors[0])


def test_an_error_shows_the_beginning_of_a_long_name():
    kind = answer(Question("k" * 50, CASE), out()).errors[0]
    assert kind.what == f"unknown kind of question: {'k' * 40!r}"
    metric = answer(Question(FACT, metric="m" * 90, fact=FactAt("n1", ()))).errors[0]
    assert metric.what == f"platform bench expects no {'m' * 80}"


@pytest.mark.parametrize(
    "question",
    [
        Question("wish", CASE),
        Question(LIMITS),
        Question(RATIO, CASE, metric="bw_average"),
        Question(RATIO, other=CASE, metric="bw_average"),
        Question(FACT, metric="memlock"),
        Question(FACT, metric="colour", fact=FactAt("n1", ("memlock",))),
        Question(FACT, metric="memlock", fact=FactAt("n2", ("memlock",))),
        Question(FABRIC, CASE),
        Question("limit", CASE, SIZE),
    ],
)
def test_a_question_that_makes_no_sense_is_an_error_never_an_answer(question):
    found = answer(question, out(), on=SCALED, found={"n1": NodeFacts("n1", memlock="unlimited")})
    assert found.judgements == ()
    assert len(found.errors) == 1


@pytest.mark.parametrize(("value", "outcome"), [("unlimited", "passed"), ("64", "failed")])
def test_a_fact_is_judged_by_its_expectation_and_needs_no_case(value, outcome):
    question = Question(FACT, metric="memlock", fact=FactAt("n1", ("memlock",)))
    found = answer(question, found={"n1": NodeFacts("n1", memlock=value)})
    assert outcomes(found) == ([outcome], [])


def test_a_case_is_read_once_and_so_is_its_error():
    for kept in (Kept(out()), Kept(error=FactMissing("gone")), Kept(out(exit_code=1))):
        assessor = assessor_of(kept)
        first = assessor.answer(AT_SIZE)
        assert assessor.answer(AT_SIZE) == first
        assert kept.asked == [CASE]


def test_the_cases_at_the_last_places_are_kept_and_no_more():
    kept = Kept(out())
    assessor = assessor_of(kept)
    cases = [replace(CASE, nodes=("n1", f"n{i}")) for i in range(3)]
    for one in (*cases, cases[1], cases[0]):
        assessor.answer(Question(READ, one))
    assert kept.asked == [*cases, cases[0]]


def test_another_case_is_read_for_itself():
    kept = Kept(out())
    assessor = assessor_of(kept)
    for one in (CASE, replace(CASE, nodes=("n2", "n1")), replace(CASE, repeats=2)):
        assessor.answer(replace(AT_SIZE, case=one))
    assert len(kept.asked) == 3
    assert outcomes(assessor.answer(AT_SIZE)) == (["passed"], [])
    other = assessor.answer(replace(AT_SIZE, case=replace(CASE, repeats=2)))
    assert outcomes(other) == ([], ["metric-missing"])


# --- an item's questions ---


def final(*outcomes, error=None):
    made = [replace(judged(measured(out())).judgements[0], outcome=one) for one in outcomes]
    return Assessment(tuple(made), (error,) if error else ()).final


def test_an_item_ends_where_nothing_could_make_it_better():
    assert not final()
    assert not final(Outcome.PASSED, Outcome.MARGINAL)
    assert final(Outcome.PASSED, Outcome.FAILED)
    assert final(Outcome.RECORD_ONLY)
    assert final(error=MetricMissing("x"))
    assert final(Outcome.PASSED, error=MetricMissing("x"))


def answers(*values):
    """Questions of sizes 1, 2, …, each answered by its value; None was not printed."""
    text = "".join(f"bw_average {v} {i}\n" for i, v in enumerate(values, 1) if v is not None)
    kept = Kept(transcript("n1", stdout=text or "bw_average 1 99"))
    questions = [replace(AT_SIZE, size_bytes=i) for i, _ in enumerate(values, 1)]
    found, error = assessor_of(kept).answers(questions)
    return [str(one.outcome) for one in found], error and error.kind


def test_all_questions_of_an_item_are_asked_until_one_ends_it():
    assert answers() == ([], None)
    assert answers(390, 390) == (["passed", "passed"], None)
    assert answers(390, 1, 390) == (["passed", "failed"], None)
    assert answers(390, None, 1) == (["passed"], "metric-missing")
    assert answers(1, None) == (["failed"], None)


def test_the_first_error_is_that_of_the_item():
    peak = limit(metric="bw_peak", floor=300.0)
    asserts = (Assertion("bw_average"), Assertion("bw_peak"))
    both = platform(asserts=asserts, limits=(peak, *PLAIN.limits))
    kept = Kept(transcript("n1", stdout="bw_peak nan 8388608"))
    found, error = assessor_of(kept, both).answers([AT_SIZE])
    assert (found, error.kind) == ((), "metric-missing")
