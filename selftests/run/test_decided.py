"""What the engine decides reaches whoever waits for it, in its process and in workers."""

from __future__ import annotations

import json

import pytest
from testing.core_values import case
from testing.in_threads import InThreads
from testing.run_folder import store_in
from testing.waiting import stays

from railgauge.core import masking
from railgauge.core.masking import Mask
from railgauge.run.decided import Decision, Decisions, ReadDecisions, WrittenDecisions
from railgauge.run.store import Store
from railgauge.verdict.unanswered import NEVER_RAN

ONE, OTHER = case("a", "b"), case("c", "d")
MEASURED = Decision(measured=True)
STOPPED = Decision(stopped="data corruption")


@pytest.fixture
def decisions(tmp_path):
    made = WrittenDecisions(store_in(tmp_path))
    made.begin()
    yield made
    made.end()


@pytest.fixture
def worker(tmp_path, decisions):
    """The decisions as another process reads them."""
    return ReadDecisions(Store(tmp_path))


@pytest.fixture(params=["here", "in a worker"])
def heard(request, decisions, worker):
    """The decisions as an item reads them."""
    return decisions if request.param == "here" else worker


@pytest.mark.parametrize(
    "decision",
    [
        MEASURED,
        Decision(),
        Decision(blockers=("x::y[a]", "x::z[b]")),
        Decision(measured=True, blockers=("x::y[a]",)),
        Decision(broken="RuntimeError: a defect"),
        Decision(measured=True, took_s=1.25),
    ],
)
def test_all_who_wait_for_a_case_learn_what_was_decided(decisions, heard, decision):
    waiting = InThreads(*[lambda: heard.wait(ONE)] * 3)
    decisions.add(OTHER, MEASURED)
    stays(lambda: waiting.waiting == 3, 0.2, "another case was decided")
    decisions.add(ONE, decision)
    found = [*waiting.ended(), heard.wait(ONE)]
    assert found == [decision] * 4
    assert {one.took_s for one in found} == {decision.took_s}


def test_nobody_waits_once_the_run_has_stopped(decisions, heard):
    decisions.add(ONE, MEASURED)
    waiting = InThreads(lambda: heard.wait(OTHER), lambda: heard.request(case("x")))
    stays(lambda: waiting.waiting == 2, 0.2, "nothing was decided")
    decisions.stop("data corruption")
    assert waiting.ended() == [STOPPED, STOPPED]
    assert heard.wait(ONE) == MEASURED, "what had been measured is judged"
    assert heard.wait(OTHER) == STOPPED
    assert heard.stopped == "data corruption"


def test_the_first_reason_for_a_stop_counts(decisions, worker):
    decisions.stop("data corruption")
    decisions.stop("the run ended before this item")
    assert decisions.wait(ONE) == worker.wait(ONE) == STOPPED


def test_an_error_of_the_engine_is_raised_where_somebody_waits(decisions):
    error = MemoryError("no memory")
    decisions.add(ONE, MEASURED)
    waiting = InThreads(lambda: decisions.wait(OTHER), lambda: decisions.request(case("x")))
    decisions.fail(error)
    assert waiting.ended() == [error, error]
    assert decisions.wait(ONE) == MEASURED
    decisions.stop("the run was stopped: no memory")
    with pytest.raises(MemoryError):
        decisions.wait(OTHER)


def test_workers_notice_an_end_of_the_engine_that_is_not_written(decisions, worker):
    """As on a full disk."""
    decisions.add(ONE, MEASURED)
    waiting = InThreads(lambda: worker.wait(OTHER))
    stays(lambda: waiting.waiting == 1, 0.2, "nothing was decided")
    decisions.end()
    assert waiting.ended() == [Decision(stopped=NEVER_RAN)]
    assert worker.wait(ONE) == MEASURED, "what had been measured is judged"


def test_workers_learn_of_an_error_of_the_engine_as_of_a_stop(decisions, worker):
    decisions.fail(MemoryError("no memory"))
    decisions.stop("the run was stopped: no memory")
    assert worker.wait(ONE).stopped == "the run was stopped: no memory"


# --- requests ---


def test_a_request_reaches_the_engine_once_and_waits_for_its_own_answer(decisions, heard):
    waiting = InThreads(lambda: heard.request(ONE))
    found = []
    stays(lambda: found.extend(decisions.requested()) or waiting.waiting, 0.3, "it waits")
    assert found == [ONE]
    decisions.add(ONE, Decision(blockers=("x",)))
    stays(lambda: waiting.waiting, 0.2, "that is for the items of the case itself")
    decisions.add(ONE, MEASURED, requested=True)
    assert waiting.ended() == [MEASURED]
    assert heard.request(ONE) == MEASURED
    assert list(decisions.requested()) == [], "it was known already"


def test_a_case_without_a_decision_is_unknown(decisions):
    decisions.add(ONE, MEASURED, requested=True)
    assert decisions.known(ONE) is None
    decisions.add(ONE, Decision())
    assert decisions.known(ONE) == Decision()


# --- secrets ---

SECRET = "Zq7vM2kX9pLw4tRb"


@pytest.fixture
def secret(monkeypatch):
    """A value that is masked wherever it is written, though a node has it as its name."""
    mask = Mask()
    mask.know({"API_TOKEN": SECRET})
    for module in (masking, __import__("railgauge.run.store", fromlist=["store"])):
        monkeypatch.setattr(module, "MASK_OF_PROCESS", mask)
    return case("a", SECRET)


def test_a_worker_finds_the_case_of_a_node_whose_name_looks_like_a_secret(
    decisions, worker, secret
):
    decisions.add(secret, Decision(blockers=(f"x[{SECRET}]",)))
    assert worker.wait(secret).blockers == (f"x[{SECRET}]",)


def test_a_worker_s_request_of_such_a_case_is_answered(decisions, worker, secret):
    waiting = InThreads(lambda: worker.request(secret))
    found = []
    stays(lambda: found.extend(decisions.requested()) or waiting.waiting, 0.3, "it waits")
    assert found == [secret]
    decisions.add(found[0], MEASURED, requested=True)
    assert waiting.ended() == [MEASURED]


def test_an_error_s_text_is_masked_on_disk(decisions, worker, secret, tmp_path):
    decisions.add(ONE, Decision(broken=f"ValueError: {SECRET}"))
    lines = (tmp_path / "leases" / "decided.jsonl").read_text().splitlines()
    assert [json.loads(line)["broken"] for line in lines] == ["ValueError: [secret]"]
    assert worker.wait(ONE).broken == "ValueError: [secret]"
    assert decisions.wait(ONE).broken == f"ValueError: {SECRET}", "streams are masked themselves"


def test_without_workers_decisions_are_kept_in_memory():
    made = Decisions()
    made.begin()
    made.add(ONE, MEASURED)
    assert made.wait(ONE) == MEASURED
    assert not list(made.requested())
    waiting = InThreads(lambda: made.request(OTHER))
    stays(lambda: waiting.waiting, 0.1, "it waits")
    assert list(made.requested()) == [OTHER]
    made.add(OTHER, MEASURED, requested=True)
    assert waiting.ended() == [MEASURED]
    made.end()
