"""A bundle of a run that was stopped: evidence of what had begun belongs to its item, no other."""

from dataclasses import replace

import pytest
from testing.diagnose_scenes import cluster

from railgauge.bundle.completeness import refuse_gaps
from railgauge.core.errors import NotVerified
from railgauge.core.model import Case, Outcome, Pairing
from railgauge.core.question import LIMITS, Question
from railgauge.core.terms import Rung
from railgauge.judging.growth import ITEMS
from railgauge.judging.record import ItemRecord
from railgauge.run.case_files import case_file
from railgauge.verdict.decision import RunPlan
from railgauge.verdict.unanswered import never_ran

NODES = ("n1", "n2")
CASE = Case("host_write_bandwidth", NODES, Pairing("mlx5_0"), (65536,), 3)
OTHER = replace(CASE, pairing=Pairing("mlx5_1"))
ENDED = ItemRecord(
    id="tests/x.py::test_y[mlx5_0]",
    rung=Rung.NETWORK,
    subject=CASE.measurement,
    title="",
    outcome=Outcome.PASSED,
    nodes=NODES,
    pairing="mlx5_0",
    questions=(Question(LIMITS, CASE, 65536),),
)
STOPPED = replace(never_ran(ENDED), questions=())
UNREAD = never_ran(replace(ITEMS.begun("n1"), questions=()))


def accepted(item: ItemRecord, *evidence: str) -> None:
    run = RunPlan(2, "run", "hardware", "smoke", None, (item.id,), "0")
    refuse_gaps(run, cluster(NODES), {item.id: item}, set(evidence))


@pytest.mark.parametrize("item", [STOPPED, UNREAD])
def test_an_item_that_did_not_run_needs_no_evidence(item):
    accepted(item)


def test_measurements_before_the_stop_belong_to_their_item():
    accepted(STOPPED, case_file(CASE))
    accepted(UNREAD, case_file(ITEMS.case_of("n1")))


@pytest.mark.parametrize("item", [STOPPED, UNREAD])
def test_other_evidence_belongs_to_no_item(item):
    with pytest.raises(NotVerified, match="belongs to no item"):
        accepted(item, case_file(OTHER))


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.BLOCKED, Outcome.ERROR])
def test_an_item_that_ended_without_a_question_has_no_evidence(outcome):
    with pytest.raises(NotVerified):
        accepted(replace(ENDED, outcome=outcome, questions=(), reason="x"), case_file(CASE))
