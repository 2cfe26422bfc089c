"""The end-of-run checks: which these are, and what earlier runs and merged parts add to them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_decision import ONE
from test_growth_items import ITEMS as COUNTS
from test_kernel_items import ASKED, BOOT, XID, facts, reading
from test_kernel_items import ITEMS as LOGS
from test_kernel_items import results as logs
from testing.core_values import case, cluster, item, transcript
from testing.telemetry_scenes import H200

from railgauge.core.model import Outcome
from railgauge.core.question import LIMITS, CaseResult, Question
from railgauge.core.terms import Rung
from railgauge.diagnosis.model import SoakResults, SoakRound
from railgauge.facts.boot import KernelMark
from railgauge.judging.record import ItemRecord
from railgauge.planning.plan import ALL
from railgauge.planning.reduction import Reduction
from railgauge.verdict import at_end

RAN_AT = transcript("n2", started_at="2026-11-23T11:58:21.000+00:00", duration_s=60.0)
MEASURED = item("m", nodes=("n2", "n1"), questions=(Question(LIMITS, case("n2", "n1")),))
SOAK = SoakResults(
    items=(item("soak/0001/tests/a.py::b[n1]"),),
    causes=(),
    rounds=(SoakRound(1, "2026-11-23T11:58:21+00:00", "2026-11-23T11:59:21+00:00", 1, 1, 1, 0),),
    about={},
    notes=(),
)


@pytest.mark.parametrize(
    ("name", "is_at_end", "is_of_run"),
    [
        ("kernel::kernel_log[n1]", True, False),
        ("output::own_output[n1]", True, False),
        ("pairs::rounds[all]", True, True),
        ("soak/time::soaked[all]", True, True),
        ("soak/0001/tests/a.py::b[n1]", True, True),
        ("tests/a.py::b[n1]", False, False),
        ("tests/pairs::rounds[n1]", False, False),
    ],
)
def test_end_of_run_checks_and_items_of_a_run_are_known_by_their_ids(name, is_at_end, is_of_run):
    assert (at_end.is_at_end(name), at_end.is_of_run(name)) == (is_at_end, is_of_run)


def test_a_platform_file_asks_for_the_checks_that_it_names():
    """Outputs that were printed twice are an error under every platform file."""
    for platform, due in ((ONE, set()), (ASKED, {"kernel_log"}), (H200, {"telemetry"})):
        asked = {one.items.subject for one in at_end.KINDS if one.asked_by(platform)}
        assert asked & {"kernel_log", "telemetry"} == due
        assert "own_output" in asked


@pytest.mark.parametrize(("count", "place"), [(1, "n1"), (2, "n1:n2"), (3, ALL), (4, ALL)])
def test_pairs_that_rounds_leave_out_were_not_run(count, place):
    nodes = tuple(f"n{number}" for number in range(1, count + 1))
    less = Reduction("signoff", 1, 3, 15)
    assert at_end.left_out(less, cluster(*nodes)) == ItemRecord(
        f"pairs::rounds[{place}]",
        Rung.NETWORK,
        "pairs",
        "All pairs that level signoff asks for are measured.",
        Outcome.NOT_RUN,
        nodes,
        reason="level signoff reduced by --rounds 1: 3 of 15 pairs",
        remedy="leave --rounds out, or write the number of rounds into the platform file",
    )


def test_the_items_of_a_soak_are_the_last():
    made = list(at_end.items(replace(logs(), soak=SOAK)))
    assert made[-1:] == list(SOAK.items)
    assert [one.id for one in made[:-1]] == [LOGS.item_id(n) for n in ("n1", "n2", "n3")]


@pytest.mark.parametrize("kind", at_end.KINDS, ids=lambda kind: kind.items.subject)
def test_a_comparison_of_records_is_made_once_and_readings_of_each_run(kind):
    asked = []

    def made_of(results):
        asked.append(results)
        return iter(())

    run = replace(logs(), earlier={"night": logs(), "noon": logs()})
    assert list(replace(kind, made_of=made_of).of_all(run)) == []
    is_comparison = kind.items.subject in ("behind_peers", "own_output")
    assert len(asked) == (1 if is_comparison else 3)


def test_a_node_of_which_an_earlier_run_has_nothing_is_as_it_is_now():
    alone = replace(logs({"n1": reading("n1", XID)}), cluster=cluster("n1"))
    found = {one.nodes[0]: one for one in at_end.items(replace(logs(), earlier={"night": alone}))}
    now = {one.nodes[0]: one for one in at_end.items(logs())}
    assert found["n1"].outcome is Outcome.FAILED
    assert {**found, "n1": now["n1"]} == now


# --- whether a line was logged while something ran ---


def logged_before(**more):
    """A run whose survey came after a line that another run's log already had."""
    found = {"n2": facts("n2", kernel_log="11")}
    marks = (KernelMark("n2", "the first night", BOOT, "10"),)
    return logs({"n2": reading("n2", XID)}, found=found, marks=marks, **more)


def with_evidence(results, wanted):
    own = results.kept
    kept = CaseResult(((RAN_AT,),))
    return replace(results, kept=lambda asked: kept if asked == wanted else own(asked))


def of_n2(results):
    return next(one for one in at_end.items(results) if one.id == LOGS.item_id("n2"))


@pytest.mark.parametrize(
    ("record", "outcome"),
    [(MEASURED, Outcome.FAILED), (COUNTS.begun("n2"), Outcome.MARGINAL)],
    ids=["a measurement", "a reading of counters"],
)
def test_only_measurements_ran_in_a_merged_run(record, outcome):
    (question,) = record.questions
    part = with_evidence(logged_before(records={record.id: record}), question.case)
    merged = replace(logs(), kept=lambda _: None, parts={"r1": part})
    assert of_n2(merged).outcome is outcome


def test_a_round_of_a_soak_that_was_taken_over_ran():
    own = logs()
    assert of_n2(replace(own, earlier={"night": logged_before()})).outcome is Outcome.PASSED
    soaked = replace(own, soak=SOAK, earlier={"night": logged_before()})
    assert of_n2(soaked).outcome is Outcome.FAILED
